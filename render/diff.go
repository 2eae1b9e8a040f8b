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
	"unicode"

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
	slices.SortStableFunc(selectors, func(a, b string) int { return strings.Compare(selectorKey(a), selectorKey(b)) })
	lines := slices.Concat(selectors, keys, settingLines(settings), files)
	var text strings.Builder
	for _, line := range lines {
		text.WriteString(oneLine(line) + "\n")
	}
	return text.String()
}

// oneLine escapes what is not printable: a value with a line break would write a line of its own, and could look like
// another change.
func oneLine(s string) string {
	var out strings.Builder
	for _, r := range s {
		if unicode.IsPrint(r) {
			out.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRune(r)
		out.WriteString(quoted[1 : len(quoted)-1])
	}
	return out.String()
}

// selectorKey sorts the instance that the Writer selects before the slots that the Reader excludes.
func selectorKey(change string) string {
	_, key, _ := strings.Cut(change, inSelector)
	return key
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
		out = append(out, refined(diff.Diff(from, before, to, after))...)
	}
	return out
}

// refined is a unified diff with fewer changed lines. The library matches only lines that are there
// once, and two Services have most lines twice; a line taken and put back is context. Hunk headers
// count the same either way.
func refined(unified []byte) []byte {
	var out, minus, plus []string
	flush := func() {
		out = append(out, matched(minus, plus)...)
		minus, plus = nil, nil
	}
	for l := range strings.Lines(string(unified)) {
		header := strings.HasPrefix(l, "---") || strings.HasPrefix(l, "+++")
		switch {
		case !header && l[0] == '-' && len(plus) == 0:
			minus = append(minus, l[1:])
		case !header && l[0] == '+':
			plus = append(plus, l[1:])
		default:
			flush()
			out = append(out, l)
		}
	}
	flush()
	return []byte(strings.Join(out, ""))
}

// matched keeps the longest run of lines common to both sides as context.
func matched(minus, plus []string) []string {
	common := make([][]int, len(minus)+1) // common[i][j]: the longest of minus[i:] and plus[j:]
	for i := range common {
		common[i] = make([]int, len(plus)+1)
	}
	for i, minu := range slices.Backward(minus) {
		for j := len(plus) - 1; j >= 0; j-- {
			common[i][j] = max(common[i+1][j], common[i][j+1])
			if minu == plus[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	var out []string
	i, j := 0, 0
	for i < len(minus) || j < len(plus) {
		switch {
		case i < len(minus) && j < len(plus) && minus[i] == plus[j]:
			out = append(out, " "+minus[i])
			i, j = i+1, j+1
		case i < len(minus) && (j == len(plus) || common[i+1][j] >= common[i][j+1]):
			out = append(out, "-"+minus[i])
			i++
		default:
			out = append(out, "+"+plus[j])
			j++
		}
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

// inSelector is the part of a change's key that says that it moves traffic.
const inSelector = " selector "

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
		if key, _, _ := strings.Cut(change, ": "); strings.Contains(key, inSelector) {
			selectors = append(selectors, change)
		} else {
			rest = append(rest, change)
		}
	}
	return selectors, rest
}

// exists is the value of a fact that has others below it: an object, or a list's entry.
const exists = ""

// keyChanges compares two sets of facts, key to value. What comes or goes as a whole is said once.
func keyChanges(old, changed map[string]string) []string {
	all := maps.Clone(old)
	maps.Copy(all, changed)
	var list []string
	whole := "\x00" // no key is below it
	for _, key := range slices.Sorted(maps.Keys(all)) {
		before, had := old[key]
		after, has := changed[key]
		if had && has && before == after || strings.HasPrefix(key, whole+" ") {
			continue
		}
		if had != has && all[key] == exists {
			whole = key
		}
		list = append(list, key+": "+changeText(before, had, after, has))
	}
	return list
}

func changeText(before string, had bool, after string, has bool) string {
	switch {
	case had && has:
		return before + " → " + after
	case has:
		return strings.TrimSuffix("added, "+after, ", ")
	default:
		return strings.TrimSuffix("removed, was "+before, ", was ")
	}
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
		title := objectTitle(file, doc)
		facts[title] = exists
		flatten(facts, title, doc)
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
			entry := at + " " + entryTitle(i, value)
			facts[entry] = exists
			if _, text := value.(string); !text {
				flatten(facts, entry, value)
			}
		}
	case string:
		var inner any
		if strings.Contains(v, "\n") && yaml.Unmarshal([]byte(v), &inner) == nil && !isText(inner) {
			flatten(facts, at, inner)
			return
		}
		facts[at] = v
		if v == "" {
			facts[at] = `""`
		}
	default:
		facts[at] = fmt.Sprint(v)
	}
}

func isText(v any) bool { _, ok := v.(string); return ok }

// entryTitle is how a list's entry is known: a text by itself, an object by its name, a patch by
// what it is for, all else by its place.
func entryTitle(i int, v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	entry, _ := v.(map[string]any)
	target, _ := entry["target"].(map[string]any)
	for _, name := range []any{entry["name"], entry["key"], target["kind"]} {
		if text, ok := name.(string); ok {
			return text
		}
	}
	return strconv.Itoa(i)
}
