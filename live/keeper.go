package live

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
)

// requestTimeout bounds each request other than a watch.
const requestTimeout = 2 * time.Second

// Config says how a Keeper reaches its objects.
type Config struct {
	Names Names
	// Client is not to throttle: in a failover no request may wait, and a Keeper bounds itself.
	Client kubernetes.Interface
	// Dynamic reads and nudges the GitOps tool's objects; nil never nudges.
	Dynamic dynamic.Interface
	// ArgoNamespace is where Applications are, default "argocd".
	ArgoNamespace string
	// Holds reports whether this process holds the cluster now, and is asked before each write; nil never holds.
	Holds func() bool
	// Now is the clock, default time.Now.
	Now func() time.Time
	// Tell receives what happens, in order, one call at a time, from a goroutine of its own: it may be slow. nil tells nobody.
	Tell func(Event)
}

// Keeper keeps the role Services of one cluster at what is wanted.
type Keeper struct {
	config Config
	next   func(Sight, Want, time.Time) Verdict

	services          map[Role]*source[*corev1.Service]
	topology, control *source[*corev1.ConfigMap]
	pods              *source[*corev1.Pod]
	watches           []watched

	ready         *readiness
	wake, changed chan struct{}
	teller        *Teller[Event]
	nudger        *nudger

	// of the goroutine of Run alone
	looked bool
	seen   objects
	paces  map[string]*pace
	faults map[string]Condition
	// astray is since when a Service has been seen elsewhere that had been moved.
	astray map[Role]time.Time

	mu      sync.Mutex
	want    *Want
	fresh   bool // want has another epoch than the one before
	verdict Verdict
}

// watched is one watch, and what must be granted for it.
type watched struct {
	object, rule string
	optional     bool
	source       interface {
		run(context.Context)
		state() (synced bool, err error)
	}
}

// New makes a Keeper. It does nothing before Run.
func New(c Config) *Keeper {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Holds == nil {
		c.Holds = func() bool { return false }
	}
	k := &Keeper{
		config: c, next: Next,
		services: map[Role]*source[*corev1.Service]{},
		wake:     make(chan struct{}, 1), changed: make(chan struct{}, 1),
		teller: NewTeller(c.Tell), nudger: newNudger(c),
		paces: map[string]*pace{}, faults: map[string]Condition{}, astray: map[Role]time.Time{},
	}
	k.ready = &readiness{now: c.Now, wake: k.Wake}
	k.watchAll()
	return k
}

// watchAll prepares a watch of each object.
func (k *Keeper) watchAll() {
	n, core, look := k.config.Names, k.config.Client.CoreV1(), func() { ping(k.wake) }
	for role, name := range n.Services {
		s := watching(k.config.Client, &corev1.Service{}, core.Services(n.Namespace), named(name), look)
		k.services[role] = s
		k.watches = append(k.watches, watched{object: n.object("service", name), rule: rule("services", name, "get, list, watch, patch"), source: s})
	}
	configMap := func(name, verbs string) *source[*corev1.ConfigMap] {
		s := watching(k.config.Client, &corev1.ConfigMap{}, core.ConfigMaps(n.Namespace), named(name), look)
		k.watches = append(k.watches, watched{object: n.object("configmap", name), rule: rule("configmaps", name, verbs), source: s})
		return s
	}
	k.topology = configMap(n.Topology, "get, list, watch")
	k.control = configMap(ControlName(n.Cluster), "get, list, watch, patch")
	k.pods = watching(k.config.Client, &corev1.Pod{}, core.Pods(n.Namespace), labelled(n.PodSelector()), look)
	k.watches = append(k.watches, watched{object: n.pods(), rule: rule("pods", "", "list, watch"), optional: true, source: k.pods})
}

// Run watches and acts until ctx ends. It reads nothing but the objects in
// Config.Names and the pods of the cluster, lists them once, and again only when
// a watch is lost. A write that is under way when ctx ends is given up.
func (k *Keeper) Run(ctx context.Context) {
	var watching, telling sync.WaitGroup
	for _, w := range k.watches {
		watching.Go(func() { w.source.run(ctx) })
	}
	telling.Go(k.teller.Run)
	k.loop(ctx)
	k.nudger.wait()
	watching.Wait()
	k.teller.Close()
	telling.Wait()
}

// loop looks and writes until ctx ends.
func (k *Keeper) loop(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		switch again, ok := k.pass(ctx); {
		case !ok:
			timer.Stop()
		case again == 0:
			continue
		default:
			timer.Reset(again)
		}
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-k.wake:
		}
	}
}

// Want replaces what is wanted, and returns at once.
func (k *Keeper) Want(w Want) {
	k.mu.Lock()
	k.fresh = k.fresh || k.want == nil || k.want.Epoch != w.Epoch
	k.want = &w
	k.mu.Unlock()
	ping(k.wake)
}

// Wake looks again at once, because something that is not watched has changed: the holder.
func (k *Keeper) Wake() { ping(k.wake) }

// wanted is the newest want, nil before the first, and whether it is of another epoch than when this was asked last.
func (k *Keeper) wanted() (w *Want, fresh bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	fresh, k.fresh = k.fresh, false
	return k.want, fresh
}

// Sight is what is seen now; ok is false until everything but the pods has been
// read once. Pods that cannot be seen are a Ready of nil.
func (k *Keeper) Sight() (s Sight, ok bool) {
	o, ok := k.objects()
	if !ok {
		return Sight{}, false
	}
	return o.sight(k.config.Names), true
}

// Control is what the control ConfigMap says; ok is false until that has been read once, whatever else has been. What of it cannot
// be read is left out, and is a condition.
func (k *Keeper) Control() (c Control, ok bool) {
	if synced, _ := k.control.state(); !synced {
		return Control{}, false
	}
	return objects{control: k.control.get(ControlName(k.config.Names.Cluster))}.sight(k.config.Names).Control, true
}

// objects are what the watches know.
func (k *Keeper) objects() (o objects, ok bool) {
	for _, w := range k.watches {
		if synced, _ := w.source.state(); !synced && !w.optional {
			return objects{}, false
		}
	}
	o = objects{services: map[Role]*corev1.Service{}, topology: k.topology.get(k.config.Names.Topology), control: k.control.get(ControlName(k.config.Names.Cluster))}
	for role, source := range k.services {
		if svc := source.get(k.config.Names.Services[role]); svc != nil {
			o.services[role] = svc
		}
	}
	if synced, err := k.pods.state(); synced && CodeOf(err) != Forbidden {
		serves := ""
		if svc := o.services[Writer]; svc != nil {
			serves = instanceOf(OurKeys(svc.Spec.Selector))
		}
		o.ready = k.ready.count(k.pods.all(), serves)
	}
	return o, true
}

// Pods are the pods of the cluster, in no order; nil while they cannot be seen. They are not to be changed.
func (k *Keeper) Pods() []*corev1.Pod {
	if synced, err := k.pods.state(); !synced || CodeOf(err) == Forbidden {
		return nil
	}
	return append([]*corev1.Pod{}, k.pods.all()...)
}

// Verdict is what the last look came to, with what went wrong since. Its zero value is before the first look.
func (k *Keeper) Verdict() Verdict {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.verdict
}

// Changed receives after something that was seen has changed, so that the cluster can be looked at again at once.
func (k *Keeper) Changed() <-chan struct{} { return k.changed }
