package plan

import (
	"cmp"
	"fmt"
	"strings"
)

// Reason says why, about whom.
type Reason struct {
	Code     Code
	Instance string
	// Detail is for people, and free of numbers that change while nothing happens.
	Detail string
}

// Code is the closed enum of reasons. The order is the order in which people want to read them.
type Code uint8

// Reasons of actions: one for each thing that Want changes.
const (
	FirstTree       Code = iota + 1 // "first-tree"
	WriterMoved                     // "writer-moved": a failover to this instance
	WriterOrdered                   // "writer-ordered": a failover to this instance by a person's order; Detail is why, and by whom
	WriterDemoted                   // "writer-demoted": it was the writer and is out until it proves itself
	WriterDropped                   // "writer-dropped": a person made the cluster a global secondary and allowed it
	Joined                          // "joined": it proved itself and serves readers
	Overruled                       // "overruled": it says that it is the writer, a person ordered another; it is out
	Failed                          // "failed": its probes failed, it is out
	Gone                            // "gone": missing for long enough, it is out and retained
	BeingDeleted                    // "being-deleted": it is out and retained
	TurnedOff                       // "turned-off": a person disabled it, it is out and retained
	TurnedOn                        // "turned-on": a person enabled it again, it has to prove itself
	MachineChanged                  // "machine-changed": another machine under the same name
	EndpointChanged                 // "endpoint-changed": another host or port
	OverlayAdded                    // "overlay-added"
	OverlayRemoved                  // "overlay-removed": retention is over
	SlotRetired                     // "slot-retired": removed before retention was over, for want of slots
	FallbackBegan                   // "fallback-began": the writer serves readers
	FallbackEnded                   // "fallback-ended"
	ShrinkAllowed                   // "shrink-allowed": Detail is the person's reason
)

// Reasons of refusals: something forbids acting.
const (
	Doubted          Code = iota + ShrinkAllowed + 1 // "doubt": one for each doubt; a person's order is followed all the same
	DiscoveryFailing                                 // "discovery-failing": doubts for several observations in a row
	DeclaredBroken                                   // "declared-broken": what Git says contradicts itself
	Paused                                           // "paused": Detail is who and why, "" when the declaration says it
	OrderRefused                                     // "order-refused": a person ordered a writer that cannot be one
	NoInstances                                      // "no-instances"
	NoTrustedWriter                                  // "no-trusted-writer"
	WriterStale                                      // "writer-stale": the new writer is an old primary that came back
	WriterDisabled                                   // "writer-disabled": a person disabled the instance that is the writer
	WriterNotReady                                   // "writer-not-ready": the new writer has no pod to switch to yet
	NeedsConsent                                     // "needs-consent": it would shrink by more than half, or lose the Writer Service
	RevertedByPerson                                 // "reverted-by-person": Detail is the commit, and until when it holds if time ends that
	Batching                                         // "batching": waiting for more changes to publish together
	NoSlot                                           // "no-slot": all 20 are in use
	OverlayPinned                                    // "overlay-pinned": its time is over, but a person's file is in its overlay
)

// Reasons to wait, and conditions that people should know of. They forbid nothing.
const (
	AwaitsReview      Code = iota + OverlayPinned + 1 // "awaits-review": it goes in by a pull request; Detail is the word of what waits
	OrderStands                                       // "order-stands": this is the writer by a person's order; Detail is why, and by whom
	OtherWriter                                       // "other-writer": it says that it is the writer, against a person's order
	WriterFailing                                     // "writer-failing": a writer never loses traffic for that
	SecondaryPromoted                                 // "secondary-promoted": a writer in a cluster of mode global-secondary
	NoReader                                          // "no-reader": nobody serves readers
	Proving                                           // "proving": it has not proved itself yet
	PodsNotReady                                      // "pods-not-ready": it has proved itself and waits for a ready pod
	Flapping                                          // "flapping": it has to prove itself for longer, having failed again
	Failing                                           // "failing": not often enough yet
	Absent                                            // "absent": not for long enough yet
)

const lastCode = Absent

// codeText holds a word and a sentence for each code, in order. A sentence continues the instance's name.
const codeText = `
first-tree: nothing is declared yet: this is the first tree
writer-moved: is the writer now
writer-ordered: is the writer now, by a person's order
writer-demoted: is the writer no longer and has to prove itself as a reader
writer-dropped: is the writer no longer, and the cluster has none of its own
joined: has proved itself and serves readers
overruled: says that it is the writer, but a person ordered another; it no longer serves readers
failed: fails its probes and no longer serves readers
gone: is missing from the topology and no longer serves; its overlay is retained
being-deleted: is being deleted and no longer serves; its overlay is retained
turned-off: is disabled by a person and no longer serves; its overlay is retained
turned-on: is enabled again and has to prove itself
machine-changed: is another machine under the same name and has to prove itself
endpoint-changed: has another endpoint
overlay-added: is new and gets an overlay
overlay-removed: has been away for the time of retention; its overlay is removed
slot-retired: has been away longest; its overlay is removed to free a slot
fallback-began: no reader can serve; the writer serves readers
fallback-ended: readers serve; the writer no longer does
shrink-allowed: a person allowed this step to shrink the cluster
doubt: the topology cannot be trusted
discovery-failing: discovery has been failing for several observations in a row
declared-broken: what is declared in Git contradicts itself
paused: a person paused this cluster
order-refused: was ordered to be the writer and cannot be
no-instances: the topology has no instances; nothing is removed for that
no-trusted-writer: the topology has no writer
writer-stale: says that it is the writer, but is on an older timeline than the writer that is declared
writer-disabled: is the writer, but a person disabled it; a writer cannot be disabled
writer-not-ready: is the writer now, but has no ready pod to switch to yet
needs-consent: would leave in a step that shrinks the cluster too much; set allowShrink with a reason
reverted-by-person: a person reverted this very change
batching: waiting for the end of the batch window
no-slot: is new, but all slots are in use
overlay-pinned: has been away for the time of retention, but a person's file in its overlay keeps it from being removed
awaits-review: waits for a person's review
order-stands: is the writer by a person's order
other-writer: says that it is the writer, but a person ordered another
writer-failing: fails its probes; a writer never loses traffic for that
secondary-promoted: is a writer, but the cluster is declared a global secondary
no-reader: nobody serves readers
proving: has not proved itself yet
pods-not-ready: has proved itself and waits for a ready pod
flapping: has failed repeatedly and has to prove itself for longer
failing: fails its probes, not often enough yet
absent: is missing from the topology, not for long enough yet
`

// text returns c's word and sentence.
func (c Code) text() (word, sentence string) {
	lines := strings.Split(strings.TrimSpace(codeText), "\n")
	if c == 0 || int(c) > len(lines) {
		return fmt.Sprintf("(%d)", uint8(c)), ""
	}
	word, sentence, _ = strings.Cut(lines[c-1], ": ")
	return word, sentence
}

// String returns c's word, such as "writer-moved".
func (c Code) String() string {
	word, _ := c.text()
	return word
}

// MarshalText writes the word of String.
func (c Code) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads the word of String.
func (c *Code) UnmarshalText(text []byte) error {
	for i := FirstTree; i <= lastCode; i++ {
		if i.String() == string(text) {
			*c = i
			return nil
		}
	}
	return fmt.Errorf("reading reason: %q is none", text)
}

// action reports whether c explains a change of Want.
func (c Code) action() bool { return c < Doubted }

// NeedsPerson reports whether r forbids something until a person acts. It may be about one instance only, while the
// rest of the cluster goes on: a plan whose action is Keep or Publish can have such a reason too.
func (r Reason) NeedsPerson() bool {
	switch r.Code {
	case DeclaredBroken, Paused, OrderRefused, WriterStale, WriterDisabled, NeedsConsent, RevertedByPerson, NoSlot, OverlayPinned:
		return true
	}
	return false
}

// String returns one sentence for people: "example-pg-2: is the writer now (was example-pg-1)".
func (r Reason) String() string {
	_, s := r.Code.text()
	if r.Instance != "" {
		s = r.Instance + ": " + s
	}
	if r.Detail != "" {
		s += " (" + r.Detail + ")"
	}
	return s
}

func compareReasons(a, b Reason) int {
	return cmp.Or(cmp.Compare(a.Code, b.Code), strings.Compare(a.Instance, b.Instance), strings.Compare(a.Detail, b.Detail))
}
