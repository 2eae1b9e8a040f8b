package cmd

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/poolwright/poolwright/live"
)

// TestAnEpochThatWasTakenBackIsNotUsedAgain: the Services and the commit agree on the next one.
func TestAnEpochThatWasTakenBackIsNotUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w, k := &shelf{}, newWorld("a", "b", "c"), newLiveStage()
		tellLiveStory(t, w, s, k)
		after(time.Minute)
		k.change(func(s *liveStage) { s.rival = "other" }) // nothing is committed for a while
		after(time.Second)
		w.change(func() { w.writer = "b" })
		after(20 * time.Second)
		if got := k.last(t); got.Epoch != 2 || !got.Begin {
			t.Fatalf("wanted %+v, want a failover at epoch 2", got)
		}
		k.change(func(s *liveStage) { s.sight.Control.Release = &live.Recall{Epoch: 2, By: "anna", At: time.Now()} })
		after(time.Second)
		if got := k.last(t); got.Epoch != 3 || !got.Begin || got.Known != nil {
			t.Errorf("wanted %+v, want it at epoch 3", got)
		}
		k.change(func(s *liveStage) { s.rival = "" })
		after(20 * time.Second)
		if got := s.subjects(); len(got) < 2 || !strings.Contains(got[1], "writer a → b (epoch 3)") {
			t.Errorf("committed %q", got)
		}
	})
}

// TestAnEpochThatIsLiveIsNotUsedAgain: the repository was put back to epoch 1 after the Services had come to 7.
func TestAnEpochThatIsLiveIsNotUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w, k := &shelf{}, newWorld("a", "b", "c"), newLiveStage()
		k.sight.Receipt = 7
		tellLiveStory(t, w, s, k)
		after(time.Minute)
		w.change(func() { w.writer = "b" })
		after(20 * time.Second)
		if got := k.last(t); got.Epoch < 8 {
			t.Errorf("wanted %+v, want an epoch beyond what is live", got)
		}
		if got := s.subjects(); len(got) < 2 || !strings.Contains(got[1], "writer a → b (epoch 8)") && !strings.Contains(got[1], "writer a → b (epoch 9)") {
			t.Errorf("committed %q", got)
		}
	})
}
