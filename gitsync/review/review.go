package review

import (
	"fmt"
	"strings"
)

// Phase is how far a pull request has come. The zero value is NoPull.
type Phase uint8

// The phases of the newest pull request of a branch.
const (
	NoPull     Phase = iota // there never was one
	OpenPull                // open
	ClosedPull              // closed without a merge
	MergedPull              // merged
)

// Pull is what is seen of a branch's pull request: the open one, else the newest.
type Pull struct {
	Phase Phase
	// ByUs: we closed it (ClosedPull only).
	ByUs bool
	// Read: the base that the wish was drawn on has the merge (MergedPull only).
	Read bool
	// Retargeted: it leads to another branch than the base.
	Retargeted bool
	// Asked: labels, reviewers, assignees and auto-merge were asked for, or none are wished.
	Asked bool
	// Described: title and description are as wished.
	Described bool
	// Told: the comment about a person's edit stands. Looked at only when rule 4 stops.
	Told bool
}

// Branch is what is seen of the branch of a pull request.
type Branch struct {
	There bool
	// AsWished: our files on it are as wished, and it has commits that the base does not have.
	AsWished bool
	// Edited: a person's commit stands in the way of ours. Looked at only when rule 2 or 6 asks for a commit.
	Edited bool
	// Behind: the head that the wish was drawn on is not in it.
	Behind bool
	// Current: its head is the head that the pull request has, or had when it was closed or merged.
	Current bool
	// OnlyOurs: every commit that the base does not have is ours.
	OnlyOurs bool
	// OwnHead: its newest commit is ours.
	OwnHead bool
	// Barred: the forge refused to delete it.
	Barred bool
}

// Seen is everything a step rests on.
type Seen struct {
	// Wanted: the base is not as wished.
	Wanted bool
	// Declined: a person closed a pull request with this very content, and none was merged since.
	Declined bool
	// Direct: we merge ourselves.
	Direct bool
	Pull   Pull
	Branch Branch
}

// Step is one thing to do. The zero value is Rest.
type Step uint8

// The steps.
const (
	Rest          Step = iota // "rest": nothing to do until something changes
	Draw                      // "draw": a commit on the branch, which may begin the branch
	Open                      // "open": open a pull request
	Ask                       // "ask": labels, reviewers, assignees, auto-merge
	Describe                  // "describe": write title and description
	Tell                      // "tell": the one comment about a person's edit
	CloseEqual                // "close-equal": close, because Git is as wished
	CloseDeclined             // "close-declined": close, because what is wished now was declined before
	Delete                    // "delete": delete the branch
	Merge                     // "merge": merge the pull request
)

// State is how a wish stands. The zero value is None.
type State uint8

// The states.
const (
	None     State = iota // "none": nothing is wished, and nothing of ours is open
	Proposed              // "proposed": wished, and open or about to be
	Merged                // "merged": the base has it, and waits to be read
	Declined              // "declined": closed by a person, this very content
	Stopped               // "stopped": a person's edit stands in the way
	Closed                // "closed": by us, because nothing is wished
)

const (
	phaseWords = "no pull,open,closed,merged"
	stepWords  = "rest,draw,open,ask,describe,tell,close-equal,close-declined,delete,merge"
	stateWords = "none,proposed,merged,declined,stopped,closed"
)

// String returns "no pull", "open", "closed" or "merged".
func (p Phase) String() string { return word(phaseWords, p) }

// String returns the word in the list of steps.
func (s Step) String() string { return word(stepWords, s) }

// String returns "none", "proposed", "merged", "declined", "stopped" or "closed".
func (s State) String() string { return word(stateWords, s) }

// MarshalText writes the word of String.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// word returns e's word, or a number in brackets for a value that is none.
func word[E ~uint8](words string, e E) string {
	list := strings.Split(words, ",")
	if int(e) >= len(list) {
		return fmt.Sprintf("(%d)", e)
	}
	return list[e]
}
