package clusters

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"
)

// document is a file's tree without aliases, for tests to change.
func document(t *testing.T, text string) *yaml.Node {
	t.Helper()
	r := newReport("")
	n := r.parse([]byte(text))
	if n == nil {
		t.Fatal(r.errors())
	}
	return (&decoder{report: r, left: maxNodes}).plain(n, "")
}

func encode(t interface{ Fatal(...any) }, n *yaml.Node) string {
	b, err := yaml.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// wholeFile is a Cluster file with every option of a PgBouncerAurora resource.
var wholeFile = strings.NewReplacer(importGroup+"v1alpha1", APIVersion, importKind, Kind).Replace(everyOption)

func TestOrderOfKeysDoesNotMatter(t *testing.T) {
	want := mustLoad(t, wholeFile)
	rapid.Check(t, func(rt *rapid.T) {
		n := document(t, wholeFile)
		shuffle(rt, n)
		got, err := Load("cluster.yaml", []byte(encode(rt, n)))
		if err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatal(diff)
		}
	})
}

func shuffle(rt *rapid.T, n *yaml.Node) {
	if n.Kind == yaml.MappingNode && len(n.Content) > 2 {
		var pairs [][2]*yaml.Node
		for i := 0; i < len(n.Content); i += 2 {
			pairs = append(pairs, [2]*yaml.Node{n.Content[i], n.Content[i+1]})
		}
		n.Content = nil
		for _, p := range rapid.Permutation(pairs).Draw(rt, "order") {
			n.Content = append(n.Content, p[0], p[1])
		}
	}
	for _, c := range n.Content {
		shuffle(rt, c)
	}
}

// visit calls f for every key of a mapping whose keys are all known.
func visit(n *yaml.Node, s *schema, at string, f func(key *yaml.Node, value *schema, at string)) {
	root := fileSchema()
	s = s.follow(root)
	for i, c := range n.Content {
		switch {
		case n.Kind == yaml.SequenceNode:
			visit(c, s.Items, at+"[0]", f) // the files have lists of one
		case i%2 == 1:
			key := n.Content[i-1]
			child := s.child(key.Value)
			if s.Properties != nil {
				f(key, child.follow(root), join(at, key.Value))
			}
			visit(c, child, join(at, key.Value), f)
		}
	}
}

// Wherever a key is misspelt, the problem names its line, its path and the right key.
func TestEveryMisspeltKeyIsFound(t *testing.T) {
	n := document(t, encode(t, document(t, wholeFile))) // in block style, one key per line
	checked := 0
	visit(n, fileSchema(), "", func(key *yaml.Node, _ *schema, at string) {
		right := key.Value
		key.Value = right + "z"
		p := problemAt(t, encode(t, n), at+"z")
		if key.Value = right; p.Message != "unknown key" || p.Hint != `did you mean "`+right+`"?` || p.Line != key.Line {
			t.Errorf("%s on line %d: %v", at, key.Line, p)
		}
		checked++
	})
	if checked < 90 {
		t.Errorf("only %d keys were tried", checked)
	}
}

// Wherever a value has another type, the problem names its line and path.
func TestEveryWrongTypeIsFound(t *testing.T) {
	n := document(t, encode(t, document(t, wholeFile)))
	visit(n, fileSchema(), "", func(key *yaml.Node, value *schema, at string) {
		parent := parentOf(n, key)
		i := slices.Index(parent.Content, key) + 1
		right := parent.Content[i]
		parent.Content[i] = misfit(value)
		p := problemAt(t, encode(t, n), at)
		if parent.Content[i] = right; p.Line != key.Line || !strings.Contains(p.Message, "needs") {
			t.Errorf("%s on line %d: %v", at, key.Line, p)
		}
	})
}

func parentOf(n, key *yaml.Node) *yaml.Node {
	for _, c := range n.Content {
		if c == key {
			return n
		}
		if p := parentOf(c, key); p != nil {
			return p
		}
	}
	return nil
}

// misfit is a list where the schema has a value, and a text where it has a list or mapping.
func misfit(s *schema) *yaml.Node {
	if s.Type == "object" || s.Type == "array" {
		return textNode("misfit")
	}
	return &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{textNode("misfit")}}
}

func BenchmarkLoad(b *testing.B) {
	data := []byte(wholeFile)
	for b.Loop() {
		if _, err := Load("cluster.yaml", data); err != nil {
			b.Fatal(err)
		}
	}
}
