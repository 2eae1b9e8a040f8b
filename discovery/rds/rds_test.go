package rds

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/poolwright/poolwright/discovery"
	"github.com/poolwright/poolwright/discovery/rds/rdsfake"
)

var (
	w1 = rdsfake.Instance{ID: "w1", Cluster: "pg", Resource: "db-W1", Zone: "eu-west-1a", Class: "db.r6g.large", Writer: true}
	r1 = rdsfake.Instance{ID: "r1", Cluster: "pg", Resource: "db-R1", Zone: "eu-west-1b", Class: "db.serverless"}

	metaW1 = discovery.MetaInstance{Name: "w1", Resource: "db-W1", Zone: "eu-west-1a", Class: "db.r6g.large", Status: "available", Writer: true}
	metaR1 = discovery.MetaInstance{Name: "r1", Resource: "db-R1", Zone: "eu-west-1b", Class: "db.serverless", Status: "available"}
)

// bed is a fake API, an enricher of cluster pg that asks it, and the refusals
// counted at the end.
func bed(t *testing.T, instances ...rdsfake.Instance) (*rdsfake.Server, *Enricher) {
	t.Helper()
	api := rdsfake.New("eu-west-1")
	api.SetInstances(instances...)
	t.Cleanup(func() {
		for _, r := range api.Refusals() {
			t.Errorf("the API was asked something that it does not know: %s", r)
		}
	})
	return api, NewRegion(api.Config()).Cluster("pg", time.Minute)
}

// running is bed with Run on, in a bubble.
func running(t *testing.T, test func(t *testing.T, api *rdsfake.Server, e *Enricher), instances ...rdsfake.Instance) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		api, e := bed(t, instances...)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { e.Run(ctx); close(done) }()
		defer func() { cancel(); <-done }()
		test(t, api, e)
	})
}

// pass lets the bubble's clock run.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestFetch(t *testing.T) {
	tests := []struct {
		name      string
		instances []rdsfake.Instance
		want      []discovery.MetaInstance
	}{
		{"sorted by name, whatever the order of the API", []rdsfake.Instance{w1, r1}, []discovery.MetaInstance{metaR1, metaW1}},
		{
			"an instance that the members' list does not have yet is a member",
			[]rdsfake.Instance{w1, {ID: "r2", Cluster: "pg", Status: "creating", Unlisted: true}},
			[]discovery.MetaInstance{{Name: "r2", Status: "creating"}, metaW1},
		},
		{
			"and so is one that is not described",
			[]rdsfake.Instance{w1, {ID: "r2", Cluster: "pg", Undescribed: true}},
			[]discovery.MetaInstance{{Name: "r2"}, metaW1},
		},
		{
			"B05 an instance that is being deleted says so",
			[]rdsfake.Instance{w1, {ID: "r2", Cluster: "pg", Status: "deleting"}},
			[]discovery.MetaInstance{{Name: "r2", Status: "deleting"}, metaW1},
		},
		{
			"other clusters are none of ours",
			[]rdsfake.Instance{{ID: "x", Cluster: "other", Writer: true}, w1},
			[]discovery.MetaInstance{metaW1},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, e := bed(t, tt.instances...)
				if e.Metadata() != nil {
					t.Error("metadata before the first attempt")
				}
				if err := e.Fetch(t.Context()); err != nil {
					t.Fatal(err)
				}
				want := &discovery.Metadata{State: discovery.MetadataFresh, At: time.Now(), Instances: tt.want}
				if diff := cmp.Diff(want, e.Metadata()); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestB14AllPagesAreReadAndForeignInstancesDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var instances []rdsfake.Instance
		for i := range 100 {
			instances = append(instances, rdsfake.Instance{ID: fmt.Sprintf("x%d", i), Cluster: "other"})
		}
		r4 := rdsfake.Instance{ID: "r4", Cluster: "pg", Resource: "db-R4", Zone: "eu-west-1c"}
		api, e := bed(t, append(instances, r4)...)
		api.SetFaults(rdsfake.Faults{IgnoreFilters: true})
		if err := e.Fetch(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := []discovery.MetaInstance{{Name: "r4", Resource: "db-R4", Zone: "eu-west-1c", Status: "available"}}
		if diff := cmp.Diff(want, e.Metadata().Instances); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if n := len(api.Calls()); n != 3 {
			t.Errorf("%d calls, want 3: one page of clusters, two of instances", n)
		}
	})
}

func TestB14TheFilterNamesTheCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, e := bed(t, w1, rdsfake.Instance{ID: "x", Cluster: "other"})
		api.SetPageSize(1)
		if err := e.Fetch(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := len(api.Calls()); n != 2 {
			t.Errorf("%d calls, want 2: the API itself leaves out the other cluster", n)
		}
	})
}

func TestB14MarkersWithoutEndAreAnErrorAndTheLastGoodAnswerStays(t *testing.T) {
	tests := []struct {
		name   string
		faults rdsfake.Faults
		calls  int
		want   string
	}{
		{"always another marker", rdsfake.Faults{EndlessMarkers: true}, 50, "DescribeDBClusters: reading pages without end: more than 50 pages"},
		{"the same marker again", rdsfake.Faults{RepeatedMarker: true}, 2, "DescribeDBClusters: reading pages without end: a marker came back"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api, e := bed(t, w1)
				if err := e.Fetch(t.Context()); err != nil {
					t.Fatal(err)
				}
				before, good := len(api.Calls()), e.Metadata()
				api.SetFaults(tt.faults)
				if err := e.Fetch(t.Context()); err == nil {
					t.Error("no error")
				}
				if n := len(api.Calls()) - before; n != tt.calls {
					t.Errorf("%d calls, want %d", n, tt.calls)
				}
				want := &discovery.Metadata{State: discovery.MetadataStale, At: good.At, Instances: good.Instances, Detail: tt.want}
				if diff := cmp.Diff(want, e.Metadata()); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestB13TenMinutesOfThrottling(t *testing.T) {
	running(t, func(t *testing.T, api *rdsfake.Server, e *Enricher) {
		pass(5 * time.Second)
		good := e.Metadata()
		before := len(api.Calls())

		api.SetFaults(rdsfake.Throttled())
		for range 60 {
			e.Refresh() // somebody who is impatient changes nothing
			pass(10 * time.Second)
		}
		if n := len(api.Calls()) - before; n < 2 || n > 20 {
			t.Errorf("%d calls in ten minutes of throttling, want 2 to 20", n)
		}
		want := &discovery.Metadata{
			State: discovery.MetadataStale, At: good.At, Instances: good.Instances,
			Detail: "throttled: Throttling: Rate exceeded",
		}
		if diff := cmp.Diff(want, e.Metadata()); diff != "" {
			t.Errorf("while throttled (-want +got):\n%s", diff)
		}

		before = len(api.Calls())
		api.SetFaults(rdsfake.Faults{})
		for e.Metadata().State != discovery.MetadataFresh {
			pass(time.Second)
		}
		pass(Floor + time.Second)
		if n := len(api.Calls()) - before; n != 2 {
			t.Errorf("%d calls at recovery, want 2: one refresh", n)
		}
	}, w1, r1)
}

func TestB13ManyClustersShareOneBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, e := bed(t, w1)
		api.SetFaults(rdsfake.Throttled())
		ctx, cancel := context.WithCancel(t.Context())
		const clusters = 20
		done := make(chan struct{})
		for i := range clusters {
			other := e.region.Cluster(fmt.Sprintf("pg-%d", i), time.Minute)
			go func() { other.Run(ctx); done <- struct{}{} }()
		}
		pass(10 * time.Minute)
		cancel()
		for range clusters {
			<-done
		}
		if n := len(api.Calls()); n < 2 || n > 20 {
			t.Errorf("%d calls of %d clusters in ten minutes, want 2 to 20", n, clusters)
		}
	})
}

func TestFailuresKeepTheLastGoodAnswer(t *testing.T) {
	tests := []struct {
		name   string
		faults rdsfake.Faults
		want   string
	}{
		{"denied", rdsfake.Denied(), "denied: AccessDenied: User: arn:aws:sts::123456789012:assumed-role/test is not authorized to perform: rds:DescribeDBClusters"},
		{"no answer", rdsfake.Faults{Hang: true}, "no answer in time"},
		{"an error of AWS", rdsfake.Faults{Code: "InternalFailure", Message: "oops\n<b>", Status: 500}, "InternalFailure: oops <b>"},
		{"a proxy's 503", rdsfake.Faults{Code: "Busy", Message: "later", Status: 503}, "throttled: Busy: later"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			running(t, func(t *testing.T, api *rdsfake.Server, e *Enricher) {
				pass(5 * time.Second)
				good := e.Metadata()
				api.SetFaults(tt.faults)
				pass(2 * time.Minute)
				want := &discovery.Metadata{State: discovery.MetadataStale, At: good.At, Instances: good.Instances, Detail: tt.want}
				if diff := cmp.Diff(want, e.Metadata()); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				api.SetFaults(rdsfake.Faults{})
				pass(3 * time.Minute)
				if s := e.Metadata().State; s != discovery.MetadataFresh {
					t.Errorf("state %v after recovery, want fresh", s)
				}
			}, w1)
		})
	}
}

func TestAFailureFromTheStartIsStaleWithNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, e := bed(t)
		_ = e.Fetch(t.Context())
		want := &discovery.Metadata{State: discovery.MetadataStale, Detail: "no cluster pg in region eu-west-1"}
		if diff := cmp.Diff(want, e.Metadata()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestAnAnswerGrowsStaleByAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, e := bed(t, w1)
		if err := e.Fetch(t.Context()); err != nil {
			t.Fatal(err)
		}
		pass(5 * time.Minute)
		if s := e.Metadata().State; s != discovery.MetadataFresh {
			t.Errorf("state %v after five intervals, want fresh", s)
		}
		pass(time.Second)
		if m := e.Metadata(); m.State != discovery.MetadataStale || m.Detail == "" || len(m.Instances) != 1 {
			t.Errorf("%+v, want stale, with a reason and the instance", m)
		}
	})
}

func TestTheEndOfTheCallerSaysNothingAboutAWS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, e := bed(t, w1)
		if err := e.Fetch(t.Context()); err != nil {
			t.Fatal(err)
		}
		api.SetFaults(rdsfake.Faults{Hang: true})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if err := e.Fetch(ctx); err == nil {
			t.Error("no error")
		}
		if s := e.Metadata().State; s != discovery.MetadataFresh {
			t.Errorf("state %v, want fresh", s)
		}
	})
}

func TestMetadataIsTheCallersOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, e := bed(t, w1)
		if err := e.Fetch(t.Context()); err != nil {
			t.Fatal(err)
		}
		e.Metadata().Instances[0].Name = "changed"
		if got := e.Metadata().Instances[0].Name; got != "w1" {
			t.Errorf("name %s", got)
		}
	})
}

func TestMetadataNeverWaits(t *testing.T) {
	running(t, func(t *testing.T, api *rdsfake.Server, e *Enricher) {
		api.SetFaults(rdsfake.Faults{Hang: true})
		pass(time.Minute)
		before := time.Now()
		e.Metadata()
		e.Refresh()
		if took := time.Since(before); took != 0 {
			t.Errorf("took %s", took)
		}
	}, w1)
}
