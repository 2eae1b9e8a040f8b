package aurorasim

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"github.com/poolwright/poolwright/discovery/aurorasim/internal/minisql"
)

const (
	master = "MASTER_SESSION_ID"
	// heartbeat is the age of the row of a live instance.
	heartbeat = 100 * time.Millisecond
	// readerLag is replica_lag_in_msec of a live reader, sentinelLag of one that is leaving.
	readerLag, sentinelLag = 20.0, 900000.0
)

// self is what an instance says of itself and of the others, at one moment.
type self struct {
	name       string
	inRecovery bool
	readOnly   bool // transaction_read_only and default_transaction_read_only for a reason other than recovery
	now        time.Time
	started    time.Time
	rows       []minisql.Row
}

// entry is a row in the making.
type entry struct {
	minisql.Row
	name string // of the instance, whatever ServerID says
}

// frozen is a view that has stopped: rows with the timestamps they had.
type frozen struct{ entries []entry }

// answerer is who answers at n's endpoint.
func (n *node) answerer() *node {
	s, ok := n.faults[WrongNode]
	if !ok {
		return n
	}
	for _, m := range n.c.members {
		if slices.Contains(s.about, m.name) || s.about == nil && (m == n.c.writer) != (n == n.c.writer) {
			return m
		}
	}
	return n
}

// self is n's own word. The cluster's mutex is held.
func (n *node) self() self {
	s := self{
		name:       n.name,
		inRecovery: n.c.writer != n && !n.has(StaleWriter),
		now:        n.c.cfg.Now(),
		started:    n.started,
	}
	s.readOnly = n.has(ReadOnlyWriter) && !s.inRecovery
	for _, e := range n.distort(n.view(s.now), s.now) {
		s.rows = append(s.rows, e.Row)
	}
	return s
}

func (n *node) freeze() *frozen { return &frozen{n.view(n.c.cfg.Now())} }

// view is what n knows of the cluster before its view is distorted.
func (n *node) view(now time.Time) []entry {
	if s, ok := n.faults[StaleView]; ok && s.frozen != nil {
		return slices.Clone(s.frozen.entries)
	}
	writer := n.c.writer
	if n.has(StaleWriter) {
		writer = n
	}
	entries := make([]entry, 0, len(n.c.members)+1)
	for _, m := range n.c.members {
		entries = append(entries, n.row(m, m == writer, now))
	}
	return entries
}

// row is m's row in n's view.
func (n *node) row(m *node, writer bool, now time.Time) entry {
	e := entry{name: m.name, Row: minisql.Row{ServerID: m.name, SessionID: sessionID(m), Current: m.beating()}}
	if m != n {
		seen := now.Add(-heartbeat)
		if !m.beating() {
			seen = m.seen
		}
		e.LastUpdate = &seen
	}
	switch {
	case m.has(LagSentinel):
		e.LagMillis = new(sentinelLag)
	case !writer:
		e.LagMillis = new(readerLag)
	}
	if writer {
		e.SessionID = master
	}
	return e
}

// sessionID is a reader's: a UUID that belongs to the machine.
func sessionID(m *node) string {
	h := sha256.Sum256([]byte(m.resource))
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16])
}

// distort applies the faults of n's view, in the order of their constants.
func (n *node) distort(entries []entry, now time.Time) []entry {
	for f := TwoMasters; f <= lastFault; f++ {
		if s, ok := n.faults[f]; ok {
			entries = n.distortion(f, s, entries, now)
		}
	}
	return entries
}

func (n *node) distortion(f Fault, s setting, entries []entry, now time.Time) []entry {
	aged := func(e *entry) { e.LastUpdate = new(now.Add(-s.duration)) }
	switch f {
	case TwoMasters:
		change(entries, s.or(secondMaster(entries)), func(e *entry) {
			e.SessionID, e.LagMillis = master, nil
			if s.duration > 0 {
				aged(e)
			}
		})
	case NoMaster:
		change(entries, nil, func(e *entry) { e.SessionID = "reader-" + e.name })
	case NoRows:
		return nil
	case MissingRows:
		return slices.DeleteFunc(entries, func(e entry) bool { return s.concerns(e.name, e.name != n.name) })
	case LingeringRow:
		for _, name := range s.about {
			e := entry{name: name, Row: minisql.Row{ServerID: name, SessionID: "left-" + name, LagMillis: new(sentinelLag)}}
			aged(&e)
			entries = append(entries, e)
		}
	case NullTimestamps:
		change(entries, s.about, func(e *entry) { e.LastUpdate = nil })
	case OldTimestamps:
		change(entries, s.or(others(entries, n.name)), aged)
	case DuplicateID:
		for _, e := range entries {
			if s.concerns(e.name, e.name == n.name) {
				entries = append(entries, e)
			}
		}
	case EmptyID:
		change(entries, s.or([]string{n.name}), func(e *entry) { e.ServerID = "" })
	}
	return entries
}

// concerns: the names given decide, without any the default does.
func (s setting) concerns(name string, byDefault bool) bool {
	if s.about == nil {
		return byDefault
	}
	return slices.Contains(s.about, name)
}

// or gives the names that s is about, by default these.
func (s setting) or(names []string) []string {
	if s.about == nil {
		return names
	}
	return s.about
}

// change applies f to the rows of these instances, nil means all.
func change(entries []entry, names []string, f func(*entry)) {
	for i := range entries {
		if names == nil || slices.Contains(names, entries[i].name) {
			f(&entries[i])
		}
	}
}

func others(entries []entry, name string) []string {
	names := []string{}
	for _, e := range entries {
		if e.name != name {
			names = append(names, e.name)
		}
	}
	return names
}

func secondMaster(entries []entry) []string {
	for _, e := range entries {
		if e.SessionID != master {
			return []string{e.name}
		}
	}
	return []string{}
}
