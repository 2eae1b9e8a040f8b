package aurora

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/poolwright/poolwright/discovery"
	"github.com/poolwright/poolwright/discovery/session"
)

// Observer asks one cluster. It keeps connections, and the names it has learnt; nothing else.
type Observer struct {
	session.Cluster
	config Config

	mu    sync.Mutex // one observation at a time
	known map[string]bool
	blind bool // no instance gave an answer of its own the last time
}

// New returns an Observer that has asked nobody yet.
func New(config Config) *Observer {
	if config.Now == nil {
		config.Now = time.Now
	}
	return &Observer{config: config, Cluster: session.NewCluster(config.Session), known: map[string]bool{}}
}

// Observe asks everybody. It never fails: faults are in the answers. It ends by ctx or by the probes' deadlines.
func (o *Observer) Observe(ctx context.Context) discovery.Observation {
	o.mu.Lock()
	defer o.mu.Unlock()
	r := &round{observer: o, ctx: ctx, said: make(chan discovery.Answer), begun: map[string]bool{}}
	r.run()
	o.blind = !r.anybody()
	o.remember(r.answers)
	slices.SortFunc(r.answers, func(a, b discovery.Answer) int {
		return cmp.Or(cmp.Compare(a.Endpoint, b.Endpoint), cmp.Compare(a.Asked, b.Asked), cmp.Compare(a.Via, b.Via))
	})
	seen := discovery.Observation{
		Cluster: o.config.Cluster, Provider: discovery.Aurora, Mode: o.config.Mode,
		Domain: o.config.Domain, Port: o.config.port(), At: o.config.Now(), Answers: r.answers,
	}
	o.Follow(seen)
	return seen
}

// remember keeps the names that fresh rows gave, and the sessions to them.
func (o *Observer) remember(answers []discovery.Answer) {
	named := map[string]bool{}
	for _, a := range answers {
		for _, name := range names(a) {
			named[name] = true
		}
	}
	if len(named) == 0 {
		return
	}
	o.known = named
	keep := map[session.Address]bool{}
	for name := range named {
		keep[o.config.instance(name)] = true
	}
	o.Sessions.Only(keep)
}

// names are the instances that an answer's fresh rows name.
func names(a discovery.Answer) []string {
	var found []string
	for _, r := range a.Rows {
		if r.Fresh() && discovery.IsName(r.ServerID) {
			found = append(found, r.ServerID)
		}
	}
	return found
}

// ask asks one instance.
func (o *Observer) ask(ctx context.Context, name string) discovery.Answer {
	at := o.config.instance(name)
	a := discovery.Answer{Endpoint: at.String(), Asked: name}
	results, err := o.Sessions.Ask(ctx, at, query)
	read(&a, results, err)
	if a.Fault == discovery.None && a.Name != name {
		o.Sessions.Reset(at)
		a = discovery.Answer{Endpoint: a.Endpoint, Asked: name, Name: a.Name, Fault: discovery.WrongNode, Detail: a.Name + " answered"}
	}
	return a
}

// askVia asks a cluster endpoint.
func (o *Observer) askVia(ctx context.Context, role discovery.Role, at session.Address) discovery.Answer {
	a := discovery.Answer{Endpoint: at.String(), Via: role}
	results, err := o.Sessions.AskOnce(ctx, at, query)
	read(&a, results, err)
	return a
}
