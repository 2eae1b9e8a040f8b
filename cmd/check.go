package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/poolwright/poolwright/clusters"
	"github.com/poolwright/poolwright/render"
	"github.com/poolwright/poolwright/render/build"
)

// CheckCmd checks committed cluster directories.
type CheckCmd struct {
	Dirs   []string `arg:"" name:"dir" help:"Cluster directories; a pattern in quotes is expanded."`
	File   string   `short:"f" placeholder:"FILE" help:"The Cluster file, for one directory. Default: cluster.yaml in the directory."`
	Base   string   `placeholder:"DIR" help:"Another checkout of the same directory, to compare with what must not change. For one directory."`
	Output `embed:""`
}

// Help is shown by --help.
func (CheckCmd) Help() string {
	return "It asks no database: the tree has to be what cluster.yaml and topology.yaml give. To draw it anew from these, use render --declared.\n\n" +
		example("poolwright check clusters/*")
}

// clusterFileName is the Cluster file's name in a cluster directory.
const clusterFileName = "cluster.yaml"

// Issue is one finding with its place.
type Issue struct {
	Severity string `json:"severity"`
	// File is the path as it can be opened; Object is "Kind name" of a built object. One of them is set.
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Object  string `json:"object,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// checked is what was found in one directory.
type checked struct {
	Dir     string  `json:"dir"`
	Cluster string  `json:"cluster,omitempty"`
	Issues  []Issue `json:"issues,omitempty"`
	drawn   render.Drawn
	files   map[string][]byte
}

// checkView is the result for machines.
type checkView struct {
	Kustomize  string    `json:"kustomize"`
	Clusters   []checked `json:"clusters"`
	Collisions []string  `json:"collisions,omitempty"`
}

// Run checks each directory by itself, then all together.
func (c CheckCmd) Run(std *Stdio) error {
	dirs, err := c.directories()
	if err != nil {
		return err
	}
	v := checkView{Kustomize: build.KustomizeVersion()}
	var builder build.Builder
	for _, dir := range dirs {
		v.Clusters = append(v.Clusters, c.check(&builder, dir))
	}
	v.Collisions = collisions(v.Clusters)
	if err := c.write(std.Out, v, func(w io.Writer) error { return writeChecks(w, v) }); err != nil {
		return err
	}
	if errs, _ := v.count(); errs > 0 {
		return &ExitError{Code: ExitDiffers}
	}
	return nil
}

// directories expands patterns, in the order given.
func (c CheckCmd) directories() ([]string, error) {
	var dirs []string
	for _, pattern := range c.Dirs {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return nil, fmt.Errorf("reading the pattern %q: %w", pattern, err)
		}
		if len(found) == 0 {
			return nil, exitf(ExitUsage, "", "looking for %s: no such directory", pattern)
		}
		dirs = append(dirs, found...)
	}
	if len(dirs) > 1 && (c.File != "" || c.Base != "") {
		return nil, exitf(ExitUsage, "poolwright check --help", "reading the command line: -f and --base are for one directory, not for %d", len(dirs))
	}
	if c.Base != "" {
		return dirs, haveDir(c.Base)
	}
	return dirs, nil
}

// check is everything about one directory.
func (c CheckCmd) check(builder *build.Builder, dir string) checked {
	one := checked{Dir: dir}
	file := cmp.Or(c.File, filepath.Join(dir, clusterFileName))
	d, err := declare(file)
	if err != nil {
		one.Issues = problems(file, err)
		return one
	}
	one.Cluster = d.Metadata.Name
	base, err := readDir(dir)
	if err != nil {
		one.Issues = []Issue{{Severity: build.Error.String(), File: dir, Message: err.Error()}}
		return one
	}
	for _, odd := range base.Odd {
		one.Issues = append(one.Issues, Issue{Severity: build.Error.String(), File: filepath.Join(dir, odd), Message: "is a link or no file", Hint: "replace it with a file"})
	}
	one.files = base.Files
	for _, f := range builder.Check(d.Cluster, base.Files) {
		if f.Hint == build.Redraw {
			f.Hint = commandLine("render", "-f", file, "--declared", "--out", dir)
		}
		one.Issues = append(one.Issues, issueOf(dir, f))
	}
	one.Issues = append(one.Issues, advice(file, d.Cluster)...)
	one.drawn.Cluster = d.Cluster
	one.drawn.State, _ = render.ReadBack(d.Metadata.Name, base.Files) // Check has said what is wrong with it
	if c.Base != "" {
		one.Issues = append(one.Issues, againstBase(builder, c.Base, one)...)
	}
	return one
}

// collisions are what two directories would both claim. A cluster that is
// declared twice is said once.
func collisions(all []checked) []string {
	var twice []string
	var drawn []render.Drawn
	first := map[string]string{}
	for _, one := range all {
		meta := one.drawn.Cluster.Metadata
		key := meta.Namespace + "/" + meta.Name
		before, declared := first[key]
		switch {
		case one.Cluster == "":
		case declared:
			twice = append(twice, fmt.Sprintf("cluster %s in namespace %s is declared in %s and in %s", meta.Name, meta.Namespace, before, one.Dir))
		default:
			first[key] = one.Dir
			drawn = append(drawn, one.drawn)
		}
	}
	return append(twice, render.Collisions(drawn)...)
}

// problems are a Cluster file's own, each with its line.
func problems(file string, err error) (issues []Issue) {
	list, ok := errors.AsType[clusters.Errors](err)
	if !ok {
		hint := ""
		if errors.Is(err, os.ErrNotExist) {
			hint = "poolwright check -f FILE " + filepath.Dir(file)
		}
		return []Issue{{Severity: build.Error.String(), File: file, Message: err.Error(), Hint: hint}}
	}
	for _, p := range list {
		message := p.Message
		if p.Path != "" {
			message = p.Path + ": " + message
		}
		issues = append(issues, Issue{Severity: build.Error.String(), File: file, Line: p.Line, Message: message, Hint: p.Hint})
	}
	return issues
}

func issueOf(dir string, f build.Finding) Issue {
	i := Issue{Severity: f.Severity.String(), Object: f.Object, Message: f.Message, Hint: f.Hint}
	if f.File != "" {
		i.File = filepath.Join(dir, filepath.FromSlash(f.File))
	}
	return i
}

// count counts what fails the check, and the warnings, which do not.
func (v checkView) count() (errs, warnings int) {
	errs = len(v.Collisions)
	for _, one := range v.Clusters {
		for _, i := range one.Issues {
			if i.Severity == build.Error.String() {
				errs++
			} else {
				warnings++
			}
		}
	}
	return errs, warnings
}

// writeChecks writes the findings for people: what an editor can jump to, one a
// line, and the count.
func writeChecks(w io.Writer, v checkView) error {
	for _, one := range v.Clusters {
		for _, i := range one.Issues {
			fmt.Fprintf(w, "%s\n", i.text(one.Dir))
			if i.Hint != "" {
				fmt.Fprintf(w, "hint: %s\n", i.Hint)
			}
		}
	}
	for _, text := range v.Collisions {
		fmt.Fprintf(w, "error: %s\n", text)
	}
	errs, warnings := v.count()
	_, err := fmt.Fprintf(w, "%d checked with kustomize api %s: errors %d, warnings %d\n", len(v.Clusters), v.Kustomize, errs, warnings)
	return err
}

// text is place: severity: message.
func (i Issue) text(dir string) string {
	place := i.File
	switch {
	case i.Object != "":
		place = dir + ": " + i.Object
	case i.Line > 0:
		place = fmt.Sprintf("%s:%d", i.File, i.Line)
	}
	return printable(strings.Join([]string{place, i.Severity, i.Message}, ": "))
}
