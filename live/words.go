package live

import "strings"

// Phase is where a cluster's hand-over between poolwright and the GitOps tool
// stands. It is computed from what is seen, never remembered.
type Phase uint8

// The phases, in order. DESIGN: rendered → proposed → merged → synced → live is what Git does meanwhile.
const (
	Idle       Phase = iota // "idle": the Services are Git's
	Overriding              // "overriding": ahead of Git, which does not say it yet
	Committed               // "committed": Git says it, the tool has not applied it
	Seen                    // "seen": the tool has applied the commit, a Service is still frozen
	Unfrozen                // "unfrozen": the tool may apply the Services again and has not yet
	Applied                 // "applied": it has; what is ours on them is about to go
	Blocked                 // "blocked": paused, or something forbids acting; the conditions say what
)

const phaseWords = "idle,overriding,committed,seen,unfrozen,applied,blocked"

// String returns the phase's word.
func (p Phase) String() string { return strings.Split(phaseWords, ",")[p] }

// MarshalText writes the word of String.
func (p Phase) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// WriteKind is what a write is for.
type WriteKind uint8

// The writes, in the order of their life.
const (
	Override WriteKind = iota + 1 // "override": move a Service ahead of Git
	Reassert                      // "reassert": put back what somebody else changed during an override
	Mirror                        // "mirror": copy the record to the control ConfigMap
	Unfreeze                      // "unfreeze": let Flux apply the Service again
	Release                       // "release": take what is ours off a Service that Git owns again
	Forget                        // "forget": remove the mirrored record; the override is over
)

const writeWords = ",override,reassert,mirror,unfreeze,release,forget"

// String returns the write's word.
func (k WriteKind) String() string { return strings.Split(writeWords, ",")[k] }

// MarshalText writes the word of String.
func (k WriteKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Code is the closed enum of conditions. The order is the order in which people want to read them.
type Code uint8

// The conditions. Each is about one object, and tells the next step.
const (
	Unreachable      Code = iota + 1 // "unreachable": the API server gives no answer; Git goes on alone
	Forbidden                        // "forbidden": RBAC denies what is needed
	Denied                           // "denied": admission denies a patch
	ServiceMissing                   // "service-missing": a role Service does not exist
	NotOurs                          // "not-ours": a Service of that name is somebody else's; it is never written
	Invalid                          // "invalid": the API server calls the patched Service invalid
	BadRecord                        // "bad-record": a record or control value cannot be read
	PausedByPerson                   // "paused": a person paused the cluster
	NotHolder                        // "not-holder": another process holds the cluster
	PodsUnseen                       // "pods-unseen": whether the new writer has ready pods is not known
	TargetNotReady                   // "target-not-ready": the new writer has no ready pod, and the old one has
	AheadOfGit                       // "ahead-of-git": the Services are ahead of Git
	Reverted                         // "reverted": somebody put a Service back during the override
	ReceiptBehind                    // "receipt-behind": what the tool applied last is older than Git, or went backwards
	FrozenByPerson                   // "frozen-by-person": somebody else froze the Service; the tool will not apply it
	UnsupportedOwner                 // "unsupported-owner": its owner knows no freeze; re-assert alone protects it
	Drifted                          // "drifted": a Service differs from Git outside of an override; Git's tool owns it
	Contended                        // "contended": others write the Service faster than we may
)

const codeWords = ",unreachable,forbidden,denied,service-missing,not-ours,invalid,bad-record,paused,not-holder,pods-unseen,target-not-ready," +
	"ahead-of-git,reverted,receipt-behind,frozen-by-person,unsupported-owner,drifted,contended"

// String returns the condition's word.
func (c Code) String() string { return strings.Split(codeWords, ",")[c] }

// MarshalText writes the word of String.
func (c Code) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// Condition is something that people should know of one object.
type Condition = ConditionOf[Code]
