package rds

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
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

// Over real sockets, with the SDK's own way to find its configuration.
func TestLoadedConfigurationOverHTTP(t *testing.T) {
	api := rdsfake.New("eu-west-1")
	api.SetInstances(w1)
	server := httptest.NewServer(api)
	defer server.Close()
	bare(t)
	t.Setenv("AWS_ENDPOINT_URL_RDS", server.URL)
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	e := NewRegion(load(t)).Cluster("PG", time.Minute) // identifiers have no case
	api.SetFaults(rdsfake.Faults{IgnoreFilters: true})
	if err := e.Fetch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]discovery.MetaInstance{metaW1}, e.Metadata().Instances); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	server.Close()
	_ = e.Fetch(t.Context())
	want := "unreachable: dial " + strings.TrimPrefix(server.URL, "http://") + ": connect: connection refused"
	if got := e.Metadata().Detail; got != want {
		t.Errorf("detail %q, want %q", got, want)
	}
}

func TestWithoutCredentials(t *testing.T) {
	hole, err := net.Listen("tcp", "127.0.0.1:0") // accepts, never answers
	if err != nil {
		t.Fatal(err)
	}
	defer hole.Close()
	refuses := httptest.NewServer(http.NotFoundHandler())
	defer refuses.Close()
	tests := []struct{ name, imds, disabled, want string }{
		{"no instance metadata service", refuses.URL, "true", "access disabled to EC2 IMDS"},
		{"one that has no role", refuses.URL, "false", "request to EC2 IMDS failed"},
		{"one that never answers", "http://" + hole.Addr().String(), "false", "context deadline exceeded"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			api := rdsfake.New("eu-west-1")
			bare(t)
			t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", tt.imds)
			t.Setenv("AWS_EC2_METADATA_DISABLED", tt.disabled)
			config := load(t)
			config.HTTPClient, config.BaseEndpoint = api.Config().HTTPClient, api.Config().BaseEndpoint
			region := NewRegion(config)
			region.timeout = 200 * time.Millisecond
			e := region.Cluster("pg", time.Minute)
			if err := e.Fetch(t.Context()); err == nil {
				t.Fatal("no error")
			}
			m := e.Metadata()
			if m.State != discovery.MetadataStale || !strings.HasPrefix(m.Detail, "no AWS credentials: ") {
				t.Errorf("%+v, want stale for want of credentials", m)
			}
			if !strings.Contains(m.Detail, tt.want) {
				t.Errorf("detail %q, want %q in it", m.Detail, tt.want)
			}
			if n := len(api.Calls()); n != 0 {
				t.Errorf("%d unsigned calls", n)
			}
		})
	}
}

func TestABadSharedFileIsAnErrorAtOnce(t *testing.T) {
	bare(t)
	t.Setenv("AWS_PROFILE", "missing")
	if _, err := Load(t.Context(), "eu-west-1"); err == nil {
		t.Error("no error for a profile that does not exist")
	}
}

// bare is an environment in which the SDK finds nothing.
func bare(t *testing.T) {
	t.Helper()
	none := filepath.Join(t.TempDir(), "none")
	for name, value := range map[string]string{
		"AWS_CONFIG_FILE": none, "AWS_SHARED_CREDENTIALS_FILE": none, "AWS_PROFILE": "", "AWS_DEFAULT_PROFILE": "",
		"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_SESSION_TOKEN": "",
		"AWS_WEB_IDENTITY_TOKEN_FILE": "", "AWS_ROLE_ARN": "",
		"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "", "AWS_CONTAINER_CREDENTIALS_FULL_URI": "",
		"AWS_ENDPOINT_URL": "", "AWS_ENDPOINT_URL_RDS": "", "AWS_EC2_METADATA_DISABLED": "true",
	} {
		t.Setenv(name, value)
	}
}

func load(t *testing.T) aws.Config {
	t.Helper()
	config, err := Load(t.Context(), "eu-west-1")
	if err != nil {
		t.Fatal(err)
	}
	return config
}
