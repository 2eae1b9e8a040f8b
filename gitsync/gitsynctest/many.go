package gitsynctest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/poolwright/poolwright/gitsync"
	"github.com/poolwright/poolwright/gitsync/gitserver"
)

func batchOnePush(t *testing.T, b Bed) {
	b.seed(t)
	p := b.New(t)
	var edits []gitsync.Edit
	for i := range 20 {
		edits = append(edits, write(fmt.Sprintf("clusters/%02d", i), fmt.Sprintf("cluster %02d", i), put("x", "1\n")))
	}
	rs := publish(t, p, edits...)
	want := 1
	if b.Portion > 0 {
		want = len(edits) / b.Portion
	}
	if b.Pushes() != want {
		t.Errorf("%d pushes, want %d", b.Pushes(), want)
	}
	log := lines(b.git(t, "rev-list", "--reverse", "main"))[1:]
	for i, r := range rs {
		if len(r.Commits) != 1 || r.Commits[0] != log[i] || r.Head != log[len(log)-1] {
			t.Errorf("receipt %d is %+v", i, r)
		}
	}
}

func sameContentTwice(t *testing.T, b Bed) {
	b.seed(t)
	p := b.New(t)
	publish(t, p, write("one", "same", put("topology.yaml", "t: 1\n")), write("two", "same", put("topology.yaml", "t: 1\n")))
	if b.file(t, "one/topology.yaml") != b.file(t, "two/topology.yaml") || b.count(t) != "3" {
		t.Errorf("%s commits, want 3", b.count(t))
	}
	publish(t, p, write("one", "another tool version", put("topology.yaml", "t: 1 # v2\n")))
	if b.count(t) != "4" {
		t.Errorf("%s commits, want 4", b.count(t))
	}
}

func urgentFirst(t *testing.T, b Bed) {
	b.seed(t)
	var edits []gitsync.Edit
	for i := range 6 {
		e := write(fmt.Sprintf("c/%d", i), fmt.Sprintf("%d", i), put("x", "1\n"))
		e.Urgent = i == 3 || i == 5
		edits = append(edits, e)
	}
	publish(t, b.New(t), edits...)
	if d := cmp.Diff([]string{"3", "5", "0", "1", "2", "4"}, lines(b.git(t, "log", "--reverse", "--format=%s", "main"))[1:]); d != "" {
		t.Errorf("order (-want +got):\n%s", d)
	}
}

func oneEditFails(t *testing.T, b Bed) {
	b.seed(t)
	boom := errors.New("boom")
	half := gitsync.Edit{Dir: "half", Draw: func(gitsync.Base) ([]gitsync.Change, error) {
		return []gitsync.Change{
			{Dir: "half", Put: put("x", "1\n"), Message: "fine", When: When},
			{Dir: "half", Put: put("../x", "1\n"), Message: "not fine", When: When},
		}, nil
	}}
	rs, err := b.New(t).Publish(t.Context(), []gitsync.Edit{
		write("a", "a", put("x", "1\n")),
		{Dir: "bad", Draw: func(gitsync.Base) ([]gitsync.Change, error) { return nil, boom }},
		half,
		write("c", "c", put("x", "1\n")),
	})
	if err != nil {
		t.Fatal(err)
	}
	if !errors.Is(rs[1].Err, boom) || !errors.Is(rs[2].Err, gitsync.ErrPath) || rs[0].Err != nil || rs[3].Err != nil {
		t.Errorf("receipts are %+v", rs)
	}
	if got := b.git(t, "ls-tree", "--name-only", "main"); got != "README.md\na\nc" {
		t.Errorf("the tree has %q", got)
	}
	if len(rs[2].Commits) != 0 || b.count(t) != "3" {
		t.Errorf("half an edit has landed: %+v, %s commits", rs[2], b.count(t))
	}
}

func refusedPaths(t *testing.T, b Bed) {
	b.foreign(t, map[string]*gitserver.File{
		"link": {Mode: "120000", Content: "elsewhere"}, "module": {Mode: "160000", Content: strings.Repeat("1", 40)},
		"file": gitserver.Text("f\n"), "a/dir/x": gitserver.Text("x\n"),
		".gitattributes": gitserver.Text("*.secret filter=git-crypt\n*.bat eol=crlf\n"),
	})
	before := b.Repo.Tip("main")
	edits := map[string]gitsync.Edit{
		"up and out": write("a", "m", put("../x", "")), "absolute": write("a", "m", put("/x", "")),
		"git's own": write("a", "m", put(".git/config", "")), "git's own, disguised": write("a", "m", put("sub/.GIT. /config", "")),
		"empty component": write("a", "m", put("x//y", "")), "no name": write("a", "m", put("", "")),
		"control character": write("a", "m", put("x\ny", "")), "a bad directory": write("../a", "m", put("x", "")),
		"through a symlink": write("link", "m", put("x", "")), "through a submodule": write("module", "m", put("x", "")),
		"below a file": write("file", "m", put("x", "")), "a symlink itself": write("", "m", put("link", "")),
		"over a directory": write("a", "m", put("dir", "")), "into a filter": write("a", "m", put("x.secret", "s\n")),
		"into CRLF": write("a", "m", put("x.bat", "s\n")), "file and directory": write("a", "m", gitsync.Files{"p": nil, "p/q": nil}),
		"outside its edit": {Dir: "a", Draw: func(gitsync.Base) ([]gitsync.Change, error) {
			return []gitsync.Change{{Dir: "b", Put: put("x", "1\n"), Message: "m", When: When}}, nil
		}},
		"written and deleted": {Dir: "a", Draw: func(gitsync.Base) ([]gitsync.Change, error) {
			return []gitsync.Change{{Dir: "a", Put: put("x", "1\n"), Delete: []string{"x"}, Message: "m", When: When}}, nil
		}},
	}
	names := slices.Sorted(maps.Keys(edits))
	var list []gitsync.Edit
	for _, n := range names {
		list = append(list, edits[n])
	}
	rs, err := b.New(t).Publish(t.Context(), list)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range rs {
		if !errors.Is(r.Err, gitsync.ErrPath) {
			t.Errorf("%s: the error is %v", names[i], r.Err)
		}
	}
	if after := b.Repo.Tip("main"); after != before {
		t.Errorf("the branch has moved:\n%s", b.git(t, "log", "-p", before+".."+after))
	}
}

func tenWriters(t *testing.T, b Bed) {
	b.seed(t)
	var wg sync.WaitGroup
	for i := range 10 {
		p := b.New(t)
		wg.Go(func() {
			r, err := persist(t.Context(), p, write(fmt.Sprintf("w%d", i), fmt.Sprintf("writer %d", i), put("x", fmt.Sprintf("%d\n", i))))
			if err != nil || len(r.Commits) != 1 {
				t.Errorf("writer %d: %+v, %v", i, r, err)
			}
		})
	}
	wg.Wait()
	if b.count(t) != "11" {
		t.Errorf("%s commits, want 11", b.count(t))
	}
	for i := range 10 {
		if got := b.file(t, fmt.Sprintf("w%d/x", i)); got != fmt.Sprint(i) {
			t.Errorf("writer %d left %q", i, got)
		}
	}
}

// twoWritersAgree: both draw the same next state from what they see, at the same time.
func twoWritersAgree(t *testing.T, b Bed) {
	b.seed(t)
	ps := []gitsync.Publisher{b.New(t), b.New(t)}
	const rounds = 5
	for n := range rounds {
		var wg sync.WaitGroup
		for _, p := range ps {
			wg.Go(func() {
				if _, err := persist(t.Context(), p, write("a", fmt.Sprintf("state %d", n), put("x", fmt.Sprintf("%d\n", n)))); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	if got := b.git(t, "log", "--reverse", "--format=%s", "main", "--", "a"); len(lines(got)) != rounds {
		t.Errorf("history is\n%s\nwant one commit per state", got)
	}
}
