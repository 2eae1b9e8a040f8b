package plan

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/poolwright/poolwright/discovery"
)

// Decide says what is to be done about a cluster. It is a pure function: the
// same arguments give the same plan, and none of them is changed. The package
// comment has its rules.
func Decide(mem Memory, saw Observation, rules Rules, now time.Time) (Plan, Memory) {
	saw, rules = saw.sorted(), rules.sane()
	d := decision{
		mem: mem.next(saw, rules), saw: saw, rules: rules, now: now,
		old: saw.Declared.State, want: saw.Declared.State,
	}
	for _, settles := range [...]func(*decision) bool{
		(*decision).distrusted,
		(*decision).broken,
		(*decision).paused,
		(*decision).ordered,
		(*decision).doubted,
		(*decision).empty,
		(*decision).writerless,
		(*decision).first,
		(*decision).writerMoved,
		(*decision).ordinary,
	} {
		if settles(&d) {
			break
		}
	}
	return d.plan(), d.mem
}

// decision is a plan in the making.
type decision struct {
	saw   Observation
	rules Rules
	now   time.Time
	mem   Memory
	// old is the declared state. want starts as it; its members are replaced, never written to.
	old, want State
	action    Action
	class     Class
	reasons   []Reason
	// order is the writer that a person ordered, "" when there is no order to follow. other is whom a trusted topology
	// calls the writer instead.
	order, other string
	// urgent changes do not wait for a batch window.
	urgent bool
	// byReview is true for a failover that a person reviews; writerWaits while the review of the new writer's overlay is awaited.
	byReview, writerWaits bool
	// keepMissing and keepOverlays are set when that step would shrink too much.
	keepMissing, keepOverlays bool
}

// sorted returns o with instances and members sorted by name, whoever made them.
func (o Observation) sorted() Observation {
	byName := func(a, b discovery.Instance) int { return strings.Compare(a.Name, b.Name) }
	if !slices.IsSortedFunc(o.Topology.Instances, byName) {
		o.Topology.Instances = slices.SortedStableFunc(slices.Values(o.Topology.Instances), byName)
	}
	members := func(a, b Member) int { return strings.Compare(a.Name, b.Name) }
	if !slices.IsSortedFunc(o.Declared.State.Members, members) {
		o.Declared.State.Members = slices.SortedStableFunc(slices.Values(o.Declared.State.Members), members)
	}
	return o
}

func (d *decision) note(c Code, instance, detail string) {
	d.reasons = append(d.reasons, Reason{Code: c, Instance: instance, Detail: detail})
}

// hold ends the decision with nothing changed.
func (d *decision) hold(c Code, instance, detail string) bool {
	d.note(c, instance, detail)
	return d.stop()
}

// stop ends the decision with nothing changed. What was to be done is not a reason any more.
func (d *decision) stop() bool {
	d.want, d.action, d.class = d.old, Hold, NoChange
	d.reasons = slices.DeleteFunc(d.reasons, func(r Reason) bool { return r.Code.action() })
	return true
}

// distrusted says what speaks against the topology. It is said whatever becomes of it.
func (d *decision) distrusted() bool {
	for _, doubt := range d.saw.Topology.Doubts {
		d.note(Doubted, doubt.Instance, doubtDetail(doubt))
	}
	if !d.saw.Topology.Trusted() && d.mem.doubts >= d.rules.DiscoveryFailureThreshold {
		d.note(DiscoveryFailing, "", "")
	}
	return false
}

// broken: nothing is built on a declared state that contradicts itself.
func (d *decision) broken() bool {
	name, what := d.old.flaw()
	return what != "" && d.hold(DeclaredBroken, name, what)
}

// paused: a person said so. Counting goes on, so that a resume acts on what is known.
func (d *decision) paused() bool {
	return d.rules.Paused && d.hold(Paused, "", d.rules.PausedBy)
}

// doubted: a topology with doubts changes nothing anywhere.
func (d *decision) doubted() bool { return !d.saw.Topology.Trusted() && d.stop() }

// empty: no instances at all is never a reason to remove anything.
func (d *decision) empty() bool {
	return len(d.saw.Topology.Instances) == 0 && d.hold(NoInstances, "", "")
}

// writerless: a trusted topology has a writer, unless a person declared that it has none.
func (d *decision) writerless() bool {
	_, ok := d.saw.Topology.Writer()
	return !ok && !d.rules.GlobalSecondary && d.hold(NoTrustedWriter, "", "")
}

// writer is the name of the writer to serve, "" in mode global-secondary.
func (d *decision) writer() string {
	if d.rules.GlobalSecondary {
		return ""
	}
	w, _ := d.saw.Topology.Writer()
	return cmp.Or(d.order, w.Name)
}

// stamp is now as State holds it.
func (d *decision) stamp() time.Time { return d.now.UTC().Truncate(time.Second) }

// conclude publishes want if it differs from what is declared, and if neither
// a person's revert nor the batch window forbids it.
func (d *decision) conclude() bool {
	d.conditions()
	if same(d.old, d.want) {
		return d.rest()
	}
	d.want.Timeline = d.timeline()
	if !sameSelectors(d.old, d.want) {
		d.want.Epoch = max(d.old.Epoch, d.saw.Declared.LastEpoch) + 1
	}
	if by := d.reverted(); by != "" {
		return d.hold(RevertedByPerson, "", by)
	}
	if d.batching() {
		return d.hold(Batching, "", "")
	}
	d.action = Publish
	d.class = classOf(d.old, d.want)
	return true
}

// rest ends a decision that wants what is declared.
func (d *decision) rest() bool {
	d.want = d.old
	d.mem.pending, d.mem.pendingOn = time.Time{}, State{}
	if by := d.reverted(); by != "" {
		return d.hold(RevertedByPerson, "", by)
	}
	return !d.writerWaits || d.stop()
}

// reverted names the newest commit by which a person took back what want says, and until when that holds, "" when there is none.
func (d *decision) reverted() string {
	if len(d.saw.Declared.Reverted) == 0 {
		return ""
	}
	facts := d.want.Facts(d.rules.Spec)
	for _, r := range d.saw.Declared.Reverted {
		if r.Facts == facts && d.rules.heeds(r, d.now) {
			return cmp.Or(r.By, "a commit") + d.rules.untilWhen(r)
		}
	}
	return ""
}

// expires reports whether a revert holds for a time only.
func (r Rules) expires(no Revert) bool { return r.RevertHold > 0 && !no.At.IsZero() }

// heeds reports whether a revert still holds.
func (r Rules) heeds(no Revert, now time.Time) bool {
	return !r.expires(no) || now.Before(no.At.Add(r.RevertHold))
}

// untilWhen says when a revert ceases to hold, if time ends it.
func (r Rules) untilWhen(no Revert) string {
	if !r.expires(no) {
		return ""
	}
	return ", until " + no.At.Add(r.RevertHold).UTC().Format(time.RFC3339)
}

// batching reports whether the batch window is open, and opens it. It stays
// over until the declared state has changed, so that a publish can be retried.
func (d *decision) batching() bool {
	if d.urgent || d.rules.BatchWindow <= 0 {
		return false
	}
	if d.mem.pending.IsZero() || !same(d.mem.pendingOn, d.old) {
		d.mem.pending, d.mem.pendingOn = d.now, d.old
	}
	return d.now.Sub(d.mem.pending) < d.rules.BatchWindow
}

// classOf tells whether overlays come or go.
func classOf(a, b State) Class {
	same := slices.EqualFunc(a.Members, b.Members, func(x, y Member) bool { return x.Name == y.Name })
	if same {
		return MembershipChange
	}
	return ScaleChange
}

// plan is the decision as others see it.
func (d *decision) plan() Plan {
	slices.SortFunc(d.reasons, compareReasons)
	d.reasons = slices.Compact(d.reasons)
	return Plan{Action: d.action, Class: d.class, ByReview: d.byReview, Want: d.want, Reasons: d.reasons}
}

// doubtDetail is a doubt's code and detail in one.
func doubtDetail(doubt discovery.Doubt) string {
	if doubt.Detail == "" {
		return doubt.Code.String()
	}
	return doubt.Code.String() + ": " + doubt.Detail
}
