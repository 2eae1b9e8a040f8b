package cmd

import (
	"errors"
	"time"
)

// hearing is whether it is known what people said to a cluster in Kubernetes: a pause above all.
type hearing struct {
	objects string // that are watched, "" for none
	since   time.Time
	heard   bool
}

// firstHearing is how long a commit waits, after the start and after a turn to other objects, for what people said in Kubernetes to
// be read once. Then Git goes on alone: an API server that is down must not stop it for ever.
const firstHearing = 10 * time.Second

// turnTo begins anew when other objects are watched.
func (h *hearing) turnTo(objects string, now time.Time) {
	if h.objects != objects {
		*h = hearing{objects: objects, since: now}
	}
}

// wait is how long a commit has to wait yet, 0 when it need not.
func (h *hearing) wait(now time.Time) time.Duration {
	if h.objects == "" || h.heard {
		return 0
	}
	return max(0, firstHearing-now.Sub(h.since))
}

// deaf reports whether the wait was in vain.
func (h *hearing) deaf(now time.Time) bool { return h.objects != "" && !h.heard && h.wait(now) == 0 }

// heard adds to the evidence what Kubernetes shows, or at least what people said there.
func (r *Reconciler) heard(e evidence) evidence {
	if s, ok := r.Live.Sight(); ok {
		r.people.heard = true
		return e.fromKubernetes(s)
	}
	if c, ok := r.Live.Words(); ok {
		r.people.heard = true
		return e.fromPeople(c)
	}
	return e
}

// errUnheard says that Git is written although somebody may have said no.
var errUnheard = errors.New("pause not known: what people said to the cluster in Kubernetes could not be read since the start; Git goes on alone; hint: spec.paused in the Cluster file pauses it without Kubernetes")

// tellUnheard says when it is not known whether somebody paused the cluster.
func (r *Reconciler) tellUnheard() {
	var err error
	if r.people.deaf(r.Now()) {
		err = errUnheard
	}
	r.tell(&r.told.people, err, Hindered, Cleared)
}
