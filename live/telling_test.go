package live

import (
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
)

// keeps lets a rival of a name keep clusters, from the start.
func keeps(clusters ...string) func(*HolderConfig) {
	return func(c *HolderConfig) { c.Clusters = func() []string { return clusters } }
}

func (a *apiServer) onLease() string {
	l := read[coordinationv1.Lease](a, "leases", "poolwright")
	if l == nil {
		return ""
	}
	return l.Annotations[AnnotationClusters]
}

// TestTheLeaseTellsWhichClustersItsHolderKeeps: to rivals, from the first renewal that knows, and no longer than it is held.
func TestTheLeaseTellsWhichClustersItsHolderKeeps(t *testing.T) {
	inRivalry(t, func(t *testing.T, a *apiServer) {
		var mu sync.Mutex
		var clusters []string
		one := newRivalWith(a, "one", func(c *HolderConfig) {
			c.Clusters = func() []string { mu.Lock(); defer mu.Unlock(); return clusters }
		})
		one.wentTo(t)
		two := newRivalWith(a, "two", keeps("other/z"))
		time.Sleep(5 * time.Second)
		if got := two.OthersClusters(); got != nil || a.onLease() != "" {
			t.Errorf("before it knows: %q hears %q", a.onLease(), got)
		}
		mu.Lock()
		clusters = []string{"db/a", "db/b"}
		mu.Unlock()
		time.Sleep(5 * time.Second)
		if got := two.OthersClusters(); strings.Join(got, " ") != "db/a db/b" || a.onLease() != "db/a,db/b" || two.Lease() != testNamespace+"/poolwright" {
			t.Errorf("got %q, %q on the Lease %s", got, a.onLease(), two.Lease())
		}
		one.stop()
		if got := a.onLease(); got != "" {
			t.Errorf("after the release the Lease says %q", got)
		}
		two.wentTo(t)
		time.Sleep(time.Second)
		if got := a.onLease(); got != "other/z" || two.OthersClusters() != nil {
			t.Errorf("the next holder says %q, and hears %q", got, two.OthersClusters())
		}
		two.stop()
	})
}

// TestAHolderThatDoesNotTellTakesTheWordAway: one of another version, after one that told.
func TestAHolderThatDoesNotTellTakesTheWordAway(t *testing.T) {
	inRivalry(t, func(t *testing.T, a *apiServer) {
		one := newRivalWith(a, "one", keeps("db/a"))
		one.wentTo(t)
		time.Sleep(2 * time.Second)
		a.obey(unreachableFor("one"))
		two := newRival(a, "two")
		two.wentTo(t)
		time.Sleep(2 * time.Second)
		if got := a.onLease(); got != "" {
			t.Errorf("the Lease says %q", got)
		}
		a.obey(nil)
		one.stop()
		two.stop()
	})
}
