package aurorasim

import (
	"fmt"
	"slices"
	"time"
)

// Fault is one thing that can be wrong with an instance. Several can be, at once.
type Fault uint8

// The faults, in the order in which a client meets them: the port, the login, the statement, the answer.
const (
	// Refuse: the port refuses. Sessions that exist go on.
	Refuse Fault = iota + 1
	// HalfOpen: the machine has vanished from the network. Sessions fall silent and are never reset, not even by
	// Kill; new connections hang in the accept queue; the other instances see its row age.
	HalfOpen
	// Hang: connections are accepted and statements read, and nothing is answered. The other instances notice nothing.
	Hang
	// Garbage: the next answer, in a login or in a session, is bytes that are no PostgreSQL message.
	Garbage
	// StartingUp: logins end with 57P03. Setting it ends the sessions, as the restart that it stands for does.
	StartingUp
	// TooManyConnections: logins end with 53300.
	TooManyConnections
	// DenyAuth: logins end with 28P01, whatever the password.
	DenyAuth
	// Slow: the login and each statement are answered after For (default 1 s); statement_timeout (57014) and cancel requests work meanwhile.
	Slow
	// WrongNode: About (default: the writer, for the writer the first other) answers at this one's endpoint.
	WrongNode
	// ReadOnlyWriter: not in recovery, but transaction_read_only and default_transaction_read_only are on.
	ReadOnlyWriter
	// StaleWriter: it still holds itself for the writer, whoever the storage takes writes from, and its view says so.
	StaleWriter
	// StaleView: its view stays what it was when the fault was set: same writer, ages growing.
	StaleView
	// TwoMasters: its view also names About (default: the first that is not the writer) MASTER, For old (default 0).
	TwoMasters
	// NoMaster: its view has no MASTER row.
	NoMaster
	// NoRows: its view is empty.
	NoRows
	// MissingRows: its view lacks About (default: all but its own).
	MissingRows
	// LingeringRow: its view has an extra row named About (default "left-over"), For old (default 1 h).
	LingeringRow
	// NullTimestamps: last_update_timestamp is NULL in the rows About (default: all) of its view.
	NullTimestamps
	// OldTimestamps: last_update_timestamp is For old (default 10 min) in the rows About (default: all but its own) of its view.
	OldTimestamps
	// LagSentinel: its row in every view has a lag of 900000 ms, as that of an instance that is being deleted.
	LagSentinel
	// DuplicateID: its view has the row About (default: its own) twice.
	DuplicateID
	// EmptyID: its view has no name in the row About (default: its own).
	EmptyID

	lastFault = EmptyID
)

func (f Fault) texts() []string {
	return []string{
		"refuse", "half-open", "hang", "garbage", "starting-up", "too-many-connections", "deny-auth", "slow", "wrong-node",
		"read-only-writer", "stale-writer", "stale-view", "two-masters", "no-master", "no-rows", "missing-rows", "lingering-row",
		"null-timestamps", "old-timestamps", "lag-sentinel", "duplicate-id", "empty-id",
	}
}

// Faults are all faults, in their order.
func Faults() []Fault {
	all := make([]Fault, 0, lastFault)
	for f := Refuse; f <= lastFault; f++ {
		all = append(all, f)
	}
	return all
}

// String is the fault's name, e.g. "half-open".
func (f Fault) String() string {
	if f == 0 || f > lastFault {
		return fmt.Sprintf("fault(%d)", uint8(f))
	}
	return f.texts()[f-1]
}

// MarshalText gives the fault's name.
func (f Fault) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText reads a fault's name.
func (f *Fault) UnmarshalText(text []byte) error {
	i := slices.Index(f.texts(), string(text))
	if i < 0 {
		return fmt.Errorf("unknown fault %q", text)
	}
	*f = Fault(i + 1)
	return nil
}

// setting is how a fault was set.
type setting struct {
	duration time.Duration
	about    []string
	frozen   *frozen // of StaleView
}

// Option refines a fault.
type Option func(*setting)

// For sets the delay or the age of a fault.
func For(d time.Duration) Option { return func(s *setting) { s.duration = d } }

// About names the instances or rows that a fault concerns.
func About(names ...string) Option { return func(s *setting) { s.about = names } }

func newSetting(f Fault, options ...Option) setting {
	var s setting
	switch f {
	case Slow:
		s.duration = time.Second
	case LingeringRow:
		s.duration = time.Hour
		s.about = []string{"left-over"}
	case OldTimestamps:
		s.duration = 10 * time.Minute
	}
	for _, o := range options {
		o(&s)
	}
	return s
}

// Inject sets a fault of an instance, from now until Clear; a fault that is set already gets the new options.
func (c *Cluster) Inject(instance string, f Fault, options ...Option) error {
	return c.with(instance, func(n *node) error {
		if f == 0 || f > lastFault {
			return fmt.Errorf("injecting into %s: no such fault: %d", instance, f)
		}
		n.setFault(f, newSetting(f, options...))
		n.settle()
		return nil
	})
}

func (n *node) setFault(f Fault, s setting) {
	if f == HalfOpen && n.beating() {
		n.seen = n.c.cfg.Now()
	}
	if f == StaleView {
		s.frozen = n.freeze()
	}
	n.faults[f] = s
	if f == StartingUp && !n.silent() {
		n.cut()
	}
}

// Clear ends faults of an instance; without any named, all. Sessions that were
// silent go on where they were, or are reset when their process is gone.
func (c *Cluster) Clear(instance string, faults ...Fault) error {
	return c.with(instance, func(n *node) error {
		if len(faults) == 0 {
			clear(n.faults)
		}
		for _, f := range faults {
			delete(n.faults, f)
		}
		n.settle()
		return nil
	})
}
