//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/poolwright/poolwright/test/driver"
)

// hands apply a commit when the test says so: nobody's name is on the Services.
type hands struct{}

func (hands) begin(c *cluster) { c.apply("main") }
func (hands) look(*cluster)    {}

// flux is the real one.
type flux struct {
	// quiet leaves out the webhook: Flux looks every ten seconds, and not at once after a push.
	quiet bool
	// wait is spec.wait of the Kustomization.
	wait bool
	// branch that Flux applies, default main.
	branch string
}

var (
	kustomizations  = schema.GroupVersionResource{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Resource: "kustomizations"}
	gitRepositories = schema.GroupVersionResource{Group: "source.toolkit.fluxcd.io", Version: "v1", Resource: "gitrepositories"}
)

// begin makes a GitRepository and a Kustomization with Flux's defaults and an interval of 10 s.
func (f flux) begin(c *cluster) {
	c.t.Helper()
	if f.branch == "" {
		f.branch = "main"
	} else {
		c.git.MustGit("update-ref", "refs/heads/"+f.branch, "main")
	}
	c.make(gitRepositories, fmt.Sprintf(`
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system}
spec: {interval: 10s, url: %q, ref: {branch: %s}}
`, c.git.URL, f.branch))
	c.make(kustomizations, fmt.Sprintf(`
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: story}
spec: {interval: 10s, path: ./clusters/story, prune: true, wait: %v, sourceRef: {kind: GitRepository, name: flux-system}}
`, f.wait))
	c.t.Cleanup(func() { // the world goes on for others
		c.suspend(gitRepositories, "flux-system", true)
		c.suspend(kustomizations, "story", true)
	})
	if !f.quiet {
		c.git.After(func() { f.look(c) })
	}
}

// look asks Flux to look at the repository now, as its notification-controller does after a webhook.
func (flux) look(c *cluster) { c.request(gitRepositories, "flux-system") }

// request asks Flux to reconcile an object now.
func (c *cluster) request(kind schema.GroupVersionResource, name string) {
	c.merge(kind, name, fmt.Sprintf(`{"metadata":{"annotations":{"reconcile.fluxcd.io/requestedAt":%q}}}`, time.Now().Format(time.RFC3339Nano)))
}

// suspend stops Flux from applying, or lets it go on.
func (c *cluster) suspend(kind schema.GroupVersionResource, name string, suspended bool) {
	c.merge(kind, name, fmt.Sprintf(`{"spec":{"suspend":%v}}`, suspended))
}

// merge patches an object; while the API server is down it does nothing.
func (c *cluster) merge(kind schema.GroupVersionResource, name, patch string) {
	_, err := c.dynamic.Resource(kind).Namespace(c.ns).Patch(context.Background(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "test"})
	if apierrors.ReasonForError(err) != metav1.StatusReasonUnknown {
		c.t.Errorf("patching %s %s: %v", kind.Resource, name, err)
	}
}

func (c *cluster) make(kind schema.GroupVersionResource, text string) {
	c.t.Helper()
	var o unstructured.Unstructured
	check(c.t, yaml.Unmarshal([]byte(text), &o.Object))
	_, err := c.dynamic.Resource(kind).Namespace(c.ns).Create(context.Background(), &o, metav1.CreateOptions{})
	check(c.t, err)
}

// status is a field of the Kustomization's status.
func (c *cluster) status(field string) string {
	c.t.Helper()
	o, err := c.dynamic.Resource(kustomizations).Namespace(c.ns).Get(context.Background(), "story", metav1.GetOptions{})
	check(c.t, err)
	text, _, err := unstructured.NestedString(o.Object, "status", field)
	check(c.t, err)
	return text
}

// awaitKustomization waits until the Kustomization is as wanted.
func (c *cluster) awaitKustomization(what string, until func(*unstructured.Unstructured) bool) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), driver.Patience)
	defer cancel()
	for ctx.Err() == nil {
		w, err := c.dynamic.Resource(kustomizations).Namespace(c.ns).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=story"})
		if err != nil {
			continue
		}
		for e := range w.ResultChan() {
			if o, ok := e.Object.(*unstructured.Unstructured); ok && until(o) {
				w.Stop()
				return
			}
		}
	}
	c.t.Fatalf("waiting for %s of the Kustomization\n%s", what, c.describe())
}

// field is a string in an object, "" when it is not there.
func field(o *unstructured.Unstructured, path ...string) string {
	text, _, _ := unstructured.NestedString(o.Object, path...)
	return text
}
