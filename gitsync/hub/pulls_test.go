package hub_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/poolwright/poolwright/gitsync/githubfake"
	"github.com/poolwright/poolwright/gitsync/gitserver"
	"github.com/poolwright/poolwright/gitsync/hub"
)

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
	asked := [][]string{there.Reviewers, there.Teams, there.Assignees}
	if diff := cmp.Diff([][]string{{"ann"}, {"dba", "sre"}, {"ann"}}, asked); diff != "" {
		t.Error(diff)
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
