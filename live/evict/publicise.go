package evict

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
)

// The reasons of the Kubernetes Events on the Writer Service.
const (
	ReasonEvicting = "EvictingClients" // clients are being taken off the demoted instance
	ReasonEvicted  = "ClientsEvicted"  // nobody is left there
	ReasonStuck    = "ClientsStuck"    // they cannot be taken off
)

// Publicise makes a Kubernetes Event of what happened, when people who look at the Writer Service should know.
func Publicise(r record.EventRecorder, e Event) {
	if e.Service == nil {
		return
	}
	if kind, reason, message := publication(e); reason != "" {
		r.Event(e.Service, kind, reason, message)
	}
}

// publication is the type, reason and message of an event; no reason when it is not for the public.
func publication(e Event) (kind, reason, message string) {
	v := e.State.Eviction
	switch {
	case e.Condition != nil && !e.Gone && e.Condition.Code != Paused:
		text := e.Condition.String()
		if e.Condition.Hint != "" {
			text += " (hint: " + e.Condition.Hint + ")"
		}
		return corev1.EventTypeWarning, ReasonStuck, text
	case !e.Changed || len(v.From) == 0:
		return "", "", ""
	case e.State.Phase == Draining:
		return corev1.EventTypeNormal, ReasonEvicting, fmt.Sprintf("%v → %s", v.From, v.To)
	case e.State.Phase == Complete:
		return corev1.EventTypeNormal, ReasonEvicted, fmt.Sprintf("%v → %s in %v: %d connections cut, %d seen again", v.From, v.To, v.Done.Sub(v.At).Round(time.Millisecond), v.Evicted, v.Returned)
	}
	return "", "", ""
}
