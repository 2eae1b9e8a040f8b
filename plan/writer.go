package plan

import (
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/discovery"
)

// first draws the first tree in one commit. Nobody has been sent anywhere yet,
// so a reader that answers now need not prove more: an empty Reader Service
// would be the worse start.
func (d *decision) first() bool {
	if len(d.old.Members) > 0 || d.old.Epoch > 0 {
		return false
	}
	d.want.Writer, d.urgent = d.writer(), true
	if d.rules.Disabled[d.want.Writer] {
		return d.hold(WriterDisabled, d.want.Writer, "")
	}
	d.note(FirstTree, "", "")
	d.add(d.newcomers(), func(i discovery.Instance) Out {
		if i.Name == d.want.Writer || i.Probe == discovery.None && i.Role != discovery.Unknown {
			return In
		}
		return Unproven
	})
	if len(d.want.Members) == 0 {
		return d.hold(NoInstances, "", "none that may have an overlay")
	}
	if d.reviewed(ScaleChange) {
		return d.hold(AwaitsReview, "", FirstTree.String())
	}
	d.fallBack()
	return d.conclude()
}

// writerMoved switches to another writer. What monitoring counted has no vote
// in it, and nothing else is changed with it.
func (d *decision) writerMoved() bool {
	to, from := d.writer(), d.old.Writer
	switch {
	case to == from:
		return false
	case to == "" && d.rules.AllowShrink == "":
		return d.hold(NeedsConsent, from, "the Writer Service would go")
	case to == "" && d.reviewed(MembershipChange):
		return d.hold(AwaitsReview, from, WriterDropped.String())
	case to == "":
		d.note(WriterDropped, from, "")
		d.note(ShrinkAllowed, "", d.rules.AllowShrink)
		return d.switchTo("")
	case d.stale():
		return d.hold(WriterStale, to, fmt.Sprintf("timeline %d, declared is %d; if the cluster was rebuilt, remove timeline from topology.yaml", d.saw.Topology.Timeline, d.old.Timeline))
	case d.rules.Disabled[to]:
		return d.hold(WriterDisabled, to, "")
	}
	if _, ok := d.old.Member(to); !ok {
		return d.makeWay(to)
	}
	if !d.ready(to) && (from == "" || d.ready(from)) {
		return d.hold(WriterNotReady, to, "")
	}
	return d.failover(WriterMoved, to, was(from))
}

// failover switches to another writer, for the reason that code and detail say, without waiting for a batch window. Where a person
// reviews it, the switch is decided all the same: the live Services do not wait.
func (d *decision) failover(code Code, to, detail string) bool {
	d.note(code, to, detail)
	d.urgent = true
	d.switchTo(to)
	if d.action == Publish {
		d.action, d.class = Failover, FailoverChange
		d.byReview = d.reviewed(FailoverChange)
		d.waiting(d.byReview, AwaitsReview, to, code.String())
	}
	return true
}

// stale reports whether the new writer is known to be on an older timeline than the declared one was: each promotion
// begins a higher one, so it is an old primary that came back.
func (d *decision) stale() bool {
	seen := d.saw.Topology.Timeline
	return seen != 0 && seen < d.old.Timeline
}

// timeline is what is known of the wanted writer's. What was known before stays a lower bound while nothing is seen.
func (d *decision) timeline() uint32 {
	seen := d.saw.Topology.Timeline
	w, _ := d.saw.Topology.Writer()
	switch {
	case d.want.Writer == "":
		return 0
	case d.want.Writer != w.Name || seen == 0 || !d.saw.Topology.Trusted():
		return d.old.Timeline
	}
	return seen
}

// makeWay gives the new writer its overlay, because there is nothing to switch to before. While a person reviews that, the members go on.
func (d *decision) makeWay(to string) bool {
	d.note(WriterNotReady, to, "it has no overlay yet")
	if d.reviewed(ScaleChange) {
		d.note(OverlayAdded, to, "")
		d.writerWaits = true
		return false
	}
	w, _ := d.saw.Topology.Instance(to)
	d.urgent = true
	d.want.Members = slices.Clone(d.old.Members)
	d.add([]discovery.Instance{w}, unproven)
	return d.conclude()
}

// switchTo changes the writer, and of the members nothing but who is out.
func (d *decision) switchTo(to string) bool {
	d.want.Writer = to
	d.want.Members = slices.Clone(d.old.Members)
	for i := range d.want.Members {
		switch m := &d.want.Members[i]; m.Name {
		case to:
			d.put(m, In)
		case d.old.Writer:
			d.demote(m)
		}
	}
	d.fallBack()
	return d.conclude()
}

// demote keeps the old writer as a member that has to prove itself in its new role.
func (d *decision) demote(m *Member) {
	if d.rules.Disabled[m.Name] {
		d.put(m, Disabled)
		d.note(TurnedOff, m.Name, "")
		return
	}
	d.put(m, Unproven)
	d.note(WriterDemoted, m.Name, "")
}

// put sets why m is out, and since when if that is new.
func (d *decision) put(m *Member, o Out) {
	if m.Out != o {
		m.Out, m.Since = o, d.stamp()
	}
}

// ready reports whether a member has a pod to send traffic to. Where Kubernetes
// is not in reach, readiness has no say.
func (d *decision) ready(name string) bool {
	return d.saw.Ready == nil || d.saw.Ready[name] > 0
}

func was(name string) string {
	if name == "" {
		return ""
	}
	return "was " + name
}

func unproven(discovery.Instance) Out { return Unproven }
