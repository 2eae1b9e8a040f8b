package test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/test/driver"
)

// orderly is a Cluster file and evidence of one cluster; the lists in them are in order.
const (
	orderly = `apiVersion: poolwright.dev/v1alpha1
kind: Cluster
metadata:
  name: story
  namespace: db
  labels:
    team: x
    app: y
spec:
  discovery: {clusterName: story, domainName: example.internal}
  pgbouncer:
    image: registry.example.com/pgbouncer:1.24.1
    authFileSecretRef: {name: userlist}
    config:
      databases:
        orders: {pool_size: 3}
        App: {pool_size: 4}
        zoo: {pool_size: 5}
      users:
        one: {pool_mode: session}
        two: {pool_mode: session}
`
	evidence = `cluster: story
provider: aurora
domain: example.internal
at: 2026-11-29T12:00:00Z
answers:
- {asked: a, name: a, rows: &rows [{serverId: a, sessionId: MASTER_SESSION_ID, ageMillis: 5}, {serverId: I, sessionId: s, ageMillis: 5}, {serverId: c, sessionId: t, ageMillis: 5}]}
- {asked: I, name: I, inRecovery: true, readOnly: true, rows: *rows}
- {asked: c, name: c, inRecovery: true, readOnly: true, rows: *rows}
`
)

// TestC23OrderZoneLanguageAndProcessorsChangeNoByte: the tree is the same whatever comes first in the input, and
// wherever it is drawn.
func TestC23OrderZoneLanguageAndProcessorsChangeNoByte(t *testing.T) {
	want := rendered(t, orderly, evidence)
	if !strings.Contains(want, "-- instances/c/pgbouncer.ini --") {
		t.Fatalf("got no tree: %s", want)
	}
	backwards := swapLines(orderly, "orders: ", "zoo: ", "one: ", "two: ", "team: ", "app: ")
	turned := swapLines(evidence, "asked: I,", "asked: c,")
	for _, c := range []struct{ zone, language, processors string }{
		{"Asia/Kolkata", "C", "1"}, {"America/St_Johns", "tr_TR.UTF-8", "2"}, {"UTC", "de_DE.UTF-8", "7"},
	} {
		t.Setenv("TZ", c.zone)
		t.Setenv("LANG", c.language)
		t.Setenv("LC_ALL", c.language)
		t.Setenv("GOMAXPROCS", c.processors)
		for range 3 {
			if got := rendered(t, backwards, turned); got != want {
				t.Errorf("in %v another tree is drawn:\n%s", c, got)
			}
		}
	}
}

// swapLines exchanges pairs of lines, each known by a part of it.
func swapLines(text string, pairs ...string) string {
	lines := strings.Split(text, "\n")
	at := func(part string) int {
		for i, l := range lines {
			if strings.Contains(l, part) {
				return i
			}
		}
		panic("no line has " + part)
	}
	for i := 0; i < len(pairs); i += 2 {
		a, b := at(pairs[i]), at(pairs[i+1])
		lines[a], lines[b] = lines[b], lines[a]
	}
	return strings.Join(lines, "\n")
}

// rendered is the tree as one archive.
func rendered(t *testing.T, cluster, seen string) string {
	t.Helper()
	dir := t.TempDir()
	file, snapshot := filepath.Join(dir, "cluster.yaml"), filepath.Join(dir, "seen.yaml")
	write(t, file, cluster)
	write(t, snapshot, seen)
	out, said, code := driver.Once(t, "render", "-f", file, "--snapshot", snapshot, "--out", "-")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, said)
	}
	return out
}
