package gitsync

import (
	"errors"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestGlobMatches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ pattern, path string }{
		{"clusters/*/cluster.yaml", "clusters/one/cluster.yaml"},
		{"./clusters/*/cluster.yaml", "clusters/one/cluster.yaml"},
		{"**/cluster.yaml", "cluster.yaml"},
		{"**/cluster.yaml", "a/b/c/cluster.yaml"},
		{"a/**/x", "a/x"},
		{"a/**/b/**/x", "a/b/x"},
		{"a/**/b/**/x", "a/b/b/c/x"},
		{"**", "a"},
		{"**", "a/b"},
		{"a/**", "a/b/c"},
		{"a/[bc]?", "a/cx"},
		{`a/\*`, "a/*"},
		{"**/**/x", "x"},
	} {
		if !globMatches(c.pattern, c.path) {
			t.Errorf("%s does not match %s", c.pattern, c.path)
		}
	}
}

func TestGlobDoesNotMatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ pattern, path string }{
		{"clusters/*/cluster.yaml", "clusters/a/b/cluster.yaml"},
		{"clusters/*/cluster.yaml", "clusters/cluster.yaml"},
		{"clusters/*/cluster.yaml", "x/clusters/a/cluster.yaml"},
		{"*", "a/b"},
		{"a/**/x", "a/x/y"},
		{"a**/x", "ab/c/x"},
		{`a/\*`, "a/b"},
		{"A/x", "a/x"},
	} {
		if globMatches(c.pattern, c.path) {
			t.Errorf("%s matches %s", c.pattern, c.path)
		}
	}
}

// globMatches asks the walk through a tree with that one file.
func globMatches(pattern, file string) bool {
	g, err := parseGlob(pattern)
	if err != nil {
		panic(err)
	}
	v := newView()
	found := false
	if err := v.walkGlob(plant(v, map[string]string{file: "x"}), g, func(string, entry) { found = true }); err != nil {
		panic(err)
	}
	return found
}

func TestGlobRefused(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"", "/a", "a//b", "a/", "../a", "a/[", "a/[b", `a\`, ".git/*", "a/\x00", "./", "**/.."} {
		if g, err := parseGlob(pattern); !errors.Is(err, ErrPath) {
			t.Errorf("%q is taken as %q: %v", pattern, g, err)
		}
	}
}

// TestGlobFixed: the part of a pattern that names one directory.
func TestGlobFixed(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{
		"clusters/*/cluster.yaml": "clusters|*/cluster.yaml", "a/b/c": "a/b|c", "**": "|**", "a": "|a", `a/\*/c`: `a|\*/c`,
	} {
		dir, rest := glob(pattern).fixed()
		if got := dir + "|" + strings.Join(rest, "/"); got != want {
			t.Errorf("%s is %s, want %s", pattern, got, want)
		}
	}
}

// TestGlobIsItsDefinition: the walk that leaves directories out finds what trying every path finds.
func TestGlobIsItsDefinition(t *testing.T) {
	t.Parallel()
	name := rapid.SampledFrom([]string{"a", "b", "ab", "c.yaml"})
	part := rapid.SampledFrom([]string{"a", "*", "**", "?", "a*", "*.yaml", "[ab]"})
	rapid.Check(t, func(rt *rapid.T) {
		files := map[string]string{}
		for _, parts := range rapid.SliceOfN(rapid.SliceOfN(name, 1, 4), 1, 12).Draw(rt, "files") {
			files[strings.Join(parts, "/")] = "x"
		}
		for p := range files {
			for q := range files {
				if within(q, p) && p != q {
					delete(files, q) // it is a directory
				}
			}
		}
		pattern := strings.Join(rapid.SliceOfN(part, 1, 4).Draw(rt, "pattern"), "/")
		var want, got []string
		for p := range files {
			if defined(strings.Split(pattern, "/"), strings.Split(p, "/")) {
				want = append(want, p)
			}
		}
		v := newView()
		if err := v.walkGlob(plant(v, files), glob(pattern), func(p string, _ entry) { got = append(got, p) }); err != nil {
			rt.Fatal(err)
		}
		slices.Sort(want)
		slices.Sort(got)
		if d := cmp.Diff(want, got); d != "" {
			rt.Fatalf("%s in %v (-want +got):\n%s", pattern, files, d)
		}
	})
}

// defined is what a pattern means, said in the plainest way.
func defined(pattern, names []string) bool {
	switch {
	case len(pattern) == 0:
		return len(names) == 0
	case pattern[0] == anyDepth:
		return defined(pattern[1:], names) || len(names) > 0 && defined(pattern, names[1:])
	case len(names) == 0:
		return false
	}
	ok, _ := path.Match(pattern[0], names[0])
	return ok && defined(pattern[1:], names[1:])
}
