package plan

import "slices"

// guarded is steps without those that would shrink the cluster too much at
// once. Only they are held; the rest goes on.
func (d *decision) guarded() []step {
	said := slices.Clone(d.reasons)
	steps := d.steps()
	d.keepMissing = detachesTooMany(steps) && d.refuse(steps, MembershipChange, step.detached)
	d.keepOverlays = removesTooMany(steps) && d.refuse(steps, ScaleChange, func(s step) bool { return s.removed })
	if !d.keepMissing && !d.keepOverlays {
		return steps
	}
	consent := keep(d.reasons, NeedsConsent)
	d.reasons = said
	steps = d.steps()
	d.reasons = append(d.reasons, consent...)
	return steps
}

// refuse notes whose step needs consent, unless a person has given it. A step that awaits review besides uses none yet.
func (d *decision) refuse(steps []step, class Class, which func(step) bool) bool {
	if d.rules.AllowShrink != "" {
		if !d.reviewed(class) {
			d.note(ShrinkAllowed, "", d.rules.AllowShrink)
		}
		return false
	}
	for _, s := range steps {
		if which(s) {
			d.note(NeedsConsent, s.from.Name, "")
		}
	}
	return true
}

// detachesTooMany: more than half of the members that exist, or of those that serve.
func detachesTooMany(steps []step) bool {
	var exist, serve, lost, lostServing int
	for _, s := range steps {
		if s.from.Out.leaving() {
			continue
		}
		exist++
		if s.detached() {
			lost++
		}
		if s.from.Out == In {
			serve++
			if s.detached() {
				lostServing++
			}
		}
	}
	return 2*lost > exist || 2*lostServing > serve
}

// removesTooMany: more than half of the overlays.
func removesTooMany(steps []step) bool {
	removed := 0
	for _, s := range steps {
		if s.removed {
			removed++
		}
	}
	return 2*removed > len(steps)
}

func keep(reasons []Reason, c Code) (kept []Reason) {
	for _, r := range reasons {
		if r.Code == c {
			kept = append(kept, r)
		}
	}
	return kept
}
