package clusters

import (
	"fmt"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// Bounds of a file, with aliases counted as what they stand for: far above any real one.
const (
	maxNodes = 50_000
	maxDepth = 100
)

// decoder walks a YAML document along the schema. The tree it gives has string, int64, bool, []any and map[string]any, exactly
// as the types want them; what does not fit is reported and left out.
type decoder struct {
	*report
	root *schema
	left int // nodes that may still be visited
	deep int // levels above the node being visited
}

func (r *report) decode(n *yaml.Node, root *schema) map[string]any {
	d := decoder{report: r, root: root, left: maxNodes}
	r.places[""] = place{line: n.Line}
	v, _ := d.value(n, d.root, "")
	if d.spent() {
		r.tooMany()
		return nil
	}
	tree, _ := v.(map[string]any)
	return tree
}

func (r *report) tooMany() {
	r.findings = nil // of a part of the file
	r.add("", fmt.Sprintf("has more than %d nodes or is nested deeper than %d, aliases counted as what they stand for", maxNodes, maxDepth), "", false)
}

// value reads a node; false when there is no value to use.
func (d *decoder) value(n *yaml.Node, s *schema, at string) (any, bool) {
	defer d.leave()
	if !d.enter() {
		return nil, false
	}
	if n.Kind == yaml.AliasNode {
		return d.value(n.Alias, s, at)
	}
	if n.Style&yaml.TaggedStyle != 0 && n.Tag != "!!str" {
		d.unread(at, "has a YAML tag", "write the value without a tag")
		return nil, false
	}
	s = s.follow(d.root)
	switch s.Type {
	case "object":
		return d.object(n, s, at)
	case "array":
		return d.list(n, s, at)
	}
	return d.scalar(n, s, at)
}

// spend counts a node; beyond the bound nothing more is read.
func (d *decoder) spend() bool {
	d.left--
	return !d.spent()
}

func (d *decoder) spent() bool { return d.left < 0 }

// enter counts a node and a level, leave takes the level back.
func (d *decoder) enter() bool {
	d.deep++
	if d.deep > maxDepth {
		d.left = 0
	}
	return d.spend()
}

func (d *decoder) leave() { d.deep-- }

func (d *decoder) list(n *yaml.Node, s *schema, at string) (any, bool) {
	list := []any{}
	if isNull(n) {
		return list, true
	}
	if n.Kind != yaml.SequenceNode {
		d.wrongType(n, "a list", at)
		return nil, false
	}
	for i, item := range n.Content {
		if d.spent() {
			break
		}
		where := fmt.Sprintf("%s[%d]", at, i)
		d.places[where] = place{item.Line, n, item}
		v, _ := d.value(item, s.Items, where) // nil keeps the place of an item that could not be read
		list = append(list, v)
	}
	return list, true
}

func (d *decoder) object(n *yaml.Node, s *schema, at string) (any, bool) {
	if n.Kind != yaml.MappingNode && !isNull(n) {
		d.wrongType(n, "a mapping", at)
		return nil, false
	}
	m := map[string]any{}
	found := map[string]bool{}
	for _, e := range d.entries(n, at) {
		where := join(at, e.key.Value)
		found[e.key.Value] = true
		d.places[where] = place{e.key.Line, n, e.key}
		d.entry(m, s, e, where)
	}
	for _, key := range s.Required {
		if !found[key] {
			d.wrong(join(at, key), "is required", "")
		}
	}
	return m, true
}

// entry reads one key. Empty texts, mappings and lists of our own fields mean the same as no key.
func (d *decoder) entry(m map[string]any, s *schema, e entry, at string) {
	child := s.child(e.key.Value)
	if child == nil {
		d.refuse(at, "unknown key", suggest(e.key.Value, keys(s.Properties)))
		d.bad[at] = true
		return
	}
	v, ok := d.value(e.value, child, at)
	own := s.Properties != nil && !s.kubernetes
	if !ok || own && isEmpty(v) {
		return
	}
	if text, isText := v.(string); own && isText && hasControl(text) {
		d.unread(at, "has a control character", "write it on one line")
		return
	}
	m[e.key.Value] = v
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case string:
		return v == ""
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// entry is one key of a mapping.
type entry struct{ key, value *yaml.Node }

// entries are the keys of a mapping in their order, then what merge keys (<<) add to them.
func (d *decoder) entries(n *yaml.Node, at string) []entry {
	var own, merged []entry
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content) && d.spend(); i += 2 {
		e := entry{n.Content[i], n.Content[i+1]}
		if e.key.Kind == yaml.AliasNode {
			e.key = e.key.Alias
		}
		switch line, twice := seen[e.key.Value]; {
		case e.key.Kind != yaml.ScalarNode:
			d.unread(at, fmt.Sprintf("has a key on line %d that is not text", e.key.Line), "")
		case e.key.Tag == "!!merge":
			merged = append(merged, d.merged(e.value, at)...)
		case twice:
			d.duplicate(e.key, line, at)
		default:
			seen[e.key.Value] = e.key.Line
			own = append(own, e)
		}
	}
	for _, e := range merged {
		if _, ok := seen[e.key.Value]; !ok {
			seen[e.key.Value] = e.key.Line
			own = append(own, e)
		}
	}
	return own
}

func (d *decoder) duplicate(key *yaml.Node, first int, at string) {
	d.findings = append(d.findings, finding{Problem: Problem{
		File: d.file, Line: key.Line, Path: join(at, key.Value), Message: "duplicate key",
		Hint: fmt.Sprintf("line %d has it already", first),
	}})
}

// merged are the entries that a merge key adds: those of a mapping, or of each mapping of a list.
func (d *decoder) merged(n *yaml.Node, at string) []entry {
	defer d.leave()
	if !d.enter() {
		return nil
	}
	switch n.Kind {
	case yaml.AliasNode:
		return d.merged(n.Alias, at)
	case yaml.MappingNode:
		return d.entries(n, at)
	case yaml.SequenceNode:
		var all []entry
		for _, item := range n.Content {
			all = append(all, d.merged(item, at)...)
		}
		return all
	}
	d.unread(at, "merges something that is not a mapping", "")
	return nil
}

var plainKey = regexp.MustCompile(`^[A-Za-z0-9_*/-]+$`)

// join appends a key to a path; a key with other characters is quoted.
func join(at, key string) string {
	switch {
	case !plainKey.MatchString(key):
		return at + "[" + strconv.Quote(key) + "]"
	case at == "":
		return key
	}
	return at + "." + key
}

func (d *decoder) wrongType(n *yaml.Node, want, at string) {
	d.unread(at, "needs "+want+", has "+kind(n), typeHint(n, want))
}

func typeHint(n *yaml.Node, want string) string {
	switch {
	case n.Kind != yaml.ScalarNode:
		return ""
	case want == "text":
		return "write it in quotes"
	case want == "true or false" && n.Tag == "!!str":
		return "write true or false, without quotes"
	case want == "a whole number" && n.Tag == "!!str":
		return "write the number without quotes"
	}
	return ""
}

func kind(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Tag == "!!null":
		return "no value"
	case n.Tag == "!!bool":
		return "true or false"
	case n.Tag == "!!int":
		return "a number"
	case n.Tag == "!!float":
		return "a decimal number"
	}
	return "text"
}
