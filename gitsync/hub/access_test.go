package hub_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/poolwright/poolwright/gitsync/githubfake"
	"github.com/poolwright/poolwright/gitsync/gitserver"
	"github.com/poolwright/poolwright/gitsync/hub"
)

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
	const upgrade = "Upgrade to GitHub Pro or make this repository public to enable this feature."
	for name, c := range map[string]struct {
		rules http.HandlerFunc
		want  hub.Access
		err   error
	}{
		"a kind of rule that is new": {
			says(200, `[{"type":"copilot_code_review","parameters":{"x":[1]}},{"type":"required_signatures"}]`),
			hub.Access{Protected: true, NeedsSignature: true},
			nil,
		},
		"an old server":                 {says(404, message("Not Found")), hub.Access{}, nil},
		"a plan without rules":          {says(403, message(upgrade)), hub.Access{}, nil},
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
