//go:build e2e

package failover

import (
	"cmp"
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

// watch is what matters in a namespace, and when each of it changed.
type watch struct {
	mu      sync.Mutex
	objects map[string]metav1.Object // "service/story-writer"
	facts   map[string]string
	past    []change
	news    chan struct{} // closed when something has changed
}

// change is a fact that became another.
type change struct {
	at          time.Time
	fact, value string
}

// The facts.
const (
	selects  = "selects"  // the instance that the Writer Service selects
	behind   = "behind"   // the instances whose ready pods are the Writer Service's endpoints, sorted
	clean    = "clean"    // "true" while nothing of poolwright's is on the Services
	epoch    = "epoch"    // that is applied
	serving  = "serving"  // how many instances of it are out of no Service
	ready    = "ready"    // how many pods are, of each instance: "a=2 b=2"
	eviction = "eviction" // the instance to which the clients of others are moved, and "open" or when that was over
)

func newWatch(t testing.TB, w world, namespace string) *watch {
	s := &watch{objects: map[string]metav1.Object{}, facts: map[string]string{}, news: make(chan struct{})}
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
	watch *watch
	kind  string
}

func (k sink) Add(o any) error {
	k.watch.change(func(all map[string]metav1.Object) { all[k.kind+"/"+o.(metav1.Object).GetName()] = o.(metav1.Object) })
	return nil
}

func (k sink) Update(o any) error { return k.Add(o) }

func (k sink) Delete(o any) error {
	k.watch.change(func(all map[string]metav1.Object) { delete(all, k.kind+"/"+o.(metav1.Object).GetName()) })
	return nil
}

func (k sink) Resync() error { return nil }

func (k sink) Replace(list []any, _ string) error {
	k.watch.change(func(all map[string]metav1.Object) {
		maps.DeleteFunc(all, func(key string, _ metav1.Object) bool { return strings.HasPrefix(key, k.kind+"/") })
		for _, o := range list {
			all[k.kind+"/"+o.(metav1.Object).GetName()] = o.(metav1.Object)
		}
	})
	return nil
}

// change changes the objects, and notes what that changes of the facts.
func (s *watch) change(do func(map[string]metav1.Object)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do(s.objects)
	for fact, value := range s.read() {
		if s.facts[fact] != value {
			s.facts[fact] = value
			s.past = append(s.past, change{time.Now(), fact, value})
		}
	}
	close(s.news)
	s.news = make(chan struct{})
}

func (s *watch) read() map[string]string {
	facts := map[string]string{behind: s.behind(), clean: fmt.Sprint(s.isClean()), ready: s.ready()}
	if writer, ok := s.objects["service/story-writer"].(*corev1.Service); ok {
		facts[selects] = writer.Spec.Selector["poolwright.dev/instance"]
	}
	if topology, ok := s.objects["configmap/story-topology"].(*corev1.ConfigMap); ok {
		facts[epoch] = topology.Data["epoch"]
		facts[serving] = fmt.Sprint(strings.Count(topology.Data["instances"], "out: in\n"))
	}
	facts[eviction] = s.eviction()
	return facts
}

// eviction is poolwright's entry in its control ConfigMap, "" when there is none.
func (s *watch) eviction() string {
	control, ok := s.objects["configmap/story-control"].(*corev1.ConfigMap)
	if !ok {
		return ""
	}
	var entry struct {
		To   string
		Done string
	}
	if json.Unmarshal([]byte(control.Data["evictions"]), &entry) != nil {
		return ""
	}
	return entry.To + " " + cmp.Or(entry.Done, "open")
}

func (s *watch) behind() string {
	found := map[string]bool{}
	for _, o := range s.objects {
		slice, ok := o.(*discoveryv1.EndpointSlice)
		if !ok || slice.Labels[discoveryv1.LabelServiceName] != "story-writer" {
			continue
		}
		for _, e := range slice.Endpoints {
			if e.TargetRef != nil && (e.Conditions.Ready == nil || *e.Conditions.Ready) {
				found[strings.Split(e.TargetRef.Name, "-")[1]] = true // story-a-…
			}
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(found)), " ")
}

func (s *watch) isClean() bool {
	for _, role := range []string{"writer", "reader"} {
		svc, ok := s.objects["service/story-"+role].(*corev1.Service)
		if !ok || svc.Annotations["poolwright.dev/override"] != "" || svc.Annotations["kustomize.toolkit.fluxcd.io/reconcile"] != "" {
			return false
		}
	}
	control, ok := s.objects["configmap/story-control"].(*corev1.ConfigMap)
	return !ok || control.Data["override"] == ""
}

func (s *watch) ready() string {
	n := map[string]int{}
	for _, pod := range s.pods() {
		if isReady(pod) {
			n[pod.Labels["poolwright.dev/instance"]]++
		}
	}
	var parts []string
	for _, instance := range slices.Sorted(maps.Keys(n)) {
		parts = append(parts, fmt.Sprintf("%s=%d", instance, n[instance]))
	}
	return strings.Join(parts, " ")
}

// pods needs s.mu.
func (s *watch) pods() (all []*corev1.Pod) {
	for _, o := range s.objects {
		if pod, ok := o.(*corev1.Pod); ok {
			all = append(all, pod)
		}
	}
	return all
}

func isReady(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// now asks something of the objects and facts as they are.
func now[T any](s *watch, ask func() T) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return ask()
}

func (s *watch) is(fact, value string) bool {
	return now(s, func() bool { return s.facts[fact] == value })
}

// await waits until something is so, and asks after each change and twenty times a second.
func (s *watch) await(t testing.TB, what string, until func() bool) {
	t.Helper()
	if !s.awaitFor(driver.Patience, until) {
		t.Fatalf("waiting for %s: %v", what, now(s, func() any { return maps.Clone(s.facts) }))
	}
}

// awaitFor reports whether it was so in time.
func (s *watch) awaitFor(limit time.Duration, until func() bool) bool {
	late, again := time.NewTimer(limit), time.NewTicker(50*time.Millisecond)
	defer late.Stop()
	defer again.Stop()
	for {
		news := now(s, func() chan struct{} { return s.news })
		if until() {
			return true
		}
		select {
		case <-news:
		case <-again.C:
		case <-late.C:
			return until()
		}
	}
}
