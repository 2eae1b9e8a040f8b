package plan

import (
	"time"

	"github.com/poolwright/poolwright/discovery"
)

// State is a cluster's membership and its slots: what Git holds (declared) and
// what it should hold (wanted). The zero value is a cluster with no tree yet.
type State struct {
	// Epoch is raised whenever membership changes, by nothing else. Each value stands for one membership, for ever. 0: no tree.
	Epoch uint64
	// Writer is the name of the member behind the Writer Service; "" only in mode global-secondary.
	Writer string
	// Timeline is the WAL timeline that the writer was on when it was last published (provider postgres); 0 when not known.
	Timeline uint32
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
	// LastEpoch is the newest epoch that any commit of ours carried, reverted ones included; 0 when none is known.
	LastEpoch uint64
	// Reverted are our commits that people reverted, newest first, down to the first that stands.
	Reverted []Revert
}

// Revert is a person's no to one commit of ours.
type Revert struct {
	By    string    // the reverting commit, or what else the person said no with
	Facts string    // State.Facts of the reverted commit (its Poolwright-Facts trailer)
	At    time.Time // when it was said; Rules.RevertHold counts from it. Without a time it does not expire.
}

// Observation is everything a decision rests on.
type Observation struct {
	Topology discovery.Topology
	Declared Declared
	// Ready is the number of ready PgBouncer pods a member; nil when Kubernetes is not in reach.
	Ready map[string]int
	// Pinned are members whose overlay holds a file of a person's: it is not removed, however long they are away.
	Pinned map[string]bool
	// Order is a person's word about who the writer is, nil when there is none.
	Order *Order
	// Window is true inside a failover window: every observation's probes count, however close
	// they follow each other. Otherwise one probe an instance counts per Rules.ProbeInterval.
	Window bool
}

// Order is a person's word about who the writer is, in an emergency: `poolwright patch`.
type Order struct {
	// Writer is the name of a member.
	Writer string
	// Reason and By are the person's words, for people.
	Reason, By string
	// Until is when the databases are believed again. If they say another writer then, a failover to that one follows.
	Until time.Time
}

// Rules are a person's policies. Use DefaultRules and change what differs.
// Counts below 1 are taken as 1.
type Rules struct {
	Paused bool
	// PausedBy says who paused it and why; "" when the declaration does.
	PausedBy string
	// Spec identifies the declaration, so that a person's edit of it lifts a hold by revert.
	Spec string
	// Disabled are instances with enabled: false.
	Disabled map[string]bool
	// ProbeInterval is the least time between two probes that count, except in a failover window. Default 10 s.
	ProbeInterval time.Duration
	// FailureThreshold and RecoveryThreshold are counted probes. Defaults 3 and 2.
	FailureThreshold, RecoveryThreshold int
	// DiscoveryFailureThreshold is how many doubtful observations in a row are reported as
	// DiscoveryFailing. It changes nothing else. Default 3.
	DiscoveryFailureThreshold int
	// RemoveAfterMissingCount observations and RemoveAfterMissing time, both. Defaults 3 and 10 s.
	RemoveAfterMissingCount int
	RemoveAfterMissing      time.Duration
	// Retention of the overlay of an instance that is missing, being deleted or disabled. Default 1 h.
	Retention time.Duration
	Fallback  FallbackPolicy
	// AllowShrink is a person's reason to let a step shrink by more than half; "" refuses.
	AllowShrink string
	// GlobalSecondary: a topology without a writer is normal and there is no Writer Service.
	GlobalSecondary bool
	// BatchWindow collects changes of class membership and scale that long before they are
	// published together. A failover and a first tree never wait. Default 0: at once.
	BatchWindow time.Duration
	// ByReview are the classes of change that go in by a person's review of a pull request: nothing of them is decided for a commit,
	// and what waits is said ([AwaitsReview]). ConfigChange is the caller's, who draws. Default none.
	ByReview map[Class]bool
	// RevertHold is how long a person's revert holds, counted from [Revert.At]. Default 0: until other facts, an edited declaration or
	// a person's resume.
	RevertHold time.Duration
}

// Wish are the rules by which a change waits neither for a review nor for others to come along. What a decision by them wants is what a
// pull request says: it is redrawn in place, so that it gathers changes while it is open. Their memory is not to be kept.
func (r Rules) Wish() Rules {
	r.ByReview, r.BatchWindow = nil, 0
	return r
}

// DefaultRules are the rules of a cluster whose declaration says nothing about them.
func DefaultRules() Rules {
	return Rules{
		ProbeInterval:             10 * time.Second,
		FailureThreshold:          3,
		RecoveryThreshold:         2,
		DiscoveryFailureThreshold: 3,
		RemoveAfterMissingCount:   3,
		RemoveAfterMissing:        10 * time.Second,
		Retention:                 time.Hour,
	}
}

// sane returns r with counts of at least one, because a count of zero would act on no evidence.
func (r Rules) sane() Rules {
	r.FailureThreshold = max(r.FailureThreshold, 1)
	r.RecoveryThreshold = max(r.RecoveryThreshold, 1)
	r.DiscoveryFailureThreshold = max(r.DiscoveryFailureThreshold, 1)
	r.RemoveAfterMissingCount = max(r.RemoveAfterMissingCount, 1)
	return r
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
	Keep     Action = iota // "keep": membership is as declared; who of it waits for a person is in the reasons
	Hold                   // "hold": something forbids acting on the whole cluster; the reasons say what
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
	// ByReview is true for a failover that a person reviews: Want is for the live Services now and for the pull request, and nothing of it
	// is committed. Of other actions, Want has only what may be committed.
	ByReview bool
	// Want equals the declared state when Action is Keep or Hold.
	Want State
	// Reasons are sorted: one for each action, each refusal and each thing waited for.
	Reasons []Reason
}
