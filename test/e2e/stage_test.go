//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/poolwright/poolwright/test/driver"
)

// stage is everything in a namespace that matters, and the history of it, by watches.
type stage struct {
	mu      sync.Mutex
	objects map[string]metav1.Object // "service/story-writer"
	past    []sighting
	news    chan struct{} // closed when something has changed
}

// sighting is one version of a Service, or of what stands behind it.
type sighting struct {
	at      time.Time
	object  string
	service service
	// behind are the instances whose pods are endpoints, sorted; of EndpointSlices only.
	behind string
}

// watchAll fills a stage until the test ends.
func watchAll(t testing.TB, w world, namespace string) *stage {
	s := &stage{objects: map[string]metav1.Object{}, news: make(chan struct{})}
	ctx, stop := context.WithCancel(logr.NewContext(context.Background(), logr.Logger{}))
	var all sync.WaitGroup
	for kind, k := range map[string]struct {
		client rest.Interface
		sample any
		plural string
	}{
		"service":       {w.client.CoreV1().RESTClient(), &corev1.Service{}, "services"},
		"configmap":     {w.client.CoreV1().RESTClient(), &corev1.ConfigMap{}, "configmaps"},
		"pod":           {w.client.CoreV1().RESTClient(), &corev1.Pod{}, "pods"},
		"event":         {w.client.CoreV1().RESTClient(), &corev1.Event{}, "events"},
		"endpointslice": {w.client.DiscoveryV1().RESTClient(), &discoveryv1.EndpointSlice{}, "endpointslices"},
	} {
		list := cache.NewListWatchFromClient(k.client, k.plural, namespace, fields.Everything())
		all.Go(func() {
			cache.NewReflectorWithOptions(list, k.sample, sink{s, kind}, cache.ReflectorOptions{Logger: new(logr.Logger)}).RunWithContext(ctx)
		})
	}
	t.Cleanup(func() { stop(); all.Wait() })
	return s
}

// sink is the store behind one watch.
type sink struct {
	stage *stage
	kind  string
}

func (k sink) Add(o any) error    { k.stage.see(k.kind, o.(metav1.Object)); return nil }
func (k sink) Update(o any) error { return k.Add(o) }
func (k sink) Delete(o any) error { k.stage.lose(k.kind, o.(metav1.Object).GetName()); return nil }
func (k sink) Resync() error      { return nil }

func (k sink) Replace(list []any, _ string) error {
	there := map[string]bool{}
	for _, o := range list {
		there[o.(metav1.Object).GetName()] = true
		k.stage.see(k.kind, o.(metav1.Object))
	}
	for _, name := range k.stage.names(k.kind) {
		if !there[name] {
			k.stage.lose(k.kind, name)
		}
	}
	return nil
}

func (s *stage) see(kind string, o metav1.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := kind + "/" + o.GetName()
	before := s.objects[key]
	s.objects[key] = o
	switch o := o.(type) {
	case *corev1.Service:
		was, _ := before.(*corev1.Service)
		s.past = append(s.past, sighting{at: time.Now(), object: key, service: readService(o, was)})
	case *discoveryv1.EndpointSlice:
		s.noteBehind(o.Labels[discoveryv1.LabelServiceName])
	}
	s.tell()
}

func (s *stage) lose(kind, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gone := s.objects[kind+"/"+name]
	delete(s.objects, kind+"/"+name)
	if slice, ok := gone.(*discoveryv1.EndpointSlice); ok {
		s.noteBehind(slice.Labels[discoveryv1.LabelServiceName])
	}
	s.tell()
}

func (s *stage) noteBehind(service string) {
	s.past = append(s.past, sighting{at: time.Now(), object: "behind/" + service, behind: s.behind(service)})
}

func (s *stage) tell() {
	close(s.news)
	s.news = make(chan struct{})
}

func (s *stage) names(kind string) (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.objects {
		if name, ok := strings.CutPrefix(key, kind+"/"); ok {
			names = append(names, name)
		}
	}
	return names
}

// behind are the instances whose ready pods are endpoints of a Service, "a" or "b c". It needs s.mu.
func (s *stage) behind(service string) string {
	var slices []discoveryv1.EndpointSlice
	for _, o := range s.objects {
		if slice, ok := o.(*discoveryv1.EndpointSlice); ok && slice.Labels[discoveryv1.LabelServiceName] == service {
			slices = append(slices, *slice)
		}
	}
	return instancesOf(slices)
}

// instancesOf are the instances whose pods are ready endpoints in slices. Pods are named story-INSTANCE-….
func instancesOf(list []discoveryv1.EndpointSlice) string {
	found := map[string]bool{}
	for _, slice := range list {
		for _, e := range slice.Endpoints {
			if e.TargetRef != nil && (e.Conditions.Ready == nil || *e.Conditions.Ready) {
				found[strings.Split(e.TargetRef.Name, "-")[1]] = true
			}
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(found)), " ")
}

// service is what counts of a Service.
type service struct {
	exists   bool
	uid      string
	version  string
	selector map[string]string
	// manager last changed the selector; "" when it is as before.
	manager string
	// owners are the managers that own the selector, "name Operation".
	owners []string
	// managers are all, "name Operation".
	managers    []string
	annotations map[string]string
}

func readService(svc, was *corev1.Service) service {
	s := service{exists: true, uid: string(svc.UID), version: svc.ResourceVersion, selector: svc.Spec.Selector, annotations: svc.Annotations}
	for _, m := range svc.ManagedFields {
		name := m.Manager + " " + string(m.Operation)
		s.managers = append(s.managers, name)
		if ownsSelector(m) {
			s.owners = append(s.owners, name)
		}
	}
	if was == nil || was.UID != svc.UID || !maps.Equal(was.Spec.Selector, svc.Spec.Selector) {
		s.manager = strings.Join(s.owners, ", ") // who changes an atomic value owns it alone
	}
	return s
}

func ownsSelector(m metav1.ManagedFieldsEntry) bool {
	var fields struct {
		Spec map[string]json.RawMessage `json:"f:spec"`
	}
	if m.FieldsV1 == nil || json.Unmarshal(m.FieldsV1.GetRawBytes(), &fields) != nil {
		return false
	}
	_, ok := fields.Spec["f:selector"]
	return ok
}

const (
	overrideAnnotation = "poolwright.dev/override"
	epochAnnotation    = "poolwright.dev/epoch"
	freezeAnnotation   = "kustomize.toolkit.fluxcd.io/reconcile"
	instanceKey        = "poolwright.dev/instance"
	fieldManager       = "poolwright-failover"
)

// instance is the one that the Service selects, "" for none.
func (s service) instance() string { return s.selector[instanceKey] }

// isOverridden reports whether the Service has the record of an override.
func (s service) isOverridden() bool { return s.annotations[overrideAnnotation] != "" }

// isClean reports whether nothing of poolwright's is left on a Service.
func (s service) isClean() bool {
	return s.exists && !s.isOverridden() && s.annotations[freezeAnnotation] == "" &&
		!slices.ContainsFunc(s.managers, func(m string) bool { return strings.HasPrefix(m, fieldManager) })
}

// record is what an override says of itself.
type record struct {
	Epoch                uint64
	From, To, Reason, By string
	Froze                bool
}

func (s service) record() (r record) {
	_ = json.Unmarshal([]byte(s.annotations[overrideAnnotation]), &r)
	return r
}

// service is the Service of a role now. It needs s.mu.
func (s *stage) service(role string) service {
	svc, ok := s.objects["service/story-"+role].(*corev1.Service)
	if !ok {
		return service{}
	}
	return readService(svc, nil)
}

// data is the data of a ConfigMap, nil when it is not there. It needs s.mu.
func (s *stage) data(name string) map[string]string {
	c, ok := s.objects["configmap/"+name].(*corev1.ConfigMap)
	if !ok {
		return nil
	}
	return c.Data
}

// ready is the number of ready pods of an instance. It needs s.mu.
func (s *stage) ready(instance string) (n int) {
	for _, o := range s.objects {
		pod, ok := o.(*corev1.Pod)
		if !ok || pod.Labels[instanceKey] != instance || pod.DeletionTimestamp != nil {
			continue
		}
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				n++
			}
		}
	}
	return n
}

// settleTime is more than how long a pod that has become ready is no target for a failover (live), and whole seconds are what a pod says.
const settleTime = 2 * time.Second

// isSettled reports whether every ready pod has been so for long enough to be moved to. It needs s.mu.
func (s *stage) isSettled() bool {
	for _, o := range s.objects {
		pod, ok := o.(*corev1.Pod)
		if !ok {
			continue
		}
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue && time.Since(c.LastTransitionTime.Time) < settleTime {
				return false
			}
		}
	}
	return true
}

// await waits until something is so. until is asked after each change and ten times a second, and may call what needs s.mu.
func (s *stage) await(t testing.TB, what string, until func() bool) {
	t.Helper()
	late := time.NewTimer(driver.Patience)
	again := time.NewTicker(100 * time.Millisecond)
	defer late.Stop()
	defer again.Stop()
	for {
		s.mu.Lock()
		done, news := until(), s.news
		s.mu.Unlock()
		if done {
			return
		}
		select {
		case <-news:
		case <-again.C:
		case <-late.C:
			t.Fatalf("waiting for %s\n%s", what, s.describe())
		}
	}
}

// now asks something of the stage as it is.
func now[T any](s *stage, ask func() T) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return ask()
}

// describe is what a failure shows.
func (s *stage) describe() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, role := range []string{"writer", "reader"} {
		svc := s.service(role)
		fmt.Fprintf(&b, "%s: selects %v\n  annotations %v\n  managers %q, of the selector %q\n  behind it %q\n", role, svc.selector, svc.annotations, svc.managers, svc.owners, s.behind("story-"+role))
	}
	for _, p := range s.past {
		if p.service.manager != "" {
			fmt.Fprintf(&b, "%s %s -> %v by %s\n", p.at.Format("15:04:05.000"), p.object, p.service.selector, p.service.manager)
		}
	}
	fmt.Fprintf(&b, "topology epoch %q, control %v, ready a=%d b=%d c=%d\n", s.data("story-topology")["epoch"], s.data("story-control"), s.ready("a"), s.ready("b"), s.ready("c"))
	return b.String()
}

// selection is one selector that a Service had, and who set it.
type selection struct{ instance, manager string }

// selections are all selectors that a role's Service ever had, in order, without the name of the operation.
func (s *stage) selections(role string) (all []selection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.past {
		if p.object == "service/story-"+role && p.service.manager != "" {
			name, _, _ := strings.Cut(p.service.manager, " ")
			all = append(all, selection{p.service.instance(), name})
		}
	}
	return all
}

// everBehind are the different sets of instances that ever stood behind a role's Service, in order.
func (s *stage) everBehind(role string) (sets []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.past {
		if p.object == "behind/story-"+role && (len(sets) == 0 || sets[len(sets)-1] != p.behind) {
			sets = append(sets, p.behind)
		}
	}
	return sets
}
