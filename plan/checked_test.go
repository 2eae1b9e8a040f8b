package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/poolwright/poolwright/discovery"
)

// failer is what testing.T and rapid.T have in common.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// checked decides, and checks the laws that hold for each decision by itself.
func checked(t failer, mem Memory, saw Observation, rules Rules, now time.Time) (Plan, Memory) {
	t.Helper()
	members, records := slices.Clone(saw.Declared.State.Members), slices.Clone(mem.records)
	plan, next := Decide(mem, saw, rules, now)
	law := func(holds bool, which string) {
		t.Helper()
		if !holds {
			t.Fatalf("%s:\nsaw %+v\ngit %+v\nplan %+v", which, saw.Topology, saw.Declared.State, plan)
		}
	}
	law(slices.Equal(members, saw.Declared.State.Members) && slices.Equal(records, mem.records), "arguments are not changed")
	again, _ := Decide(mem, saw, rules, now)
	law(equal(plan, again), "the same arguments give the same plan")
	retried, _ := Decide(next, saw, rules, now)
	law(equal(plan, retried), "an observation counts once: a retry gives the same plan")
	turned, _ := Decide(mem, backwards(saw), rules, now)
	law(equal(plan, turned), "neither the order of instances and members nor notes matter")

	checkState(law, saw, rules, plan)
	checkAction(law, saw, plan)
	wish, _ := Decide(mem, saw, rules.Wish(), now)
	checkReview(law, saw.Declared.State, rules, plan, wish)
	checkAwaited(law, rules, plan, wish)
	checkOrder(law, saw, rules, now, plan, func(o Observation) Plan { p, _ := Decide(mem, o, rules, now); return p })
	if !saw.Topology.Trusted() {
		law(plan.Action == Hold || plan.Action == Failover && says(plan, WriterOrdered), "doubt holds all but a person's order")
		law(slices.Equal(mem.records, next.records) && mem.at.Equal(next.at), "doubt counts nothing")
	}
	law(slices.IsSortedFunc(plan.Reasons, compareReasons), "reasons are sorted")
	return plan, next
}

// checkState checks what Git is to hold.
func checkState(law func(bool, string), saw Observation, rules Rules, plan Plan) {
	old, want := saw.Declared.State, plan.Want
	law(slices.IsSortedFunc(want.Members, func(a, b Member) int { return strings.Compare(a.Name, b.Name) }), "members are sorted")
	slots := map[int]string{}
	for _, m := range want.Members {
		law(slots[m.Slot] == "" && m.Slot >= 0 && m.Slot < Slots, "slots are unique and exist")
		slots[m.Slot] = m.Name
		was, ok := old.Member(m.Name)
		law(!ok || was.Slot == m.Slot, "a slot is for the life of an overlay")
		law(ok && m.Out == was.Out && m.Since.Equal(was.Since) || m.Since.Location() == time.UTC && m.Since.Nanosecond() == 0, "since is in whole seconds, UTC")
	}
	for _, m := range old.Members {
		law(slots[m.Slot] == "" || slots[m.Slot] == m.Name, "a slot is not given away while its overlay is in Git")
	}
	law(old.Writer == "" || want.Writer != "" || rules.GlobalSecondary, "a writer is never replaced by nobody")
	if w, ok := want.Member(want.Writer); want.Writer != "" {
		law(ok && w.Out == In, "the writer is a member and is not out")
	}
	law(!want.Fallback || len(want.Readers()) == 1 && want.Readers()[0] == want.Writer, "in fallback the writer alone serves readers")
	moved := selectors(old) != selectors(want)
	law(moved == (want.Epoch == max(old.Epoch, saw.Declared.LastEpoch)+1) && moved != (want.Epoch == old.Epoch), "the epoch is raised above all there were if and only if a selector changes")
}

// checkAction checks that a plan is what its action and class say.
func checkAction(law func(bool, string), saw Observation, plan Plan) {
	old, want := saw.Declared.State, plan.Want
	acts := plan.Action == Publish || plan.Action == Failover
	law(acts == (plan.Class != NoChange), "actions have a class, and nothing else has")
	law(acts || old.Timeline == want.Timeline, "a timeline is recorded with another change")
	law(old.Writer == want.Writer || want.Writer == "" || saw.Topology.Timeline == 0 || saw.Topology.Timeline >= old.Timeline || says(plan, WriterOrdered),
		"no old primary becomes the writer, unless a person orders it")
	law(acts == !same(old, want), "what is published differs, and nothing differs that is not published")
	explained := slices.ContainsFunc(plan.Reasons, func(r Reason) bool { return r.Code.action() })
	law(acts == explained, "actions have a reason, and nothing else has one of that kind")
	law(plan.Action != Hold || len(plan.Reasons) > 0, "a hold has a reason")
	names := func(s State) (n []string) {
		for _, m := range s.Members {
			n = append(n, m.Name)
		}
		return n
	}
	scales := !slices.Equal(names(old), names(want))
	law(scales == (plan.Class == ScaleChange), "overlays come and go in class scale only")
	if plan.Action != Failover {
		return
	}
	law(old.Writer != want.Writer, "a failover changes the writer")
	for i, m := range want.Members {
		was := old.Members[i]
		was.Out, was.Since = m.Out, m.Since
		law(was == m, "a failover changes of a member only whether it is out")
		law(m.Name == want.Writer || m.Name == old.Writer || m.Out == old.Members[i].Out, "a failover leaves other readers alone")
	}
}

// checkOrder checks what becomes of a person's order.
func checkOrder(law func(bool, string), saw Observation, rules Rules, now time.Time, plan Plan, decide func(Observation) Plan) {
	o, old := saw.Order, saw.Declared.State
	if o == nil {
		law(!says(plan, WriterOrdered) && !says(plan, OrderStands) && !says(plan, Overruled) && !says(plan, OtherWriter), "without an order none is said")
		return
	}
	unordered := saw
	unordered.Order = nil
	without := decide(unordered)
	_, member := old.Member(o.Writer)
	switch {
	case !now.Before(o.Until):
		law(equal(plan, without), "an order that is over is no order")
	case rules.Paused:
		law(plan.Action == Hold && equal(plan, without), "paused is above an order")
	case rules.GlobalSecondary:
		law(plan.Action == without.Action && equal(Plan{Want: plan.Want}, Plan{Want: without.Want}), "a global secondary goes on without an order")
	case !member:
		law(plan.Action == Hold && says(plan, OrderRefused), "nobody without an overlay is ordered")
	case says(plan, RevertedByPerson):
		law(plan.Action == Hold, "a person's revert is above an order")
	default:
		checkStands(law, saw, rules, plan)
	}
}

// checkStands checks a decision under an order that can be followed.
func checkStands(law func(bool, string), saw Observation, rules Rules, plan Plan) {
	order := saw.Order.Writer
	declared := saw.Declared.State.Writer == order
	law(plan.Want.Writer == order, "an order says who the writer is")
	law((plan.Action == Failover) == !declared, "an order is a failover once, and nothing else is one")
	law(declared == says(plan, OrderStands) && declared != says(plan, WriterOrdered), "an order is said, each time")
	w, ok := saw.Topology.Writer()
	if ok && saw.Topology.Trusted() && declared && plan.Action != Hold && w.Name != order {
		waits := rules.ByReview[MembershipChange] && slices.ContainsFunc(plan.Reasons, func(r Reason) bool { return r.Code == AwaitsReview && r.Instance == w.Name })
		law(waits || !slices.Contains(plan.Want.Readers(), w.Name), "whom the databases call the writer is no reader, unless membership goes by review and it is said that this awaits one")
	}
}

func says(p Plan, c Code) bool {
	return slices.ContainsFunc(p.Reasons, func(r Reason) bool { return r.Code == c })
}

// selectors are the two Services' selectors, drawn without help from the package.
func selectors(s State) string {
	if len(s.Members) == 0 {
		return ""
	}
	var out []int
	for _, m := range s.Members {
		if m.Name == s.Writer && !s.Fallback || m.Name != s.Writer && m.Out != In {
			out = append(out, m.Slot)
		}
	}
	slices.Sort(out)
	return fmt.Sprint(s.Writer, out)
}

func equal(a, b Plan) bool {
	return a.Action == b.Action && a.Class == b.Class && a.ByReview == b.ByReview && slices.Equal(a.Reasons, b.Reasons) &&
		a.Want.Epoch == b.Want.Epoch && a.Want.Timeline == b.Want.Timeline && same(a.Want, b.Want)
}

// backwards is o in another order, and with notes: they are for people.
func backwards(o Observation) Observation {
	o.Topology.Notes = []discovery.Note{{Code: discovery.EndpointLag, Detail: "B21: the resolver lags"}}
	o.Topology.Instances = slices.Clone(o.Topology.Instances)
	slices.Reverse(o.Topology.Instances)
	o.Declared.State.Members = slices.Clone(o.Declared.State.Members)
	slices.Reverse(o.Declared.State.Members)
	return o
}
