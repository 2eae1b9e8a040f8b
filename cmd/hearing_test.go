package cmd

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/poolwright/poolwright/live"
)

// pausedUnseen is a live side that has read nothing yet, of a cluster that alice paused.
func pausedUnseen() *liveStage {
	k := newLiveStage()
	k.seen, k.sight.Control.Pause = false, &live.Pause{By: "alice", Reason: "maintenance"}
	return k
}

// restarted is a cluster whose writer fails over while its process is started again.
func restarted(t *testing.T, s *shelf, k *liveStage) *story {
	t.Helper()
	w := newWorld("a", "b", "c")
	first := tellLiveStory(t, w, s, newLiveStage())
	after(time.Minute)
	first.stop()
	w.change(func() { w.writer = "b" })
	return tellLiveStory(t, w, s, k)
}

// saidOf counts the events of a kind with a word in their error.
func (st *story) saidOf(kind EventKind, word string) (n int) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, e := range st.said {
		if e.Kind == kind && e.Err != nil && strings.Contains(e.Err.Error(), word) {
			n++
		}
	}
	return n
}

// TestC08AProcessThatStartsHearsThePauseBeforeItCommits: whether Kubernetes is read late as a whole, or the people's words alone.
func TestC08AProcessThatStartsHearsThePauseBeforeItCommits(t *testing.T) {
	for name, reads := range map[string]func(*liveStage){
		"everything is read":                       func(s *liveStage) { s.seen = true },
		"the control ConfigMap is, and no Service": func(s *liveStage) { s.read = true },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, k := &shelf{}, pausedUnseen()
				st := restarted(t, s, k)
				after(firstHearing - time.Second)
				wantSubjects(t, s, "epoch 1")
				k.change(reads)
				after(5 * time.Minute)
				wantSubjects(t, s, "epoch 1")
				if n := st.saidOf(Hindered, "pause not known"); n != 0 {
					t.Errorf("said %d times that the pause is not known", n)
				}
				k.change(func(s *liveStage) { s.sight.Control.Pause = nil })
				after(10 * time.Second)
				wantFirst(t, s, "epoch 1", "writer a → b")
			})
		})
	}
}

// TestWithoutKubernetesTheCommitGoesOutAloneAfterAWhile: and it is said that somebody may have paused the cluster.
func TestWithoutKubernetesTheCommitGoesOutAloneAfterAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, k := &shelf{}, pausedUnseen()
		st := restarted(t, s, k)
		after(firstHearing - time.Millisecond)
		wantSubjects(t, s, "epoch 1")
		after(time.Second)
		wantFirst(t, s, "epoch 1", "writer a → b")
		after(time.Minute)
		if n := st.saidOf(Hindered, "pause not known"); n != 1 {
			t.Errorf("said %d times that the pause is not known, want once", n)
		}
		n := len(s.subjects())
		k.change(func(s *liveStage) { s.seen = true })
		st.world.change(func() { st.world.writer = "c" })
		after(time.Minute)
		if got := s.subjects(); len(got) != n {
			t.Errorf("after the pause was heard: %q", got)
		}
		if got := st.kinds(); !slices.Contains(got, Cleared) {
			t.Errorf("got events %v, want it said that the pause is known", got)
		}
	})
}

// TestStatusSaysWhenAPauseIsNotKnown: Kubernetes cannot be seen, or what people said there may not be read.
func TestStatusSaysWhenAPauseIsNotKnown(t *testing.T) {
	b := newBench(t, benchState())
	if text := textOf(t, b.surveyed()); strings.Contains(text, "  paused") {
		t.Errorf("got %s", text)
	}
	wantWords(t, textOf(t, surveyOf(t.Context(), b.site, b.world(), leaseView{}, errNoKube)), "  paused    not known: Kubernetes cannot be seen")
	d := storyDeclaration(t, "  publish:", "  failover: {patchServices: false}\n  publish:")
	alone := b.surveyed()
	alone.site.declared, alone.sight = &d, nil
	wantIs(t, "through Git alone", alone.view().PauseUnknown, "")
	b.refuse("get", "configmaps")
	v := b.surveyed()
	v.sight = &live.Sight{Names: b.names, ControlErr: errNoKube}
	wantWords(t, textOf(t, v), "  paused    not known: the control ConfigMap cannot be read")
}

// TestTheFirstCommitDoesNotWaitWhereKubernetesIsSeenOrNotMeant: nor does it for a cluster that is kept through Git alone.
func TestTheFirstCommitDoesNotWaitWhereKubernetesIsSeenOrNotMeant(t *testing.T) {
	for name, side := range map[string]func() ahead{
		"seen":      func() ahead { return newLiveStage() },
		"not meant": func() ahead { return gitOnly{} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &shelf{}
				st := newStory(t, newWorld("a", "b", "c"), s)
				st.Live = side()
				st.run(t)
				after(time.Second)
				wantFirst(t, s, "epoch 1")
			})
		})
	}
}
