package cmd

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poolwright/poolwright/live"
	"github.com/poolwright/poolwright/render"
)

func TestC24ADecisionSaysWhichOverrideItKnewOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w, k := &shelf{}, newWorld("a", "b", "c"), newLiveStage()
		tellLiveStory(t, w, s, k)
		after(time.Minute)
		if got := k.last(t).Known; got != 0 {
			t.Errorf("knew of epoch %d, and there is no override", got)
		}
		k.change(func(s *liveStage) {
			s.sight.Control.Override = &live.Record{Version: 1, Epoch: 5, From: "a", To: "b", At: time.Now()}
		})
		after(10 * time.Second)
		if got := k.last(t).Known; got != 5 {
			t.Errorf("knew of epoch %d, want 5", got)
		}
	})
}

// TestGitIsReadAtOnceWhenTheToolHasCome: what was read before may not be what the tool has applied.
func TestGitIsReadAtOnceWhenTheToolHasCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w, k := &shelf{}, newWorld("a", "b", "c"), newLiveStage()
		tellLiveStory(t, w, s, k)
		after(time.Minute)
		reads := func() int {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.reads
		}
		for _, epoch := range []string{"2", "1"} {
			after(readEvery)
			before := reads()
			k.change(func(s *liveStage) {
				s.sight.Services = map[live.Role]*corev1.Service{live.Writer: {ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{render.AnnotationEpoch: epoch}}}}
			})
			after(time.Second)
			if n := reads(); n == before {
				t.Errorf("at epoch %s Git was not read again", epoch)
			}
			after(time.Second)
			if got := k.last(t).Applied; got != map[string]uint64{"1": 1, "2": 2}[epoch] {
				t.Errorf("at epoch %s Git is said to have been read at %d", epoch, got)
			}
		}
		before := reads()
		after(readEvery / 3)
		if n := reads(); n > before+1 {
			t.Errorf("%d reads while nothing changed", n-before)
		}
	})
}
