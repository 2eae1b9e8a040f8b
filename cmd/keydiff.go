package cmd

import (
	"bytes"

	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"go.yaml.in/yaml/v3"
)

// FileDiff is one file which differs.
type FileDiff struct {
	Path   string    `json:"path"`
	Change string    `json:"change"` // added, removed or changed
	Keys   []KeyDiff `json:"keys,omitempty"`
	// Text is the unified diff.
	Text string `json:"text"`
}

// KeyDiff is one value which differs. A nil side does not exist.
type KeyDiff struct {
	Key  string  `json:"key"`
	From *string `json:"from"`
	To   *string `json:"to"`
}

// diffFiles compares two trees: sorted by path, keys sorted.
func diffFiles(before, after map[string][]byte) []FileDiff {
	paths := slices.Collect(maps.Keys(before))
	paths = slices.AppendSeq(paths, maps.Keys(after))
	slices.Sort(paths)
	var all []FileDiff
	for _, p := range slices.Compact(paths) {
		from, had := before[p]
		to, has := after[p]
		if had == has && bytes.Equal(from, to) {
			continue
		}
		all = append(all, FileDiff{Path: p, Change: changeWord(had, has), Keys: diffKeys(p, from, to), Text: unified(p, from, to, had, has)})
	}
	return all
}

func changeWord(had, has bool) string {
	switch {
	case !had:
		return "added"
	case !has:
		return "removed"
	}
	return "changed"
}

// unified is the textual diff, in the form that `git apply` takes.
func unified(p string, from, to []byte, had, has bool) string {
	oldName, newName := "a/"+p, "b/"+p
	if !had {
		oldName = "/dev/null"
	}
	if !has {
		newName = "/dev/null"
	}
	text := string(diff.Diff(oldName, from, newName, to))
	_, text, _ = strings.Cut(text, "\n") // the line "diff old new" is no part of the format
	return fmt.Sprintf("diff --git a/%s b/%s\n%s%s", p, p, mode(had, has), text)
}

// mode is the line by which `git apply` knows that a file comes or goes.
func mode(had, has bool) string {
	switch {
	case !had:
		return "new file mode 100644\n"
	case !has:
		return "deleted file mode 100644\n"
	}
	return ""
}

// diffKeys compares the values of a YAML or ini file; other files have none.
func diffKeys(p string, from, to []byte) []KeyDiff {
	was, is := values(p, from), values(p, to)
	keys := slices.Collect(maps.Keys(was))
	keys = slices.AppendSeq(keys, maps.Keys(is))
	slices.Sort(keys)
	var all []KeyDiff
	for _, k := range slices.Compact(keys) {
		if a, b := side(was, k), side(is, k); a == nil || b == nil || *a != *b {
			all = append(all, KeyDiff{Key: k, From: a, To: b})
		}
	}
	return all
}

func side(m map[string]string, key string) *string {
	v, ok := m[key]
	if !ok {
		return nil
	}
	return &v
}

// values is a file as path → scalar. What cannot be parsed has none: the
// unified diff shows it all the same.
func values(p string, data []byte) map[string]string {
	all := map[string]string{}
	switch path.Ext(p) {
	case ".ini":
		iniValues(all, data)
	case ".yaml", ".yml":
		documents, err := documents(data)
		if err != nil {
			return nil
		}
		for i, doc := range documents {
			flatten(all, objectName(doc, i), "", doc)
		}
	}
	return all
}

// documents parses a YAML stream.
func documents(data []byte) (all []map[string]any, err error) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var doc map[string]any
		if err := dec.Decode(&doc); err != nil {
			if errors.Is(err, io.EOF) {
				return all, nil
			}
			return nil, err
		}
		if doc != nil {
			all = append(all, doc)
		}
	}
}

// objectName is Kind/name of a Kubernetes object, else nothing or its number.
func objectName(doc map[string]any, i int) string {
	meta, _ := doc["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	kind, _ := doc["kind"].(string)
	switch {
	case kind != "" && name != "":
		return kind + "/" + name
	case i > 0:
		return fmt.Sprintf("document %d", i+1)
	}
	return ""
}

// flatten adds v's scalars below the path at of an object. A string which is
// YAML itself, such as the instances in topology.yaml, is opened too.
func flatten(all map[string]string, object, at string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, child := range v {
			flatten(all, object, join(at, k), child)
		}
	case []any:
		for i, child := range v {
			flatten(all, object, at+element(i, child), child)
		}
	case string:
		if inner := embedded(v); inner != nil {
			flatten(all, object, at, inner)
			return
		}
		all[strings.TrimSpace(object+" "+at)] = v
	default:
		all[strings.TrimSpace(object+" "+at)] = fmt.Sprint(v)
	}
}

// embedded is the mapping or the list of mappings that a text holds, or nil.
func embedded(text string) any {
	if !strings.Contains(text, "\n") {
		return nil
	}
	var list []map[string]any
	if yaml.Unmarshal([]byte(text), &list) == nil && len(list) > 0 {
		all := make([]any, len(list))
		for i, m := range list {
			all[i] = m
		}
		return all
	}
	var mapping map[string]any
	if yaml.Unmarshal([]byte(text), &mapping) == nil && len(mapping) > 0 {
		return mapping
	}
	return nil
}

// join writes nested keys with a dot between them, and in brackets those which
// have dots themselves.
func join(at, key string) string {
	switch {
	case strings.ContainsAny(key, "./"):
		return at + "[" + key + "]"
	case at == "":
		return key
	}
	return at + "." + key
}

// element names a list's element by its name where it has one: an insertion
// then is one difference, not one for each element after it.
func element(i int, child any) string {
	m, _ := child.(map[string]any)
	if name, ok := m["name"].(string); ok {
		return "[" + name + "]"
	}
	if s, ok := child.(string); ok && !strings.Contains(s, "\n") {
		return "[" + s + "]"
	}
	return fmt.Sprintf("[%d]", i)
}

// iniValues adds "[section] key" → value.
func iniValues(all map[string]string, data []byte) {
	section := ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		key, value, ok := strings.Cut(line, "=")
		switch {
		case strings.HasPrefix(line, "["):
			section = line
		case ok && !strings.HasPrefix(line, ";") && !strings.HasPrefix(line, "#"):
			all[strings.TrimSpace(section+" "+strings.TrimSpace(key))] = strings.TrimSpace(value)
		}
	}
}

// writeSummary writes the differences key by key.
func writeSummary(w io.Writer, files []FileDiff) error {
	for _, f := range files {
		if _, err := fmt.Fprintf(w, "%s (%s)\n", f.Path, f.Change); err != nil {
			return err
		}
		if f.Change != "changed" {
			continue
		}
		for _, k := range f.Keys {
			if _, err := fmt.Fprintf(w, "  %s\n", k); err != nil {
				return err
			}
		}
	}
	return nil
}

func (k KeyDiff) String() string {
	switch {
	case k.From == nil:
		return fmt.Sprintf("+ %s: %s", k.Key, *k.To)
	case k.To == nil:
		return fmt.Sprintf("- %s: %s", k.Key, *k.From)
	}
	return fmt.Sprintf("~ %s: %s → %s", k.Key, *k.From, *k.To)
}
