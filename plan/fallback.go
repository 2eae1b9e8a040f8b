package plan

// fallBack decides whether the writer stands in for the readers. It depends on
// who is there and on policy, never on what was before.
func (d *decision) fallBack() {
	d.want.Fallback = d.standsIn()
	switch {
	case d.want.Fallback && !d.old.Fallback:
		d.note(FallbackBegan, d.want.Writer, "")
	case !d.want.Fallback && d.old.Fallback:
		d.note(FallbackEnded, d.want.Writer, "")
	}
}

func (d *decision) standsIn() bool {
	s := d.want
	s.Fallback = false
	if s.Writer == "" || s.served() {
		return false
	}
	idle, disabled := d.idleReaders()
	switch d.rules.Fallback {
	case FallbackNone:
		return false
	case FallbackOnlyWhenAbsent:
		return idle == 0 && disabled == 0
	default:
		return idle > 0 || disabled == 0
	}
}

// idleReaders counts the readers that exist, but do not serve now: those that a
// person disabled, and the others. Who is gone or being deleted is neither.
func (d *decision) idleReaders() (idle, disabled int) {
	unseen := !d.saw.Topology.Trusted() || len(d.saw.Topology.Instances) == 0
	for _, m := range d.want.Members {
		switch {
		case m.Name == d.want.Writer:
		case m.Out == Unproven || m.Out == Unhealthy:
			idle++
		case m.Out == Disabled && unseen: // an order in doubt: Git alone says who exists
			disabled++
		}
	}
	if unseen {
		return idle, disabled
	}
	for _, i := range d.saw.Topology.Instances {
		m, member := d.want.Member(i.Name)
		switch {
		case i.Name == d.want.Writer || i.Deleting || member && m.Out == Deleting:
		case d.rules.Disabled[i.Name]:
			disabled++
		case !member || m.Out == Missing:
			idle++
		}
	}
	return idle, disabled
}

// conditions are what people should know of a cluster, whatever is decided.
func (d *decision) conditions() {
	if len(d.want.Members) > 0 && !d.want.served() {
		d.note(NoReader, "", "")
	}
	if w, ok := d.saw.Topology.Writer(); ok && d.rules.GlobalSecondary {
		d.note(SecondaryPromoted, w.Name, "")
	}
}
