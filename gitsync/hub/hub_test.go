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
	if diff := cmp.Diff("100644 README.md\n100644 clusters/pg/b.yaml\n100644 clusters/pg/binary\n100644 clusters/pg/empty\n100755 clusters/pg/run.sh", f.listed(tree)); diff != "" {
		t.Error(diff)
	}
	if out, err := f.fake.Repo().Git("fsck", "--strict"); err != nil {
		t.Error(out, err)
	}
}

// listed is a whole tree as lines, each file read on the way.
func (f forge) listed(tree string) string {
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
	return strings.Join(lines, "\n")
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

func TestErrorsSayWhatACallerCanDo(t *testing.T) {
	for name, c := range map[string]struct {
		call func(forge) error
		want error
	}{
		"the head of a branch that is not there": {func(f forge) error {
			return second(f.Head(t.Context(), "none"))
		}, hub.ErrNotFound},
		"a commit that is not there": {func(f forge) error {
			return second(f.Commit(t.Context(), sha1a))
		}, hub.ErrNotFound},
		"a tree that is not there": {func(f forge) error {
			return second(f.Tree(t.Context(), sha1a))
		}, hub.ErrNotFound},
		"a blob that is not there": {func(f forge) error {
			return second(f.Blob(t.Context(), sha1a))
		}, hub.ErrNotFound},
		"a pull request that is not there": {func(f forge) error {
			return second(f.Pull(t.Context(), 99))
		}, hub.ErrNotFound},
		"C01 a branch that exists already": {func(f forge) error {
			return f.CreateBranch(t.Context(), "main", f.head("main"))
		}, hub.ErrExists},
		"C02 a branch that moved": {func(f forge) error {
			mine := f.put(f.head("main"), "x", "1")
			f.fake.PushAsPerson("main", "other", map[string]*gitserver.File{"y": gitserver.Text("2")})
			return f.MoveBranch(t.Context(), "main", mine)
		}, hub.ErrMoved},
		"moving a branch that was deleted": {func(f forge) error {
			return f.MoveBranch(t.Context(), "none", f.head("main"))
		}, hub.ErrNotFound},
		"deleting a branch that was deleted": {func(f forge) error {
			return f.DeleteBranch(t.Context(), "none")
		}, hub.ErrNotFound},
		"a branch that takes only pull requests": {func(f forge) error {
			f.fake.SetRules("main", githubfake.Rules{PullRequest: true})
			return f.MoveBranch(t.Context(), "main", f.put(f.head("main"), "x", "1"))
		}, hub.ErrRefused},
		"C09 a branch that takes only signed commits": {func(f forge) error {
			f.fake.SetRules("main", githubfake.Rules{Signatures: true})
			return f.MoveBranch(t.Context(), "main", f.put(f.head("main"), "x", "1"))
		}, hub.ErrRefused},
		"an archived repository": {func(f forge) error {
			f.fake.Archive(true)
			return second(f.PutBlob(t.Context(), nil))
		}, hub.ErrRefused},
		"an object that has not arrived everywhere": {func(f forge) error {
			return f.CreateBranch(t.Context(), "new", sha1a)
		}, hub.ErrUnreachable},
		"a file that has not arrived everywhere": {func(f forge) error {
			return second(f.PutTree(t.Context(), "", []hub.Entry{{Path: "x", SHA: sha1a}}))
		}, hub.ErrUnreachable},
		"C12 a pull request that exists already": {func(f forge) error {
			f.propose("bot/pg")
			return second(f.OpenPull(t.Context(), hub.NewPull{Branch: "bot/pg", Base: "main", Title: "again"}))
		}, hub.ErrExists},
		"C13 a pull request of nothing": {func(f forge) error {
			if err := f.CreateBranch(t.Context(), "bot/pg", f.head("main")); err != nil {
				return err
			}
			return second(f.OpenPull(t.Context(), hub.NewPull{Branch: "bot/pg", Base: "main", Title: "x"}))
		}, hub.ErrRefused},
		"a pull request of a branch that is not there": {func(f forge) error {
			return second(f.OpenPull(t.Context(), hub.NewPull{Branch: "bot/pg", Base: "main", Title: "x"}))
		}, hub.ErrNotFound},
		"merging a pull request whose head moved": {func(f forge) error {
			p := f.propose("bot/pg")
			return second(f.MergePull(t.Context(), p.Number, f.head("main"), "squash", ""))
		}, hub.ErrMoved},
		"merging a pull request that wants an approval": {func(f forge) error {
			f.fake.SetRules("main", githubfake.Rules{PullRequest: true, Approvals: 1})
			p := f.propose("bot/pg")
			return second(f.MergePull(t.Context(), p.Number, p.Head, "squash", ""))
		}, hub.ErrRefused},
		"merging branches that conflict": {func(f forge) error {
			if err := f.CreateBranch(t.Context(), "bot/pg", f.put(f.head("main"), "x", "1\n")); err != nil {
				return err
			}
			f.fake.PushAsPerson("main", "other", map[string]*gitserver.File{"x": gitserver.Text("2\n")})
			return second(f.MergeInto(t.Context(), "bot/pg", "main", "merge"))
		}, hub.ErrRefused},
		"merging when the base was modified meanwhile": {func(f forge) error {
			p := f.propose("bot/pg")
			f.fake.Fault("PUT pulls/{number}/merge", 1, githubfake.Fault{Status: 405, Message: "Base branch was modified. Review and try the merge again."})
			return second(f.MergePull(t.Context(), p.Number, p.Head, "squash", ""))
		}, hub.ErrMoved},
		"asking the author for a review": {func(f forge) error {
			return f.AskReview(t.Context(), f.propose("bot/pg").Number, []string{"robot"}, nil)
		}, hub.ErrRefused},
		"automatic merges that are not allowed": {func(f forge) error {
			return f.AutoMerge(t.Context(), f.propose("bot/pg"), "squash") // no rules: GitHub has nothing to wait for
		}, hub.ErrRefused},
		"an automatic merge of another head": {func(f forge) error {
			f.fake.SetRules("main", githubfake.Rules{PullRequest: true, Approvals: 1})
			p := f.propose("bot/pg")
			p.Head = sha1a
			return f.AutoMerge(t.Context(), p, "squash")
		}, hub.ErrMoved},
		"an automatic merge of a pull request that is gone": {func(f forge) error {
			return f.AutoMerge(t.Context(), hub.Pull{NodeID: "PR_none"}, "squash")
		}, hub.ErrNotFound},
		"a revoked token": {func(f forge) error {
			f.fake.Revoke(f.fake.Token())
			return second(f.Head(t.Context(), "main"))
		}, hub.ErrAuth},
		"a token that may read only": {func(f forge) error {
			f.fake.AddUser(githubfake.User{Login: "robot", Token: f.fake.Token(), Access: githubfake.Read})
			return second(f.PutBlob(t.Context(), nil))
		}, hub.ErrAuth},
		"a token that lost its access": {func(f forge) error {
			f.fake.AddUser(githubfake.User{Login: "robot", Token: f.fake.Token(), Access: githubfake.Hidden})
			return second(f.Pull(t.Context(), 1))
		}, hub.ErrAuth},
		"histories that have nothing in common": {func(f forge) error {
			orphan, err := f.PutCommit(t.Context(), hub.NewCommit{Tree: f.commit(f.head("main")).Tree, Message: "alone"})
			if err != nil {
				return err
			}
			return second(f.Compare(t.Context(), "main", orphan))
		}, hub.ErrNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.call(begun(t))
			if !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			plain(t, err)
		})
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

func TestTheLifeOfAPullRequest(t *testing.T) {
	f, ctx := begun(t), t.Context()
	f.fake.AddUser(githubfake.User{Login: "ann"})
	p := f.propose("bot/pg")
	for doing, err := range map[string]error{
		"label": f.Label(ctx, p.Number, []string{"b", "a"}), "no label": f.Label(ctx, p.Number, nil),
		"assign": f.Assign(ctx, p.Number, []string{"ann", "nobody"}), "assign nobody": f.Assign(ctx, p.Number, nil),
		"ask": f.AskReview(ctx, p.Number, []string{"ann"}, []string{"acme/dba", "sre"}), "ask nobody": f.AskReview(ctx, p.Number, nil, nil),
		"comment": f.Comment(ctx, p.Number, "hello"),
	} {
		if err != nil {
			t.Error(doing, err)
		}
	}
	title, body := "new title", ""
	edited, err := f.EditPull(ctx, p.Number, hub.PullEdit{Title: &title, Body: &body})
	if err != nil || edited.Title != title || edited.Body != "" || !edited.Open {
		t.Error(edited, err)
	}
	comments, err := f.Comments(ctx, p.Number)
	if diff := cmp.Diff([]hub.Comment{{Author: "robot", Body: "hello"}}, comments); err != nil || diff != "" {
		t.Error(err, diff)
	}
	there := f.fake.Pull(p.Number)
	if !slices.Equal(there.Reviewers, []string{"ann"}) || !slices.Equal(there.Teams, []string{"dba", "sre"}) || !slices.Equal(there.Assignees, []string{"ann"}) {
		t.Errorf("got %+v", there)
	}
	closed, err := f.EditPull(ctx, p.Number, hub.PullEdit{Close: true})
	if err != nil || closed.Open || closed.Merged {
		t.Error(closed, err)
	}
	want := hub.Pull{
		Number: 1, NodeID: p.NodeID, URL: p.URL, Title: title, Branch: "bot/pg", Head: f.head("bot/pg"), Base: "main", Author: "robot", ClosedBy: "robot",
		Labels: []string{"a", "b"}, CreatedAt: p.CreatedAt, ClosedAt: closed.ClosedAt,
	}
	got, err := f.Pull(ctx, 1)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestPullsAreThoseOfTheBranchTheNewestFirst(t *testing.T) {
	f, ctx := start(t, githubfake.Options{MaxPage: 2}, nil), t.Context()
	f.fake.PushAsPerson("main", "begin", map[string]*gitserver.File{"a": gitserver.Text("1")})
	f.propose("other")
	p := f.propose("bot/pg")
	for range 3 {
		f.fake.ClosePull(p.Number, "ann")
		var err error
		if p, err = f.OpenPull(ctx, hub.NewPull{Branch: "bot/pg", Base: "main", Title: "again"}); err != nil {
			t.Fatal(err)
		}
	}
	f.fake.MergePull(p.Number, "ann", "squash")
	pulls, err := f.Pulls(ctx, "bot/pg")
	var got []int
	for _, p := range pulls {
		got = append(got, p.Number)
	}
	if err != nil || !slices.Equal(got, []int{5, 4, 3, 2}) || !pulls[0].Merged || pulls[0].Open || pulls[1].Merged {
		t.Error(got, err, pulls)
	}
	if pulls[0].MergeCommit != f.head("main") || pulls[1].MergeCommit != "" {
		t.Error(pulls[0].MergeCommit, pulls[1].MergeCommit)
	}
	merged, err := f.Pull(ctx, 5)
	if err != nil || merged.ClosedBy != "ann" || !merged.Merged {
		t.Error(merged, err)
	}
}

func TestMergingAPullRequest(t *testing.T) {
	f, ctx := begun(t), t.Context()
	p := f.propose("bot/pg")
	sha, err := f.MergePull(ctx, p.Number, p.Head, "squash", "pg: change")
	if err != nil || sha != f.head("main") || !strings.HasPrefix(f.commit(sha).Message, "pg: change") {
		t.Error(sha, err)
	}
}

func TestAutoMerge(t *testing.T) {
	for name, o := range map[string]githubfake.Options{"on github.com": {}, "on an Enterprise Server": {Enterprise: true}} {
		t.Run(name, func(t *testing.T) {
			f, ctx := start(t, o, nil), t.Context()
			f.fake.PushAsPerson("main", "begin", map[string]*gitserver.File{"a": gitserver.Text("1")})
			f.fake.SetRules("main", githubfake.Rules{PullRequest: true, Approvals: 1})
			p := f.propose("bot/pg")
			if err := f.AutoMerge(ctx, p, "squash"); err != nil {
				t.Fatal(err)
			}
			if p, err := f.Pull(ctx, p.Number); err != nil || !p.AutoMerge {
				t.Error(p, err)
			}
			f.fake.Approve(p.Number, "ann")
			if p, err := f.Pull(ctx, p.Number); err != nil || !p.Merged {
				t.Error(p, err)
			}
		})
	}
}

func TestAccess(t *testing.T) {
	for name, c := range map[string]struct {
		change func(forge)
		want   hub.Access
	}{
		"a branch without rules": {func(forge) {}, hub.Access{Push: true}},
		"an archived repository": {func(f forge) { f.fake.Archive(true) }, hub.Access{Push: true, Archived: true}},
		"a renamed repository":   {func(f forge) { f.fake.Rename("wide/infra") }, hub.Access{Push: true, RenamedTo: "wide/infra"}},
		"a token that may read": {func(f forge) {
			f.fake.AddUser(githubfake.User{Login: "robot", Token: f.fake.Token(), Access: githubfake.Read})
		}, hub.Access{}},
		"rules": {
			func(f forge) {
				f.fake.SetRules("main", githubfake.Rules{PullRequest: true, Signatures: true, Checks: []string{"render", "lint"}})
			},
			hub.Access{Push: true, Protected: true, NeedsPull: true, NeedsSignature: true, RequiredChecks: []string{"lint", "render"}},
		},
		"the classic protection": {
			func(f forge) {
				f.fake.SetRules("main", githubfake.Rules{PullRequest: true, Classic: true, Checks: []string{"render"}})
			},
			hub.Access{Push: true, Protected: true, RequiredChecks: []string{"render"}},
		},
		"a branch that is not there yet": {func(f forge) { f.fake.DeleteBranch("main") }, hub.Access{Push: true}},
	} {
		t.Run(name, func(t *testing.T) {
			f := begun(t)
			f.fake.PushAsPerson("second", "another", map[string]*gitserver.File{"a": gitserver.Text("1")})
			f.fake.SetSkew(3 * time.Minute)
			c.change(f)
			got, err := f.Access(t.Context(), "main")
			c.want.ServerTime = f.clock.now().Add(3 * time.Minute)
			if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
				t.Error(err, diff)
			}
		})
	}
}

func TestRulesThatNobodyKnowsYetAndServersWithoutRules(t *testing.T) {
	for name, c := range map[string]struct {
		rules http.HandlerFunc
		want  hub.Access
		err   error
	}{
		"a kind of rule that is new": {
			says(200, `[{"type":"copilot_code_review","parameters":{"x":[1]}},{"type":"required_signatures"}]`),
			hub.Access{Protected: true, NeedsSignature: true}, nil,
		},
		"an old server":                 {says(404, message("Not Found")), hub.Access{}, nil},
		"a plan without rules":          {says(403, message("Upgrade to GitHub Pro or make this repository public to enable this feature.")), hub.Access{}, nil},
		"a permission that is missing":  {says(403, message("Resource not accessible by integration")), hub.Access{}, hub.ErrAuth},
		"a server that is broken":       {says(500, message("oops")), hub.Access{}, hub.ErrUnreachable},
		"a 404 that is not from GitHub": {says(404, "<html>"), hub.Access{}, hub.ErrUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			d := serve(t, answers{
				"GET /repos/acme/platform":                          says(200, `{"full_name":"acme/platform"}`, "Date", ""),
				"GET /repos/acme/platform/branches/release/1":       says(404, message("Branch not found")),
				"GET /repos/acme/platform/rules/branches/release/1": c.rules,
			})
			got, err := open(t, d.URL, nil).Access(t.Context(), "release/1")
			if diff := cmp.Diff(c.want, got); !errors.Is(err, c.err) || diff != "" {
				t.Error(err, diff)
			}
		})
	}
}

func TestC10Checks(t *testing.T) {
	f := begun(t)
	sha := f.head("main")
	look := func() hub.Checks {
		t.Helper()
		c, err := f.Checks(t.Context(), sha)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if diff := cmp.Diff(hub.Checks{Contexts: map[string]string{}}, look()); diff != "" {
		t.Error(diff)
	}
	f.fake.SetChecks(sha,
		githubfake.Check{Name: "render", Status: "completed", Conclusion: "success", App: "ci"},
		githubfake.Check{Name: "lint", Status: "in_progress", App: "ci"},
		githubfake.Check{Name: "both", Status: "completed", Conclusion: "failure", App: "other"},
	)
	f.fake.SetStatus(sha, "legacy", "pending")
	f.fake.SetStatus(sha, "both", "success")
	want := hub.Checks{Suites: 2, Contexts: map[string]string{"render": "success", "lint": "in_progress", "both": "failure", "legacy": "pending"}}
	if diff := cmp.Diff(want, look()); diff != "" {
		t.Error(diff)
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
