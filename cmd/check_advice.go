package cmd

import (
	"fmt"
	"strconv"
	"time"

	"github.com/poolwright/poolwright/clusters"
	"github.com/poolwright/poolwright/render/build"
)

// adviser collects warnings about a declaration: what a person may want, but should know.
type adviser struct {
	file   string
	issues []Issue
}

// advice is about what is allowed, and what it then comes to. No warning fails a check.
func advice(file string, c clusters.Cluster) []Issue {
	a := adviser{file: file}
	a.eviction(c)
	a.leaving(c.Spec.PgBouncer)
	a.waiting(c.Spec.PgBouncer)
	a.peers(c)
	return a.issues
}

func (a *adviser) warn(hint, format string, args ...any) {
	a.issues = append(a.issues, Issue{Severity: build.Warning.String(), File: a.file, Message: fmt.Sprintf(format, args...), Hint: hint})
}

// eviction: a Service that moves cuts nobody.
func (a *adviser) eviction(c clusters.Cluster) {
	f := c.Spec.Failover
	switch {
	case c.Spec.Discovery.Mode == "global-secondary": // it has no writer to be demoted
	case f.Evict == "none" && f.Console == nil:
		a.warn("declare spec.failover.console, or evict: deletePods",
			"spec.failover.console is not declared: after a failover applications stay connected to the demoted instance, where writes fail, until they renew their connections")
	case f.Evict == "console" && f.EvictWithin < f.Propagation:
		a.warn("set evictWithin above propagation", "spec.failover.evictWithin of %s is shorter than propagation of %s: every eviction would be late",
			time.Duration(f.EvictWithin), time.Duration(f.Propagation))
	}
}

// shortFinish is what transactions need at least when a pod leaves.
const shortFinish = 5 * time.Second

func (a *adviser) leaving(p clusters.PgBouncer) {
	drain, grace := p.DrainTime(), p.GracePeriod()
	switch finish := grace - drain; {
	case finish < 0:
		a.warn("set terminationGracePeriodSeconds to 15 or more", "spec.pgbouncer.terminationGracePeriodSeconds of %d is over before the %d s for which new connections may still reach a pod that leaves",
			int(grace.Seconds()), int(drain.Seconds()))
	case finish < shortFinish:
		a.warn("raise terminationGracePeriodSeconds", "spec.pgbouncer.terminationGracePeriodSeconds of %d leaves %d s after a drain of %d s: longer transactions are cut",
			int(grace.Seconds()), int(finish.Seconds()), int(drain.Seconds()))
	}
	if p.Drain == 0 {
		a.warn("set drain to the longest lifetime of the applications' connections, and terminationGracePeriodSeconds 10 above it",
			"spec.pgbouncer.drain is not declared: in a rollout, connections that live longer than %d s are closed; transactions have %d s to end", int(drain.Seconds()), int(max(grace-drain, 0).Seconds()))
	}
}

// shortMargin is what query_wait_timeout needs below the applications' timeout: PgBouncer looks about three times a second.
const shortMargin = 1.0

func (a *adviser) waiting(p clusters.PgBouncer) {
	if p.ClientTimeout == 0 {
		return
	}
	limit := time.Duration(p.ClientTimeout)
	say := func(at string, c clusters.Config) {
		wait, err := strconv.ParseFloat(string(c.PgBouncer["query_wait_timeout"]), 64)
		if err == nil && limit.Seconds()-wait < shortMargin {
			a.warn("take it out for three quarters of clientTimeout", "%s.config.pgbouncer.query_wait_timeout of %g s is less than a second below clientTimeout of %s: applications may give up first", at, wait, limit)
		}
	}
	say("spec.pgbouncer", p.Config)
	for i, o := range p.InstanceOverrides {
		say(fmt.Sprintf("spec.pgbouncer.instanceOverrides[%d]", i), o.Config)
	}
}

// peers: without them a cancel request finds its query only by luck.
func (a *adviser) peers(c clusters.Cluster) {
	p := c.Spec.PgBouncer
	most := *p.Replicas
	for _, o := range p.InstanceOverrides {
		most = max(most, *o.Replicas)
	}
	if most > 1 && len(p.Config.Peers) == 0 {
		a.warn("bound what a lost cancel costs: statement_timeout, or query_timeout in spec.pgbouncer.config.pgbouncer",
			"spec.pgbouncer.replicas of %d: a cancel request that reaches another pod than the query is lost, since pods of a Deployment cannot be peers", most)
	}
}
