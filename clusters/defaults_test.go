package clusters

import (
	"slices"
	"strings"
	"testing"
)

func TestDefaultsAreSortedByPath(t *testing.T) {
	byPath := func(a, b Default) int { return strings.Compare(a.Path, b.Path) }
	if !slices.IsSortedFunc(Defaults(), byPath) {
		t.Error("not sorted")
	}
}

// schemaOf follows a dotted path, through references.
func schemaOf(path string) *schema {
	root := fileSchema()
	s := root
	for key := range strings.SplitSeq(path, ".") {
		if s = s.follow(root).child(key); s == nil {
			return nil
		}
	}
	return s
}

func TestDefaultsHaveAFieldAndItsType(t *testing.T) {
	for _, d := range Defaults() {
		if schemaOf(d.Path) == nil {
			t.Errorf("%s is no field", d.Path)
		}
	}
	tree := map[string]any{}
	fill(tree, Defaults())
	if err := into(tree, &Cluster{}); err != nil {
		t.Error(err)
	}
	tree = map[string]any{}
	fill(tree, fleetDefaults())
	if err := into(tree, &Fleet{}); err != nil || len(fleetDefaults()) == 0 {
		t.Error(err)
	}
}

func TestSuggestions(t *testing.T) {
	words := []string{"authSecretRef", "interval", "port", "sslMode", "timeout"}
	for word, want := range map[string]string{
		"intervall":                      `did you mean "interval"?`,
		"Port":                           `did you mean "port"?`,
		"auth_secret_ref":                `did you mean "authSecretRef"?`,
		"sslmode":                        `did you mean "sslMode"?`,
		"x":                              "valid here: authSecretRef, interval, port, sslMode, timeout",
		strings.Repeat("interval", 1000): "valid here: authSecretRef, interval, port, sslMode, timeout",
	} {
		if got := suggest(word, slices.Clone(words)); got != want {
			t.Errorf("%.20s: %s, want %s", word, got, want)
		}
	}
}
