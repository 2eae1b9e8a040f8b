package render

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"go.yaml.in/yaml/v3"
)

// Summary says key by key how two trees differ: the selectors of the role Services first, then all
// else that is in an object, then the settings of PgBouncer (each once, with the instances that
// have it), then overlays and files that come and go. It is "" when nothing differs.
func Summary(old, changed Tree) string {
	var selectors, keys, files []string
	settings := map[string][]string{}
	for _, file := range union(old, changed) {
		before, had := old[file]
		after, has := changed[file]
		switch {
		case had && has && bytes.Equal(before, after):
		case !had || !has:
			files = append(files, comeOrGo(file, has)...)
		case path.Base(file) == iniFile:
			for _, change := range keyChanges(iniFacts(before), iniFacts(after)) {
				settings[change] = append(settings[change], path.Base(path.Dir(file)))
			}
		default:
			sel, rest := objectChanges(file, before, after)
			selectors, keys = append(selectors, sel...), append(keys, rest...)
		}
	}
	lines := slices.Concat(selectors, keys, settingLines(settings), files)
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

// Unified is the unified diff of two trees, file by file in order. A file that comes or goes is
// compared with /dev/null.
func Unified(old, changed Tree) []byte {
	var out []byte
	for _, file := range union(old, changed) {
		from, to := "a/"+file, "b/"+file
		before, had := old[file]
		after, has := changed[file]
		if !had {
			from = "/dev/null"
		}
		if !has {
			to = "/dev/null"
		}
		out = append(out, diff.Diff(from, before, to, after)...)
	}
	return out
}

func union(a, b Tree) []string {
	all := maps.Clone(a)
	if all == nil {
		all = Tree{}
	}
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

// comeOrGo says an overlay once, by its kustomization.
func comeOrGo(file string, added bool) []string {
	verb := "removed"
	if added {
		verb = "added"
	}
	if dir, inside := overlayOf(file); inside {
		if file != path.Join(dir, RootFile) {
			return nil
		}
		return []string{fmt.Sprintf("overlay %s: %s", path.Base(dir), verb)}
	}
	return []string{fmt.Sprintf("file %s: %s", file, verb)}
}

func settingLines(settings map[string][]string) []string {
	var lines []string
	for _, change := range slices.Sorted(maps.Keys(settings)) {
		who := strings.Join(settings[change], ", ")
		if n := len(settings[change]); n > 3 {
			who = strconv.Itoa(n) + " instances"
		}
		lines = append(lines, change+" ("+who+")")
	}
	return lines
}

// objectChanges compares the objects of a YAML file, selectors apart.
func objectChanges(file string, before, after []byte) (selectors, rest []string) {
	old, err := yamlFacts(file, before)
	if err != nil {
		return nil, []string{file + ": changed, and was no YAML"}
	}
	changed, err := yamlFacts(file, after)
	if err != nil {
		return nil, []string{file + ": changed, and is no YAML"}
	}
	for _, change := range keyChanges(old, changed) {
		if strings.Contains(change, " selector ") {
			selectors = append(selectors, change)
		} else {
			rest = append(rest, change)
		}
	}
	return selectors, rest
}

// keyChanges compares two sets of facts, key to value.
func keyChanges(old, changed map[string]string) []string {
	all := maps.Clone(old)
	maps.Copy(all, changed)
	var list []string
	for _, key := range slices.Sorted(maps.Keys(all)) {
		before, had := old[key]
		after, has := changed[key]
		switch {
		case had && has && before != after:
			list = append(list, fmt.Sprintf("%s: %s → %s", key, before, after))
		case !had:
			list = append(list, fmt.Sprintf("%s: added, %s", key, after))
		case !has:
			list = append(list, fmt.Sprintf("%s: removed, was %s", key, before))
		}
	}
	return list
}

// iniFacts reads what drawIni writes, and anything like it.
func iniFacts(data []byte) map[string]string {
	facts := map[string]string{}
	section := ""
	for l := range strings.Lines(string(data)) {
		l = strings.TrimSpace(l)
		key, value, assigns := strings.Cut(l, "=")
		switch {
		case l == "" || strings.HasPrefix(l, "#") || strings.HasPrefix(l, ";"):
		case strings.HasPrefix(l, "["):
			section = l
		case assigns:
			facts[section+" "+strings.TrimSpace(key)] = strconv.Quote(strings.TrimSpace(value))
		}
	}
	return facts
}

// yamlFacts is every scalar of a file's objects by its place.
func yamlFacts(file string, data []byte) (map[string]string, error) {
	facts := map[string]string{}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var doc any
		if err := dec.Decode(&doc); err != nil {
			if errors.Is(err, io.EOF) {
				return facts, nil
			}
			return nil, err
		}
		flatten(facts, objectTitle(file, doc), doc)
	}
}

// objectTitle is how people call an object: "Service example-pg-writer", or the file's name.
func objectTitle(file string, doc any) string {
	object, _ := doc.(map[string]any)
	metadata, _ := object["metadata"].(map[string]any)
	kind, _ := object["kind"].(string)
	name, _ := metadata["name"].(string)
	if kind == "" || name == "" {
		return file
	}
	return kind + " " + name
}

// flatten names each scalar by its path. A Service's selector is called just that; a list's entry
// goes by its name when it has one; a text that is itself YAML is looked into.
func flatten(facts map[string]string, at string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			next := at + " " + key
			if s, ok := strings.CutSuffix(next, " spec selector"); ok {
				next = s + " selector"
			}
			flatten(facts, next, value)
		}
	case []any:
		for i, value := range v {
			flatten(facts, at+" "+entryTitle(i, value), value)
		}
	case string:
		var inner any
		if strings.Contains(v, "\n") && yaml.Unmarshal([]byte(v), &inner) == nil && !isText(inner) {
			flatten(facts, at, inner)
			return
		}
		facts[at] = v
	default:
		facts[at] = fmt.Sprint(v)
	}
}

func isText(v any) bool { _, ok := v.(string); return ok }

func entryTitle(i int, v any) string {
	entry, _ := v.(map[string]any)
	for _, key := range []string{"name", "key"} {
		if name, ok := entry[key].(string); ok {
			return name
		}
	}
	target, _ := entry["target"].(map[string]any)
	if kind, ok := target["kind"].(string); ok {
		return kind
	}
	return strconv.Itoa(i)
}
