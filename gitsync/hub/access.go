package hub

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/go-github/v66/github"
)

// Access is what the credential may do with a branch, and what the branch asks for.
type Access struct {
	Push      bool // the credential may write to the repository; a rule may still forbid it here
	Archived  bool
	Protected bool // by branch protection or by a rule
	// NeedsPull and NeedsSignature are what rulesets say. The classic branch protection tells them only to
	// administrators: with it they are false, and Protected is true.
	NeedsPull, NeedsSignature bool
	RequiredChecks            []string  // sorted
	RenamedTo                 string    // owner/name; "" when the repository has the name it is called by
	ServerTime                time.Time // GitHub's clock, to the second
}

// Checks is what has been said of a commit.
type Checks struct {
	Suites int // zero: nothing has started
	// Contexts has the conclusion of each check run and commit status by name, or its status while it has none.
	// Of two with one name, the one that is not a success.
	Contexts map[string]string
}

// Self is the login that our commits, comments and pull requests carry.
func (c *Client) Self(ctx context.Context) (string, error) {
	if app, ok := c.auth.(*AppAuth); ok {
		return app.login(ctx)
	}
	u, _, err := c.gh.Users.Get(ctx, "")
	if err == nil && u.GetLogin() == "" {
		err = half("the login")
	}
	return u.GetLogin(), explain(ctx, err, "reading who we are")
}

// Access looks at the repository, the branch and the rules that apply to it. A branch that does not exist yet has
// only rules.
func (c *Client) Access(ctx context.Context, branch string) (Access, error) {
	if err := checkNames(branch); err != nil {
		return Access{}, explain(ctx, err, "looking at a branch")
	}
	a, err := c.repository(ctx)
	if err != nil {
		return Access{}, explain(ctx, err, fmt.Sprintf("looking at repository %s/%s", c.owner, c.name))
	}
	if err := c.protection(ctx, branch, &a); err != nil {
		return Access{}, explain(ctx, err, "looking at the protection of "+branch)
	}
	if err := c.rules(ctx, branch, &a); err != nil {
		return Access{}, explain(ctx, err, "looking at the rules of "+branch)
	}
	slices.Sort(a.RequiredChecks)
	a.RequiredChecks = slices.Compact(a.RequiredChecks)
	return a, nil
}

func (c *Client) repository(ctx context.Context) (Access, error) {
	r, resp, err := c.gh.Repositories.Get(ctx, c.owner, c.name)
	if err != nil {
		return Access{}, err
	}
	if r.GetFullName() == "" {
		return Access{}, half("the repository's name")
	}
	a := Access{Push: r.GetPermissions()["push"], Archived: r.GetArchived()}
	if app, ok := c.auth.(*AppAuth); ok {
		a.Push = app.mayWrite() // GitHub says of permissions only what people have
	}
	if !strings.EqualFold(r.GetFullName(), c.owner+"/"+c.name) {
		a.RenamedTo = printable(r.GetFullName())
	}
	a.ServerTime, _ = http.ParseTime(resp.Header.Get("Date")) // zero without one
	return a, nil
}

// protection is what the branch says of itself. go-github's own call goes past the client's error handling.
func (c *Client) protection(ctx context.Context, branch string, a *Access) error {
	var b github.Branch
	_, err := c.get(ctx, "branches/"+url.PathEscape(branch), &b)
	if errors.Is(err, ErrNotFound) || err == nil && b.GetName() != branch {
		return nil // none, or one that was renamed
	}
	if err != nil {
		return err
	}
	a.Protected = b.GetProtected()
	if checks := b.GetProtection().GetRequiredStatusChecks(); checks != nil {
		a.RequiredChecks = append(a.RequiredChecks, checks.GetContexts()...)
		for _, one := range checks.GetChecks() {
			a.RequiredChecks = append(a.RequiredChecks, one.Context)
		}
	}
	return nil
}

// rule is one of a ruleset. go-github's type refuses the kinds of rules that it does not know.
type rule struct {
	Type       string `json:"type"`
	Parameters struct {
		RequiredStatusChecks []struct {
			Context string `json:"context"`
		} `json:"required_status_checks"`
	} `json:"parameters"`
}

func (c *Client) rules(ctx context.Context, branch string, a *Access) error {
	all, err := pages(0, func(page github.ListOptions) (some []rule, resp *github.Response, err error) {
		resp, err = c.get(ctx, fmt.Sprintf("rules/branches/%s?page=%d&per_page=%d", branch, page.Page, page.PerPage), &some)
		return some, resp, err
	})
	if err != nil && !without(err) {
		return err
	}
	for _, r := range all {
		a.Protected = true
		a.NeedsPull = a.NeedsPull || r.Type == "pull_request"
		a.NeedsSignature = a.NeedsSignature || r.Type == "required_signatures"
		for _, check := range r.Parameters.RequiredStatusChecks {
			a.RequiredChecks = append(a.RequiredChecks, check.Context)
		}
	}
	return nil
}

// without tells whether there are no rulesets here: an old Enterprise Server, or a plan that has none.
func without(err error) bool {
	return errors.Is(err, ErrNotFound) || errors.Is(err, ErrAuth) && strings.Contains(strings.ToLower(err.Error()), "upgrade to")
}

// get reads what go-github has no call for. Its error is one of the kinds.
func (c *Client) get(ctx context.Context, path string, into any) (*github.Response, error) {
	req, err := c.gh.NewRequest(http.MethodGet, fmt.Sprintf("repos/%s/%s/%s", c.owner, c.name, path), nil)
	if err != nil {
		return nil, err
	}
	resp, err := c.gh.Do(ctx, req, into)
	if err != nil {
		return nil, judge(ctx, err, nil)
	}
	return resp, nil
}

// Checks reads check suites, check runs and commit statuses of a commit.
func (c *Client) Checks(ctx context.Context, sha string) (Checks, error) {
	if err := checkNames(sha); err != nil {
		return Checks{}, explain(ctx, err, "reading the checks of a commit")
	}
	seen := Checks{Contexts: map[string]string{}}
	for _, look := range []func(context.Context, string, *Checks) error{c.suites, c.runs, c.statuses} {
		if err := look(ctx, sha, &seen); err != nil {
			return Checks{}, explain(ctx, err, "reading the checks of "+sha)
		}
	}
	return seen, nil
}

func (c *Client) suites(ctx context.Context, sha string, seen *Checks) error {
	one := &github.ListCheckSuiteOptions{ListOptions: github.ListOptions{PerPage: 1}}
	got, _, err := c.gh.Checks.ListCheckSuitesForRef(ctx, c.owner, c.name, sha, one)
	if err != nil {
		return err
	}
	if got.Total == nil {
		return half("the number of suites")
	}
	seen.Suites = got.GetTotal()
	return nil
}

func (c *Client) runs(ctx context.Context, sha string, seen *Checks) error {
	all, err := pages(0, func(page github.ListOptions) ([]*github.CheckRun, *github.Response, error) {
		got, resp, err := c.gh.Checks.ListCheckRunsForRef(ctx, c.owner, c.name, sha, &github.ListCheckRunsOptions{ListOptions: page})
		if err != nil {
			return nil, resp, err
		}
		return got.CheckRuns, resp, nil
	})
	for _, r := range all {
		state := r.GetConclusion()
		if state == "" {
			state = r.GetStatus()
		}
		seen.note(r.GetName(), state)
	}
	return err
}

func (c *Client) statuses(ctx context.Context, sha string, seen *Checks) error {
	all, err := pages(0, func(page github.ListOptions) ([]*github.RepoStatus, *github.Response, error) {
		got, resp, err := c.gh.Repositories.GetCombinedStatus(ctx, c.owner, c.name, sha, &page)
		if err != nil {
			return nil, resp, err
		}
		return got.Statuses, resp, nil
	})
	for _, s := range all {
		seen.note(s.GetContext(), s.GetState())
	}
	return err
}

// note keeps, of two with one name, the one that holds a merge up.
func (c *Checks) note(name, state string) {
	if was, ok := c.Contexts[name]; !ok || was == "success" {
		c.Contexts[name] = state
	}
}
