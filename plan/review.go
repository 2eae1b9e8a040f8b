package plan

// reviewed reports whether changes of a class go in by a person's review.
func (d *decision) reviewed(c Class) bool { return d.rules.ByReview[c] }

// unreviewed is steps without what awaits review of membership: members stay as they are declared, and so does fallback, which is said
// as it would be. Whose overlay goes was out before.
func (d *decision) unreviewed(steps []step) []step {
	if !d.reviewed(MembershipChange) {
		return steps
	}
	d.want.Members = remaining(steps, func(step) bool { return true })
	d.fallBack()
	d.want.Fallback = d.old.Fallback
	for i := range steps {
		steps[i].to = steps[i].from
	}
	return steps
}

// await says of what is not in want, because its class goes by review, that it waits.
func (d *decision) await() {
	for i, r := range d.reasons {
		if r.Code.action() && r.Code != ShrinkAllowed && d.reviewed(r.Code.class()) {
			d.reasons[i] = Reason{Code: AwaitsReview, Instance: r.Instance, Detail: r.Code.String()}
		}
	}
}

// class is the class of an action while the writer stays.
func (c Code) class() Class {
	switch c {
	case OverlayAdded, OverlayRemoved, SlotRetired:
		return ScaleChange
	}
	return MembershipChange
}
