package build_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestD12ServicesMatchTheSamePodsAfterArgoCDHasLabelledThem: it writes app.kubernetes.io/instance over what is on each
// object, pods included.
func TestD12ServicesMatchTheSamePodsAfterArgoCDHasLabelledThem(t *testing.T) {
	for _, b := range beds(t) {
		all := objects(t, b.build(t))
		before := matches(all)
		for _, o := range all {
			for _, labels := range []any{at(o, "metadata", "labels"), at(o, "spec", "template", "metadata", "labels")} {
				if labels, ok := labels.(map[string]any); ok {
					labels["app.kubernetes.io/instance"] = "namespace_application"
				}
			}
		}
		if diff := cmp.Diff(before, matches(all)); diff != "" {
			t.Errorf("%s: %s", b.name, diff)
		}
		if len(before) == 0 {
			t.Errorf("%s: no Service matches a pod", b.name)
		}
	}
}

// matches are the Deployments whose pods each Service matches.
func matches(all map[string]object) map[string][]string {
	found := map[string][]string{}
	for _, service := range ofKind(all, "Service") {
		selector, _ := at(all[service], "spec", "selector").(map[string]any)
		for _, deployment := range ofKind(all, "Deployment") {
			pods, _ := at(all[deployment], "spec", "template", "metadata", "labels").(map[string]any)
			if selects(selector, pods) {
				found[service] = append(found[service], deployment)
			}
		}
	}
	return found
}

func selects(selector, labels map[string]any) bool {
	for key, value := range selector {
		if labels[key] != value {
			return false
		}
	}
	return true
}
