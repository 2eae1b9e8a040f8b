package plan

import (
	"slices"
)

// checkReview checks that nothing goes past a person's review. wish is the decision without any.
func checkReview(law func(bool, string), old State, rules Rules, plan, wish Plan) {
	scale, membership := rules.ByReview[ScaleChange], rules.ByReview[MembershipChange]
	want := plan.Want
	law(plan.ByReview == (plan.Action == Failover && rules.ByReview[FailoverChange]), "a failover goes by review where failovers do, and nothing else is decided for one")
	law(plan.Action != Publish || !rules.ByReview[plan.Class], "nothing is committed whose class goes by review")
	law((plan.Action == Failover) == (wish.Action == Failover), "a failover is decided whatever goes by review: the live Services do not wait")
	if plan.Action == Failover {
		law(same(want, wish.Want) && want.Epoch == wish.Want.Epoch, "a failover is the same whatever goes by review")
		return
	}
	for _, m := range old.Members {
		now, stays := want.Member(m.Name)
		law(stays || !scale, "where scale goes by review, no overlay is removed")
		law(!stays || !membership || now == m, "where membership goes by review, members stay as they are declared")
	}
	first := len(old.Members) == 0 && old.Epoch == 0
	law(first || !membership || want.Fallback == old.Fallback && want.Writer == old.Writer, "where membership goes by review, so does fallback, but for the first tree")
	for _, m := range want.Members {
		_, known := old.Member(m.Name)
		law(known || !scale, "where scale goes by review, no overlay is added")
		law(known || first || !membership || m.Out == Unproven, "where membership goes by review, a new overlay comes without traffic, but for the first tree")
	}
}

// checkAwaited checks what is said to await review, and that it holds nothing else.
func checkAwaited(law func(bool, string), rules Rules, plan, wish Plan) {
	waits := says(plan, AwaitsReview)
	wished := wish.Action == Publish || wish.Action == Failover
	law(!says(wish, AwaitsReview) && !wish.ByReview, "without a review nothing awaits one")
	law(!wished || waits || says(plan, Batching) || outcome(plan.Want) == outcome(wish.Want), "what is wished and not decided is said to await review")
	law(!waits || len(rules.ByReview) > 0 && (wished || says(wish, RevertedByPerson) || says(wish, NoSlot)), "nothing awaits review that is not wished, unless a person took it back or no slot is left")
	if rules.ByReview[MembershipChange] || !wished || plan.Action == Hold || says(wish, WriterNotReady) || says(wish, FirstTree) {
		return // membership waits too, or a new writer does: what it comes to is in the laws above
	}
	law(plan.Want.Fallback == wish.Want.Fallback && slices.Equal(servedOf(plan.Want, wish.Want), servedOf(wish.Want, plan.Want)),
		"where only overlays await review, all who have one serve readers as they would without it")
}

// servedOf are the readers of a that b has too.
func servedOf(a, b State) (names []string) {
	for _, name := range a.Readers() {
		if _, ok := b.Member(name); ok {
			names = append(names, name)
		}
	}
	return names
}
