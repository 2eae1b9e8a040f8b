package plan

import (
	"time"

	"github.com/poolwright/poolwright/discovery"
)

// State is a cluster's membership and its slots: what Git holds (declared) and
// what it should hold (wanted). The zero value is a cluster with no tree yet.
type State struct {
	// Epoch is raised by one whenever membership changes, by nothing else. 1 is the first tree.
	Epoch uint64
	// Writer is the name of the member behind the Writer Service; "" only in mode global-secondary.
	Writer string
	// Fallback is true while the Reader Service includes the writer for want of readers.
	Fallback bool
	// Members have an overlay in the tree. Sorted by name.
	Members []Member
}

// Member is one instance with an overlay.
type Member struct {
	Name     string
	Resource string // physical identity, "" when never known
	Host     string
	Port     int
	Zone     string
	// Slot is 0-19, unique among members, fixed for the life of the overlay.
	Slot int
	// Out is why it does not serve readers; In when it may. (The writer's own Out is In.)
	Out Out
	// Since is when Out took its present value, whole seconds, UTC.
	Since time.Time
}

// Out is why a member is kept out of the Reader Service. The zero value is In.
type Out uint8

// The reasons to be out.
const (
	In        Out = iota // "in"
	Unproven             // "unproven": new, changed machine or changed role; asked to prove itself
	Unhealthy            // "unhealthy": failed its probes
	Missing              // "missing": gone from a trusted topology; overlay retained
	Deleting             // "deleting": the provider says it is being deleted; overlay retained
	Disabled             // "disabled": by a person, instanceOverrides[].enabled: false
)

// Declared is what Git says about a cluster, and how it came to that.
type Declared struct {
	State State
	// Reverted names a commit of ours that a person reverted, and the facts it was made for; zero when none.
	Reverted Revert
}

// Revert is a person's no to one commit of ours.
type Revert struct {
	By    string // the reverting commit
	Facts string // State.Facts of the reverted commit (its Poolwright-Facts trailer)
}

// Observation is everything a decision rests on.
type Observation struct {
	Topology discovery.Topology
	Declared Declared
	// Ready is the number of ready PgBouncer pods a member; nil when Kubernetes is not in reach.
	Ready map[string]int
}

// Rules are a person's policies. Use DefaultRules and change what differs.
type Rules struct {
	Paused bool
	// Spec identifies the declaration, so that a person's edit of it lifts a hold by revert.
	Spec string
	// Disabled are instances with enabled: false.
	Disabled map[string]bool
	// ProbeInterval is the least time between two probes that count, except in a failover window. Default 10 s.
	ProbeInterval time.Duration
	// FailureThreshold and RecoveryThreshold are counted probes. Defaults 3 and 2.
	FailureThreshold, RecoveryThreshold int
	// RemoveAfterMissingCount observations and RemoveAfterMissing time, both. Defaults 3 and 10 s.
	RemoveAfterMissingCount int
	RemoveAfterMissing      time.Duration
	// Retention of a missing instance's overlay. Default 1 h.
	Retention time.Duration
	Fallback  FallbackPolicy
	// AllowShrink is a person's reason to let a step shrink by more than half; "" refuses.
	AllowShrink string
	// GlobalSecondary: a topology without a writer is normal and there is no Writer Service.
	GlobalSecondary bool
}

// FallbackPolicy says whether the writer serves readers when no reader can.
type FallbackPolicy uint8

// The policies.
const (
	FallbackWriter         FallbackPolicy = iota // "writer" (default)
	FallbackNone                                 // "none"
	FallbackOnlyWhenAbsent                       // "only-when-absent": only if no reader exists at all
)

// Action is what to do.
type Action uint8

// The actions.
const (
	Keep     Action = iota // "keep": nothing differs, no byte is written anywhere
	Hold                   // "hold": something forbids acting; the reasons say what
	Publish                // "publish": bring Git to Want
	Failover               // "failover": Writer first, then the rest; only services.yaml and topology.yaml change
)

// Class is the kind of change, for policies and for the commit's trailer.
type Class uint8

// The classes.
const (
	NoChange         Class = iota // ""
	FailoverChange                // "failover"
	MembershipChange              // "membership"
	ScaleChange                   // "scale": overlays come or go
	ConfigChange                  // "config": the drawing differs although membership does not
)

// Plan is a decision. Decide makes it; nothing changes it afterwards.
type Plan struct {
	Action Action
	Class  Class
	// Want equals the declared state when Action is Keep or Hold.
	Want State
	// Reasons are sorted: one for each action and each refusal.
	Reasons []Reason
	// Wake is when deciding again can come to something new by time alone; zero when never.
	Wake time.Time
}

// Reason says why, about whom.
type Reason struct {
	Code     Code
	Instance string
	// Detail is for people, and free of numbers that change while nothing happens.
	Detail string
}

// Code is the closed enum of reasons (reason.go).
type Code uint8
