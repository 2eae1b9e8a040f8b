package live

import (
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// holdCheck is how often it is asked again whether this process holds the cluster, while it has something to write.
const holdCheck = time.Second

// pass looks once and makes at most one write, so that each write is decided on
// what is true then. It says when to look again by itself; ok is false for never.
func (k *Keeper) pass(ctx context.Context) (again time.Duration, ok bool) {
	o, synced := k.objects()
	if synced && (!k.looked || !o.same(k.seen)) {
		k.looked, k.seen = true, o
		ping(k.changed)
	}
	want, fresh := k.wanted()
	if fresh {
		for _, p := range k.paces {
			p.hurry()
		}
	}
	if !synced || want == nil {
		k.publish(k.blind(synced))
		return 0, false
	}
	now := k.config.Now()
	sight := o.sight(k.config.Names)
	v := k.next(sight, want.heeding(sight.Control.Pause), now)
	writes := v.Writes
	k.mind(writes, now)
	holds := k.config.Holds()
	v, again = k.judge(v, holds, now)
	k.publish(v)
	if !holds {
		return again, again > 0
	}
	k.nudger.nudge(ctx, v.Nudge)
	w, wait := k.choose(writes, now)
	if w != nil {
		k.write(ctx, *w)
		return 0, true
	}
	return soonest(again, wait)
}

// soonest is the earlier of two waits, of which 0 is none.
func soonest(a, b time.Duration) (time.Duration, bool) {
	if a == 0 || b > 0 && b < a {
		a = b
	}
	return a, a > 0
}

// blind is the verdict while not everything has been seen, or nothing is wanted yet.
func (k *Keeper) blind(synced bool) Verdict {
	v := Verdict{Conditions: k.watchConditions()}
	if !synced && len(v.Conditions) > 0 {
		v.Phase = Blocked
	}
	return v
}

// judge adds to a verdict what went wrong with its writes. again is when that must be judged again, 0 for never.
func (k *Keeper) judge(v Verdict, holds bool, now time.Time) (_ Verdict, again time.Duration) {
	n := k.config.Names
	v.Conditions = append(slices.Clone(v.Conditions), k.watchConditions()...)
	if !holds && len(v.Writes) > 0 {
		v.Phase, again = Blocked, holdCheck
		v.Conditions = append(v.Conditions, Condition{Code: NotHolder, Object: "cluster " + n.Namespace + "/" + n.Cluster, Detail: "another process holds it, or nobody does", Hint: "poolwright status --cluster " + n.Cluster})
	}
	k.forget(v.Writes)
	for object, c := range k.faults {
		v.Conditions = append(v.Conditions, c)
		if strings.HasPrefix(object, "service ") {
			v.Phase = Blocked
		}
	}
	for object, p := range k.paces {
		if until, ok := p.contended(now); ok {
			v.Conditions = append(v.Conditions, contended(n, object))
			again, _ = soonest(again, max(1, until.Sub(now)))
		}
	}
	v.Conditions = sorted(v.Conditions)
	return v, again
}

// forget drops the faults of objects to which nothing is to be written any more.
func (k *Keeper) forget(writes []Write) {
	for object := range k.faults {
		if !slices.ContainsFunc(writes, func(w Write) bool { return k.config.Names.target(w) == object }) {
			delete(k.faults, object)
			k.paces[object].failures = 0
		}
	}
}

// watchConditions tells what may not be watched, or cannot be.
func (k *Keeper) watchConditions() (found []Condition) {
	for _, w := range k.watches {
		if _, err := w.source.state(); err != nil {
			if c, ok := readCondition(w.object, w.rule, err); ok {
				found = append(found, c)
			}
		}
	}
	return sorted(found)
}

// mind notes since when a Service is elsewhere, for as long as it is.
func (k *Keeper) mind(writes []Write, now time.Time) {
	for role := range k.config.Names.Services {
		since, known := k.astray[role]
		delete(k.astray, role)
		if slices.ContainsFunc(writes, func(w Write) bool { return w.Kind == Reassert && w.Role == role }) {
			if !known {
				since = now
			}
			k.astray[role] = since
		}
	}
}

// choose returns the first write that may be made now, or how long it must wait.
// A Service that must wait holds back what comes after it.
func (k *Keeper) choose(writes []Write, now time.Time) (_ *Write, wait time.Duration) {
	for _, w := range writes {
		d := k.paceOf(w).wait(now)
		if d == 0 {
			return &w, 0
		}
		wait, _ = soonest(wait, d)
		if w.Role != "" {
			break
		}
	}
	return nil, wait
}

func (k *Keeper) paceOf(w Write) *pace {
	object := k.config.Names.target(w)
	if k.paces[object] == nil {
		k.paces[object] = &pace{}
	}
	return k.paces[object]
}

// write makes a write, and takes the answer for what is true until the watch is as new.
func (k *Keeper) write(ctx context.Context, w Write) {
	object := k.config.Names.target(w)
	start := k.config.Now()
	answer, err := k.do(ctx, w)
	now := k.config.Now()
	if ctx.Err() != nil {
		return
	}
	if CodeOf(err) != 0 {
		k.faults[object] = writeCondition(k.config.Names, w, err)
		k.paceOf(w).failed(now)
	} else {
		if err != nil { // the world has moved
			answer = k.reread(ctx, w)
		}
		delete(k.faults, object)
		k.put(w, answer)
		k.paceOf(w).wrote(now)
	}
	e := Event{At: now, Wrote: &w, Took: now.Sub(start), Err: err, Record: k.Verdict().Record, Service: k.reference(object)}
	if w.Kind == Reassert {
		e.Exposed = now.Sub(k.astray[w.Role])
	}
	k.teller.Tell(e)
}

func (k *Keeper) do(ctx context.Context, w Write) (metav1.Object, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return do(ctx, k.config.Client, k.config.Names, w)
}

// reread gets the object of a write; nil when that fails: the watch will tell.
func (k *Keeper) reread(ctx context.Context, w Write) metav1.Object {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	core, n := k.config.Client.CoreV1(), k.config.Names
	get := func() (metav1.Object, error) {
		return orNil(core.Services(n.Namespace).Get(ctx, w.Name, metav1.GetOptions{}))
	}
	if w.Role == "" {
		get = func() (metav1.Object, error) {
			return orNil(core.ConfigMaps(n.Namespace).Get(ctx, w.Name, metav1.GetOptions{}))
		}
	}
	o, err := get()
	if err != nil {
		return nil
	}
	return o
}

// put takes an answer for what is known.
func (k *Keeper) put(w Write, answer metav1.Object) {
	switch o := answer.(type) {
	case *corev1.Service:
		k.services[w.Role].put(o)
	case *corev1.ConfigMap:
		k.control.put(o)
	}
}

func contended(n Names, object string) Condition {
	kind, name, _ := strings.Cut(strings.Replace(object, n.Namespace+"/", "", 1), " ")
	return Condition{
		Code: Contended, Object: object,
		Detail: "it was written 10 times within a minute; writes to it slow down, up to one in 5 s",
		Hint:   "kubectl -n " + n.Namespace + " get " + kind + " " + name + " -o yaml --show-managed-fields",
	}
}
