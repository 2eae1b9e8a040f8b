package live

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poolwright/poolwright/render"
)

// bed is a cluster on an API server in memory, and a Keeper of it.
type bed struct {
	*apiServer
	keeper *Keeper
	names  Names

	mu     sync.Mutex
	holds  bool
	events []Event
	stop   func()
}

func bedNames() Names {
	return Names{
		Cluster: "pg", Namespace: testNamespace,
		Services: map[Role]string{Writer: "pg-writer", Reader: "pg-reader"}, Topology: "pg-topology",
	}
}

// inBed runs a storyboard: time moves when everybody waits.
func inBed(t *testing.T, story func(*testing.T, *bed)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		defer func() { b.stop() }()
		story(t, b)
	})
}

func newBed(t testing.TB) *bed {
	b := &bed{apiServer: newAPIServer(t), names: bedNames(), holds: true, stop: func() {}}
	for role, name := range b.names.Services {
		b.add("services", bedService(name, map[string]string{"role": string(role), render.LabelInstance: "a"}))
	}
	b.add("configmaps", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: b.names.Topology}, Data: map[string]string{"epoch": "7"}})
	b.add("pods", pod("a-1", "a", true))
	b.add("pods", pod("b-1", "b", true))
	b.keeper = New(Config{
		Names: b.names, Client: b.client("poolwright"), Dynamic: b.dynamic(),
		Holds: func() bool { b.mu.Lock(); defer b.mu.Unlock(); return b.holds },
		Tell:  func(e Event) { b.mu.Lock(); defer b.mu.Unlock(); b.events = append(b.events, e) },
	})
	b.keeper.next = follow
	return b
}

// start runs the Keeper until it has seen everything.
func (b *bed) start() *bed {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { b.keeper.Run(ctx) })
	b.stop = func() { cancel(); running.Wait() }
	synctest.Wait()
	return b
}

func (b *bed) hold(holds bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.holds = holds
}

// told are the events so far, in words.
func (b *bed) told() (words []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.events {
		words = append(words, eventWords(e))
	}
	return words
}

// lastWrite is the newest event of a write.
func (b *bed) lastWrite() Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range slices.Backward(b.events) {
		if e.Wrote != nil {
			return e
		}
	}
	b.t.Fatal("nothing was written")
	return Event{}
}

func eventWords(e Event) string {
	switch {
	case e.Changed:
		return "phase " + e.Phase.String()
	case e.Condition != nil && e.Gone:
		return "gone " + e.Condition.Code.String() + " " + e.Condition.Object
	case e.Condition != nil:
		return "came " + e.Condition.Code.String() + " " + e.Condition.Object
	case e.Err != nil:
		return "failed " + e.Wrote.Kind.String() + " " + e.Wrote.Name
	}
	return "wrote " + e.Wrote.Kind.String() + " " + e.Wrote.Name
}

// selects is the instance that a Service selects now.
func (b *bed) selects(role Role) string {
	return instanceOf(read[corev1.Service](b.apiServer, "services", b.names.Services[role]).Spec.Selector)
}

// steer makes a Service select an instance, as somebody.
func (b *bed) steer(role Role, instance, manager string) {
	b.edit("services", b.names.Services[role], manager, func(o *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(o.Object, instance, "spec", "selector", render.LabelInstance)
	})
}

// writes are the writes to a Service so far.
func (b *bed) writes(role Role) (at []time.Time) {
	for _, r := range b.made("patch") {
		if r.Name == b.names.Services[role] {
			at = append(at, r.At)
		}
	}
	return at
}

func bedService(name string, selector map[string]string) *corev1.Service {
	selector[render.LabelCluster] = "pg"
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{render.LabelCluster: "pg"}, Annotations: map[string]string{render.AnnotationEpoch: "7"}},
		Spec:       corev1.ServiceSpec{Selector: selector},
	}
}

func pod(name, instance string, ready bool) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{render.LabelCluster: "pg", render.LabelInstance: instance}}}
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status}}
	return p
}

// wantWriter wants both Services at an instance.
func wantWriter(epoch uint64, to string) Want {
	return Want{Epoch: epoch, To: to, Begin: true, Roles: []Target{{Role: Writer}, {Role: Reader}}}
}

// follow stands in for Next: it moves each Service to Want.To, and mirrors that at the end.
func follow(s Sight, w Want, now time.Time) (v Verdict) {
	for _, t := range w.Roles {
		svc := s.Services[t.Role]
		if svc == nil || instanceOf(svc.Spec.Selector) == w.To {
			continue
		}
		v.Phase = Overriding
		kind, reverter := Override, ""
		if managedBy(svc, FieldManager) {
			kind, reverter = Reassert, selectorManager(svc)
		}
		v.Writes = append(v.Writes, Write{Kind: kind, Role: t.Role, Name: svc.Name, Reverter: reverter, Patch: []Op{
			{Op: "test", Path: "/metadata/uid", Value: svc.UID},
			{Op: "test", Path: "/spec/selector", Value: svc.Spec.Selector},
			{Op: "replace", Path: "/spec/selector/" + strings.ReplaceAll(render.LabelInstance, "/", "~1"), Value: w.To},
		}})
	}
	if r := s.Control.Override; r == nil || r.Epoch != w.Epoch {
		v.Writes = append(v.Writes, Write{Kind: Mirror, Name: ControlName(s.Names.Cluster), Record: &Record{Version: 1, Epoch: w.Epoch, To: w.To, At: now.UTC().Truncate(time.Second), Select: aSelect}})
	}
	return v
}

func expectTold(t *testing.T, b *bed, want ...string) {
	t.Helper()
	synctest.Wait()
	if got := b.told(); !slices.Equal(got, want) {
		t.Errorf("told:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func TestKeeperMovesWriterThenReaderThenMirrorsWithoutDelay(t *testing.T) {
	inBed(t, func(t *testing.T, b *bed) {
		b.start()
		begun := time.Now()
		b.keeper.Want(wantWriter(8, "b"))
		synctest.Wait()
		if took := time.Since(begun); took != 0 {
			t.Errorf("something waited %v", took)
		}
		var order []string
		for _, r := range b.made("patch", "create", "update") {
			order = append(order, r.String())
		}
		// The control ConfigMap does not exist yet.
		want := []string{"patch services pg-writer", "patch services pg-reader", "create configmaps"}
		if !slices.Equal(order, want) {
			t.Errorf("wrote %q, want %q", order, want)
		}
		c := read[corev1.ConfigMap](b.apiServer, "configmaps", "pg-control")
		if c.Labels[render.LabelCluster] != "pg" || !strings.Contains(c.Data["override"], `"epoch":8`) {
			t.Errorf("the mirror is %+v", c)
		}
		expectTold(t, b,
			"phase overriding", "wrote override pg-writer", "wrote override pg-reader", "phase idle", "wrote mirror pg-control")
	})
}

func TestKeeperSeesNothingBeforeItHasSeenEverythingButPods(t *testing.T) {
	inBed(t, func(t *testing.T, b *bed) {
		b.obey(func(q request) error {
			if q.Name == "pg-topology" || q.Resource == "pods" {
				return errHangs
			}
			return nil
		})
		b.keeper.Want(wantWriter(8, "b"))
		b.start()
		if _, ok := b.keeper.Sight(); ok {
			t.Error("there is a sight without the topology")
		}
		if n := len(b.made("patch")); n > 0 {
			t.Errorf("%d blind writes", n)
		}
	})
}

func TestKeeperWithoutPodsSeesTheRest(t *testing.T) {
	inBed(t, func(t *testing.T, b *bed) {
		b.obey(func(q request) error {
			if q.Resource == "pods" {
				return rbac(q)
			}
			return nil
		})
		b.keeper.Want(wantWriter(8, "b"))
		b.start()
		if s, ok := b.keeper.Sight(); !ok || s.Ready != nil || s.Receipt != 7 {
			t.Errorf("seen %v: %+v", ok, s)
		}
		if b.selects(Writer) != "b" {
			t.Error("the Writer was not moved")
		}
		c := b.keeper.Verdict().Conditions
		if len(c) != 1 || c[0].Code != Forbidden || c[0].Object != "pods of example/pg" ||
			c[0].Hint != `add to the Role: {apiGroups: [""], resources: [pods], verbs: [list, watch]}` {
			t.Errorf("the conditions are %+v", c)
		}
		b.obey(nil)
		time.Sleep(11 * time.Second) // a watch is tried again within twice the largest gap
		synctest.Wait()
		if s, _ := b.keeper.Sight(); s.Ready["a"] != 1 || s.Ready["b"] != 1 {
			t.Errorf("ready are %v", s.Ready)
		}
		if c := b.keeper.Verdict().Conditions; len(c) > 0 {
			t.Errorf("still: %v", c)
		}
	})
}

func TestKeeperTellsAMissingRightBeforeItSeesAnything(t *testing.T) {
	inBed(t, func(t *testing.T, b *bed) {
		b.obey(func(q request) error {
			if q.Name == "pg-writer" {
				return rbac(q)
			}
			return nil
		})
		b.start()
		v := b.keeper.Verdict()
		if v.Phase != Blocked || len(v.Conditions) != 1 ||
			v.Conditions[0].Hint != `add to the Role: {apiGroups: [""], resources: [services], resourceNames: [pg-writer], verbs: [get, list, watch, patch]}` {
			t.Errorf("the verdict is %+v", v)
		}
		time.Sleep(time.Hour) // it is tried again, by watch and by list
		synctest.Wait()
		if again := b.keeper.Verdict(); again.Conditions[0] != v.Conditions[0] {
			t.Errorf("it is said anew: %v, after %v", again.Conditions[0], v.Conditions[0])
		}
		if got := b.told(); len(got) != 2 {
			t.Errorf("told %q, want the phase and the condition, once", got)
		}
	})
}

func TestKeeperInSteadyStateListsAndWritesNothing(t *testing.T) {
	inBed(t, func(t *testing.T, b *bed) {
		b.start()
		b.keeper.Want(wantWriter(8, "b"))
		synctest.Wait()
		b.forgetRequests()
		time.Sleep(3 * time.Hour)
		if got := b.made("list", "get", "patch", "create", "update"); len(got) > 0 {
			t.Errorf("asked %v", got)
		}
		if n := len(b.made("watch")); n < 5*18 || n > 5*36+5 { // each of five ends after 5 to 10 minutes
			t.Errorf("%d watches in three hours", n)
		}
	})
}

func TestKeeperSeesWhatHappensAfterALostWatch(t *testing.T) {
	inBed(t, func(t *testing.T, b *bed) {
		b.start()
		b.keeper.Want(wantWriter(8, "b"))
		synctest.Wait()
		b.cutWatches()
		b.remove("services", "pg-reader")
		b.steer(Writer, "a", "somebody")
		time.Sleep(time.Second)
		synctest.Wait()
		s, _ := b.keeper.Sight()
		if b.selects(Writer) != "b" || s.Services[Reader] != nil {
			t.Errorf("the Writer selects %s, the Reader is %v", b.selects(Writer), s.Services[Reader])
		}
	})
}
