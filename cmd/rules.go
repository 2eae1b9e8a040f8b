package cmd

import (
	"time"

	"github.com/poolwright/poolwright/clusters"
	"github.com/poolwright/poolwright/plan"
)

// rulesOf translates a declaration, and a pause that was ordered elsewhere, into
// the rules of a decision.
func rulesOf(d declaration, e evidence) plan.Rules {
	spec := d.Cluster.Spec
	rules := plan.DefaultRules()
	rules.Paused = spec.Paused || e.PausedBy != ""
	rules.PausedBy = e.PausedBy
	rules.Spec = d.Spec
	rules.Disabled = disabledIn(spec.PgBouncer.InstanceOverrides)
	rules.ProbeInterval = time.Duration(spec.Monitor.Interval)
	rules.FailureThreshold = spec.Monitor.FailureThreshold
	rules.RecoveryThreshold = spec.Monitor.RecoveryThreshold
	rules.DiscoveryFailureThreshold = spec.Discovery.FailureThreshold
	rules.RemoveAfterMissingCount = spec.TopologyPolicy.RemoveAfterMissingCount
	rules.RemoveAfterMissing = time.Duration(*spec.TopologyPolicy.RemoveAfterMissingSeconds) * time.Second
	rules.Retention = time.Duration(spec.TopologyPolicy.RemovedInstanceRetention)
	rules.Fallback = fallbackOf[spec.TopologyPolicy.ReaderFallback]
	rules.AllowShrink = spec.TopologyPolicy.AllowShrink
	rules.BatchWindow = time.Duration(spec.Publish.BatchWindow)
	rules.GlobalSecondary = spec.Discovery.Mode == "global-secondary"
	rules.ByReview = reviewedIn(d)
	rules.RevertHold = time.Duration(spec.Publish.RevertHold)
	if e.Wish {
		return rules.Wish()
	}
	return rules
}

var fallbackOf = map[string]plan.FallbackPolicy{
	"writer":           plan.FallbackWriter,
	"none":             plan.FallbackNone,
	"only-when-absent": plan.FallbackOnlyWhenAbsent,
}

func disabledIn(overrides []clusters.InstanceOverride) map[string]bool {
	disabled := map[string]bool{}
	for _, o := range overrides {
		if o.Enabled != nil && !*o.Enabled {
			disabled[o.Name] = true
		}
	}
	return disabled
}
