package evict

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/poolwright/poolwright/live"
	"github.com/poolwright/poolwright/live/pooler"
	"github.com/poolwright/poolwright/render"
)

// world is a cluster: its poolers, the Service in front of them, clients that
// come back whenever they are cut, and the API server.
type world struct {
	t testing.TB

	mu      sync.Mutex
	pods    map[string]*fakePod
	control map[string]string // the data of the ConfigMap; nil: it does not exist
	foreign bool              // it is somebody else's
	// service is what the Writer Service selects, routed where the nodes send new connections.
	service, routed, wanted string
	record, paused, blind   bool
	version                 pooler.Version
	refused                 map[string]error // by request
	log                     []string         // requests and commands
	processes               []*process
	births, logins          int
	events                  []Event
	// wantedAt is when it was decided who is wanted.
	wantedAt time.Time
	// open opens a console for a process; nil: that of a fakePod.
	open func(ctx context.Context, p *process, address string) (Console, error)
}

// fakePod is a PgBouncer. It does what was measured of the real one.
type fakePod struct {
	world              *world
	name, instance, ip string
	uid                types.UID
	version            pooler.Version
	life               int
	databases          map[string]*fakeDatabase
	fixed              bool // no other database is made
	clients            []pooler.Client
	fault              error // of every answer; errHangs for none
	down, gone         bool
}

type fakeDatabase struct {
	paused, disabled bool
	killed           time.Time
	// freed is true after KILL until somebody logs in, and after a login that took long until it is named again: without a
	// pool when idle ones were looked for, it is hidden, and yet what it is.
	freed bool
	named time.Time
	// since when it is disabled, and how long it was before
	since   time.Time
	refused time.Duration
}

func newWorld(t testing.TB, v pooler.Version) *world {
	w := &world{t: t, pods: map[string]*fakePod{}, service: "a", routed: "a", wanted: "a", version: v, refused: map[string]error{}}
	for _, i := range []string{"a", "b", "c"} {
		w.birth(i+"-1", i)
		w.birth(i+"-2", i)
	}
	return w
}

// birth makes a pod of an instance.
func (w *world) birth(name, instance string) *fakePod {
	w.births++
	p := &fakePod{world: w, name: name, instance: instance, ip: fmt.Sprintf("10.1.0.%d", w.births), uid: types.UID(fmt.Sprint("uid-", w.births)), version: w.version}
	p.restart()
	w.pods[name] = p
	return p
}

// restart makes the process a new one, which knows nothing.
func (p *fakePod) restart() {
	p.life++
	p.clients = nil
	p.databases = map[string]*fakeDatabase{"shop": {}, `odd "name`: {}}
}

// stop ends the process.
func (p *fakePod) stop() { p.gone, p.clients = true, nil }

// login lets a client in, and says why not.
func (p *fakePod) login(c pooler.Client) error {
	d := p.database(c.Database)
	switch {
	case d.disabled:
		return errors.New("disabled")
	case d.paused:
		return errors.New("hangs")
	}
	d.freed = false
	p.world.logins++
	c.ID, c.Since, c.Port = fmt.Sprint(p.world.logins), time.Now().Truncate(time.Second), 10000+p.world.logins
	p.clients = append(p.clients, c)
	return nil
}

// database is one by its name, which is enough to make it.
func (p *fakePod) database(name string) *fakeDatabase {
	if p.databases[name] == nil {
		p.databases[name] = &fakeDatabase{freed: true}
	}
	d := p.databases[name]
	d.named = time.Now()
	d.freed = d.freed && !slices.ContainsFunc(p.clients, func(c pooler.Client) bool { return c.Database == name })
	return d
}

// hidden reports whether SHOW DATABASES leaves it out.
func (d *fakeDatabase) hidden() bool { return d.freed && time.Since(d.named) > 333*time.Millisecond }

// hide hides every database of a pod although it is used, as when each login took long.
func (p *fakePod) hide() {
	for _, d := range p.databases {
		d.freed, d.named = true, time.Now().Add(-time.Second)
	}
}

// populate runs clients that are always connected, or about to be, the way the nodes route.
func (w *world) populate(ctx context.Context, n int) {
	all := func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.connected() == n {
			return
		}
		for i := range n {
			w.comeBack(pooler.Client{User: "app", Database: []string{"shop", `odd "name`}[i%2], Addr: fmt.Sprint("10.9.0.", i)})
		}
	}
	all()
	go func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				all()
			}
		}
	}()
}

// connected is how many clients are connected, anywhere.
func (w *world) connected() (n int) {
	for _, p := range w.pods {
		n += len(p.clients)
	}
	return n
}

// comeBack connects a client that is nowhere.
func (w *world) comeBack(who pooler.Client) {
	same := func(c pooler.Client) bool { return c.Addr == who.Addr }
	for _, p := range w.pods {
		if slices.ContainsFunc(p.clients, same) {
			return
		}
	}
	for _, p := range w.of(w.routed) {
		if !p.down && p.login(who) == nil {
			return
		}
	}
}

// of are the pods of an instance, by name.
func (w *world) of(instance string) (found []*fakePod) {
	for _, p := range w.pods {
		if p.instance == instance {
			found = append(found, p)
		}
	}
	slices.SortFunc(found, func(a, b *fakePod) int { return cmp.Compare(a.name, b.name) })
	return found
}

// policy is what the API server refuses.
func (w *world) policy(what string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for prefix, err := range w.refused {
		if strings.HasPrefix(what, prefix) {
			return err
		}
	}
	return nil
}

// seePods are the pods as the watch shows them.
func (w *world) seePods() []*corev1.Pod {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.blind {
		return nil
	}
	list := []*corev1.Pod{}
	for _, name := range slices.Sorted(maps.Keys(w.pods)) {
		p := w.pods[name]
		list = append(list, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: p.uid, Labels: map[string]string{render.LabelInstance: p.instance}},
			Status:     corev1.PodStatus{PodIP: p.ip},
		})
	}
	return list
}

// show tells every process what is seen.
func (w *world) show() {
	w.mu.Lock()
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "pg-writer", Namespace: "db", UID: "uid-writer", Labels: map[string]string{render.LabelCluster: "pg"}, Annotations: map[string]string{}},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{render.LabelInstance: w.service}},
	}
	if w.record {
		r := live.Record{Version: 1, Epoch: 8, To: w.wanted, At: time.Now(), Select: map[live.Role]map[string]string{live.Writer: {render.LabelCluster: "pg", render.LabelInstance: w.wanted}}}
		svc.Annotations[live.AnnotationOverride] = r.String()
	}
	s := Seen{Wanted: w.wanted, Paused: w.paused}
	s.Sight.Names = live.Names{Cluster: "pg", Namespace: "db", Services: map[live.Role]string{live.Writer: "pg-writer"}}
	s.Sight.Services = map[live.Role]*corev1.Service{live.Writer: svc}
	s.Sight.Control, s.Sight.ControlErr = live.ParseControl(w.control)
	processes := slices.Clone(w.processes)
	w.mu.Unlock()
	for _, p := range processes {
		p.runner.See(s)
	}
}

// change changes the world, and shows it.
func (w *world) change(f func()) {
	w.mu.Lock()
	f()
	w.mu.Unlock()
	w.show()
}

// move decides for another writer and moves the Service; the nodes route to it later.
func (w *world) move(to string, propagation time.Duration) {
	w.change(func() { w.service, w.wanted, w.record, w.wantedAt = to, to, true, time.Now() })
	time.AfterFunc(propagation, func() { w.change(func() { w.routed = w.wanted }) })
}

// on is how many clients an instance has.
func (w *world) on(instance string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.of(instance) {
		n += len(p.clients)
	}
	return n
}

// blocked are the databases that are paused or disabled now.
func (w *world) blocked() (found []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.pods {
		for name, d := range p.databases {
			if d.paused || d.disabled {
				found = append(found, fmt.Sprintf("%s %s (paused %v, disabled %v)", p.name, name, d.paused, d.disabled))
			}
		}
	}
	slices.Sort(found)
	return found
}

// entry is the one that stands.
func (w *world) entry() live.Eviction {
	w.mu.Lock()
	defer w.mu.Unlock()
	e, err := live.ParseEviction(w.control["evictions"])
	if err != nil {
		w.t.Errorf("no entry: %v", err)
	}
	return e
}

// commands are those to one pod so far; of all when it is "".
func (w *world) commands(pod string) (found []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.log {
		if verb, rest, _ := strings.Cut(l, " "); strings.ToUpper(verb) == verb && strings.HasPrefix(rest, pod) {
			found = append(found, verb+strings.TrimPrefix(rest, pod))
		}
	}
	return found
}

// refusedFor is how long the longest refusal of a database of an instance was.
func (w *world) refusedFor(instance string) (longest time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.of(instance) {
		for _, d := range p.databases {
			longest = max(longest, d.refused)
		}
	}
	return longest
}

// after lets time pass.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// inWorld runs a storyboard with 20 clients, under each way of cutting them.
func inWorld(t *testing.T, story func(t *testing.T, w *world)) {
	t.Helper()
	for _, v := range []pooler.Version{old, current} {
		t.Run(v.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, v)
				ctx, cancel := context.WithCancel(context.Background())
				w.populate(ctx, 20)
				story(t, w)
				cancel()
				for _, p := range slices.Clone(w.processes) {
					p.stop()
				}
			})
		})
	}
}

func asIs(*Config) {}
