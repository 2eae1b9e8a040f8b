package rds

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/poolwright/poolwright/discovery/rds/rdsfake"
)

func TestOneCallASecondAndOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, e := bed(t, w1, rdsfake.Instance{ID: "o1", Cluster: "other"})
		api.SetFaults(rdsfake.Faults{Delay: 3 * time.Second})
		other := e.region.Cluster("other", time.Minute)
		done := make(chan error)
		go func() { done <- other.Fetch(t.Context()) }()
		go func() { done <- e.Fetch(t.Context()) }()
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		calls := api.Calls()
		for i := range calls[1:] {
			if gap := calls[i+1].At.Sub(calls[i].At); gap < 3*time.Second {
				t.Errorf("call %d came %s after the one before, which took 3s", i+1, gap)
			}
		}
		api.SetFaults(rdsfake.Faults{})
		if err := e.Fetch(t.Context()); err != nil {
			t.Fatal(err)
		}
		calls = api.Calls()
		if gap := calls[5].At.Sub(calls[4].At); gap != time.Second {
			t.Errorf("fast calls are %s apart, want 1s", gap)
		}
	})
}

func TestRunRefreshesAtTheInterval(t *testing.T) {
	running(t, func(t *testing.T, api *rdsfake.Server, e *Enricher) {
		pass(5 * time.Second)
		if e.Metadata() == nil {
			t.Fatal("nothing was asked at the start")
		}
		pass(10 * time.Minute)
		// Each refresh takes a second: its second call waits for the limiter.
		if n := len(api.Calls()); n != 20 {
			t.Errorf("%d calls, want 20", n)
		}
		api.SetInstances(w1, r1)
		pass(time.Minute + 2*time.Second)
		if got := e.Metadata().Instances; len(got) != 2 {
			t.Errorf("instances %v, want the new one too", got)
		}
	}, w1)
}

func TestAnIntervalBelowTheFloorIsTheFloor(t *testing.T) {
	_, e := bed(t, w1)
	if got := e.region.Cluster("pg", time.Second).interval; got != 10*time.Second {
		t.Errorf("interval %s, want 10s", got)
	}
}

func TestRefreshPullsForwardButNotBelowTheFloor(t *testing.T) {
	running(t, func(t *testing.T, api *rdsfake.Server, e *Enricher) {
		pass(2 * time.Second)
		api.SetInstances(w1, r1)
		for range 5 {
			e.Refresh()
		}
		pass(7 * time.Second) // 9 s after the attempt before
		if n := len(e.Metadata().Instances); n != 1 {
			t.Errorf("%d instances before the floor, want 1", n)
		}
		pass(3 * time.Second)
		if n := len(e.Metadata().Instances); n != 2 {
			t.Errorf("%d instances, want 2", n)
		}
		pass(30 * time.Second)
		if n := len(api.Calls()); n != 4 {
			t.Errorf("%d calls, want 4: asking five times is asking once", n)
		}
	}, w1)
}
