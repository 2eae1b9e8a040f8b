package githubfake_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/poolwright/poolwright/gitsync/githubfake"
)

// TestRulesBindTheAPI moves main to a commit ahead of it, or elsewhere, under rules.
func TestRulesBindTheAPI(t *testing.T) {
	for name, c := range map[string]struct {
		rules githubfake.Rules
		ask   func(b bed) reply
		want  string // "" is that it may
	}{
		"a pull request is needed": {rules: githubfake.Rules{PullRequest: true}, want: "Changes must be made through a pull request."},
		"C09 signatures are needed": {
			rules: githubfake.Rules{Signatures: true}, want: "Commits must have verified signatures.\\nFound 1 violation",
		},
		"C10 a check has not begun": {rules: githubfake.Rules{Checks: []string{"ci"}}, want: `Required status check \"ci\" is expected.`},
		"a merge through the API": {
			rules: githubfake.Rules{PullRequest: true},
			ask:   func(b bed) reply { return b.ask("POST", "merges", m{"base": "main", "head": "ahead"}) }, want: "Changes must be made",
		},
		"a force push": {
			rules: githubfake.Rules{NoForce: true},
			ask: func(b bed) reply {
				b.branch("main", "m", "1\n")
				return b.ask("PATCH", "git/refs/heads/main", m{"sha": b.Repo().Tip("ahead"), "force": true})
			},
			want: "Cannot force-push to this branch",
		},
		"a deletion": {
			rules: githubfake.Rules{NoDeletion: true}, ask: func(b bed) reply { return b.ask("DELETE", "git/refs/heads/main", nil) },
			want: "Cannot delete this branch",
		},
		"a new branch under signatures": {
			rules: githubfake.Rules{Signatures: true},
			ask: func(b bed) reply {
				tree := b.git("rev-parse", "main^{tree}")
				sha := b.ask("POST", "git/commits", m{"message": "x", "tree": tree}).at(b.t, "sha")
				b.DeleteBranch("main")
				return b.ask("POST", "git/refs", m{"ref": "refs/heads/main", "sha": sha})
			},
			want: "verified signatures",
		},
		"rules that bind others": {rules: githubfake.Rules{PullRequest: true, Signatures: true, Bypass: []string{"robot"}}},
		"no rules":               {},
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, githubfake.Options{})
			b.branch("ahead", "a", "1\n")
			b.SetRules("main", c.rules)
			if c.ask == nil {
				c.ask = func(b bed) reply { return b.ask("PATCH", "git/refs/heads/main", m{"sha": b.Repo().Tip("ahead")}) }
			}
			main := b.Repo().Tip("main")
			r := c.ask(b)
			if c.want == "" {
				r.want(t, 200, "")
				return
			}
			if r.status != 422 && r.status != 409 || !strings.Contains(string(r.body), "Repository rule violations found") {
				t.Errorf("got %d %s", r.status, r.body)
			}
			r.want(t, r.status, c.want)
			if tip := b.Repo().Tip("main"); tip != main && c.ask == nil {
				t.Error("main has moved")
			}
		})
	}
}

func TestRulesAreShownWhereGitHubShowsThem(t *testing.T) {
	b := start(t, githubfake.Options{})
	all := githubfake.Rules{PullRequest: true, Approvals: 2, Signatures: true, Checks: []string{"ci"}, NoForce: true, NoDeletion: true}
	b.SetRules("ma*", all)
	kinds := func() (got []string) {
		for _, r := range b.ask("GET", "rules/branches/main", nil).want(t, 200, "").at(t, "").([]any) {
			got = append(got, r.(m)["type"].(string))
		}
		return got
	}
	want := []string{"deletion", "non_fast_forward", "required_signatures", "pull_request", "required_status_checks"}
	if diff := cmp.Diff(want, kinds()); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	b.ask("GET", "branches/main", nil).want(t, 200, `"protected":true`)
	b.ask("GET", "rules/branches/other", nil).want(t, 200, "[]")
	all.Classic = true
	b.SetRules("main", all)
	if got := kinds(); len(got) != 0 {
		t.Errorf("protection of the old kind is shown as rules %v", got)
	}
	branch, _, err := b.client().Repositories.GetBranch(context.Background(), "acme", "platform", "main", 0)
	if err != nil || !branch.GetProtected() || branch.GetProtection().GetRequiredStatusChecks().GetContexts()[0] != "ci" {
		t.Errorf("branch is %v, %v", branch, err)
	}
}

func TestChecksAndStatuses(t *testing.T) {
	b := start(t, githubfake.Options{})
	sha := b.Repo().Tip("main")
	b.ask("GET", "commits/"+sha+"/check-suites", nil).want(t, 200, `"total_count":0`)
	b.ask("GET", "commits/"+sha+"/status", nil).want(t, 200, `"state":"pending"`)
	b.SetChecks(sha, githubfake.Check{Name: "a"}, githubfake.Check{Name: "b", Status: "queued"},
		githubfake.Check{Name: "c", Conclusion: "failure", App: "other"})
	b.SetStatus(sha, "old", "success")
	b.SetStatus(sha, "older", "error")
	ctx, gh := context.Background(), b.client()
	runs, _, err := gh.Checks.ListCheckRunsForRef(ctx, "acme", "platform", sha, nil)
	if err != nil || runs.GetTotal() != 3 || runs.CheckRuns[0].GetConclusion() != "success" || runs.CheckRuns[1].Conclusion != nil {
		t.Errorf("runs are %v, %v", runs, err)
	}
	suites, _, err := gh.Checks.ListCheckSuitesForRef(ctx, "acme", "platform", sha, nil)
	if err != nil || suites.GetTotal() != 2 || suites.CheckSuites[0].GetStatus() != "queued" || suites.CheckSuites[1].GetConclusion() != "failure" {
		t.Errorf("suites are %v, %v", suites, err)
	}
	status, _, err := gh.Repositories.GetCombinedStatus(ctx, "acme", "platform", sha, nil)
	if err != nil || status.GetState() != "failure" || len(status.Statuses) != 2 {
		t.Errorf("status is %v, %v", status, err)
	}
}
