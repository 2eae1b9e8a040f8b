//go:build e2e

package e2e

import "testing"

// TestCoreD23ValuesStayStrings: annotations that look like numbers and truths come through a real API server as they were
// declared, and so do the marks that keep the role Services from being pruned.
func TestCoreD23ValuesStayStrings(t *testing.T) {
	t.Parallel()
	c := newCluster(t, hands{})
	c.edit("metadata: {name: story,", `metadata: {name: story, annotations: {example.com/on: "true", example.com/n: "0123", example.com/none: "null"},`)
	c.start()
	c.git.AwaitSubject(1, "first tree, writer a")
	c.tool.begin(c)
	c.awaitRest("a", 1)
	for _, role := range []string{"writer", "reader"} {
		c.mu.Lock()
		got := c.service(role).annotations
		c.mu.Unlock()
		for key, want := range map[string]string{
			"example.com/on": "true", "example.com/n": "0123", "example.com/none": "null", "poolwright.dev/epoch": "1",
			"kustomize.toolkit.fluxcd.io/prune": "disabled", "argocd.argoproj.io/sync-options": "Prune=false",
		} {
			if got[key] != want {
				t.Errorf("the %s has %s: %q, want %q", role, key, got[key], want)
			}
		}
	}
}
