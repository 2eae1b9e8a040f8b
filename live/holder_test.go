package live

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// rival is one process that wants the Lease.
type rival struct {
	*Holder
	stop func()
}

func newRival(a *apiServer, identity string) rival {
	return newRivalWith(a, identity, func(*HolderConfig) {})
}

func newRivalWith(a *apiServer, identity string, change func(*HolderConfig)) rival {
	c := HolderConfig{Client: a.client(identity), Namespace: testNamespace, Name: "poolwright", Identity: identity}
	change(&c)
	h := NewHolder(c)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { h.Run(ctx) })
	return rival{h, func() { cancel(); running.Wait() }}
}

// wentTo waits until a rival holds, and says how long that took; a minute is for ever.
func (r rival) wentTo(t *testing.T) time.Duration {
	t.Helper()
	begun := time.Now()
	for !r.Holds() {
		select {
		case <-r.Changed():
		case <-time.After(time.Minute):
			t.Fatal("it was never taken")
		}
	}
	return time.Since(begun)
}

// unreachableFor answers nothing to some user.
func unreachableFor(user string) func(request) error {
	return func(q request) error {
		if q.User == user {
			return errRefused
		}
		return nil
	}
}

func inRivalry(t *testing.T, story func(t *testing.T, a *apiServer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { story(t, newAPIServer(t)) })
}

func TestFirstHolderHoldsAtOnce(t *testing.T) {
	inRivalry(t, func(t *testing.T, a *apiServer) {
		one := newRival(a, "one")
		defer one.stop()
		if took := one.wentTo(t); took != 0 {
			t.Errorf("it took %v", took)
		}
		if one.Other() != "" || one.Err() != nil {
			t.Errorf("other %q, error %v", one.Other(), one.Err())
		}
	})
}

// TestTakeoverByRelease: after SIGTERM the next one holds within 3 s, and never two at a time.
func TestTakeoverByRelease(t *testing.T) {
	inRivalry(t, func(t *testing.T, a *apiServer) {
		holder := newRival(a, "one")
		holder.wentTo(t)
		for i := range 50 {
			next := newRival(a, string(rune('a'+i)))
			time.Sleep(time.Duration(1000+37*i) * time.Millisecond)
			synctest.Wait()
			if next.Holds() || next.Other() != holder.config.Identity {
				t.Fatalf("it holds %v, the other is %q, want %q", next.Holds(), next.Other(), holder.config.Identity)
			}
			holder.stop()
			if holder.Holds() {
				t.Error("it still holds what it gave back")
			}
			if took := next.wentTo(t); took >= 3*time.Second {
				t.Errorf("takeover %d took %v", i, took)
			}
			holder = next
		}
		holder.stop()
	})
}

// TestTakeoverByExpiry: a process that is gone without a word is followed after the Lease's
// duration; one that hangs stops by itself before that.
func TestTakeoverByExpiry(t *testing.T) {
	inRivalry(t, func(t *testing.T, a *apiServer) {
		one := newRival(a, "one")
		defer one.stop()
		one.wentTo(t)
		two := newRival(a, "two")
		defer two.stop()
		time.Sleep(time.Minute)
		a.obey(unreachableFor("one"))
		begun := time.Now()
		for one.Holds() {
			<-one.Changed()
		}
		stopped := time.Since(begun)
		two.wentTo(t)
		taken := time.Since(begun)
		// client-go asks every retryPeriod, and up to 1.2 times that later: once until it sees the last renewal, from which it counts, and once more
		// until it sees the end.
		if stopped > renewDeadline || taken < leaseDuration-3*time.Second || taken > leaseDuration+2*retryPeriod*22/10 {
			t.Errorf("one stopped after %v, two began after %v", stopped, taken)
		}
		if one.Other() != "" || one.Err() == nil {
			t.Errorf("one hears nothing, and yet: other %q, error %v", one.Other(), one.Err())
		}
		a.obey(nil)
		time.Sleep(15 * time.Second)
		synctest.Wait()
		if one.Holds() || !two.Holds() || one.Other() != "two" || one.Err() != nil {
			t.Errorf("afterwards one holds %v, two holds %v, one's other is %q, error %v", one.Holds(), two.Holds(), one.Other(), one.Err())
		}
	})
}

// TestNeverTwoHolders: whoever is cut off, and whenever, no two hold at the same moment.
func TestNeverTwoHolders(t *testing.T) {
	inRivalry(t, func(t *testing.T, a *apiServer) {
		var rivals []rival
		for _, name := range []string{"one", "two", "three"} {
			rivals = append(rivals, newRival(a, name))
		}
		cuts := []string{"one", "two", "", "three", "one", "", "two"}
		held := 0
		for tick := range 7 * 60 * 10 {
			if tick%600 == 0 {
				a.obey(unreachableFor(cuts[tick/600]))
			}
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
			holders := 0
			for _, r := range rivals {
				if r.Holds() {
					holders++
				}
			}
			if holders > 1 {
				t.Fatalf("after %d s there are %d holders", tick/10, holders)
			}
			held += holders
		}
		if held < 7*60*10/2 {
			t.Errorf("somebody held %d of 4200 ticks", held)
		}
		for _, r := range rivals {
			r.stop()
		}
	})
}

// TestServerGone: nobody holds when the API server gives no answer, and nobody is known to.
func TestServerGone(t *testing.T) {
	for name, fault := range map[string]error{"refuses": errRefused, "hangs": errHangs} {
		t.Run(name, func(t *testing.T) {
			inRivalry(t, func(t *testing.T, a *apiServer) {
				one := newRival(a, "one")
				one.wentTo(t)
				two := newRival(a, "two")
				time.Sleep(30 * time.Second)
				a.obey(func(request) error { return fault })
				begun := time.Now()
				for one.Holds() || two.Other() != "" {
					select {
					case <-one.Changed():
					case <-two.Changed():
					}
				}
				if took := time.Since(begun); took > renewDeadline {
					t.Errorf("it took %v", took)
				}
				time.Sleep(10 * time.Minute)
				if one.Holds() || two.Holds() || one.Other() != "" || two.Other() != "" {
					t.Error("somebody holds, or is known to")
				}
				a.obey(nil)
				time.Sleep(leaseDuration + 3*time.Second)
				synctest.Wait()
				if one.Holds() == two.Holds() {
					t.Errorf("afterwards one holds %v, two holds %v", one.Holds(), two.Holds())
				}
				one.stop()
				two.stop()
			})
		})
	}
}

func TestHolderEndsThoughTheServerHangs(t *testing.T) {
	inRivalry(t, func(t *testing.T, a *apiServer) {
		one := newRival(a, "one")
		one.wentTo(t)
		a.obey(func(request) error { return errHangs })
		begun := time.Now()
		one.stop()
		if took := time.Since(begun); took > 2*requestTimeout {
			t.Errorf("it took %v", took)
		}
	})
}

func TestHolderWithoutTheRightSaysSo(t *testing.T) {
	inRivalry(t, func(t *testing.T, a *apiServer) {
		a.obey(rbac)
		one := newRival(a, "one")
		time.Sleep(time.Minute)
		if one.Holds() || one.Other() != "" || CodeOf(one.Err()) != Forbidden {
			t.Errorf("holds %v, other %q, error %v", one.Holds(), one.Other(), one.Err())
		}
		if n := len(a.made()); n > 61 {
			t.Errorf("%d requests in a minute", n)
		}
		a.obey(nil)
		one.wentTo(t)
		one.stop()
	})
}

func TestLeaseTakenByForceIsBelieved(t *testing.T) {
	inRivalry(t, func(t *testing.T, a *apiServer) {
		one := newRival(a, "one")
		defer one.stop()
		one.wentTo(t)
		a.edit("leases", "poolwright", "kubectl", func(o *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(o.Object, "somebody", "spec", "holderIdentity")
		})
		time.Sleep(3 * time.Second)
		if one.Holds() || one.Other() != "somebody" {
			t.Errorf("holds %v, other %q", one.Holds(), one.Other())
		}
		// Somebody never renews it; that is observed anew after the election was given up.
		time.Sleep(renewDeadline + leaseDuration + 3*time.Second)
		if !one.Holds() || one.Other() != "" {
			t.Errorf("afterwards: holds %v, other %q", one.Holds(), one.Other())
		}
	})
}

func TestLeaseThatIsDeletedIsTakenAgain(t *testing.T) {
	inRivalry(t, func(t *testing.T, a *apiServer) {
		one := newRival(a, "one")
		defer one.stop()
		one.wentTo(t)
		a.remove("leases", "poolwright")
		time.Sleep(3 * time.Second)
		l := read[coordinationv1.Lease](a, "leases", "poolwright")
		if l == nil || *l.Spec.HolderIdentity != "one" || !one.Holds() {
			t.Errorf("holds %v, the Lease is %+v", one.Holds(), l)
		}
	})
}
