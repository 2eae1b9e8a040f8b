package discovery_test

import (
	"strings"
	"testing"

	"github.com/poolwright/poolwright/discovery"
)

// TestBlindNamesTheClusterEndpoints: the first thing a new user gets wrong is the
// endpoint or the password, when no instance is known yet.
func TestBlindNamesTheClusterEndpoints(t *testing.T) {
	got := discovery.Merge(discovery.Observation{Cluster: "c", Provider: discovery.Aurora, Answers: []discovery.Answer{
		{Endpoint: "c.cluster-x:5432", Via: discovery.Writer, Fault: discovery.Denied, Detail: "password authentication failed"},
		{Endpoint: "c.cluster-ro-x:5432", Via: discovery.Reader, Fault: discovery.Unreachable},
	}})
	if len(got.Doubts) != 1 || got.Doubts[0].Code != discovery.Blind {
		t.Fatalf("got doubts %v, want blind", got.Doubts)
	}
	for _, want := range []string{"c.cluster-x:5432 (denied: password authentication failed)", "c.cluster-ro-x:5432 (unreachable)"} {
		if !strings.Contains(got.Doubts[0].Detail, want) {
			t.Errorf("got %q, want %q in it", got.Doubts[0].Detail, want)
		}
	}
}
