package plan

import (
	"time"

	"github.com/poolwright/poolwright/discovery"
)

// ordinary is everything while the writer stays: who serves readers, which
// overlays come and go, and whether the writer stands in.
func (d *decision) ordinary() bool {
	steps := d.unreviewed(d.guarded())
	d.want.Members = remaining(steps, func(s step) bool { return !s.removed })
	d.add(d.newcomers(), d.outNew)
	if d.reviewed(ScaleChange) {
		d.want.Members = remaining(steps, func(step) bool { return true })
	}
	if !d.reviewed(MembershipChange) {
		d.fallBack()
		d.enrich()
	}
	d.await()
	return d.conclude()
}

// remaining are the members after those steps that which holds for.
func remaining(steps []step, which func(step) bool) []Member {
	members := make([]Member, 0, len(steps))
	for _, s := range steps {
		if which(s) {
			members = append(members, s.to)
		}
	}
	return members
}

// outNew says whether a newcomer serves readers from its first commit on: when it
// proved itself while the batch window was open. Its pods do not exist yet, so
// that is only for one that joins other readers, never for one that ends a fallback.
// Where any of it goes by review, it does not.
func (d *decision) outNew(i discovery.Instance) Out {
	others := State{Writer: d.want.Writer, Members: d.want.Members}
	r := d.mem.record(i.Name)
	joins := others.served() && r.proven(d.rules) && d.ready(i.Name) && i.Name != d.other
	if !joins || d.reviewed(ScaleChange) {
		return Unproven
	}
	d.note(Joined, i.Name, "")
	if d.reviewed(MembershipChange) {
		return Unproven
	}
	return In
}

// step is what becomes of one declared member.
type step struct {
	from, to Member
	removed  bool
}

// detached reports whether s takes a member out because the cluster says it is gone.
func (s step) detached() bool {
	return !s.from.Out.leaving() && (s.to.Out == Missing || s.to.Out == Deleting)
}

// steps judges all declared members.
func (d *decision) steps() []step {
	steps := make([]step, 0, len(d.old.Members))
	for _, m := range d.old.Members {
		steps = append(steps, d.judge(m))
	}
	return steps
}

// judge says what becomes of a declared member.
func (d *decision) judge(m Member) step {
	s := step{from: m, to: m}
	i, present := d.saw.Topology.Instance(m.Name)
	r := d.mem.record(m.Name)
	if present {
		d.follow(&s.to, i)
	}
	switch {
	case m.Name == d.want.Writer:
		d.put(&s.to, In)
		d.writerNotes(r)
	case present:
		d.move(&s.to, d.outPresent(m, i, r))
	default:
		d.move(&s.to, d.outAway(m, r))
	}
	switch over := s.to.Out == m.Out && d.over(m, i, present, r); {
	case over && d.saw.Pinned[m.Name]:
		d.note(OverlayPinned, m.Name, "")
	case over:
		s.removed = true
		d.note(OverlayRemoved, m.Name, "")
	}
	return s
}

// writerNotes are what people should know of a writer that stays for all that.
func (d *decision) writerNotes(r record) {
	if d.rules.Disabled[r.name] {
		d.note(WriterDisabled, r.name, "")
	}
	if r.bad >= d.rules.FailureThreshold {
		d.note(WriterFailing, r.name, "")
	}
}

// follow takes over where an instance is and what machine it is. Metadata that
// was merely unknown before is no change: see enrich.
func (d *decision) follow(m *Member, i discovery.Instance) {
	if otherMachine(m.Resource, i.Resource) {
		m.Resource, m.Zone = i.Resource, known(i.Zone, m.Zone)
		d.note(MachineChanged, m.Name, "")
	}
	if i.Host != "" && (i.Host != m.Host || i.Port != m.Port) {
		m.Host, m.Port = i.Host, i.Port
		d.note(EndpointChanged, m.Name, "")
	}
}

// outPresent says whether a member that is there serves readers.
func (d *decision) outPresent(m Member, i discovery.Instance, r record) Out {
	disabled := d.rules.Disabled[m.Name]
	switch {
	case m.Out == Deleting && !r.renewed:
		return Deleting // what is being deleted never comes back, whether metadata is fresh or not
	case disabled:
		return Disabled
	case i.Deleting && !d.keepMissing:
		return Deleting
	case r.renewed && m.Out != Unproven:
		return Unproven
	case m.Out == In && m.Name == d.other:
		return Unproven
	case m.Out == In && r.bad >= d.rules.FailureThreshold:
		return Unhealthy
	case m.Out == In:
		d.waiting(r.bad > 0, Failing, m.Name, "")
		return In
	case r.proven(d.rules) && d.ready(m.Name) && !i.Deleting && m.Name != d.other:
		return In
	case m.Out == Disabled:
		return Unproven
	}
	d.note(d.lacks(r), m.Name, "")
	return m.Out
}

// lacks says what keeps r's instance, which is present, from joining.
func (d *decision) lacks(r record) Code {
	switch {
	case r.name == d.other:
		return OtherWriter
	case r.proven(d.rules):
		return PodsNotReady
	case r.good >= d.rules.RecoveryThreshold:
		return Flapping
	}
	return Proving
}

// outAway says what becomes of a member that the topology does not have.
func (d *decision) outAway(m Member, r record) Out {
	disabled := d.rules.Disabled[m.Name]
	switch {
	case m.Out == Missing || m.Out == Deleting || m.Out == Disabled && disabled:
		return m.Out
	case disabled:
		return Disabled
	case r.gone(d.rules, d.mem.at) && !d.keepMissing:
		return Missing
	}
	d.waiting(!d.keepMissing, Absent, m.Name, "")
	return m.Out
}

// waiting notes c if it holds.
func (d *decision) waiting(holds bool, c Code, instance, detail string) {
	if holds {
		d.note(c, instance, detail)
	}
}

// move puts m where it belongs and says so.
func (d *decision) move(m *Member, o Out) {
	if m.Out == o {
		return
	}
	d.note(d.moved(*m, o), m.Name, "")
	d.put(m, o)
}

// moved is the reason for m's move; that of a renewed machine may be there already.
func (d *decision) moved(m Member, o Out) Code {
	switch {
	case m.Out == Disabled && o == Unproven:
		return TurnedOn
	case m.Out == In && o == Unproven && m.Name == d.other:
		return Overruled
	case o == Unproven:
		return MachineChanged
	}
	return [...]Code{In: Joined, Unhealthy: Failed, Missing: Gone, Deleting: BeingDeleted, Disabled: TurnedOff}[o]
}

// over reports whether retention is over for a member that stays away.
func (d *decision) over(m Member, i discovery.Instance, present bool, r record) bool {
	if d.keepOverlays || !m.Out.leaving() || d.now.Before(d.retainedUntil(m)) {
		return false
	}
	switch {
	case m.Out == Disabled:
		return true
	case present:
		return m.Out == Deleting && i.Deleting
	}
	return r.gone(d.rules, d.mem.at)
}

// retainedUntil is when retention ends: counted from when m left, or was last seen.
func (d *decision) retainedUntil(m Member) time.Time {
	from := m.Since
	if seen := d.mem.record(m.Name).seen; m.Out == Missing && seen.After(from) {
		from = seen
	}
	return from.Add(d.rules.Retention)
}

// enrich records metadata that was not known before, of members that are out: a
// new identity or zone rolls an instance's pods, and nobody who serves is rolled
// because an API has come back. It goes along with a change that is published
// anyway, so that an outage or recovery of metadata never makes a commit.
func (d *decision) enrich() {
	if same(d.old, d.want) {
		return
	}
	for k := range d.want.Members {
		m := &d.want.Members[k]
		i, present := d.saw.Topology.Instance(m.Name)
		if was, ok := d.old.Member(m.Name); present && ok && was.Out != In {
			m.Resource = known(i.Resource, m.Resource)
			m.Zone = known(i.Zone, m.Zone)
		}
	}
}

// known prefers a to b, if a is known.
func known(a, b string) string {
	if a == "" {
		return b
	}
	return a
}
