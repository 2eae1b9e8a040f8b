package aurora

import (
	"context"

	"github.com/poolwright/poolwright/discovery"
)

// maxAsked bounds what a nonsensical view can make us do. Aurora has at most 16 instances.
const maxAsked = 64

// round is one observation under way.
type round struct {
	observer *Observer
	ctx      context.Context // a round lives no longer
	said     chan discovery.Answer
	begun    map[string]bool // instances
	pending  int
	answers  []discovery.Answer
	through  bool // the cluster endpoints were asked
}

func (r *round) run() {
	o := r.observer
	for name := range o.known {
		r.ask(name)
	}
	if len(o.known) == 0 || o.blind {
		for name := range o.config.Hosts {
			r.ask(name)
		}
	}
	if o.blind || r.pending == 0 {
		r.askThrough()
	}
	for r.pending > 0 {
		r.hear(<-r.said)
		if r.pending == 0 && !r.anybody() {
			r.askThrough()
		}
	}
}

// ask begins to ask an instance, once.
func (r *round) ask(name string) {
	if r.begun[name] || len(r.begun) == maxAsked {
		return
	}
	r.begun[name] = true
	r.pending++
	go func() { r.said <- r.observer.ask(r.ctx, name) }()
}

// askThrough begins to ask the cluster endpoints, once.
func (r *round) askThrough() {
	if r.through {
		return
	}
	r.through = true
	for _, role := range []discovery.Role{discovery.Writer, discovery.Reader} {
		if at, ok := r.observer.config.endpoint(role); ok {
			r.pending++
			go func() { r.said <- r.observer.askVia(r.ctx, role, at) }()
		}
	}
}

// hear takes an answer, and asks whom it names.
func (r *round) hear(a discovery.Answer) {
	r.pending--
	r.answers = append(r.answers, a)
	for _, name := range names(a) {
		r.ask(name)
	}
}

// anybody reports whether an instance gave an answer of its own.
func (r *round) anybody() bool {
	for _, a := range r.answers {
		if a.Asked != "" && a.Fault == discovery.None {
			return true
		}
	}
	return false
}
