package build

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// forbidden are fields of a kustomization that a cluster directory must not have, and why.
var forbidden = map[string]string{
	"openapi":                     "a schema of your own changes every later build of the process",
	"helmCharts":                  "charts are not inflated here: render them and add the result to resources",
	"helmChartInflationGenerator": "charts are not inflated here: render them and add the result to resources",
	"helmGlobals":                 "charts are not inflated here: render them and add the result to resources",
	"generators":                  "no plugins: use configMapGenerator or resources",
	"transformers":                "no plugins: use patches",
	"validators":                  "no plugins: validate the output of poolwright render",
	"commonLabels":                "it changes selectors, which are immutable: use labels without includeSelectors",
	"bases":                       "old: use resources",
	"vars":                        "old: use replacements",
	"patchesStrategicMerge":       "old: use patches",
	"patchesJson6902":             "old: use patches",
	"configurations":              "it can make any field a selector: use patches",
	"crds":                        "it can make any field a reference: use patches",
	"namePrefix":                  "names are fixed: the live Services are found by name",
	"nameSuffix":                  "names are fixed: the live Services are found by name",
}

// kustomization is what the checks need of a kustomization file.
type kustomization struct {
	Resources          []string    `yaml:"resources"`
	Components         []string    `yaml:"components"`
	Labels             []labels    `yaml:"labels"`
	Patches            []reader    `yaml:"patches"`
	Replacements       []reader    `yaml:"replacements"`
	ConfigMapGenerator []generator `yaml:"configMapGenerator"`
	SecretGenerator    []generator `yaml:"secretGenerator"`
}

type labels struct {
	IncludeSelectors bool `yaml:"includeSelectors"`
}

type reader struct {
	Path string `yaml:"path"`
}

type generator struct {
	Files []string `yaml:"files"`
	Envs  []string `yaml:"envs"`
	Env   string   `yaml:"env"`
}

// isKustomization reports whether kustomize would read a file as a kustomization.
func isKustomization(file string) bool {
	return slices.Contains([]string{"kustomization.yaml", "kustomization.yml", "Kustomization"}, path.Base(file))
}

// refusedAnywhere is everything in a tree's kustomizations that must not be built.
func refusedAnywhere(files map[string][]byte) []Finding {
	var found []Finding
	for _, file := range slices.Sorted(maps.Keys(files)) {
		if isKustomization(file) {
			found = append(found, refusedIn(files, file)...)
		}
	}
	return found
}

func refusedIn(files map[string][]byte, file string) []Finding {
	var fields map[string]yaml.Node
	var k kustomization
	if err := yaml.Unmarshal(files[file], &fields); err != nil {
		return []Finding{{File: file, Message: err.Error(), Hint: "a kustomization is one YAML mapping"}}
	}
	if err := yaml.Unmarshal(files[file], &k); err != nil {
		return []Finding{{File: file, Message: err.Error(), Hint: "a field has another type than kustomize's"}}
	}
	var found []Finding
	say := func(message, hint string) {
		found = append(found, Finding{File: file, Message: message, Hint: hint})
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if why, ok := forbidden[name]; ok {
			say("field "+name+" is not allowed here", why)
		}
	}
	if slices.ContainsFunc(k.Labels, func(l labels) bool { return l.IncludeSelectors }) {
		say("labels with includeSelectors", "selectors are immutable: leave it out")
	}
	for _, entry := range k.directories() {
		if !isDirectory(files, path.Join(path.Dir(file), entry)) && !isFile(files, file, entry) {
			say(fmt.Sprintf("entry %s leads to nothing in the cluster directory", entry), "remove the entry, or add what it names; nothing is fetched")
		}
	}
	for _, entry := range k.paths() {
		if !isFile(files, file, entry) {
			say(fmt.Sprintf("file %s is not in the cluster directory", entry), "remove the entry, or add the file; nothing is fetched")
		}
	}
	return found
}

func (k kustomization) directories() []string {
	return append(slices.Clone(k.Resources), k.Components...)
}

// paths are the files that a kustomization reads.
func (k kustomization) paths() []string {
	var list []string
	for _, p := range k.Patches {
		list = append(list, p.Path)
	}
	for _, r := range k.Replacements {
		list = append(list, r.Path)
	}
	for _, g := range append(slices.Clone(k.ConfigMapGenerator), k.SecretGenerator...) {
		list = append(list, g.Env)
		list = append(list, g.Envs...)
		for _, f := range g.Files {
			_, after, named := strings.Cut(f, "=")
			if named {
				f = after
			}
			list = append(list, f)
		}
	}
	return slices.DeleteFunc(list, func(p string) bool { return p == "" })
}

func isFile(files map[string][]byte, from, entry string) bool {
	_, ok := files[path.Join(path.Dir(from), entry)]
	return ok && !path.IsAbs(entry)
}

func isDirectory(files map[string][]byte, dir string) bool {
	for _, name := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
		if _, ok := files[path.Join(dir, name)]; ok {
			return true
		}
	}
	return false
}
