package cmd

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/poolwright/poolwright/discovery/notice"
	"github.com/poolwright/poolwright/gitsync"
	"github.com/poolwright/poolwright/gitsync/forge"
	"github.com/poolwright/poolwright/gitsync/webhook"
	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/render/build"
)

// desk is where a storyboard's pull request lies. What people do with it, the storyboard does.
type desk struct {
	mu     sync.Mutex
	asked  []forge.Wish
	down   error
	closed string // the key that people said no to
	merged bool
	number int
}

func (k *desk) Keep(_ context.Context, _ declaration, w forge.Wish) (forge.Standing, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked = append(k.asked, w)
	s := forge.Standing{Number: k.number}
	switch {
	case k.down != nil:
		return forge.Standing{}, k.down
	case w.Key == "":
		s.State = forge.None
	case w.Key == k.closed:
		s.State = forge.Declined
	case k.merged:
		s.State = forge.Merged
	default:
		s.State = forge.Proposed
	}
	return s, nil
}

// last is what was wished last.
func (k *desk) last(t *testing.T) forge.Wish {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.asked) == 0 {
		t.Fatal("nothing was asked for")
	}
	return k.asked[len(k.asked)-1]
}

// merge puts what is proposed onto the shelf, as a squash does.
func (k *desk) merge(t *testing.T, s *shelf) {
	t.Helper()
	w := k.last(t)
	s.mu.Lock()
	s.commit(gitsync.Change{Put: w.Put, Delete: w.Delete, Message: w.Message})
	s.mu.Unlock()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.merged = true
}

// reviewed makes the storyboard's classes of change need a pull request.
func reviewed(classes ...string) []string {
	text := "  publish:\n    forge: {type: github, repository: acme/fleet, auth: {tokenEnv: TOKEN}}\n    policy: {"
	for i, c := range classes {
		if i > 0 {
			text += ", "
		}
		text += c + ": pullRequest"
	}
	return []string{"  publish:\n", text + "}\n"}
}

func tellReview(t *testing.T, w *world, s *shelf, k *desk, classes ...string) *story {
	t.Helper()
	st := newStory(t, w, s, reviewed(classes...)...)
	st.world, st.Reviews, st.Builder = w, k, &build.Builder{}
	st.run(t)
	return st
}

// TestC22AFirstTreeByReviewIsProposedAndNotCommitted: and once it is merged, it is the base of all that follows.
func TestC22AFirstTreeByReviewIsProposedAndNotCommitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, k := &shelf{}, &desk{number: 7}
		s.edit("a person's first commit", gitsync.Files{"README.md": []byte("hello\n")})
		st := tellReview(t, newWorld("a", "b"), s, k, "scale")
		after(time.Hour)
		wantSubjects(t, s, "a person's first commit")
		w := k.last(t)
		if !strings.Contains(w.Title, "first tree") || w.Put["services.yaml"] == nil || !strings.Contains(w.Message, "Poolwright-Change: scale") {
			t.Errorf("proposed is %q: %q", w.Title, w.Message)
		}
		if n := len(slices.Compact(texts(k))); n != 1 {
			t.Errorf("in an hour of nothing the description had %d texts", n)
		}
		k.merge(t, s)
		after(time.Minute)
		if w := k.last(t); w.Key != "" {
			t.Errorf("after the merge there is still something to wish: %q", w.Title)
		}
		if got := st.kinds(); count(got, Reviewed) != 2 {
			t.Errorf("said %v, want that it was proposed and then that nothing is wished", got)
		}
	})
}

func texts(k *desk) (all []string) {
	for _, w := range k.asked {
		all = append(all, w.Title+w.Body+w.Message)
	}
	return all
}

// TestAFailoverIsCommittedWhileAnOverlayAwaitsReview: what may be committed is not kept back by what may not.
func TestAFailoverIsCommittedWhileAnOverlayAwaitsReview(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s, k := newWorld("a", "b", "c"), &shelf{}, &desk{}
		st := newStory(t, w, s)
		st.world, st.Reviews, st.Builder = w, k, &build.Builder{}
		st.run(t)
		after(time.Minute)
		st.declare(storyDeclaration(t, reviewed("scale", "config")...), nil)
		w.change(func() { w.names = append(w.names, "d") })
		after(time.Minute)
		if p := k.last(t); !strings.Contains(p.Title, "add d") || p.Put["instances/d/pgbouncer.ini"] == nil {
			t.Errorf("proposed is %q", p.Title)
		}
		w.kill()
		after(time.Second)
		w.change(func() { w.writer = "b" })
		after(5 * time.Minute)
		if got := s.subjects(); !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, "writer a → b") }) {
			t.Errorf("commits are %q, want the failover", got)
		}
		if s.now()["instances/d/kustomization.yaml"] != nil {
			t.Error("the overlay of d is committed, which a person has to review")
		}
		if p := k.last(t); p.Put["instances/d/pgbouncer.ini"] == nil || p.Put["services.yaml"] == nil && !strings.Contains(p.Title, "add d") {
			t.Errorf("after the failover proposed is %q", p.Title)
		}
	})
}

// TestConfigByReviewComesWithNoOtherCommit: a change of the declaration waits for its merge, also when a reader leaves meanwhile.
func TestConfigByReviewComesWithNoOtherCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s, k := newWorld("a", "b", "c"), &shelf{}, &desk{}
		st := tellReview(t, w, s, k, "config")
		after(time.Minute)
		before := s.now()
		edits := append(reviewed("config"), "    authFileSecretRef:", "    config: {pgbouncer: {default_pool_size: 33}}\n    authFileSecretRef:")
		st.declare(storyDeclaration(t, edits...), nil)
		after(time.Minute)
		if p := k.last(t); !strings.Contains(string(p.Put["instances/a/pgbouncer.ini"]), "default_pool_size = 33") {
			t.Errorf("proposed is %q with %v", p.Title, sortedKeys(p.Put))
		}
		w.change(func() { w.down["c"] = true })
		after(5 * time.Minute)
		now := s.now()
		if string(now["services.yaml"]) == string(before["services.yaml"]) {
			t.Error("c fails, and no commit takes it out of the readers")
		}
		if strings.Contains(string(now["instances/a/pgbouncer.ini"]), "33") {
			t.Error("the configuration went in with another commit")
		}
	})
}

// TestC15ADeclinedChangeIsNotProposedAgain: nor is it committed. Another fact is another question.
func TestC15ADeclinedChangeIsNotProposedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s, k := newWorld("a", "b"), &shelf{}, &desk{number: 7}
		st := tellReview(t, w, s, k, "membership", "config")
		after(time.Minute)
		w.change(func() { w.down["b"] = true })
		after(5 * time.Minute)
		first := k.last(t)
		k.mu.Lock()
		k.closed = first.Key
		k.mu.Unlock()
		commits := len(s.subjects())
		after(time.Hour)
		if got := k.last(t); got.Key != first.Key || len(s.subjects()) != commits {
			t.Errorf("after the no %q is wished, and there are %d commits more", got.Title, len(s.subjects())-commits)
		}
		if kinds := st.kinds(); count(kinds, Reviewed) < 2 {
			t.Errorf("said %v, want that it was declined", kinds)
		}
		w.change(func() { w.names = append(w.names, "c") })
		after(5 * time.Minute)
		if got := k.last(t); got.Key == first.Key || !strings.Contains(got.Body, "7") {
			t.Errorf("with another instance %q is wished, which does not name the pull request that was declined", got.Title)
		}
	})
}

// TestC11AnErrorOfTheForgeIsWaitedOut: it is said once, and nothing is concluded from it.
func TestC11AnErrorOfTheForgeIsWaitedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, k := &shelf{}, &desk{down: errors.New("listing pull requests: 502")}
		s.edit("a person's first commit", gitsync.Files{"README.md": []byte("hello\n")})
		st := tellReview(t, newWorld("a", "b"), s, k, "scale")
		after(4 * time.Minute)
		k.mu.Lock()
		tries := len(k.asked)
		k.down = nil
		k.mu.Unlock()
		if tries < 3 || tries > 20 {
			t.Errorf("%d tries in four minutes", tries)
		}
		after(5 * time.Minute)
		if kinds := st.kinds(); count(kinds, ForgeFailed) != 1 || count(kinds, ForgeBack) != 1 || count(kinds, Reviewed) != 1 {
			t.Errorf("said %v", kinds)
		}
	})
}

// TestC10ChecksThatNeverStartAreToldOf: and it is taken back when they have.
func TestC10ChecksThatNeverStartAreToldOf(t *testing.T) {
	waits := forge.Standing{State: forge.Proposed, Number: 7, Checks: forge.ChecksSeen{Required: []string{"lint", "render"}, Missing: []string{"render"}, Waiting: 11 * time.Minute}}
	if err := checksTrouble(waits); err == nil || !strings.Contains(err.Error(), "checks not started") || !strings.Contains(err.Error(), "#7 waits for checks that have not started for 11m0s: render;") {
		t.Errorf("the trouble is %v", err)
	}
	for says, change := range map[string]func(*forge.Standing){
		"it has started":         func(s *forge.Standing) { s.Checks.Missing = nil },
		"they may start yet":     func(s *forge.Standing) { s.Checks.Waiting = 9 * time.Minute },
		"there is nothing to do": func(s *forge.Standing) { s.State = forge.Merged },
	} {
		s := waits
		if change(&s); checksTrouble(s) != nil {
			t.Errorf("%s: %v", says, checksTrouble(s))
		}
	}
}

// TestAHintIsAReasonToLook: RDS opens the window of the cluster that it speaks of, GitHub makes Git be read again.
func TestAHintIsAReasonToLook(t *testing.T) {
	rds := func(of notice.Resource, source string, kind notice.Kind) hint {
		return hint{rds: &notice.Notice{Of: of, Source: source, Kind: kind, EventID: "RDS-EVENT-0069"}}
	}
	pushed := func(repository, branch string) hint {
		return hint{github: &webhook.Event{Kind: webhook.Push, Repository: repository, Branch: branch}}
	}
	for says, c := range map[string]struct {
		hint         hint
		window, read bool
	}{
		"the cluster fails over":           {rds(notice.Cluster, "story", notice.Failover), true, false},
		"an instance restarts":             {rds(notice.Instance, "b", notice.Availability), true, false},
		"an instance is created":           {rds(notice.Instance, "b", notice.Creation), false, false},
		"another cluster fails over":       {rds(notice.Cluster, "other", notice.Failover), false, false},
		"an instance of another restarts":  {rds(notice.Instance, "x", notice.Availability), false, false},
		"the branch has moved":             {pushed("git.example.com/fleet", "main"), false, true},
		"another branch has moved":         {pushed("git.example.com/fleet", "next"), false, false},
		"another repository's has moved":   {pushed("git.example.com/other", "main"), false, false},
		"a repository without a name does": {pushed("", "main"), false, false},
	} {
		t.Run(says, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hints := make(chan hint, 1)
				w, s := newWorld("a", "b"), &shelf{}
				st := newStory(t, w, s)
				st.Hints = hints
				st.run(t)
				after(time.Minute + time.Second)
				reads, looks := s.readCount(), len(w.looks)
				hints <- c.hint
				after(500 * time.Millisecond)
				if got := slices.Contains(st.kinds(), WindowOpened); got != c.window {
					t.Errorf("the window opened: %t", got)
				}
				if got := s.readCount() > reads; got != c.read {
					t.Errorf("Git was read: %t", got)
				}
				if c.window && len(w.looks) < looks+3 {
					t.Errorf("%d looks in half a second", len(w.looks)-looks)
				}
			})
		})
	}
}

// TestWithoutConfig: a drawing keeps what the decision is about, and leaves what the declaration alone has changed.
func TestWithoutConfig(t *testing.T) {
	base := gitsync.Files{"same": []byte("old"), "moved": []byte("old"), "gone": []byte("# Generated by poolwright"), "theirs": []byte("x")}
	drawn := map[string][]byte{"same": []byte("config"), "moved": []byte("config and decision"), "new": []byte("config")}
	declared := map[string][]byte{"same": []byte("config"), "moved": []byte("config")}
	got := withoutConfig(base, drawn, declared)
	for name, want := range map[string]string{"same": "old", "moved": "config and decision", "new": "config"} {
		if string(got[name]) != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	if _, there := got["theirs"]; there {
		t.Error("a person's file is drawn")
	}
}

// TestAFailoverByReviewIsLiveAndNotCommitted is the promise that a review is never passed over.
func TestAFailoverByReviewIsLiveAndNotCommitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s, k := newWorld("a", "b", "c"), &shelf{}, &desk{}
		tellReview(t, w, s, k, "failover")
		after(time.Minute)
		commits := s.subjects()
		w.kill()
		after(time.Second)
		w.change(func() { w.writer = "b" })
		after(time.Hour)
		if got := s.subjects(); !slices.Equal(got, commits) {
			t.Errorf("commits are %q, were %q", got, commits)
		}
		if p := k.last(t); !strings.Contains(p.Title, "writer a → b") || !strings.Contains(p.Message, "Poolwright-Change: "+plan.FailoverChange.String()) {
			t.Errorf("proposed is %q", p.Title)
		}
		k.merge(t, s)
		after(time.Minute)
		if got := s.subjects(); len(got) <= len(commits) {
			t.Errorf("commits are %q", got)
		}
	})
}
