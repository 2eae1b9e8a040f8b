package evict

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/poolwright/poolwright/render"
)

const (
	namespace = "/api/v1/namespaces/db/"
	control   = "configmaps/pg-control"
	behind    = "/apis/discovery.k8s.io/v1/namespaces/db/endpointslices"
)

var (
	errHangs  = errors.New("no answer ever")
	errSilent = errors.New("the connection broke")
)

// client is the API server as one process reaches it. It is strict: what it does not know ends the test.
func (p *process) client() kubernetes.Interface {
	return kubernetes.NewForConfigOrDie(&rest.Config{
		Host: "http://apiserver", QPS: -1, Transport: p,
		ContentConfig: rest.ContentConfig{ContentType: "application/json", AcceptContentTypes: "application/json"},
	})
}

// RoundTrip serves a request of the process.
func (p *process) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
		r.Body.Close()
	}
	w := p.world
	what := strings.ToLower(r.Method) + " " + strings.TrimPrefix(r.URL.Path, namespace)
	if r.URL.Path == behind {
		what = "list endpointslices"
	}
	if err := w.policy(what); errors.Is(err, errHangs) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	} else if err != nil {
		return refuse(r, err)
	}
	var answer runtime.Object
	var err error
	write := func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.log = append(w.log, what)
		answer, err = w.serve(r, what, body)
	}
	if r.Method == http.MethodGet { // no command: nothing comes of it
		write()
	} else if dead := p.act(write); dead != nil {
		return nil, dead
	}
	if err != nil {
		return refuse(r, err)
	}
	if r.Method != http.MethodGet && strings.Contains(what, "configmaps") {
		w.show()
	}
	return respond(r, http.StatusOK, answer), nil
}

// serve answers a request. It is called with the world locked.
func (w *world) serve(r *http.Request, what string, body []byte) (runtime.Object, error) {
	switch name, isPod := strings.CutPrefix(what, "delete pods/"); {
	case what == "list endpointslices":
		if got := r.URL.Query().Get("labelSelector"); got != "kubernetes.io/service-name=pg-writer" {
			w.t.Errorf("listed slices of %q", got)
		}
		return w.slices(), nil
	case what == "get "+control && w.control != nil:
		return w.configMap(), nil
	case what == "get "+control:
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, "pg-control")
	case what == "patch "+control && r.Header.Get("Content-Type") == "application/merge-patch+json":
		if w.control == nil {
			return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, "pg-control")
		}
		return w.put(body)
	case what == "post configmaps":
		if w.control != nil {
			return nil, apierrors.NewAlreadyExists(schema.GroupResource{Resource: "configmaps"}, "pg-control")
		}
		w.control = map[string]string{}
		return w.put(body)
	case isPod:
		return w.delete(name, body)
	}
	w.t.Errorf("unknown request: %s", what)
	return nil, apierrors.NewInternalError(errors.New("unknown"))
}

// put merges a write into the ConfigMap that is there.
func (w *world) put(body []byte) (runtime.Object, error) {
	var c corev1.ConfigMap
	if err := json.Unmarshal(body, &c); err != nil || len(c.Data) != 1 || c.Data["evictions"] == "" {
		w.t.Errorf("a write of something else: %s", body)
	}
	w.control["evictions"] = c.Data["evictions"]
	return w.configMap(), nil
}

func (w *world) configMap() *corev1.ConfigMap {
	owner := "pg"
	if w.foreign {
		owner = "other"
	}
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{Name: "pg-control", UID: "uid-control", Labels: map[string]string{render.LabelCluster: owner}},
		Data:       w.control,
	}
}

func (w *world) delete(name string, body []byte) (runtime.Object, error) {
	var o metav1.DeleteOptions
	if err := json.Unmarshal(body, &o); err != nil || o.GracePeriodSeconds == nil || *o.GracePeriodSeconds != 0 || o.Preconditions == nil {
		w.t.Errorf("a deletion of %s with %s", name, body)
	}
	p := w.pods[name]
	if p == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, name)
	}
	if p.uid != *o.Preconditions.UID {
		return nil, apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, name, errors.New("another UID"))
	}
	p.stop()
	delete(w.pods, name)
	return &metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Success"}, nil
}

// slices are the EndpointSlices of the Writer Service.
func (w *world) slices() *discoveryv1.EndpointSliceList {
	list := &discoveryv1.EndpointSliceList{TypeMeta: metav1.TypeMeta{Kind: "EndpointSliceList", APIVersion: "discovery.k8s.io/v1"}, Items: []discoveryv1.EndpointSlice{{}}}
	for name, p := range w.pods {
		if p.instance == w.routed {
			list.Items[0].Endpoints = append(list.Items[0].Endpoints, discoveryv1.Endpoint{Addresses: []string{p.ip}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: name}})
		}
	}
	return list
}

// refuse answers with a Status, or with no answer when the error is none of the API's.
func refuse(r *http.Request, err error) (*http.Response, error) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return nil, err
	}
	s := status.Status()
	s.Kind, s.APIVersion = "Status", "v1"
	return respond(r, int(s.Code), &s), nil
}

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

// rbac is how the API server says that a right is missing.
func rbac(what string) error {
	verb, name, _ := strings.Cut(what, " ")
	resource, name, _ := strings.Cut(name, "/")
	return apierrors.NewForbidden(schema.GroupResource{Resource: resource}, name, fmt.Errorf("User %q cannot %s resource %q", "poolwright", verb, resource))
}
