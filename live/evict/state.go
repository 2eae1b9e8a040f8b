package evict

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/poolwright/poolwright/live"
	"github.com/poolwright/poolwright/live/pooler"
)

// State is how the eviction of a cluster stands. Its zero value is before anything was seen.
type State struct {
	Phase Phase `json:"phase"`
	// Eviction is the entry that stands, with the counts as they are now; its zero value when there is none.
	Eviction live.Eviction `json:"eviction"`
	// Left is how many clients are known to be still there, on pods that are not done; Uncounted the number of such pods whose clients
	// cannot be counted.
	Left      int `json:"left"`
	Uncounted int `json:"uncounted,omitempty"`
	// Moved is since when the data plane is known to have moved; zero: it is not.
	Moved time.Time `json:"moved,omitzero"`
	// Pods that are dealt with, by name; none while the entry is over.
	Pods       []Pod       `json:"pods,omitempty"`
	Conditions []Condition `json:"conditions,omitempty"`
}

// Pod is how one pod stands.
type Pod struct {
	Name     string `json:"name"`
	Instance string `json:"instance"`
	Side     Side   `json:"side"`
	// Clients that are there, -1 when not known.
	Clients int `json:"clients"`
	// Evicted is how many of its clients were cut.
	Evicted int  `json:"evicted"`
	Done    bool `json:"done"`
	Deleted bool `json:"deleted,omitempty"`
	// Fault is why its console gives no answer, 0 when it does.
	Fault pooler.Fault `json:"-"`
	// Detail is the fault in words.
	Detail string `json:"detail,omitempty"`

	failing bool   // long enough to say so
	refused string // why it is not deleted, and who is stuck on it
}

// Event is one thing that happened in an eviction. Exactly one of Changed, Step and Condition is set.
type Event struct {
	At time.Time
	// Changed is true when there is a new phase, or a new eviction in the same one. State is how it stands then.
	Changed bool
	State   State
	// Step was done on a pod, with how long it took, or failed.
	Step *Step
	Pod  string
	Took time.Duration
	Err  error
	// Condition came (Gone false), or went. One that says something else than before came again.
	Condition *Condition
	Gone      bool
	// Service is the Writer Service, nil when it is not known.
	Service *corev1.ObjectReference
}

// publish makes a state the newest one, and tells what is new about it. It is called with the Runner locked.
func (r *Runner) publish(s State, now time.Time) {
	old := r.state
	r.state = s
	e := Event{At: now, Service: r.reference()}
	if old.Phase != s.Phase || old.Eviction.Number != s.Eviction.Number {
		e := e
		e.Changed, e.State = true, s
		r.teller.Tell(e)
	}
	live.TellConditions(old.Conditions, s.Conditions, func(c Condition, gone bool) {
		e := e
		e.Condition, e.Gone = &c, gone
		r.teller.Tell(e)
	})
}

// reference is the Writer Service as Events know it.
func (r *Runner) reference() *corev1.ObjectReference {
	if r.seen == nil || r.seen.Sight.Services[live.Writer] == nil {
		return nil
	}
	svc := r.seen.Sight.Services[live.Writer]
	return &corev1.ObjectReference{APIVersion: "v1", Kind: "Service", Namespace: svc.Namespace, Name: svc.Name, UID: svc.UID}
}
