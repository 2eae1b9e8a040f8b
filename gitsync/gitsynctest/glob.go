package gitsynctest

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/poolwright/poolwright/gitsync"
	"github.com/poolwright/poolwright/gitsync/gitserver"
)

func globbed(t *testing.T, p gitsync.Publisher, pattern string) (map[string]string, string) {
	t.Helper()
	files, head, err := p.Glob(t.Context(), pattern)
	if err != nil {
		t.Fatal(err)
	}
	return stringed(files), head
}

func globFinds(t *testing.T, b Bed) {
	p := b.New(t)
	if files, head := globbed(t, p, "**"); len(files) != 0 || head != "" {
		t.Errorf("a repository without a commit has %v at %q", files, head)
	}
	b.foreign(t, zoo())
	head := b.foreign(t, map[string]*gitserver.File{
		"clusters/one/cluster.yaml": gitserver.Text("1\n"), "clusters/two/cluster.yaml": {Mode: "100755", Content: "2\n"},
		"clusters/link/cluster.yaml": {Mode: "120000", Content: "../one/cluster.yaml"}, "clusters/two/deep/er/cluster.yaml": gitserver.Text("d\n"),
		"clusters/cluster.yaml": gitserver.Text("not one\n"), "clusters/one/other.yaml": gitserver.Text("not one either\n"),
	})
	one, two := "clusters/one/cluster.yaml", "clusters/two/cluster.yaml"
	for pattern, want := range map[string]map[string]string{
		"clusters/*/cluster.yaml":   {one: "1\n", two: "2\n"},
		"clusters/t*/**/*.yaml":     {two: "2\n", "clusters/two/deep/er/cluster.yaml": "d\n"},
		"clusters/one/cluster.yaml": {one: "1\n"},
		"no/such/*":                 {},
		"README.md/*":               {},
		"m/*":                       {},
	} {
		files, at := globbed(t, p, pattern)
		if d := cmp.Diff(want, files); d != "" || at != head {
			t.Errorf("%s at %s, want %s (-want +got):\n%s", pattern, at, head, d)
		}
	}
	if _, _, err := p.Glob(t.Context(), "../*"); !errors.Is(err, gitsync.ErrPath) {
		t.Errorf("the error is %v", err)
	}
}

// globFollows: what somebody, and what we ourselves, changed since the last look.
func globFollows(t *testing.T, b Bed) {
	b.foreign(t, map[string]*gitserver.File{"clusters/one/cluster.yaml": gitserver.Text("1\n"), "other/x": gitserver.Text("x\n")})
	p := b.New(t)
	const pattern = "clusters/*/cluster.yaml"
	globbed(t, p, pattern)
	b.foreign(t, map[string]*gitserver.File{"clusters/one/cluster.yaml": nil, "clusters/two/cluster.yaml": gitserver.Text("2\n")})
	want := map[string]string{"clusters/two/cluster.yaml": "2\n"}
	if files, _ := globbed(t, p, pattern); !cmp.Equal(want, files) {
		t.Errorf("got %v, want %v", files, want)
	}
	r := publish(t, p, write("clusters/three", "ours", put("cluster.yaml", "3\n")))[0]
	want["clusters/three/cluster.yaml"] = "3\n"
	if files, head := globbed(t, p, pattern); !cmp.Equal(want, files) || head != r.Head {
		t.Errorf("got %v at %s, want %v at %s", files, head, want, r.Head)
	}
}
