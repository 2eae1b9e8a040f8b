package live

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

func TestMain(m *testing.M) {
	// The one that sleeps until a millisecond after the last error of any test: the tests' clocks start anew.
	utilruntime.ErrorHandlers = nil
	m.Run()
}

// apiServer is an API server in memory, reached without a network so that synctest
// can bend its time. It is strict: what it does not know ends the test.
type apiServer struct {
	t testing.TB

	mu       sync.Mutex
	version  int
	objects  map[string]*unstructured.Unstructured // by "resource/name"
	log      []change
	watchers map[*watcher]bool
	requests []request
	// policy answers a request instead of the server; nil lets it pass.
	policy func(request) error
	// after is called after each write that was made, with the server unlocked.
	after func(request)
	// delay of each watch event.
	lag time.Duration
}

// request is what is remembered of one.
type request struct {
	Verb, Resource, Name string
	At                   time.Time
	Body                 string
	User                 string
}

func (r request) String() string { return strings.TrimSpace(r.Verb + " " + r.Resource + " " + r.Name) }

type change struct {
	version int
	kind    string
	object  *unstructured.Unstructured
}

const testNamespace = "example"

// kinds that the server knows, by resource.
func kindOf(resource string) (schema.GroupVersionKind, bool) {
	kind, ok := map[string]schema.GroupVersionKind{
		"services":        {Version: "v1", Kind: "Service"},
		"configmaps":      {Version: "v1", Kind: "ConfigMap"},
		"pods":            {Version: "v1", Kind: "Pod"},
		"leases":          {Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"},
		"kustomizations":  {Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Kind: "Kustomization"},
		"gitrepositories": {Group: "source.toolkit.fluxcd.io", Version: "v1", Kind: "GitRepository"},
		"ocirepositories": {Group: "source.toolkit.fluxcd.io", Version: "v1", Kind: "OCIRepository"},
		"applications":    {Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"},
	}[resource]
	return kind, ok
}

func newAPIServer(t testing.TB) *apiServer {
	return &apiServer{t: t, version: 1000, objects: map[string]*unstructured.Unstructured{}, watchers: map[*watcher]bool{}}
}

func (a *apiServer) config(user string) *rest.Config {
	return &rest.Config{
		Host: "http://apiserver", QPS: -1, Transport: asUser{a, user},
		ContentConfig: rest.ContentConfig{ContentType: "application/json", AcceptContentTypes: "application/json"},
	}
}

func (a *apiServer) client(user string) kubernetes.Interface {
	return kubernetes.NewForConfigOrDie(a.config(user))
}

func (a *apiServer) dynamic() dynamic.Interface {
	return dynamic.NewForConfigOrDie(a.config("poolwright"))
}

// asUser says who asks.
type asUser struct {
	server *apiServer
	user   string
}

// RoundTrip serves a request.
func (u asUser) RoundTrip(r *http.Request) (*http.Response, error) { return u.server.serve(r, u.user) }

func (a *apiServer) serve(r *http.Request, user string) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
		r.Body.Close()
	}
	namespace, resource, name := a.parse(r.URL.Path)
	q := request{Verb: verbOf(r, name), Resource: resource, Name: name, Body: string(body), At: time.Now(), User: user}
	if q.Name == "" && strings.HasPrefix(r.URL.Query().Get("fieldSelector"), "metadata.name=") {
		q.Name = strings.TrimPrefix(r.URL.Query().Get("fieldSelector"), "metadata.name=")
	}
	a.mu.Lock()
	a.requests = append(a.requests, q)
	policy := a.policy
	a.mu.Unlock()
	if policy != nil {
		if err := policy(q); err != nil {
			return a.refuse(r, err)
		}
	}
	if q.Verb == "watch" {
		return a.watch(r, q), nil
	}
	a.mu.Lock()
	answer, err := a.answer(r, q, namespace)
	after := a.after
	a.mu.Unlock()
	if err != nil {
		return a.refuse(r, err)
	}
	if after != nil && q.Verb != "get" && q.Verb != "list" {
		after(q)
	}
	return respond(r, http.StatusOK, answer), nil
}

func verbOf(r *http.Request, name string) string {
	switch {
	case r.URL.Query().Get("watch") != "":
		return "watch"
	case r.Method == http.MethodGet && name == "":
		return "list"
	}
	return map[string]string{http.MethodGet: "get", http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch"}[r.Method]
}

// parse reads /api/v1/namespaces/<ns>/<resource>[/<name>] and /apis/<group>/<version>/....
func (a *apiServer) parse(path string) (namespace, resource, name string) {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	var group, version string
	switch {
	case len(parts) >= 5 && parts[0] == "api":
		version, parts = parts[1], parts[2:]
	case len(parts) >= 6 && parts[0] == "apis":
		group, version, parts = parts[1], parts[2], parts[3:]
	default:
		a.t.Errorf("unknown path %s", path)
		return "", "", ""
	}
	kind, ok := kindOf(parts[2])
	if !ok || parts[0] != "namespaces" || kind.Group != group || kind.Version != version || len(parts) > 4 {
		a.t.Errorf("unknown path %s", path)
	}
	if len(parts) == 4 {
		name = parts[3]
	}
	return parts[1], parts[2], name
}

func (a *apiServer) answer(r *http.Request, q request, namespace string) (runtime.Object, error) {
	key := q.Resource + "/" + q.Name
	kind, _ := kindOf(q.Resource)
	switch q.Verb {
	case "list":
		items, err := a.selected(r, q)
		list := &unstructured.UnstructuredList{Items: items}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		list.SetResourceVersion(strconv.Itoa(a.version))
		return list, err
	case "create":
		o := a.decode(q.Body)
		if o.GetNamespace() != "" && o.GetNamespace() != namespace {
			a.t.Errorf("%v: its namespace is %q", q, o.GetNamespace())
		}
		key = q.Resource + "/" + o.GetName()
		if a.objects[key] != nil {
			return nil, apierrors.NewAlreadyExists(schema.GroupResource{Resource: q.Resource}, o.GetName())
		}
		o.SetNamespace(namespace)
		o.SetGroupVersionKind(kind)
		return a.put("ADDED", q.Resource, o), nil
	}
	old := a.objects[key]
	if old == nil || old.GetNamespace() != namespace {
		return nil, apierrors.NewNotFound(schema.GroupResource{Group: kind.Group, Resource: q.Resource}, q.Name)
	}
	switch q.Verb {
	case "get":
		return old, nil
	case "update":
		o := a.decode(q.Body)
		if v := o.GetResourceVersion(); v != "" && v != old.GetResourceVersion() {
			return nil, apierrors.NewConflict(schema.GroupResource{Resource: q.Resource}, q.Name, errors.New("the object has been modified"))
		}
		o.SetGroupVersionKind(kind)
		return a.put("MODIFIED", q.Resource, o), nil
	case "patch":
		o, err := a.patched(r, q, old)
		if err != nil {
			return nil, err
		}
		return a.put("MODIFIED", q.Resource, o), nil
	}
	a.t.Errorf("unknown verb: %v", q)
	return nil, apierrors.NewInternalError(errors.New("unknown verb"))
}

func (a *apiServer) decode(body string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(body), &o.Object); err != nil {
		a.t.Errorf("decoding %s: %v", body, err)
	}
	return o
}

// patched applies a patch as the API server does.
func (a *apiServer) patched(r *http.Request, q request, old *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	doc, err := json.Marshal(old)
	if err != nil {
		return nil, err
	}
	switch kind := r.Header.Get("Content-Type"); kind {
	case "application/json-patch+json":
		p, err := jsonpatch.DecodePatch([]byte(q.Body))
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		if doc, err = p.Apply(doc); err != nil {
			return nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
		}
	case "application/merge-patch+json":
		if doc, err = jsonpatch.MergePatch(doc, []byte(q.Body)); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
	default:
		a.t.Errorf("unknown patch type %s", kind)
	}
	o := a.decode(string(doc))
	if !strings.Contains(q.Body, `"/metadata/managedFields"`) { // who says who the managers are is not added to them
		manage(o, r.URL.Query().Get("fieldManager"))
	}
	return o, nil
}

// manage notes the field manager, as an owner of the selector.
func manage(o *unstructured.Unstructured, manager string) {
	list := o.GetManagedFields()
	if manager == "" || slices.ContainsFunc(list, func(m metav1.ManagedFieldsEntry) bool { return m.Manager == manager }) {
		return
	}
	o.SetManagedFields(append(list, metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:selector":{}}}`),
	}))
}

// put stores an object and tells the watchers. It is called with the server locked.
func (a *apiServer) put(kind, resource string, o *unstructured.Unstructured) *unstructured.Unstructured {
	a.version++
	key := resource + "/" + o.GetName()
	o = o.DeepCopy()
	if o.GetUID() == "" {
		o.SetUID(types.UID(fmt.Sprintf("uid-%d", a.version)))
	}
	o.SetResourceVersion(strconv.Itoa(a.version))
	if kind == "DELETED" {
		delete(a.objects, key)
	} else {
		a.objects[key] = o
	}
	a.log = append(a.log, change{a.version, kind, o})
	for w := range a.watchers {
		w.tell(kind, resource, o)
	}
	return o
}

// selected are the objects of a list or watch. Only the selectors that poolwright uses are known.
func (a *apiServer) selected(r *http.Request, q request) (items []unstructured.Unstructured, err error) {
	match, err := matcher(r, q)
	for _, key := range slices.Sorted(maps.Keys(a.objects)) {
		if resource, _, _ := strings.Cut(key, "/"); resource == q.Resource && match(a.objects[key]) {
			items = append(items, *a.objects[key])
		}
	}
	return items, err
}

func matcher(r *http.Request, q request) (func(*unstructured.Unstructured) bool, error) {
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return func(o *unstructured.Unstructured) bool {
		return (q.Name == "" || q.Name == o.GetName()) && selector.Matches(labels.Set(o.GetLabels()))
	}, nil
}

// refuse answers with a Status, or with no answer when the error is none of the API's.
func (a *apiServer) refuse(r *http.Request, err error) (*http.Response, error) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		if errors.Is(err, errHangs) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
		return nil, err
	}
	s := status.Status()
	s.Kind, s.APIVersion = "Status", "v1"
	return respond(r, int(s.Code), &s), nil
}

// Faults that are no answer.
var (
	errHangs   = errors.New("no answer ever")
	errRefused = &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
)

func respond(r *http.Request, code int, o runtime.Object) *http.Response {
	body, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return &http.Response{
		StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}
}
