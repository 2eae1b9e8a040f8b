package live

import (
	"maps"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestAPodCountsOnceOthersCanKnowThatItIsReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var woken atomic.Int64
		r := &readiness{now: time.Now, wake: func() { woken.Add(1) }}
		a, b := pod("a-1", "a", true), pod("b-1", "b", false)
		a.UID, b.UID = types.UID("a"), types.UID("b")
		serves := "a"
		want := func(what string, woke int64, counts map[string]int) {
			t.Helper()
			synctest.Wait()
			if got := r.count([]*corev1.Pod{a, b}, serves); !maps.Equal(got, counts) || woken.Load() != woke {
				t.Errorf("%s: counted %v, woken %d times", what, got, woken.Load())
			}
		}
		want("who is ready at the start counts at once", 0, map[string]int{"a": 1})
		b = pod("b-1", "b", true)
		b.UID = "b"
		want("who became ready does not count yet", 0, map[string]int{"a": 1})
		time.Sleep(settleTime)
		want("and does after a second", 1, map[string]int{"a": 1, "b": 1})
		b.DeletionTimestamp = &metav1.Time{Time: time.Now()}
		want("who is on its way out does not count", 1, map[string]int{"a": 1})
		b.DeletionTimestamp = nil
		want("and who comes back starts anew", 1, map[string]int{"a": 1})
		time.Sleep(settleTime)
		want("", 2, map[string]int{"a": 1, "b": 1})
		a.UID, serves = "another", "a"
		want("20 who serves counts at once: it has somebody", 2, map[string]int{"a": 1, "b": 1})
		serves = "b"
		want("and as somebody to move to it does not count yet", 2, map[string]int{"b": 1})
	})
}
