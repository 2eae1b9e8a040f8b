package live

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poolwright/poolwright/render"
)

// TestStoryOfAFailoverUnderFlux runs the loop with Next itself through every phase,
// and again with another process after each step.
func TestStoryOfAFailoverUnderFlux(t *testing.T) {
	for restart := -1; restart < 5; restart++ {
		t.Run(fmt.Sprintf("restart after step %d", restart), func(t *testing.T) {
			inBed(t, func(t *testing.T, b *bed) { storyUnderFlux(t, b, restart) })
		})
	}
}

func storyUnderFlux(t *testing.T, b *bed, restart int) {
	b.adopt()
	b.renew()
	want := Want{Epoch: 8, Declared: 7, Head: "old", From: "a", To: "b", Reason: "failover", Begin: true, Roles: []Target{
		{Writer, selectorTo("b"), selectorTo("a")}, {Reader, selectorTo("b"), selectorTo("a")},
	}}
	steps := []struct {
		happens func()
		phase   Phase
	}{
		{func() {}, Overriding},
		{func() {
			want.Declared, want.Head, want.Begin = 8, "abc", false
			want.Roles = []Target{{Writer, selectorTo("b"), selectorTo("b")}, {Reader, selectorTo("b"), selectorTo("b")}}
		}, Committed},
		{func() { b.apply("pg-topology") }, Unfrozen}, // Seen passes at once: the freeze is taken away
		{func() { b.apply("pg-writer") }, Unfrozen},
		{func() { b.apply("pg-reader") }, Idle},
	}
	for i, step := range steps {
		step.happens()
		b.keeper.Want(want)
		time.Sleep(time.Second)
		synctest.Wait()
		if v := b.keeper.Verdict(); v.Phase != step.phase || len(v.Writes) > 0 {
			t.Fatalf("after step %d: %+v", i, v)
		}
		if i == restart {
			b.stop()
			b.renew()
			b.keeper.Want(want)
		}
	}
	for _, name := range b.names.Services {
		svc := read[corev1.Service](b.apiServer, "services", name)
		if svc.Annotations[AnnotationOverride] != "" || isFrozen(svc) || managedBy(svc, FieldManager) || instanceOf(svc.Spec.Selector) != "b" {
			t.Errorf("%s is left as %+v, selecting %v", name, svc.ObjectMeta, svc.Spec.Selector)
		}
	}
	if c := read[corev1.ConfigMap](b.apiServer, "configmaps", "pg-control"); c.Data["override"] != "" {
		t.Errorf("the mirror is left: %v", c.Data)
	}
	if restart >= 0 {
		return
	}
	if got, want := b.phases(), "overriding committed seen unfrozen applied idle"; got != want {
		t.Errorf("the phases were %s, want %s", got, want)
	}
	if got := b.asked(); !slices.Equal(got, []string{"get kustomizations pools", "patch gitrepositories fleet", "patch kustomizations pools"}) {
		t.Errorf("nudged by %q", got)
	}
	before := len(b.made("patch", "create"))
	time.Sleep(time.Hour)
	if got := b.made("patch", "create"); len(got) != before {
		t.Errorf("idle, and yet %v", got[before:])
	}
}

func selectorTo(instance string) map[string]string {
	return map[string]string{render.LabelCluster: "pg", render.LabelInstance: instance}
}

// renew starts another process, which knows nothing.
func (b *bed) renew() {
	b.keeper = New(b.keeper.config)
	b.start()
}

// adopt makes Flux the owner of the Services.
func (b *bed) adopt() {
	b.add("kustomizations", kustomization("GitRepository", ""))
	b.add("gitrepositories", justNamed("fleet"))
	for _, name := range b.names.Services {
		b.edit("services", name, "kustomize-controller", func(o *unstructured.Unstructured) {
			labels := o.GetLabels()
			labels["kustomize.toolkit.fluxcd.io/name"], labels["kustomize.toolkit.fluxcd.io/namespace"] = "pools", testNamespace
			o.SetLabels(labels)
		})
	}
}

// apply brings an object to epoch 8, as Flux does.
func (b *bed) apply(name string) {
	if name == b.names.Topology {
		b.add("configmaps", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"epoch": "8"}})
		return
	}
	b.edit("services", name, "kustomize-controller", func(o *unstructured.Unstructured) {
		annotations := o.GetAnnotations()
		if annotations[annotationFreeze] == frozen {
			b.t.Errorf("%s is frozen, and is not to be applied", name)
		}
		annotations[render.AnnotationEpoch] = "8"
		o.SetAnnotations(annotations)
	})
}

// phases are the phases that were told, in order.
func (b *bed) phases() string {
	var words []string
	for _, e := range b.told() {
		if phase, ok := strings.CutPrefix(e, "phase "); ok {
			words = append(words, phase)
		}
	}
	return strings.Join(words, " ")
}
