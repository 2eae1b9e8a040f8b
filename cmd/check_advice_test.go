package cmd

import (
	"strings"
	"testing"

	"github.com/poolwright/poolwright/clusters"
)

// advised is what is advised about a Cluster file with lines of spec.pgbouncer and lines after it.
func advised(t *testing.T, pgbouncer, after string) string {
	t.Helper()
	c, err := clusters.Load("cluster.yaml", []byte(`apiVersion: poolwright.dev/v1alpha1
kind: Cluster
metadata: {name: example-pg, namespace: databases}
spec:
  discovery: {clusterName: example-pg, domainName: example.internal}
  pgbouncer:
    image: registry.example.com/pgbouncer:1.24.1
    authFileSecretRef: {name: userlist}
`+pgbouncer+"\n"+after+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, i := range advice("cluster.yaml", c) {
		if i.Severity != "warning" || i.File != "cluster.yaml" || i.Hint == "" {
			t.Errorf("%+v", i)
		}
		lines = append(lines, i.Message)
	}
	return strings.Join(lines, "\n")
}

const (
	withConsole = "  failover: {console: {authSecretRef: {name: console}}}"
	withDrain   = "    drain: 20s"
)

func wantAdvice(t *testing.T, got string, want ...string) {
	t.Helper()
	if n := strings.Count(got, "\n") + 1; len(want) == 0 && got != "" || len(want) > 0 && n != len(want) {
		t.Errorf("%d warnings, want %d:\n%s", n, len(want), got)
	}
	for _, w := range want {
		if !strings.Contains(got, w) {
			t.Errorf("no %q in:\n%s", w, got)
		}
	}
}

func TestA01ClientsThatNobodyEvictsAreToldOf(t *testing.T) {
	const stuck = "applications stay connected to the demoted instance"
	wantAdvice(t, advised(t, withDrain, ""), stuck)
	wantAdvice(t, advised(t, withDrain, "  failover: {evict: none}"), stuck)
	wantAdvice(t, advised(t, withDrain, withConsole))
	wantAdvice(t, advised(t, withDrain, "  failover: {evict: deletePods}"))
	wantAdvice(t, advised(t, withDrain, "  failover: {evict: none, console: {authSecretRef: {name: console}}}")) // said with open eyes
	wantAdvice(t, advised(t, withDrain, "  failover: {evictWithin: 1s, console: {authSecretRef: {name: console}}}"), "evictWithin of 1s is shorter than propagation of 2s")
	wantAdvice(t, advised(t, withDrain, "  failover: {evictWithin: 1s, evict: deletePods}"))
}

func TestA04ALifetimeThatIsNotDeclaredIsToldOf(t *testing.T) {
	wantAdvice(t, advised(t, "    terminationGracePeriodSeconds: 30", withConsole), "live longer than 20 s are closed")
	wantAdvice(t, advised(t, withDrain, withConsole))
	wantAdvice(t, advised(t, "    drain: 28s", withConsole), "of 30 leaves 2 s after a drain of 28 s")
	wantAdvice(t, advised(t, "    terminationGracePeriodSeconds: 8", withConsole), "of 8 leaves 3 s after a drain of 5 s", "live longer than 5 s")
	wantAdvice(t, advised(t, "    terminationGracePeriodSeconds: 3", withConsole), "of 3 is over before the 5 s", "live longer than 5 s")
}

func TestA26LostCancelRequestsAreToldOf(t *testing.T) {
	const lost = "a cancel request that reaches another pod"
	wantAdvice(t, advised(t, withDrain+"\n    replicas: 3", withConsole), "replicas of 3: "+lost)
	wantAdvice(t, advised(t, withDrain+"\n    instanceOverrides: [{name: a, replicas: 2}]", withConsole), "replicas of 2: "+lost)
	wantAdvice(t, advised(t, withDrain+"\n    replicas: 3\n    config: {peers: {1: {host: a}}}", withConsole))
}

func TestQueuesThatEndTooLateAreToldOf(t *testing.T) {
	with := func(wait string) string {
		return withDrain + "\n    clientTimeout: 7s\n    config: {pgbouncer: {" + wait + "}}"
	}
	wantAdvice(t, advised(t, with(""), withConsole))
	wantAdvice(t, advised(t, with("query_wait_timeout: 6"), withConsole))
	wantAdvice(t, advised(t, with("query_wait_timeout: 6.5"), withConsole), "spec.pgbouncer.config.pgbouncer.query_wait_timeout of 6.5 s is less than a second below clientTimeout of 7s")
	wantAdvice(t, advised(t, with("")+"\n    instanceOverrides: [{name: a, config: {pgbouncer: {query_wait_timeout: 6.9}}}]", withConsole), "spec.pgbouncer.instanceOverrides[0].config.pgbouncer.query_wait_timeout of 6.9 s")
	wantAdvice(t, advised(t, withDrain+"\n    config: {pgbouncer: {query_wait_timeout: 6.9}}", withConsole))
}
