//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/poolwright/poolwright/test/driver"
)

// argo is the real Argo CD: an Application of the test's own, with self-heal and upstream's timings, but for the 5 s between
// Argo CD's looks at a repository.
type argo struct {
	// stanza merges into the Application what `poolwright gitops-config --argocd` prints.
	stanza bool
	// clientSide leaves ServerSideApply=true out.
	clientSide bool
	// byHand leaves out that it syncs by itself.
	byHand bool
	// options are sync options that it has besides.
	options []string
	// webhook lets Argo CD look after each push.
	webhook bool
}

var applications = schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applications"}

// The sync options that matter.
const (
	serverSideApply          = "ServerSideApply=true"
	respectIgnoreDifferences = "RespectIgnoreDifferences=true"
	replaceAlways            = "Replace=true"
)

// begin makes the Application, and takes it away when the test ends: what it has applied stays.
func (a argo) begin(c *cluster) {
	c.t.Helper()
	c.makeIn("argocd", applications, fmt.Sprintf(`
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: %s}
spec:
  project: default
  source: {repoURL: %q, targetRevision: main, path: clusters/story}
  destination: {server: "https://kubernetes.default.svc", namespace: %s}
  syncPolicy:
    automated: {prune: true, selfHeal: true}
    syncOptions: [%s]
`, c.ns, c.git.URL, c.ns, strings.Join(a.syncOptions(nil), ", ")))
	c.t.Cleanup(func() {
		_ = c.dynamic.Resource(applications).Namespace("argocd").Delete(context.Background(), c.ns, metav1.DeleteOptions{})
	})
	if a.stanza {
		c.mergeStanza(a, c.gitopsConfigArgo("-f", c.file))
	}
	if a.byHand {
		c.patchApplication(`{"spec":{"syncPolicy":{"automated":null}}}`)
		c.sync()
	}
	if a.webhook {
		c.git.After(func() { a.look(c) })
	}
}

// syncOptions are an Application's with this one's wishes.
func (a argo) syncOptions(options []string) []string {
	options = slices.DeleteFunc(slices.Clone(options), func(o string) bool { return o == serverSideApply })
	if !a.clientSide {
		options = append(options, serverSideApply)
	}
	return append(options, a.options...)
}

// look asks Argo CD to look at the repository now, as its webhook does.
func (argo) look(c *cluster) {
	c.patchApplication(`{"metadata":{"annotations":{"argocd.argoproj.io/refresh":"normal"}}}`)
}

// gitopsConfigArgo is what poolwright prints for Argo CD users.
func (c *cluster) gitopsConfigArgo(args ...string) string {
	c.t.Helper()
	out, said, code := driver.Once(c.t, append([]string{"gitops-config", "--argocd", "--service-account", c.ns + "/poolwright"}, args...)...)
	if code != 0 {
		c.t.Fatalf("gitops-config: exit code %d: %s", code, said)
	}
	return out
}

// mergeStanza merges the spec of the printed Application into the real one, as it is but for what a says about its options.
func (c *cluster) mergeStanza(a argo, printed string) {
	c.t.Helper()
	text, _, _ := strings.Cut(printed, "\n---\n")
	var o unstructured.Unstructured
	check(c.t, yaml.Unmarshal([]byte(text), &o.Object))
	options, _, err := unstructured.NestedStringSlice(o.Object, "spec", "syncPolicy", "syncOptions")
	check(c.t, err)
	if a.clientSide || len(a.options) > 0 {
		check(c.t, unstructured.SetNestedStringSlice(o.Object, a.syncOptions(options), "spec", "syncPolicy", "syncOptions"))
	}
	spec, err := yaml.Marshal(map[string]any{"spec": o.Object["spec"]})
	check(c.t, err)
	patch, err := yaml.YAMLToJSON(spec)
	check(c.t, err)
	c.patchApplication(string(patch))
	c.awaitApplication("the new rules", func(o *unstructured.Unstructured) bool {
		rules, _, _ := unstructured.NestedSlice(o.Object, "status", "sync", "comparedTo", "ignoreDifferences")
		return len(rules) == 2
	})
}

// sync syncs the Application to the branch's head, as a person does.
func (c *cluster) sync() {
	c.t.Helper()
	options, _, err := unstructured.NestedStringSlice(c.application().Object, "spec", "syncPolicy", "syncOptions")
	check(c.t, err)
	c.patchApplication(fmt.Sprintf(`{"operation":{"initiatedBy":{"username":"test"},"sync":{"revision":"main","syncOptions":["%s"]}}}`, strings.Join(options, `","`)))
}

// patchApplication changes the Application. After the end of a test, which a push may outlive, it does nothing.
func (c *cluster) patchApplication(patch string) {
	_, err := c.dynamic.Resource(applications).Namespace("argocd").Patch(context.Background(), c.ns, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "test"})
	if err != nil && !apierrors.IsNotFound(err) {
		c.t.Errorf("patching the Application: %v", err)
	}
}

func (c *cluster) application() *unstructured.Unstructured {
	c.t.Helper()
	o, err := c.dynamic.Resource(applications).Namespace("argocd").Get(context.Background(), c.ns, metav1.GetOptions{})
	check(c.t, err)
	return o
}

// awaitApplication waits until the Application is as wanted.
func (c *cluster) awaitApplication(what string, until func(*unstructured.Unstructured) bool) {
	c.t.Helper()
	if !c.everApplication(until) {
		c.t.Fatalf("waiting for %s of the Application\n%s\n%s", what, applicationText(c.application()), c.describe())
	}
}

// everApplication is awaitApplication that reports how it ended, for any goroutine.
func (c *cluster) everApplication(until func(*unstructured.Unstructured) bool) bool {
	ctx, cancel := context.WithTimeout(context.Background(), driver.Patience)
	defer cancel()
	for ctx.Err() == nil {
		w, err := c.dynamic.Resource(applications).Namespace("argocd").Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + c.ns})
		if err != nil {
			continue
		}
		for e := range w.ResultChan() {
			if o, ok := e.Object.(*unstructured.Unstructured); ok && until(o) {
				w.Stop()
				return true
			}
		}
	}
	return false
}

// applicationText is what a failure shows of an Application.
func applicationText(o *unstructured.Unstructured) string {
	text, err := yaml.Marshal(map[string]any{"spec": o.Object["spec"], "operation": o.Object["operation"], "status": o.Object["status"]})
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// isCompared is true of an Application that Argo CD has compared with a commit, with this result ("" for any).
func isCompared(commit, result string) func(*unstructured.Unstructured) bool {
	return func(o *unstructured.Unstructured) bool {
		return field(o, "status", "sync", "revision") == commit && (result == "" || field(o, "status", "sync", "status") == result)
	}
}

// makeIn makes an object in a namespace.
func (c *cluster) makeIn(namespace string, kind schema.GroupVersionResource, text string) {
	c.t.Helper()
	var o unstructured.Unstructured
	check(c.t, yaml.Unmarshal([]byte(text), &o.Object))
	_, err := c.dynamic.Resource(kind).Namespace(namespace).Create(context.Background(), &o, metav1.CreateOptions{})
	check(c.t, err)
}

// holdPushes keeps poolwright's commits waiting at the Git server, until the returned function lets them in.
func (c *cluster) holdPushes() (let func()) {
	return holdPushes(c.t, c.git)
}

func holdPushes(t testing.TB, git *driver.Remote) (let func()) {
	open := make(chan struct{})
	let = sync.OnceFunc(func() { close(open) })
	git.Server.Intercept(holdUntil(open))
	t.Cleanup(let)
	return let
}
