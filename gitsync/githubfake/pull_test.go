package githubfake_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-github/v66/github"

	"github.com/poolwright/poolwright/gitsync/githubfake"
	"github.com/poolwright/poolwright/gitsync/gitserver"
)

// TestAPullRequestsLife goes through go-github.
func TestAPullRequestsLife(t *testing.T) {
	b := start(t, githubfake.Options{Users: []githubfake.User{{Login: "robot", Token: "tok"}, {Login: "alice"}}})
	head := b.branch("bot/pg", "a", "1\n")
	ctx, gh := context.Background(), b.client()
	p, _, err := gh.PullRequests.Create(ctx, "acme", "platform", &github.NewPullRequest{
		Title: new("t"), Head: new("bot/pg"), Base: new("main"), Body: new("b"), Draft: new(true),
	})
	if err != nil || p.GetNumber() != 1 || p.GetHead().GetSHA() != head || !p.GetDraft() || p.GetMergeableState() != "draft" {
		t.Fatalf("created %v, %v", p, err)
	}
	if _, _, err := gh.Issues.AddLabelsToIssue(ctx, "acme", "platform", 1, []string{"db", "bot", "db"}); err != nil {
		t.Error(err)
	}
	if _, _, err := gh.Issues.AddAssignees(ctx, "acme", "platform", 1, []string{"alice", "nobody"}); err != nil {
		t.Error(err)
	}
	if _, _, err := gh.PullRequests.RequestReviewers(ctx, "acme", "platform", 1, github.ReviewersRequest{
		Reviewers: []string{"alice"}, TeamReviewers: []string{"dba"},
	}); err != nil {
		t.Error(err)
	}
	if _, _, err := gh.Issues.CreateComment(ctx, "acme", "platform", 1, &github.IssueComment{Body: new("hello")}); err != nil {
		t.Error(err)
	}
	b.Comment(1, "alice", "hi")
	edit := &github.PullRequest{Title: new("t2"), State: new("closed")}
	if _, _, err := gh.PullRequests.Edit(ctx, "acme", "platform", 1, edit); err != nil {
		t.Error(err)
	}
	want := githubfake.Pull{
		Number: 1, Title: "t2", Body: "b", Branch: "bot/pg", Head: head, Base: "main", Draft: true, Author: "robot", ClosedBy: "robot",
		Labels: []string{"db", "bot"}, Assignees: []string{"alice"}, Reviewers: []string{"alice"}, Teams: []string{"dba"},
		Comments:  []githubfake.Comment{{Author: "robot", Body: "hello", At: b.Now()}, {Author: "alice", Body: "hi", At: b.Now()}},
		CreatedAt: b.Now(), UpdatedAt: b.Now(), ClosedAt: b.Now(),
	}
	if diff := cmp.Diff(want, b.Pull(1), cmp.FilterPath(func(p cmp.Path) bool {
		return strings.HasPrefix(p.Last().String(), ".base") || strings.HasPrefix(p.Last().String(), ".auto")
	}, cmp.Ignore())); diff != "" {
		t.Errorf("pull request (-want +got):\n%s", diff)
	}
	comments, _, err := gh.Issues.ListComments(ctx, "acme", "platform", 1, nil)
	if err != nil || len(comments) != 2 || comments[1].GetUser().GetLogin() != "alice" {
		t.Errorf("comments are %v, %v", comments, err)
	}
	issue, _, err := gh.Issues.Get(ctx, "acme", "platform", 1)
	if err != nil || issue.GetClosedBy().GetLogin() != "robot" || !issue.IsPullRequest() {
		t.Errorf("the issue is %v, %v", issue, err)
	}
}

// TestAPullRequestFollowsItsBranches has what people do, and what becomes of pull request 1, of "side" into main.
func TestAPullRequestFollowsItsBranches(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(b bed)
		want string
	}{
		"nothing happens":       {func(bed) {}, "open"},
		"a person adds to it":   {func(b bed) { b.branch("side", "h", "1\n") }, "open, moved"},
		"the base moves":        {func(b bed) { b.branch("main", "h", "1\n") }, "open"},
		"a person closes it":    {func(b bed) { b.ClosePull(1, "alice") }, "closed by alice"},
		"its branch is deleted": {func(b bed) { b.DeleteBranch("side") }, "closed by somebody"},
		"its branch is set back to the base": {
			func(b bed) { b.ForcePush("side", b.Repo().Tip("main")) }, "closed by somebody, moved",
		},
		"its branch is rewritten": {
			func(b bed) {
				b.ForcePush("side", b.Repo().Tip("main"))
				b.branch("side2", "z", "1\n")
			}, "closed by somebody, moved",
		},
		"its commits are pushed to the base":       {func(b bed) { b.ForcePush("main", b.Repo().Tip("side")) }, "merged by somebody"},
		"a person merges it":                       {func(b bed) { b.MergePull(1, "alice", "merge") }, "merged by alice"},
		"a person squashes it":                     {func(b bed) { b.MergePull(1, "alice", "squash") }, "merged by alice"},
		"it is closed, opened again":               {func(b bed) { b.ClosePull(1, "a"); b.ReopenPull(1, "a") }, "open"},
		"it is merged, and the branch then pushed": {func(b bed) { b.MergePull(1, "alice", "merge"); b.branch("side", "h", "2\n") }, "merged by alice"},
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, githubfake.Options{})
			b.pull("side")
			head := b.Repo().Tip("side")
			c.do(b)
			p := b.Pull(1)
			got := "open"
			switch {
			case p.Merged:
				got = "merged by " + p.ClosedBy
			case !p.Open:
				got = "closed by " + p.ClosedBy
			}
			if p.Head != head {
				got += ", moved"
			}
			if got != c.want {
				t.Errorf("it is %s, want %s", got, c.want)
			}
			state := b.ask("GET", "pulls/1", nil).want(t, 200, "")
			if state.at(t, "merged") != p.Merged || (state.at(t, "state") == "open") != p.Open || state.at(t, "head.sha") != p.Head {
				t.Errorf("the API has %s", state.body)
			}
		})
	}
}

// TestAListOfPullRequestsLeavesOutWhatGitHubLeavesOut: "merged" and "mergeable" are the single one's.
func TestAListOfPullRequestsLeavesOutWhatGitHubLeavesOut(t *testing.T) {
	b := start(t, githubfake.Options{})
	b.pull("one")
	b.pull("two")
	b.MergePull(1, "alice", "squash")
	for query, want := range map[string]string{
		"": "2", "?state=all": "2 1", "?state=closed": "1", "?state=all&head=acme:one": "1", "?state=all&head=else:one": "",
		"?state=all&base=other": "", "?state=all&direction=asc": "1 2", "?state=all&per_page=1&page=2": "1",
	} {
		var got []string
		for _, p := range b.ask("GET", "pulls"+query, nil).at(t, "").([]any) {
			if _, there := p.(m)["merged"]; there {
				t.Error("a list has the field merged")
			}
			got = append(got, fmt.Sprint(p.(m)["number"]))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("pulls%s are %v, want %s", query, got, want)
		}
	}
	// An open one shows a trial merge that no branch has.
	if sha := b.ask("GET", "pulls/2", nil).at(t, "merge_commit_sha"); sha == nil || sha == "" {
		t.Error("an open pull request has no trial merge")
	}
	if sha := b.ask("GET", "pulls/1", nil).at(t, "merge_commit_sha"); sha != b.Repo().Tip("main") {
		t.Errorf("the merge commit is %v", sha)
	}
}

func TestMergeMethods(t *testing.T) {
	for method, want := range map[string]string{
		"merge":  "Merge pull request #1 from acme/side|change side.txt|change z|begin",
		"squash": "Change side (#1)|change z|begin",
		"rebase": "change y|change side.txt|change z|begin",
	} {
		t.Run(method, func(t *testing.T) {
			b := start(t, githubfake.Options{DeleteMerged: true})
			b.pull("side")
			if method == "rebase" {
				b.branch("side", "y", "1\n")
			}
			b.branch("main", "z", "1\n")
			head := b.Repo().Tip("side")
			r := b.ask("PUT", "pulls/1/merge", m{"sha": head, "merge_method": method}).want(t, 200, "successfully merged")
			if got := r.at(t, "sha"); got != b.Repo().Tip("main") {
				t.Errorf("merged as %v, main is %s", got, b.Repo().Tip("main"))
			}
			if got := strings.ReplaceAll(b.git("log", "--topo-order", "--format=%s", "main"), "\n", "|"); got != want {
				t.Errorf("history is %s\nwant %s", got, want)
			}
			if got := b.git("show", "main:side.txt", "main:z"); got != "proposed\n1" {
				t.Errorf("the files are %q", got)
			}
			if tip := b.Repo().Tip("side"); tip != "" {
				t.Errorf("the branch is there: %s", tip)
			}
			if out := b.git("fsck", "--strict", "--no-dangling"); out != "" {
				t.Errorf("git fsck says %s", out)
			}
			b.ask("PUT", "pulls/1/merge", m{}).want(t, 405, "Pull Request is not mergeable")
		})
	}
}

func TestAMergeThatCannotBe(t *testing.T) {
	for name, c := range map[string]struct {
		o    githubfake.Options
		do   func(b bed)
		want string
	}{
		"a conflict": {do: func(b bed) { b.branch("main", "side.txt", "otherwise\n") }, want: "Pull Request is not mergeable"},
		"a draft": {do: func(b bed) {
			b.ClosePull(1, "alice")
			b.ask("POST", "pulls", m{"title": "x", "head": "side", "base": "main", "draft": true}).want(b.t, 201, `"draft":true`)
		}, want: "Pull Request is still a draft"},
		"a method that is not allowed": {o: githubfake.Options{Methods: []string{"squash"}}, want: "Merge commits are not allowed on this repository."},
		"a rule":                       {do: func(b bed) { b.SetRules("main", githubfake.Rules{Checks: []string{"ci"}}) }, want: "Required status check"},
		"a review that is missing": {
			do:   func(b bed) { b.SetRules("main", githubfake.Rules{PullRequest: true, Approvals: 1, Classic: true}) },
			want: "At least 1 approving review is required by reviewers with write access.",
		},
		"unsigned commits": {do: func(b bed) { b.SetRules("main", githubfake.Rules{Signatures: true}) }, want: "verified signatures"},
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, c.o)
			b.pull("side")
			if c.do != nil {
				c.do(b)
			}
			last := b.AllPulls()[len(b.AllPulls())-1].Number
			main := b.Repo().Tip("main")
			b.ask("PUT", fmt.Sprintf("pulls/%d/merge", last), m{}).want(t, 405, c.want)
			if b.Repo().Tip("main") != main || b.Pull(last).Merged {
				t.Error("it was merged")
			}
		})
	}
}

func TestReopening(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(b bed)
		want string
	}{
		"of a branch that is gone":    {func(b bed) { b.DeleteBranch("side") }, "has been deleted"},
		"of a branch made anew":       {func(b bed) { b.ForcePush("side", b.Repo().Tip("main")) }, "was force-pushed or recreated"},
		"beside another":              {func(b bed) { b.pull("side") }, "There is already an open pull request"},
		"of one that is in main":      {func(b bed) { b.ReopenPull(1, "a"); b.MergePull(1, "a", "merge") }, "cannot be reopened"},
		"of one that waits for it":    {func(bed) {}, ""},
		"of a branch that went ahead": {func(b bed) { b.branch("side", "more", "1\n") }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, githubfake.Options{})
			b.pull("side")
			b.ClosePull(1, "alice")
			c.do(b)
			status := 422
			if c.want == "" {
				status = 200
			}
			b.ask("PATCH", "pulls/1", m{"state": "open"}).want(t, status, c.want)
		})
	}
}

// TestAPushThroughGitIsSeen serves the same repository over HTTP and pushes to it.
func TestAPushThroughGitIsSeen(t *testing.T) {
	b := start(t, githubfake.Options{})
	b.pull("side")
	srv, err := gitserver.New(strings.TrimSuffix(b.Repo().Dir, "/"+b.Repo().Name))
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	srv.Allow(b.AllowGit)
	url := srv.HTTP(b.Repo())
	if _, err := b.Repo().Git("ls-remote", url); err == nil {
		t.Error("Git lets in who has no credential")
	}
	auth := strings.Replace(url, "://", "://x-access-token:"+b.Token()+"@", 1)
	b.git("push", "-q", auth, "side:main") // what another process would do
	if p := b.Pull(1); !p.Merged || p.MergeCommit != b.Repo().Tip("side") {
		t.Errorf("pull request is %+v", p)
	}
}

const automatic = `mutation($id: ID!, $how: PullRequestMergeMethod) {
  enablePullRequestAutoMerge(input: {pullRequestId: $id, mergeMethod: $how}) { pullRequest { number on: autoMergeRequest { mergeMethod } } }
}`

func (b bed) auto(number int, method string) reply {
	b.t.Helper()
	id := b.ask("GET", fmt.Sprintf("pulls/%d", number), nil).at(b.t, "node_id")
	return b.ask("POST", "/graphql", m{"query": automatic, "variables": m{"id": id, "how": method}})
}

func TestAnAutomaticMergeWaitsForItsChecks(t *testing.T) {
	b := start(t, githubfake.Options{})
	b.SetRules("main", githubfake.Rules{PullRequest: true, Approvals: 1, Checks: []string{"ci"}})
	b.pull("side")
	b.auto(1, "SQUASH").want(t, 200, `{"data":{"enablePullRequestAutoMerge":{"pullRequest":{"number":1,"on":{"mergeMethod":"SQUASH"}}}}}`)
	b.ask("GET", "pulls/1", nil).want(t, 200, `"merge_method":"squash"`)
	b.SetChecks(b.Repo().Tip("side"), githubfake.Check{Name: "ci", Status: "in_progress"})
	b.Approve(1, "alice")
	if b.Pull(1).Merged {
		t.Fatal("it was merged before its check")
	}
	b.SetChecks(b.Repo().Tip("side"), githubfake.Check{Name: "ci"})
	if p := b.Pull(1); !p.Merged || p.MergeCommit != b.Repo().Tip("main") || p.ClosedBy != "robot" {
		t.Errorf("pull request is %+v", p)
	}
}

func TestAnAutomaticMergeThatCannotBe(t *testing.T) {
	rules := githubfake.Rules{Checks: []string{"ci"}}
	for name, c := range map[string]struct {
		o      githubfake.Options
		rules  githubfake.Rules
		do     func(b bed)
		method string
		want   string
	}{
		"nothing to wait for":    {rules: rules, do: func(b bed) { b.SetStatus(b.Repo().Tip("side"), "ci", "success") }, want: "is in clean status"},
		"no rules":               {want: "Protected branch rules not configured"},
		"not in this repository": {o: githubfake.Options{NoAutoMerge: true}, rules: rules, want: "Auto merge is not allowed"},
		"not by this method":     {o: githubfake.Options{Methods: []string{"squash"}}, rules: rules, method: "MERGE", want: "not allowed"},
		"closed":                 {rules: rules, do: func(b bed) { b.ClosePull(1, "alice") }, want: "is closed"},
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, c.o)
			b.SetRules("main", c.rules)
			b.pull("side")
			if c.do != nil {
				c.do(b)
			}
			if c.method == "" {
				c.method = "SQUASH"
			}
			r := b.auto(1, c.method).want(t, 200, c.want)
			if r.at(t, "errors.0.type") != "UNPROCESSABLE" || b.Pull(1).AutoMerge != "" {
				t.Errorf("got %s", r.body)
			}
		})
	}
}
