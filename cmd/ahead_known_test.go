package cmd

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poolwright/poolwright/discovery"
	"github.com/poolwright/poolwright/gitsync"
	"github.com/poolwright/poolwright/live"
	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/render"
)

// inLiveStory tells a story of three instances that has been at rest for a minute.
func inLiveStory(t *testing.T, tell func(*testing.T, *story, *world, *shelf, *liveStage)) {
	synctest.Test(t, func(t *testing.T) {
		s, w, k := &shelf{}, newWorld("a", "b", "c"), newLiveStage()
		st := tellLiveStory(t, w, s, k)
		after(time.Minute)
		tell(t, st, w, s, k)
	})
}

// moved is the record of an override by somebody else.
func moved(epoch uint64, to string) *live.Record {
	return &live.Record{Version: 1, Epoch: epoch, From: "a", To: to, At: time.Now()}
}

// TestC24AnOverrideThatCameWhileTheDatabasesWereAskedIsNotKnown: what they answered may be older.
func TestC24AnOverrideThatCameWhileTheDatabasesWereAskedIsNotKnown(t *testing.T) {
	inLiveStory(t, func(t *testing.T, _ *story, w *world, s *shelf, k *liveStage) {
		var during int
		w.change(func() {
			w.asked = func() {
				k.mu.Lock()
				defer k.mu.Unlock()
				k.sight.Control.Override, during = moved(5, "b"), len(k.wants)
				w.asked = nil
			}
		})
		after(time.Minute)
		k.mu.Lock()
		defer k.mu.Unlock()
		if got := k.wants[during].Known; got != nil {
			t.Errorf("the decision knew of %+v", got)
		}
		if got := k.wants[during+1].Known; len(got) != 1 {
			t.Errorf("the next decision knew of %+v", got)
		}
	})
}

// TestC24WhatWasReadBeforeAPushOfOursProvesNothingAfterIt: the commit may be there by now.
func TestC24WhatWasReadBeforeAPushOfOursProvesNothingAfterIt(t *testing.T) {
	inLiveStory(t, func(t *testing.T, _ *story, w *world, s *shelf, k *liveStage) {
		k.change(func(s *liveStage) { s.sight.Control.Override = moved(5, "b") })
		after(10 * time.Second)
		if got := k.last(t).Read; got != 5 {
			t.Fatalf("Git was read at %d", got)
		}
		s.mu.Lock()
		s.latency = 20 * time.Second
		s.mu.Unlock()
		w.change(func() { w.writer = "b" })
		after(6 * time.Second) // the push is under way
		w.change(func() { w.writer = "a" })
		after(6 * time.Second)
		if got := k.last(t); got.To != "a" || got.Read != 0 {
			t.Errorf("while the push is under way Git is said to have been read at %d", got.Read)
		}
		after(time.Minute)
		if got := k.last(t).Read; got != 5 {
			t.Errorf("after the push Git is said to have been read at %d", got)
		}
	})
}

// TestC24AnOverrideThatHasGoneIsForgotten: Git was not read after the next one of its epoch.
func TestC24AnOverrideThatHasGoneIsForgotten(t *testing.T) {
	inLiveStory(t, func(t *testing.T, _ *story, w *world, s *shelf, k *liveStage) {
		k.change(func(s *liveStage) { s.sight.Control.Override = moved(5, "b") })
		after(4 * time.Second)
		k.change(func(s *liveStage) { s.sight.Control.Override = nil })
		after(time.Second)
		before := s.readCount()
		k.change(func(s *liveStage) { s.sight.Control.Override = moved(5, "c") })
		after(100 * time.Millisecond)
		if n := s.readCount(); n != before+1 {
			t.Errorf("Git was read %d times", n-before)
		}
	})
}

// TestARemoteThatRefusesEveryPushIsRead: a person may have committed what we may not.
func TestARemoteThatRefusesEveryPushIsRead(t *testing.T) {
	inLiveStory(t, func(t *testing.T, _ *story, w *world, s *shelf, k *liveStage) {
		s.refuse(fmt.Errorf("%w: protected branch", gitsync.ErrRefused))
		w.change(func() { w.writer = "b" })
		k.change(func(s *liveStage) { s.sight.Control.Override = moved(2, "b") })
		after(time.Minute)
		before := s.readCount()
		after(2 * time.Minute)
		if n := s.readCount(); n == before {
			t.Error("Git is not read any more")
		}
		if got := k.last(t).Read; got != 2 {
			t.Errorf("Git is said to have been read at %d", got)
		}
	})
}

// TestWhereNothingCanBeDecidedWhatStandsStands: a want of the past would go on moving the Services, and hear of no pause.
func TestWhereNothingCanBeDecidedWhatStandsStands(t *testing.T) {
	inLiveStory(t, func(t *testing.T, st *story, w *world, s *shelf, k *liveStage) {
		s.refuse(fmt.Errorf("%w: protected branch", gitsync.ErrRefused))
		w.change(func() { w.writer = "b" })
		after(10 * time.Second)
		if got := k.last(t); !got.Begin || got.To != "b" {
			t.Fatalf("wants %+v", got)
		}
		st.declare(storyDeclaration(t), errors.New("no such file"))
		k.change(func(s *liveStage) { s.sight.Control.Override = moved(2, "b") })
		after(10 * time.Second)
		got := k.last(t)
		if writer := got.Roles[0]; !got.Hold || got.Begin || got.Paused != "" || writer.Select[render.LabelInstance] != "a" || len(got.Known) != 1 {
			t.Errorf("without the Cluster file it wants %+v", got)
		}
		k.change(func(s *liveStage) { s.sight.Control.Pause = &live.Pause{By: "anna", Reason: "because"} })
		after(10 * time.Second)
		if got := k.last(t).Paused; got != "anna: because" {
			t.Errorf("the pause is %q", got)
		}
	})
}

// TestATreeThatCannotBeReadBackStopsNoFailover: what is applied tells who was the writer.
func TestATreeThatCannotBeReadBackStopsNoFailover(t *testing.T) {
	inLiveStory(t, func(t *testing.T, _ *story, w *world, s *shelf, k *liveStage) {
		k.applied(t, s.now())
		s.edit("a person breaks it", gitsync.Files{"topology.yaml": []byte("# Generated by poolwright\n\t{")})
		after(time.Minute)
		w.change(func() { w.writer = "b" })
		after(10 * time.Second)
		if got := k.last(t); !got.Begin || got.To != "b" || got.Declared != 0 {
			t.Errorf("wants %+v", got)
		}
	})
}

func TestC24ADecisionSaysWhichOverrideItKnewOf(t *testing.T) {
	inLiveStory(t, func(t *testing.T, _ *story, w *world, s *shelf, k *liveStage) {
		if got := k.last(t).Known; got != nil {
			t.Errorf("knew of %+v, and there is no override", got)
		}
		k.change(func(s *liveStage) {
			s.sight.Control.Override = &live.Record{Version: 1, Epoch: 5, From: "a", To: "b", At: time.Now()}
		})
		after(10 * time.Second)
		if got := k.last(t).Known; len(got) != 1 || got[0].Epoch != 5 {
			t.Errorf("knew of %+v, want epoch 5", got)
		}
	})
}

// TestC24GitIsReadAtOnceWhenSomebodyMovedTheServices: from a Git that is newer than what was read, as its epoch says.
func TestC24GitIsReadAtOnceWhenSomebodyMovedTheServices(t *testing.T) {
	inLiveStory(t, func(t *testing.T, _ *story, w *world, s *shelf, k *liveStage) {
		for _, step := range []struct {
			epoch uint64
			reads int
		}{{1, 0}, {3, 1}, {2, 0}, {4, 1}} {
			before := s.readCount()
			k.change(func(s *liveStage) {
				s.sight.Control.Override = &live.Record{Version: 1, Epoch: step.epoch, From: "b", To: "a", At: time.Now()}
			})
			after(2 * time.Second)
			if got := s.readCount() - before; got != step.reads {
				t.Errorf("at epoch %d Git was read %d times, want %d", step.epoch, got, step.reads)
			}
			if got := k.last(t).Read; step.reads > 0 && got != step.epoch {
				t.Errorf("Git is said to have been read at epoch %d, want %d", got, step.epoch)
			}
			after(readEvery)
		}
	})
}

// TestGitIsReadAtOnceWhenTheToolHasCome: what was read before may not be what the tool has applied.
func TestGitIsReadAtOnceWhenTheToolHasCome(t *testing.T) {
	inLiveStory(t, func(t *testing.T, _ *story, w *world, s *shelf, k *liveStage) {
		for _, epoch := range []string{"2", "1"} {
			after(readEvery)
			before := s.readCount()
			k.change(func(s *liveStage) {
				s.sight.Services = map[live.Role]*corev1.Service{live.Writer: {ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{render.AnnotationEpoch: epoch}}}}
			})
			after(time.Second)
			if n := s.readCount(); n == before {
				t.Errorf("at epoch %s Git was not read again", epoch)
			}
			after(time.Second)
			if got := k.last(t).Applied; got != map[string]uint64{"1": 1, "2": 2}[epoch] {
				t.Errorf("at epoch %s Git is said to have been read at %d", epoch, got)
			}
		}
		before := s.readCount()
		after(readEvery / 3)
		if n := s.readCount(); n > before+1 {
			t.Errorf("%d reads while nothing changed", n-before)
		}
	})
}

// TestAWriterWithoutAnOverlayMovesNoService: neither back to the declared writer, which the databases do not name either.
func TestAWriterWithoutAnOverlayMovesNoService(t *testing.T) {
	declared := plan.State{Epoch: 2, Writer: "a", Members: []plan.Member{{Name: "a"}, {Name: "b", Slot: 1}}}
	way := declared
	way.Epoch, way.Members = 3, append(slices.Clone(way.Members), plan.Member{Name: "d", Slot: 2})
	seen := discovery.Topology{Instances: []discovery.Instance{{Name: "d", Role: discovery.Writer}}}
	decided := plan.Plan{Action: plan.Publish, Want: way}
	if w := wantOf(storyDeclaration(t), declared, "abc", decided, evidence{Topology: seen}); !w.Hold {
		t.Errorf("%+v", w)
	}
	seen.Instances[0].Name = "a"
	if w := wantOf(storyDeclaration(t), declared, "abc", decided, evidence{Topology: seen}); w.Hold {
		t.Errorf("an overlay is added, and nothing else: %+v", w)
	}
}

// TestAHoldThatWaitsForSomethingElseFollowsTheDatabases: a batch, or a person's revert of something else, keeps no Service from the declared
// writer when the databases name it too.
func TestAHoldThatWaitsForSomethingElseFollowsTheDatabases(t *testing.T) {
	declared := plan.State{Epoch: 2, Writer: "a", Members: []plan.Member{{Name: "a"}, {Name: "b", Slot: 1}}}
	says := func(writer string, doubts ...discovery.Doubt) discovery.Topology {
		return discovery.Topology{Instances: []discovery.Instance{{Name: writer, Role: discovery.Writer}}, Doubts: doubts}
	}
	for name, c := range map[string]struct {
		seen   discovery.Topology
		reason plan.Code
		order  *plan.Order
		hold   bool
	}{
		"a batch is open":                         {seen: says("a"), reason: plan.Batching},
		"a revert of something else":              {seen: says("a"), reason: plan.RevertedByPerson},
		"a revert of the failover":                {seen: says("b"), reason: plan.RevertedByPerson, hold: true},
		"a batch, and the databases are in doubt": {seen: says("a", discovery.Doubt{Code: discovery.NoWriter}), reason: plan.Batching, hold: true},
		"a batch, and an order stands":            {seen: says("a"), reason: plan.Batching, order: &plan.Order{Writer: "b"}, hold: true},
		"the declared state is broken":            {seen: says("a"), reason: plan.DeclaredBroken, hold: true},
	} {
		decided := plan.Plan{Action: plan.Hold, Want: declared, Reasons: []plan.Reason{{Code: c.reason}}}
		w := wantOf(storyDeclaration(t), declared, "abc", decided, evidence{Topology: c.seen, Order: c.order})
		if w.Hold != c.hold || w.Begin || w.To != "a" {
			t.Errorf("%s: %+v, want hold %v", name, w, c.hold)
		}
	}
}
