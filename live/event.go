package live

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Event is one thing that happened to a cluster's Services: a new phase, a write,
// or a condition that came or went. Exactly one of Changed, Wrote and Condition is set.
type Event struct {
	At time.Time
	// Phase is the new phase, when it changed. Changed is true then.
	Changed bool
	Phase   Phase
	// Wrote is a write that was made, with how long it took, or that failed.
	Wrote *Write
	Took  time.Duration
	Err   error
	// Exposed is how long the Service had been seen elsewhere when it was moved again (Kind Reassert).
	Exposed time.Duration
	// Condition came (Gone false), or went. One that says something else than before came again.
	Condition *Condition
	Gone      bool
	// Record is the override that stood then, nil when there was none.
	Record *Record
	// Service is what the event is about, nil when it is about none that is known.
	Service *corev1.ObjectReference
}

// publish makes a verdict the newest one, and tells what is new about it.
func (k *Keeper) publish(v Verdict) {
	k.mu.Lock()
	old := k.verdict
	k.verdict = v
	k.mu.Unlock()
	e := Event{At: k.config.Now(), Record: v.Record}
	if old.Phase != v.Phase {
		e := e
		e.Changed, e.Phase = true, v.Phase
		k.teller.Tell(e)
	}
	TellConditions(old.Conditions, v.Conditions, func(c Condition, gone bool) {
		e := e
		e.Condition, e.Gone, e.Service = &c, gone, k.reference(c.Object)
		k.teller.Tell(e)
	})
}

// reference is the Service that an object's words mean, nil when they mean none that exists.
func (k *Keeper) reference(object string) *corev1.ObjectReference {
	for role, name := range k.config.Names.Services {
		if k.config.Names.object("service", name) != object {
			continue
		}
		if svc := k.services[role].get(name); svc != nil {
			return &corev1.ObjectReference{APIVersion: "v1", Kind: "Service", Namespace: svc.Namespace, Name: svc.Name, UID: svc.UID}
		}
	}
	return nil
}
