package clusters

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestADrainFitsIntoTheGracePeriod(t *testing.T) {
	for keys, want := range map[string]time.Duration{
		"":                                   20 * time.Second,
		"terminationGracePeriodSeconds: 300": 290 * time.Second,
		"terminationGracePeriodSeconds: 12":  5 * time.Second,
		"terminationGracePeriodSeconds: 0":   5 * time.Second, // an operator's resource may say so
		"drain: 5s":                          5 * time.Second,
		"drain: 29s":                         29 * time.Second,
		"drain: 10m, terminationGracePeriodSeconds: 601":   10 * time.Minute,
		"drain: 1m30s, terminationGracePeriodSeconds: 100": 90 * time.Second,
	} {
		if got := mustLoad(t, inPgBouncer(keys)).Spec.PgBouncer.DrainTime(); got != want {
			t.Errorf("%q: %s, want %s", keys, got, want)
		}
	}
	for _, bad := range []string{"0s", "4s", "5500ms", "30s", "40s"} {
		problemAt(t, inPgBouncer("drain: "+bad), "spec.pgbouncer.drain")
	}
}

// inPgBouncer is a file with further keys of spec.pgbouncer, each on a line.
func inPgBouncer(keys string) string {
	if keys == "" {
		return base
	}
	return base + "    " + strings.ReplaceAll(keys, ", ", "\n    ") + "\n"
}

// A04: a drain that is longer than the grace period is refused, with both numbers and what would do.
func TestA04ADrainBeyondTheGracePeriodIsRefused(t *testing.T) {
	p := problemAt(t, inPgBouncer("terminationGracePeriodSeconds: 30, drain: 40s"), "spec.pgbouncer.drain")
	if p.Line != 11 || !strings.Contains(p.Message, "40s") || !strings.Contains(p.Message, "30s") || !strings.HasSuffix(p.Hint, ": 50") {
		t.Error(p)
	}
}

func TestQueuesAreShorterThanTheClientsPatience(t *testing.T) {
	with := func(timeout, wait string) string {
		return base + fmt.Sprintf("    clientTimeout: %s\n    config: {pgbouncer: {query_wait_timeout: %s}}\n", timeout, wait)
	}
	const at = "spec.pgbouncer.config.pgbouncer.query_wait_timeout"
	for wait, says := range map[string]string{"7": "not below", "7.0": "not below", "120": "not below", "0": "for ever", "5s": "no number", "'-1'": "not below", "'1e1'": "no number", "''": "no number"} {
		p := problemAt(t, with("7s", wait), at)
		if says = strings.ReplaceAll(says, "no number", "not a number"); !strings.Contains(p.Message, says) || p.Line != 11 {
			t.Errorf("%s: %v", wait, p)
		}
	}
	for _, good := range []string{"6", "6.9", "0.5"} {
		mustLoad(t, with("7s", good))
	}
	mustLoad(t, base+"    config: {pgbouncer: {query_wait_timeout: 0}}\n") // no timeout is declared
	problemAt(t, base+"    clientTimeout: 7s\n    instanceOverrides: [{name: a, config: {pgbouncer: {query_wait_timeout: 8}}}]\n",
		"spec.pgbouncer.instanceOverrides[0].config.pgbouncer.query_wait_timeout")
	for _, short := range []string{"0s", "1s", "1999ms"} {
		problemAt(t, base+"    clientTimeout: "+short+"\n", "spec.pgbouncer.clientTimeout")
	}
	mustLoad(t, base+"    clientTimeout: 2s\n")
}
