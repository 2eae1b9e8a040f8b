package cmd

import (
	"slices"
	"strings"
	"time"

	"github.com/poolwright/poolwright/discovery/notice"
	"github.com/poolwright/poolwright/gitsync/webhook"
	"github.com/poolwright/poolwright/plan"
)

// hint is what somebody else told this process: a reason to look, and never evidence. One of the two is set.
type hint struct {
	rds    *notice.Notice
	github *webhook.Event
}

// hinted looks where a hint points, if it is about this cluster, and returns how long to wait for the next round.
func (r *Reconciler) hinted(h hint) time.Duration {
	switch {
	case h.rds != nil && r.isAbout(*h.rds):
		r.heardOf(*h.rds)
	case h.github != nil && r.isIn(*h.github):
		r.git.stale = true
		r.pulls.asked = reviewQuestion{}
	default:
		return max(0, r.interval(r.latest.declaration)-r.Now().Sub(r.began))
	}
	return r.soon()
}

// heardOf opens the window where the writer may be about to change. Anything else is a reason to ask AWS again.
func (r *Reconciler) heardOf(n notice.Notice) {
	r.say(Event{Kind: Heard, Detail: n.EventID + " of " + n.Of.String() + " " + n.Source + ": " + n.Message})
	r.curious = true
	if n.Kind == notice.Failover || n.Kind == notice.Availability {
		r.window.open(r.Now(), r.latest.Cluster.Spec.Failover)
		r.tellWindow()
	}
}

// isAbout reports whether RDS speaks of this cluster or one of its instances.
func (r *Reconciler) isAbout(n notice.Notice) bool {
	if n.Of == notice.Cluster {
		return strings.EqualFold(r.latest.Cluster.Spec.Discovery.ClusterName, n.Source)
	}
	for _, i := range r.latest.Topology.Instances {
		if strings.EqualFold(i.Name, n.Source) {
			return true
		}
	}
	return slices.ContainsFunc(r.saw.Declared.State.Members, func(m plan.Member) bool { return strings.EqualFold(m.Name, n.Source) })
}

// isIn reports whether GitHub speaks of the branch that this cluster is published to.
func (r *Reconciler) isIn(e webhook.Event) bool {
	p := r.latest.Cluster.Spec.Publish
	if e.Branch != p.Branch {
		return false
	}
	if p.Forge != nil && strings.EqualFold(p.Forge.Repository, e.Repository) {
		return true
	}
	at := strings.ToLower(strings.TrimSuffix(strings.TrimSuffix(p.Repository, "/"), ".git"))
	name := strings.ToLower(e.Repository)
	return name != "" && (strings.HasSuffix(at, "/"+name) || strings.HasSuffix(at, ":"+name))
}
