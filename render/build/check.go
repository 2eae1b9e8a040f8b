package build

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/poolwright/poolwright/clusters"
	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/render"
)

// Severity says whether a finding stops a merge.
type Severity uint8

// The severities.
const (
	Error   Severity = iota // "error"
	Warning                 // "warning"
)

// String returns "error" or "warning".
func (s Severity) String() string { return [...]string{"error", "warning"}[s] }

// MarshalText writes the word of String.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Finding is one thing that is wrong with a cluster directory.
type Finding struct {
	Severity Severity `json:"severity"`
	// File is below the cluster directory; Object is "Kind name" of a built object. One of them is set.
	File    string `json:"file,omitempty"`
	Object  string `json:"object,omitempty"`
	Message string `json:"message"`
	// Hint is what to do about it; may be "".
	Hint string `json:"hint,omitempty"`
}

// String is one line without the hint.
func (f Finding) String() string {
	return fmt.Sprintf("%s: %s: %s", f.Severity, cmp.Or(f.File, f.Object), f.Message)
}

// Redraw is the hint of a finding that drawing the tree anew ends. Who knows the places can say the command.
const Redraw = "run poolwright render --declared, or let poolwright run commit it; do not edit generated files"

// Check is everything that can be said about a committed cluster directory without a database or a
// Kubernetes API: files are the directory's, c is its cluster.yaml. No findings means that the tree is
// what the declaration and topology.yaml give, that it builds, and that the built objects keep
// poolwright's promises. The rules, in order:
//
//  1. topology.yaml reads back as a state.
//  2. Each file is the one that Draw gives; none is missing, edited, or there without being listed.
//  3. No kustomization leads out of the directory or has a field that changes names or selectors.
//  4. Labels and annotations in custom/ are strings, named by file and key.
//  5. kustomize builds it.
//  6. The objects keep what the state promises (verify).
func (b *Builder) Check(c clusters.Cluster, files map[string][]byte) []Finding {
	s, err := render.ReadBack(c.Metadata.Name, files)
	if err == nil && s.Epoch == 0 {
		err = errors.New(render.TopologyFile + " is missing: there is no tree here yet")
	}
	if err != nil {
		return []Finding{{File: render.TopologyFile, Message: err.Error(), Hint: "restore it from Git's history: it is poolwright's memory"}}
	}
	found := compare(c, s, files)
	refused := refusedAnywhere(files)
	found = slices.Concat(found, orphans(files), refused, textFindings(files))
	if len(refused) > 0 {
		return found
	}
	m, err := b.run(files)
	if err != nil {
		return append(found, Finding{File: render.RootFile, Message: err.Error()})
	}
	objects, err := objectsOf(m)
	if err != nil {
		return append(found, Finding{File: render.RootFile, Message: err.Error()})
	}
	return append(found, verify(c, s, objects)...)
}

// compare holds the committed files against the drawing.
func compare(c clusters.Cluster, s plan.State, files map[string][]byte) []Finding {
	want, err := render.Draw(c, s, render.GivenIn(files))
	if err != nil {
		return []Finding{{File: "cluster.yaml", Message: err.Error()}}
	}
	var found []Finding
	for _, file := range slices.Sorted(maps.Keys(want)) {
		have, exists := files[file]
		switch {
		case !exists:
			found = append(found, Finding{File: file, Message: "generated file is missing", Hint: Redraw})
		case !render.Owned(file, have):
			found = append(found, Finding{File: file, Message: "a file that poolwright did not generate stands where it must write", Hint: "move it to custom/"})
		case !bytes.Equal(have, want[file]):
			found = append(found, Finding{File: file, Message: difference(c, s, files, file, want[file]), Hint: Redraw})
		}
	}
	return found
}

// difference says why a generated file is not as drawn.
func difference(c clusters.Cluster, s plan.State, files map[string][]byte, file string, want []byte) string {
	if file != render.RootFile {
		return firstDifference(files[file], want)
	}
	given := render.GivenIn(files)
	other, err := render.Draw(c, s, render.Given{HasCustom: !given.HasCustom})
	switch {
	case err != nil || !bytes.Equal(files[file], other[file]):
		return firstDifference(files[file], want)
	case given.HasCustom:
		return "custom/ came since this was drawn, and is not listed here yet"
	}
	return "custom/ went since this was drawn, and is still listed here"
}

// firstDifference names the first line of a generated file that is not as drawn.
func firstDifference(have, want []byte) string {
	a, b := strings.Split(string(have), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(a), len(b)) {
		var x, y string
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if x != y {
			return fmt.Sprintf("line %d of a generated file is %q, drawn is %q", i+1, x, y)
		}
	}
	return "a generated file differs" // only by its last line break
}

// orphans are overlays that the root does not list, and generated files that belong to no drawing.
func orphans(files map[string][]byte) []Finding {
	var k kustomization
	if err := yaml.Unmarshal(files[render.RootFile], &k); err != nil {
		return nil // refusedIn says it
	}
	seen := map[string]bool{}
	var found []Finding
	for _, file := range slices.Sorted(maps.Keys(files)) {
		parts := strings.SplitN(file, "/", 3)
		if len(parts) < 3 || parts[0] != "instances" {
			continue
		}
		dir := path.Join(parts[0], parts[1])
		if seen[dir] || slices.Contains(k.Resources, dir) {
			continue
		}
		seen[dir] = true
		found = append(found, Finding{Severity: Warning, File: dir, Message: "orphan: the overlay is not listed in " + render.RootFile, Hint: "delete it, or move what is yours out of it"})
	}
	return found
}

// textFindings look for label and annotation values of another type than string in a person's files,
// inline patches included, where the file can still be named: an API client drops all annotations of
// an object for one of them.
func textFindings(files map[string][]byte) []Finding {
	var found []Finding
	for _, file := range slices.Sorted(maps.Keys(files)) {
		if ext := path.Ext(file); !strings.HasPrefix(file, "custom/") || ext != ".yaml" && ext != ".yml" {
			continue
		}
		for _, doc := range documents(files[file]) {
			for _, where := range notText("", doc) {
				found = append(found, Finding{File: file, Message: where + " is not a string", Hint: "put it in quotes"})
			}
		}
	}
	return found
}

// documents are a file's YAML documents, and those in its inline patches. What is no YAML is
// kustomize's to refuse.
func documents(data []byte) []any {
	var list []any
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var doc any
		if dec.Decode(&doc) != nil {
			return list
		}
		list = append(list, doc)
		list = append(list, inlinePatches(doc)...)
	}
}

func inlinePatches(doc any) []any {
	var list []any
	fields, _ := doc.(map[string]any)
	patches, _ := fields["patches"].([]any)
	for _, p := range patches {
		entry, _ := p.(map[string]any)
		var inner any
		if text, ok := entry["patch"].(string); ok && yaml.Unmarshal([]byte(text), &inner) == nil {
			list = append(list, inner)
		}
	}
	return list
}
