package live

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// nudgeTimeout bounds one nudge, of up to two requests.
const nudgeTimeout = 5 * time.Second

// What the tools' controllers look for.
const (
	annotationRequestedAt = "reconcile.fluxcd.io/requestedAt"
	annotationRefresh     = "argocd.argoproj.io/refresh"
)

func kustomizations() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Resource: "kustomizations"}
}

func applications() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applications"}
}

// sourceKind is a kind that a Flux Kustomization can be applied from.
func sourceKind(kind string) (_ schema.GroupVersionResource, ok bool) {
	plural, ok := map[string]string{"GitRepository": "gitrepositories", "OCIRepository": "ocirepositories", "Bucket": "buckets"}[kind]
	return schema.GroupVersionResource{Group: "source.toolkit.fluxcd.io", Version: "v1", Resource: plural}, ok
}

// nudger asks the GitOps tool to look now, once for each key. The right to do so
// is optional: the tools poll, and what a nudge is answered does not matter.
type nudger struct {
	client dynamic.Interface
	argo   string
	now    func() time.Time
	last   Nudge
	under  sync.WaitGroup
}

func newNudger(c Config) *nudger {
	return &nudger{client: c.Dynamic, argo: cmp.Or(c.ArgoNamespace, "argocd"), now: c.Now}
}

// nudge returns at once; nobody waits for what it starts.
func (n *nudger) nudge(ctx context.Context, what *Nudge) {
	if n.client == nil || what == nil || *what == n.last {
		return
	}
	n.last = *what
	n.under.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, nudgeTimeout)
		defer cancel()
		n.ask(ctx, *what)
	})
}

func (n *nudger) wait() { n.under.Wait() }

func (n *nudger) ask(ctx context.Context, what Nudge) {
	at := n.now().UTC().Format(time.RFC3339Nano)
	switch {
	case what.Owner.Tool == ArgoCD:
		n.annotate(ctx, applications(), cmp.Or(what.Owner.Namespace, n.argo), what.Owner.Name, annotationRefresh, "normal")
	case what.Owner.Tool != Flux:
	case strings.HasSuffix(what.Key, nudgeUnfrozen): // the artifact is the same: the source has nothing new to say
		n.annotate(ctx, kustomizations(), what.Owner.Namespace, what.Owner.Name, annotationRequestedAt, at)
	default:
		if source, namespace, name, ok := n.source(ctx, what.Owner); ok {
			n.annotate(ctx, source, namespace, name, annotationRequestedAt, at)
		}
	}
}

// source is what a Kustomization is applied from.
func (n *nudger) source(ctx context.Context, o Owner) (kind schema.GroupVersionResource, namespace, name string, ok bool) {
	k, err := n.client.Resource(kustomizations()).Namespace(o.Namespace).Get(ctx, o.Name, metav1.GetOptions{})
	if err != nil {
		return kind, "", "", false
	}
	ref, _, err := unstructured.NestedStringMap(k.Object, "spec", "sourceRef")
	if err != nil {
		return kind, "", "", false
	}
	kind, ok = sourceKind(ref["kind"])
	return kind, cmp.Or(ref["namespace"], o.Namespace), ref["name"], ok && ref["name"] != ""
}

func (n *nudger) annotate(ctx context.Context, kind schema.GroupVersionResource, namespace, name, key, value string) {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{key: value}}})
	if err != nil {
		panic(err) // strings
	}
	// What it is answered does not matter.
	_, _ = n.client.Resource(kind).Namespace(namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: FieldManager})
}
