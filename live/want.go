package live

import (
	"maps"
	"slices"
	"time"
)

// Want is what the role Services of a cluster should select, as decided in one
// round. live takes it as it is: it computes no selector.
type Want struct {
	// Epoch of the membership that Roles select.
	Epoch uint64
	// Declared is the epoch at the Git head; 0 while Git has not been read.
	Declared uint64
	// Applied is what [Sight.Applied] was before Git was read last: a Service that is at another epoch now was brought there
	// by something that Declared may not know of.
	Applied uint64
	// Head is the commit that Declared was read from, "" when not known.
	Head string
	// From and To are the declared writer and the wanted one.
	From, To string
	Reason   string
	// By is the person who ordered it, "" when poolwright decided.
	By string
	// Until is when that order ends, zero when there is none.
	Until time.Time
	// Roles are the Services, Writer first. There is no Writer in a global secondary.
	Roles []Target
	// Begin is true when a failover was decided: the Services run ahead of Git from now on.
	Begin bool
	// Off is true when no override may begin: a person leaves the Services to the GitOps tool. One that stands is handed back as ever.
	Off bool
	// Hold is true when nothing may be decided: Roles are what Git declares, and a record that is
	// newer than Git stands.
	Hold bool
	// Known are the records that were seen before this was decided ([Sight.Records]). Another one was made by somebody who may
	// have known more, and stands until a decision knows of it.
	Known []Record
	// Read is the epoch of the record that was seen before Git was read last, 0 for none.
	Read uint64
	// Paused is why a person stopped every patch, "" when nobody did.
	Paused string
}

// heeding is w with a pause that a person has made since it was decided: it stops every patch from now on.
func (w Want) heeding(p *Pause) Want {
	if p != nil && w.Paused == "" {
		w.Paused = p.String()
	}
	return w
}

// Target is what one role should select.
type Target struct {
	Role Role
	// Select are the wanted keys of poolwright's domain; Declared those at the Git head, nil when not known.
	Select, Declared map[string]string
}

// target returns the target of a role.
func (w Want) target(r Role) (Target, bool) {
	i := slices.IndexFunc(w.Roles, func(t Target) bool { return t.Role == r })
	if i < 0 {
		return Target{}, false
	}
	return w.Roles[i], true
}

// yieldsTo reports whether a record stands against what is wanted. One that came after the decision does, whatever its epoch, for it may
// have been counted from an older Git, and its maker have known more: the next decision knows of it. Where nothing may be decided, doubt moves
// nobody: one with another writer does. And one with the same writer does when the decision was counted from an older Git.
func (w Want) yieldsTo(r Record) bool {
	to, _ := w.target(Writer)
	same := maps.Equal(r.Select[Writer], to.Select)
	switch {
	case len(w.Roles) == 0 || !slices.ContainsFunc(w.Known, func(k Record) bool { return sameRecord(k, r) }):
		return true
	case w.Hold:
		return r.Epoch > w.Declared || !same
	}
	return same && w.isOlderThan(r)
}

// Held is what is left of a want when nothing can be decided any more: what Git declared, and that a record stands against it.
func (w Want) Held(known []Record, paused string) Want {
	w.Hold, w.Begin, w.Known, w.Paused = true, false, known, paused
	w.Roles = slices.Clone(w.Roles)
	for i := range w.Roles {
		w.Roles[i].Select = w.Roles[i].Declared
	}
	return w
}

// isOlderThan reports whether a record was counted from a newer Git than what is wanted.
func (w Want) isOlderThan(r Record) bool { return r.Epoch > max(w.Epoch, w.Read) }
