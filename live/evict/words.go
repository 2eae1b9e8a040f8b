package evict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/live"
)

// Mode is how clients are taken off the pods of a demoted instance.
type Mode uint8

// The modes, as failover.evict spells them.
const (
	ModeNone       Mode = iota // "none": nobody is cut; what an earlier mode left is put right
	ModeConsole                // "console": through the admin console; a pod whose console fails is deleted
	ModeDeletePods             // "deletePods": the pods are deleted
)

const modeWords = "none,console,deletePods"

// String returns the mode's word.
func (m Mode) String() string { return strings.Split(modeWords, ",")[m] }

// ParseMode reads a mode's word.
func ParseMode(word string) (Mode, error) {
	i := slices.Index(strings.Split(modeWords, ","), word)
	if i < 0 {
		return 0, fmt.Errorf("reading how to evict: %q is none of %s", word, modeWords)
	}
	return Mode(i), nil
}

// Phase is where the eviction of a cluster stands.
type Phase uint8

// The phases.
const (
	Unknown  Phase = iota // "unknown": nothing has been seen yet
	Complete              // "complete": nobody is left where the writer was
	Draining              // "draining": clients are being taken off
)

const phaseWords = "unknown,complete,draining"

// String returns the phase's word.
func (p Phase) String() string { return strings.Split(phaseWords, ",")[p] }

// MarshalText writes the word of String.
func (p Phase) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// Side is what an eviction is to an instance.
type Side uint8

// The sides.
const (
	Demoted  Side = iota + 1 // "demoted": its clients are cut
	Promoted                 // "promoted": they come back there
)

const sideWords = ",demoted,promoted"

// String returns the side's word.
func (s Side) String() string { return strings.Split(sideWords, ",")[s] }

// MarshalText writes the word of String.
func (s Side) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Entry is what has become of the entry in the control ConfigMap.
type Entry uint8

// The states of an entry.
const (
	Pending  Entry = iota // "pending": it is being written; nothing is done before that is answered
	Recorded              // "recorded": whoever comes after a crash will know
	Refused               // "refused": it cannot be written, so nothing is disabled
)

const entryWords = "pending,recorded,refused"

// String returns the state's word.
func (e Entry) String() string { return strings.Split(entryWords, ",")[e] }

// StepKind is one thing to do on a pod.
type StepKind uint8

// The steps.
const (
	Disable     StepKind = iota + 1 // "disable": no new client of a database gets in
	KillClients                     // "kill-clients": each client is cut by its id, since 1.24
	Kill                            // "kill": every client of a database is cut, which pauses it
	Resume                          // "resume": a paused database goes on
	Enable                          // "enable": clients get in again
	Reconnect                       // "reconnect": what was learnt of the server before the promotion is forgotten
	Delete                          // "delete": the pod goes, with grace 0
)

const stepWords = ",disable,kill-clients,kill,resume,enable,reconnect,delete"

// String returns the step's word.
func (k StepKind) String() string { return strings.Split(stepWords, ",")[k] }

// MarshalText writes the word of String.
func (k StepKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Code is the closed enum of conditions. The order is the order in which people want to read them.
type Code uint8

// The conditions. Each is about one object, and tells the next step.
const (
	Stuck        Code = iota + 1 // "stuck": a pod's clients cannot be cut, by the console or by deleting it
	Late                         // "late": clients are still there, longer than it should take
	Unrecorded                   // "unrecorded": the control ConfigMap cannot be written, so nothing is disabled
	PodsUnseen                   // "pods-unseen": the pods cannot be seen, so nobody can be cut
	SlicesUnseen                 // "slices-unseen": the EndpointSlices cannot be read; time alone tells that the data plane has moved
	ConsoleFails                 // "console-fails": a pod's admin console gives no answer, or not the right one
	Paused                       // "paused": a person paused the cluster; nobody is cut
)

const codeWords = ",stuck,late,unrecorded,pods-unseen,slices-unseen,console-fails,paused"

// String returns the condition's word.
func (c Code) String() string { return strings.Split(codeWords, ",")[c] }

// MarshalText writes the word of String.
func (c Code) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// Condition is something that people should know of one object.
type Condition = live.ConditionOf[Code]
