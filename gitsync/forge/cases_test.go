package forge_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/poolwright/poolwright/gitsync/forge"
	"github.com/poolwright/poolwright/gitsync/githubfake"
	"github.com/poolwright/poolwright/gitsync/hub"
)

// TestC01BranchExistsAlready: a branch of our name has other commits, and the base went on. They stay, what is wished
// comes on top with the base, and ten ticks need one push.
func TestC01BranchExistsAlready(t *testing.T) {
	t.Parallel()
	for sentence, path := range map[string]string{
		"somebody's file elsewhere":        "docs/notes.md",
		"a foreign file of the directory":  dir + "/custom/extra.yaml",
		"a file of ours, by an older tool": dir + "/services.yaml",
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, nil)
			b.push(branch, "README.md", "hello\n") // begins it, without a parent in main
			b.hub.ForcePush(branch, b.hub.Repo().Tip("main"))
			theirs := []string{b.push(branch, path, "one\n"), b.push(branch, path, "two\n")}
			b.push("main", "apps/web/app.yaml", "web 2\n")
			b.files = epoch(2, "b")
			s := b.ticks(10, forge.Proposed)
			b.holds(true)
			for _, sha := range theirs {
				if !b.ancestor(sha, branch) {
					t.Error("a commit is lost")
				}
			}
			if got := b.git("show", branch+":"+path); path != dir+"/services.yaml" && got != "two" {
				t.Errorf("their file is %q", got)
			}
			if got := b.git("show", branch+":apps/web/app.yaml"); got != "web 2" {
				t.Errorf("the base's file is %q", got)
			}
			if s.Number != 1 || len(b.hub.AllPulls()) != 1 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// TestC09NotVerified: GitHub's word about our commit is in the standing of the very tick.
func TestC09NotVerified(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	b.files = epoch(2, "b")
	if s := b.tick(); s.State != forge.Proposed || s.Verified || s.VerifiedReason != "unsigned" {
		t.Errorf("%+v", s)
	}
	b.push(branch, "docs/notes.md", "theirs\n") // what is said stays about our commit
	if s := b.tick(); s.Verified || s.VerifiedReason != "unsigned" {
		t.Errorf("%+v", s)
	}
}

// TestC09VerifiedForAnApp: what an App writes through the API is signed by GitHub, because no author is named.
func TestC09VerifiedForAnApp(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	auth, err := hub.App(hub.AppOptions{
		API: b.hub.URL(), AppID: githubfake.AppID, Repository: b.hub.Name(), Now: func() time.Time { return b.now },
		Key: func(context.Context) ([]byte, error) { return b.hub.AppKey(), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	b.as(auth)
	b.hub.SetRules("poolwright/*", githubfake.Rules{Signatures: true})
	for n := range 2 {
		b.files = epoch(2+n, "b")
		if s := b.tick(); s.State != forge.Proposed || !s.Verified || s.VerifiedReason != "valid" {
			t.Errorf("%+v", s)
		}
	}
}

// TestC10ChecksThatNeverStart: how long is known, until they do.
func TestC10ChecksThatNeverStart(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	b.hub.SetRules("main", githubfake.Rules{PullRequest: true, Checks: []string{"render", "policy"}})
	b.files = epoch(2, "b")
	s := b.tick()
	b.now = b.now.Add(10 * time.Minute)
	for _, step := range []struct {
		says    string
		checks  []githubfake.Check
		missing []string
		waiting time.Duration
	}{
		{"none has started", nil, []string{"policy", "render"}, 10 * time.Minute},
		{"one that nobody requires has", []githubfake.Check{{Name: "lint", Status: "completed", Conclusion: "success"}}, []string{"policy", "render"}, 10 * time.Minute},
		{"one of the two has", []githubfake.Check{{Name: "render", Status: "queued"}}, []string{"policy"}, 10 * time.Minute},
		{"both have", []githubfake.Check{{Name: "policy", Status: "queued"}, {Name: "render", Status: "queued"}}, nil, 0},
	} {
		b.hub.SetChecks(s.Head, step.checks...)
		got := b.tick().Checks
		if !slices.Equal(got.Required, []string{"policy", "render"}) || !slices.Equal(got.Missing, step.missing) || got.Waiting != step.waiting {
			t.Errorf("%s: %+v", step.says, got)
		}
	}
}

// TestC10ChecksThatCannotBeSeen: that is said, and the pull request is kept all the same.
func TestC10ChecksThatCannotBeSeen(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	b.files = epoch(2, "b")
	b.hub.Fault("GET commits/{sha}/check-suites", 1, githubfake.Fault{Status: http.StatusForbidden, Message: "Resource not accessible by integration"})
	if s := b.tick(); s.State != forge.Proposed || !strings.Contains(s.Detail, "the checks cannot be seen") {
		t.Errorf("%+v", s)
	}
}

// TestC11RateLimited: opening runs into a limit. Until it is over nothing is opened, pushed again, closed or deleted.
func TestC11RateLimited(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	b.hub.Limit("POST pulls", githubfake.Limit{After: time.Minute})
	b.files = epoch(2, "b")
	for range 19 { // 57 s
		if _, err := b.try(); !errors.Is(err, hub.ErrLimited) {
			t.Fatalf("the error is %v", err)
		}
		b.now = b.now.Add(3 * time.Second)
	}
	tip := b.hub.Repo().Tip(branch)
	b.now = b.now.Add(4 * time.Second)
	b.state(b.tick(), forge.Proposed)
	if n := b.hub.Count("POST git/refs"); n != 1 || b.hub.Repo().Tip(branch) != tip {
		t.Errorf("%d pushes", n)
	}
	b.gentle()
	if n := b.hub.Count("POST pulls"); n != 2 {
		t.Errorf("%d calls to open", n)
	}
}

// gentle expects that nothing was closed or deleted.
func (b *bed) gentle() {
	b.t.Helper()
	if n := b.hub.Count("DELETE git/refs/{ref}"); n != 0 {
		b.t.Errorf("%d branches deleted", n)
	}
	for _, p := range b.hub.AllPulls() {
		if !p.Open {
			b.t.Errorf("#%d was closed by %s", p.Number, p.ClosedBy)
		}
	}
}

// TestC11ListFails: a list that cannot be had is no empty list.
func TestC11ListFails(t *testing.T) {
	t.Parallel()
	for _, status := range []int{500, 502, 404, 401, 403} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			b := newBed(t, nil)
			b.files = epoch(2, "b")
			b.tick()
			b.files = epoch(3, "c")
			b.restart()
			b.hub.Reset()
			b.hub.Fault("GET pulls", 100, githubfake.Fault{Status: status})
			if s, err := b.try(); err == nil {
				t.Fatalf("no error: %+v", s)
			}
			if w := b.hub.Writes(); len(w) > 0 {
				t.Errorf("writes %q", w)
			}
			b.gentle()
		})
	}
}

// TestC11EveryRequestFails: whichever request of a story fails, before it is carried out or after, that is an error of that
// tick, nothing is closed or deleted for it, and the next tick brings what is wished, with one pull request.
func TestC11EveryRequestFails(t *testing.T) {
	t.Parallel()
	begin := func(t *testing.T) *bed {
		b := newBed(t, nil)
		b.shape = func(w *forge.Wish) { w.Labels = []string{"database"} }
		b.files = epoch(2, "b")
		return b
	}
	whole := begin(t)
	whole.tick()
	for n := range whole.hub.Requests() {
		t.Run(fmt.Sprint("request ", n), func(t *testing.T) {
			t.Parallel()
			b := begin(t)
			b.hub.Fault("*", n, githubfake.Fault{})
			b.hub.Fault("*", 1, githubfake.Fault{Status: http.StatusBadGateway, Carried: n%2 == 1})
			if s, err := b.try(); !errors.Is(err, hub.ErrUnreachable) {
				t.Fatalf("%+v, %v", s, err)
			}
			b.now = b.now.Add(time.Minute)
			b.files = epoch(3, "c")
			b.push("main", "README.md", "moved\n")
			b.state(b.tick(), forge.Proposed)
			b.holds(true)
			b.gentle()
			if p := b.hub.Pull(1); p.Title != "example-pg: writer: c" || !slices.Contains(p.Labels, "database") {
				t.Errorf("%+v", p)
			}
		})
	}
}

// TestC12PullExistsAlready: a person opened one from our branch. It is adopted: its text and labels become ours.
func TestC12PullExistsAlready(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	b.files = epoch(2, "b")
	b.shape = func(w *forge.Wish) { w.Labels = []string{"database"} }
	b.hub.Fault("POST pulls", 1, githubfake.Fault{Status: http.StatusBadGateway, Carried: true}) // it is opened, and we do not know
	if _, err := b.try(); err == nil {
		t.Fatal("no error")
	}
	title, body := "mine", "opened by hand\r\n"
	b.hub.EditPull(1, &title, &body)
	b.hub.Reset()
	s := b.ticks(10, forge.Proposed)
	p := b.hub.Pull(1)
	ours := p.Title == "example-pg: writer: b" && strings.Contains(p.Body, "epoch: 2") && slices.Contains(p.Labels, "database")
	if len(b.hub.AllPulls()) != 1 || s.Number != 1 || !ours {
		t.Errorf("%+v, %+v", s, p)
	}
}

// TestC12TheListLags: whatever was opened, closed or moved a moment ago is not in the answers yet. There is one pull
// request all the same, and the ticks come to rest.
func TestC12TheListLags(t *testing.T) {
	t.Parallel()
	for _, restarts := range []bool{false, true} {
		for _, lag := range []int{1, 5} {
			t.Run(fmt.Sprintf("%d late answers, restarts %v", lag, restarts), func(t *testing.T) {
				t.Parallel()
				b := newBed(t, nil)
				b.hub.Lag(githubfake.Pulls, lag)
				b.hub.Lag(githubfake.Refs, lag)
				for round := range 4 {
					b.files = epoch(2+round, "b")
					b.eventually(forge.Proposed, restarts)
					b.holds(false)
				}
				if n := len(b.hub.AllPulls()); n != 1 {
					t.Errorf("%d pull requests", n)
				}
				b.files = nil
				b.eventually(forge.Closed, restarts)
				if len(b.open()) != 0 || b.hub.Repo().Tip(branch) != "" {
					t.Error("something is left")
				}
				if n := len(b.hub.Pull(1).Comments); n != 1 {
					t.Errorf("%d comments", n)
				}
			})
		}
	}
}

// eventually ticks until the state stays. Errors on the way are those that ask to come again.
func (b *bed) eventually(want forge.State, restarts bool) {
	b.t.Helper()
	calm := 0
	for range 40 {
		if restarts {
			b.restart()
		}
		b.hub.Reset()
		s, err := b.try()
		if err != nil && !anotherTime(err) {
			b.t.Fatal(err)
		}
		calm++
		if err != nil || s.State != want || len(b.hub.Writes()) > 0 {
			calm = 0
		}
		if calm == 4 {
			return
		}
		b.now = b.now.Add(3 * time.Second)
	}
	b.t.Fatalf("not %v", want)
}

// anotherTime tells whether an error asks to come again.
func anotherTime(err error) bool {
	kinds := []error{hub.ErrMoved, hub.ErrUnreachable, hub.ErrExists, hub.ErrNotFound}
	return slices.ContainsFunc(kinds, func(kind error) bool { return errors.Is(err, kind) })
}

// TestC13BackBeforeTheMerge: what was proposed is true no more. The pull request is closed with the reason, nothing of it
// stays, whether or not the branch may be deleted.
func TestC13BackBeforeTheMerge(t *testing.T) {
	t.Parallel()
	for sentence, rules := range map[string]githubfake.Rules{
		"the branch goes":               {},
		"the branch may not be deleted": {NoForce: true, NoDeletion: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, nil)
			b.hub.SetRules("poolwright/*", rules)
			b.files = grown(2, "c")
			b.tick()
			b.files = epoch(1, "a")
			s := b.ticks(5, forge.Closed)
			p := b.hub.Pull(1)
			if p.Open || p.Merged || s.Number != 1 || len(p.Comments) != 1 || !strings.Contains(p.Comments[0].Body, "nothing left to change") {
				t.Errorf("%+v, %+v", s, p)
			}
			if tip := b.hub.Repo().Tip(branch); rules.NoDeletion && b.git("diff", "main", tip) != "" || !rules.NoDeletion && tip != "" {
				t.Error("something is left on the branch")
			}
			b.files = grown(2, "c") // and again: that we closed it is no "no"
			s = b.ticks(3, forge.Proposed)
			if s.Number != 2 || strings.Contains(b.hub.Pull(2).Body, "Follows") {
				t.Errorf("%+v", s)
			}
			b.holds(true)
		})
	}
}

// TestC13PushedNotOpened: the branch is there as wished, the pull request is not. It is opened without another commit.
func TestC13PushedNotOpened(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	b.files = epoch(2, "b")
	b.hub.Fault("POST pulls", 1, githubfake.Fault{Status: http.StatusInternalServerError})
	if _, err := b.try(); !errors.Is(err, hub.ErrUnreachable) {
		t.Fatalf("the error is %v", err)
	}
	tip := b.hub.Repo().Tip(branch)
	b.restart()
	b.hub.Reset()
	if s := b.tick(); s.State != forge.Proposed || s.Head != tip || tip == "" || b.hub.Count("POST git/commits") != 0 {
		t.Errorf("%+v", s)
	}
}
