package live

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// watcher is one watch under way; it is also the body of its answer.
type watcher struct {
	server   *apiServer
	resource string
	match    func(*unstructured.Unstructured) bool
	frames   chan frame
	rest     []byte
	ctx      context.Context
	cut      chan struct{}
	closed   sync.Once
	end      <-chan time.Time
}

type frame struct {
	at   time.Time
	data []byte
}

func (a *apiServer) watch(r *http.Request, q request) *http.Response {
	match, err := matcher(r, q)
	if err != nil {
		a.t.Error(err)
	}
	seconds, err := strconv.Atoi(r.URL.Query().Get("timeoutSeconds"))
	if err != nil {
		a.t.Errorf("a watch without an end: %v", q)
	}
	w := &watcher{
		server: a, resource: q.Resource, match: match, frames: make(chan frame, 10000), ctx: r.Context(),
		cut: make(chan struct{}), end: time.After(time.Duration(seconds) * time.Second),
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.URL.Query().Get("sendInitialEvents") == "true" {
		a.sendInitial(r, q, w)
	} else {
		since, err := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
		if err != nil {
			a.t.Errorf("a watch from nowhere: %v", q)
		}
		for _, c := range a.log {
			if c.version > since {
				w.tell(c.kind, resourceOf(c.object), c.object)
			}
		}
	}
	a.watchers[w] = true
	answer := respond(r, http.StatusOK, &metav1.Status{})
	answer.Body, answer.ContentLength = w, -1
	return answer
}

// sendInitial streams what there is, and a bookmark at its end.
func (a *apiServer) sendInitial(r *http.Request, q request, w *watcher) {
	items, _ := a.selected(r, q)
	for i := range items {
		w.tell("ADDED", q.Resource, &items[i])
	}
	kind, _ := kindOf(q.Resource)
	mark := &unstructured.Unstructured{}
	mark.SetGroupVersionKind(kind)
	mark.SetResourceVersion(strconv.Itoa(a.version))
	mark.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	w.send("BOOKMARK", mark)
}

func resourceOf(o *unstructured.Unstructured) string {
	return map[string]string{"Service": "services", "ConfigMap": "configmaps", "Pod": "pods", "Lease": "leases"}[o.GetKind()]
}

func (w *watcher) tell(kind, resource string, o *unstructured.Unstructured) {
	if resource == w.resource && w.match(o) {
		w.send(kind, o)
	}
}

func (w *watcher) send(kind string, o *unstructured.Unstructured) {
	data, err := json.Marshal(map[string]any{"type": kind, "object": o.Object})
	if err != nil {
		panic(err)
	}
	w.frames <- frame{time.Now().Add(w.server.lag), append(data, '\n')}
}

// Read is the next event.
func (w *watcher) Read(into []byte) (int, error) {
	if len(w.rest) == 0 {
		var next frame
		arrives := w.end
		select {
		case next = <-w.frames:
			arrives = time.After(time.Until(next.at))
		case <-w.ctx.Done():
		case <-w.cut:
		case <-w.end:
			return 0, io.EOF
		}
		select {
		case <-w.ctx.Done():
			return 0, w.ctx.Err()
		case <-w.cut:
			return 0, io.ErrUnexpectedEOF
		case <-arrives:
			w.rest = next.data
		}
	}
	n := copy(into, w.rest)
	w.rest = w.rest[n:]
	return n, nil
}

// Close ends the watch.
func (w *watcher) Close() error {
	w.server.mu.Lock()
	delete(w.server.watchers, w)
	w.server.mu.Unlock()
	w.closed.Do(func() { close(w.cut) })
	return nil
}

// cutWatches breaks every watch.
func (a *apiServer) cutWatches() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for w := range a.watchers {
		w.closed.Do(func() { close(w.cut) })
	}
}

// obey sets what is refused; nil refuses nothing.
func (a *apiServer) obey(policy func(request) error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.policy = policy
}

// afterwards sets what happens after each write.
func (a *apiServer) afterwards(f func(request)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.after = f
}

// delayed sets how late watch events arrive.
func (a *apiServer) delayed(lag time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lag = lag
}

// add stores an object as it is.
func (a *apiServer) add(resource string, o runtime.Object) {
	a.mu.Lock()
	defer a.mu.Unlock()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		a.t.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: content}
	kind, ok := kindOf(resource)
	if !ok {
		a.t.Fatalf("unknown resource %s", resource)
	}
	u.SetGroupVersionKind(kind)
	u.SetNamespace(testNamespace)
	a.put("ADDED", resource, u)
}

// edit changes an object, as another manager.
func (a *apiServer) edit(resource, name, manager string, change func(*unstructured.Unstructured)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	old := a.objects[resource+"/"+name]
	if old == nil {
		a.t.Errorf("there is no %s %s", resource, name)
		return
	}
	o := old.DeepCopy()
	change(o)
	manage(o, manager)
	a.put("MODIFIED", resource, o)
}

// remove deletes an object.
func (a *apiServer) remove(resource, name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if o := a.objects[resource+"/"+name]; o != nil {
		a.put("DELETED", resource, o)
	}
}

// read is an object as a typed one; nil when it does not exist.
func read[T any](a *apiServer, resource, name string) *T {
	a.mu.Lock()
	defer a.mu.Unlock()
	o := a.objects[resource+"/"+name]
	if o == nil {
		return nil
	}
	found := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, found); err != nil {
		a.t.Error(err)
	}
	return found
}

// made are the requests so far, of some verbs; all of them when none is named.
func (a *apiServer) made(verbs ...string) (found []request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.requests {
		if len(verbs) == 0 || slices.Contains(verbs, r.Verb) {
			found = append(found, r)
		}
	}
	return found
}

// forgetRequests begins a new count.
func (a *apiServer) forgetRequests() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests = nil
}

// rbac is how the API server says that a right is missing.
func rbac(q request) error {
	kind, _ := kindOf(q.Resource)
	return apierrors.NewForbidden(schema.GroupResource{Group: kind.Group, Resource: q.Resource}, q.Name,
		fmt.Errorf("User %q cannot %s resource %q in API group %q in the namespace %q", q.User, q.Verb, q.Resource, kind.Group, testNamespace))
}
