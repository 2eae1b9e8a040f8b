package hub_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/poolwright/poolwright/gitsync/githubfake"
	"github.com/poolwright/poolwright/gitsync/gitserver"
	"github.com/poolwright/poolwright/gitsync/hub"
)

// forge is a client beside the stub that it speaks to.
type forge struct {
	*hub.Client
	fake  *githubfake.Server
	clock *clock
	t     *testing.T
}

func start(t *testing.T, o githubfake.Options, change func(*hub.Options, *githubfake.Server)) forge {
	t.Helper()
	k := newClock()
	o.Now = k.now
	f := githubfake.New(t, o)
	c := open(t, f.URL(), func(o *hub.Options) {
		o.Auth, o.Now, o.Sleep = fixed(f.Token()), k.now, k.sleep
		if change != nil {
			change(o, f)
		}
	})
	return forge{Client: c, fake: f, clock: k, t: t}
}

// begun has a commit on main.
func begun(t *testing.T) forge {
	f := start(t, githubfake.Options{}, nil)
	f.fake.PushAsPerson("main", "begin", map[string]*gitserver.File{
		"README.md": gitserver.Text("hello\n"), "clusters/pg/a.yaml": gitserver.Text("a: 1\n"),
	})
	return f
}

func (f forge) head(branch string) string {
	f.t.Helper()
	sha, err := f.Head(f.t.Context(), branch)
	if err != nil {
		f.t.Fatal(err)
	}
	return sha
}

func (f forge) commit(sha string) hub.Commit {
	f.t.Helper()
	c, err := f.Commit(f.t.Context(), sha)
	if err != nil {
		f.t.Fatal(err)
	}
	return c
}

// put stores a commit of one file on top of another commit.
func (f forge) put(parent, path, content string) string {
	f.t.Helper()
	tree, err := f.PutTree(f.t.Context(), f.commit(parent).Tree, []hub.Entry{{Path: path, Content: []byte(content)}})
	if err != nil {
		f.t.Fatal(err)
	}
	sha, err := f.PutCommit(f.t.Context(), hub.NewCommit{Tree: tree, Parents: []string{parent}, Message: "change " + path})
	if err != nil {
		f.t.Fatal(err)
	}
	return sha
}

// propose makes a branch with one change of main, and its pull request.
func (f forge) propose(branch string) hub.Pull {
	f.t.Helper()
	if err := f.CreateBranch(f.t.Context(), branch, f.put(f.head("main"), branch+".txt", "x\n")); err != nil {
		f.t.Fatal(err)
	}
	p, err := f.OpenPull(f.t.Context(), hub.NewPull{Branch: branch, Base: "main", Title: "t", Body: "b"})
	if err != nil {
		f.t.Fatal(err)
	}
	return p
}

func TestACommitIsMadeAndTheBranchMoved(t *testing.T) {
	f, ctx := begun(t), t.Context()
	base := f.commit(f.head("main"))
	who := &hub.Who{Name: "Poolwright", Email: "bot@example.com", At: time.Date(2031, 1, 2, 3, 4, 5, 999, time.FixedZone("x", 3600))}
	tree, err := f.PutTree(ctx, base.Tree, []hub.Entry{
		{Path: "clusters/pg/b.yaml", Content: []byte("b: 2\n")},
		{Path: "clusters/pg/empty"},
		{Path: "clusters/pg/binary", Content: []byte{0xff, 0, 1}},
		{Path: "clusters/pg/run.sh", Mode: "100755", Content: []byte("#!/bin/sh\n")},
		{Path: "clusters/pg/a.yaml", Gone: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	sha, err := f.PutCommit(ctx, hub.NewCommit{Tree: tree, Parents: []string{base.SHA}, Message: "pg: change\n\nWhy.\n", Author: who, Committer: who})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.MoveBranch(ctx, "main", sha); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2031, 1, 2, 2, 4, 5, 0, time.UTC)
	want := hub.Commit{
		SHA: f.head("main"), Tree: tree, Parents: []string{base.SHA}, Message: "pg: change\n\nWhy.\n",
		Author: hub.Who{Name: "Poolwright", Email: "bot@example.com", At: at}, Committer: hub.Who{Name: "Poolwright", Email: "bot@example.com", At: at},
		VerifiedReason: "unsigned",
	}
	if diff := cmp.Diff(want, f.commit(sha)); diff != "" {
		t.Error(diff)
	}
	files := []string{
		"100644 README.md", "100644 clusters/pg/b.yaml", "100644 clusters/pg/binary", "100644 clusters/pg/empty", "100755 clusters/pg/run.sh",
	}
	if diff := cmp.Diff(files, f.listed(tree)); diff != "" {
		t.Error(diff)
	}
	if out, err := f.fake.Repo().Git("fsck", "--strict"); err != nil {
		t.Error(out, err)
	}
}

// listed is a whole tree as lines, each file read on the way.
func (f forge) listed(tree string) []string {
	f.t.Helper()
	all, whole, err := f.Subtree(f.t.Context(), tree)
	if err != nil || !whole {
		f.t.Fatal(whole, err)
	}
	var lines []string
	for _, e := range all {
		if e.Kind != "blob" {
			continue
		}
		lines = append(lines, e.Mode+" "+e.Path)
		data, err := f.Blob(f.t.Context(), e.SHA)
		want, gitErr := f.fake.Repo().Git("cat-file", "blob", e.SHA)
		if err != nil || gitErr != nil || strings.TrimSpace(string(data)) != strings.TrimSpace(want) {
			f.t.Errorf("%s: %q, %v", e.Path, data, err)
		}
	}
	return lines
}

func TestATreeIsListedLevelByLevelOrWhole(t *testing.T) {
	f := start(t, githubfake.Options{MaxTree: 3}, nil)
	f.fake.PushAsPerson("main", "begin", map[string]*gitserver.File{"a": gitserver.Text("1"), "d/b": gitserver.Text("2"), "d/c": gitserver.Text("3")})
	tree := f.commit(f.head("main")).Tree
	got, err := f.Tree(t.Context(), tree)
	if err != nil || len(got) != 2 || got[0].Path != "a" || got[1].Kind != "tree" || got[1].Mode != "040000" {
		t.Fatal(got, err)
	}
	if below, err := f.Tree(t.Context(), got[1].SHA); err != nil || len(below) != 2 || below[0].Path != "b" {
		t.Error(below, err)
	}
	if all, whole, err := f.Subtree(t.Context(), tree); err != nil || whole || len(all) != 3 {
		t.Error("a truncated tree is not called so:", all, whole, err)
	}
}

func TestAnEmptyRepositoryHasNoHead(t *testing.T) {
	f := start(t, githubfake.Options{}, nil)
	if sha, err := f.Head(t.Context(), "main"); sha != "" || err != nil {
		t.Errorf("got %q, %v", sha, err)
	}
	if _, err := f.PutBlob(t.Context(), nil); !errors.Is(err, hub.ErrRefused) || !strings.Contains(err.Error(), "empty") {
		t.Errorf("got %v", err)
	}
}

func TestTheLogIsReadPageByPage(t *testing.T) {
	f := start(t, githubfake.Options{MaxPage: 3}, nil)
	var want []string
	for i := range 8 {
		want = append([]string{fmt.Sprintf("c%d", i)}, want...)
		f.fake.PushAsPerson("main", want[0], map[string]*gitserver.File{"n": gitserver.Text(want[0])})
	}
	for _, n := range []int{0, 1, 3, 4, 8, 20} {
		log, err := f.Log(t.Context(), f.fake.Repo().Tip("main"), n)
		var got []string
		for _, c := range log {
			got = append(got, strings.TrimSpace(c.Message))
		}
		if err != nil || !slices.Equal(got, want[:min(n, 8)]) {
			t.Errorf("%d: got %q, %v", n, got, err)
		}
	}
}

func TestACommitKnowsItsAccount(t *testing.T) {
	f := begun(t)
	sha := f.put(f.head("main"), "x", "1")
	if c := f.commit(sha); c.Login != "robot" || c.Verified {
		t.Errorf("got %+v", c)
	}
}

func TestComparing(t *testing.T) {
	f, ctx := begun(t), t.Context()
	base := f.head("main")
	one := f.put(base, "x", "1\n")
	two := f.put(one, "y", "2\n")
	if err := f.CreateBranch(ctx, "bot/pg", two); err != nil {
		t.Fatal(err)
	}
	f.fake.PushAsPerson("main", "other", map[string]*gitserver.File{"z": gitserver.Text("3\n")})
	got, err := f.Compare(ctx, "main", "bot/pg")
	var shas []string
	for _, c := range got.Commits {
		shas = append(shas, c.SHA)
	}
	got.Commits = nil
	want := hub.Comparison{Ahead: 2, Behind: 1, MergeBase: base, Files: []string{"x", "y"}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if diff := cmp.Diff([]string{one, two}, shas); diff != "" {
		t.Error(diff)
	}
}

func TestAComparisonOfManyFilesSaysThatItIsCut(t *testing.T) {
	f := begun(t)
	files := map[string]*gitserver.File{}
	for i := range 301 {
		files[fmt.Sprintf("f%03d", i)] = gitserver.Text("x")
	}
	base := f.head("main")
	f.fake.PushAsPerson("main", "many", files)
	got, err := f.Compare(t.Context(), base, "main")
	if err != nil || !got.Cut || len(got.Files) != 300 {
		t.Error(len(got.Files), got.Cut, err)
	}
}

func TestMergingBranches(t *testing.T) {
	f, ctx := begun(t), t.Context()
	if err := f.CreateBranch(ctx, "bot/pg", f.put(f.head("main"), "x", "1\n")); err != nil {
		t.Fatal(err)
	}
	other := f.fake.PushAsPerson("main", "other", map[string]*gitserver.File{"y": gitserver.Text("2\n")})
	was := f.head("bot/pg")
	sha, err := f.MergeInto(ctx, "bot/pg", "main", "take main in")
	if c := f.commit(sha); err != nil || sha != f.head("bot/pg") || !slices.Equal(c.Parents, []string{was, other}) || c.Message != "take main in" {
		t.Error(c, err)
	}
	if sha, err := f.MergeInto(ctx, "bot/pg", other, "again"); sha != "" || err != nil {
		t.Errorf("nothing to merge: got %q, %v", sha, err)
	}
}

func TestSelf(t *testing.T) {
	if login, err := begun(t).Self(t.Context()); err != nil || login != "robot" {
		t.Error(login, err)
	}
}

func TestReadsThatDidNotChangeCostNothing(t *testing.T) {
	f := begun(t)
	sha := f.head("main")
	count := len(f.fake.Log())
	for range 10 {
		f.clock.advance(time.Minute)
		if f.head("main") != sha {
			t.Error("another head")
		}
	}
	for _, r := range f.fake.Log()[count:] {
		if r.Status != http.StatusNotModified {
			t.Errorf("%s was %d", r, r.Status)
		}
	}
	next := f.fake.PushAsPerson("main", "other", map[string]*gitserver.File{"y": gitserver.Text("2")})
	if f.head("main") != next {
		t.Error("the old head")
	}
}

func TestAWriteThatLostItsAnswerIsNotRepeated(t *testing.T) {
	for name, fault := range map[string]githubfake.Fault{
		"half an answer": {Half: true}, "no answer": {Cut: true, Carried: true}, "502 after it was done": {Status: 502, Carried: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := begun(t)
			f.fake.Fault("POST git/refs", 1, fault)
			err := f.CreateBranch(t.Context(), "bot/pg", f.head("main"))
			if !errors.Is(err, hub.ErrUnreachable) {
				t.Fatal(err)
			}
			if err := f.CreateBranch(t.Context(), "bot/pg", f.head("main")); !errors.Is(err, hub.ErrExists) {
				t.Error(err)
			}
		})
	}
}

func TestTLSWithACertificateOfOurOwn(t *testing.T) {
	f := start(t, githubfake.Options{TLS: true}, func(o *hub.Options, s *githubfake.Server) { o.CA = s.CA() })
	f.fake.PushAsPerson("main", "begin", map[string]*gitserver.File{"a": gitserver.Text("1")})
	f.head("main")
}
