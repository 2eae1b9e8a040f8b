package cmd

import (
	"bytes"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poolwright/poolwright/live"
	"github.com/poolwright/poolwright/render"
)

// releases runs `release`.
func (b *liveBench) releases(force bool) (string, error) {
	b.api.ClearActions()
	var out bytes.Buffer
	err := b.release(b.t.Context(), &out, force)
	return out.String(), err
}

// afterAnOrder is a bench after an order for b, whose patches the API server noted in managedFields.
func afterAnOrder(t *testing.T) *liveBench {
	b := newBench(t, benchState())
	if _, _, err := b.order(to("b")); err != nil {
		t.Fatal(err)
	}
	for _, role := range []live.Role{live.Writer, live.Reader} {
		b.edit(role, func(svc *corev1.Service) {
			svc.ManagedFields = []metav1.ManagedFieldsEntry{owning("kustomize-controller"), owning(live.FieldManager)}
		})
	}
	return b
}

func TestAReleaseBeforeGitIsAppliedIsRefusedAndSaysWhatWouldHappen(t *testing.T) {
	b := afterAnOrder(t)
	_, err := b.releases(false)
	wantExit(t, err, ExitRefused, "epoch 7, the override is epoch 8: flux flux-system/pools puts them back to a when it reconciles next", "poolwright release --cluster story -n db --force")
	wantWrites(t, b.writes())
}

func TestAForcedReleaseLeavesNothingOfOursAndChangesNoSelector(t *testing.T) {
	b := afterAnOrder(t)
	out, err := b.releases(true)
	if err != nil {
		t.Fatal(err)
	}
	wantWords(t, out, "taken back  the order for b", "released    story-writer", "released    story-reader", "forgot      story-control", "puts them back to a")
	for _, role := range []live.Role{live.Writer, live.Reader} {
		svc := b.service(role)
		if svc.Annotations[live.AnnotationOverride] != "" || svc.Annotations[freeze] != "" || len(svc.ManagedFields) != 1 || svc.ManagedFields[0].Manager != "kustomize-controller" {
			t.Errorf("%s: got annotations %v, managers %v; want nothing of ours", role, svc.Annotations, svc.ManagedFields)
		}
	}
	wantIs(t, "the writer", b.service(live.Writer).Spec.Selector[render.LabelInstance], "b")
	if c := b.control(); c.Order != nil || c.Override != nil {
		t.Errorf("got control %v, want neither order nor mirror", c)
	}
	out, err = b.releases(false)
	if err != nil {
		t.Fatal(err)
	}
	wantWords(t, out, "nothing of poolwright's is on the Services of story")
	wantWrites(t, b.writes())
}

// TestAReleaseAfterGitIsAppliedNeedsNoForce: receipts and selectors agree, as after a commit that the tool has applied.
func TestAReleaseAfterGitIsAppliedNeedsNoForce(t *testing.T) {
	b := afterAnOrder(t)
	d := storyDeclaration(t)
	m := motion{site: b.site, now: b.clock, state: benchState()}
	tree, err := render.Draw(d.Cluster, m.decide(to("b"), "alice").Want, render.GivenIn(nil))
	if err != nil {
		t.Fatal(err)
	}
	topology := b.newTopology(tree)
	if _, err := b.api.CoreV1().ConfigMaps("db").Update(t.Context(), topology, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, role := range []live.Role{live.Writer, live.Reader} {
		b.edit(role, func(svc *corev1.Service) { svc.Annotations[render.AnnotationEpoch] = "8" })
	}
	out, err := b.releases(false)
	if err != nil {
		t.Fatal(err)
	}
	wantWords(t, out, "story: Git has what the Services select, and owns them again")
}

// TestAFreezeOfSomebodyElseStays: whoever froze a Service unfreezes it.
func TestAFreezeOfSomebodyElseStays(t *testing.T) {
	b := newBench(t, benchState())
	b.edit(live.Writer, func(svc *corev1.Service) { svc.Annotations[freeze] = "disabled" })
	if _, _, err := b.order(to("b")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.releases(true); err != nil {
		t.Fatal(err)
	}
	wantIs(t, "the writer's freeze", b.service(live.Writer).Annotations[freeze], "disabled")
	wantIs(t, "the reader's freeze", b.service(live.Reader).Annotations[freeze], "")
}

// TestC08APauseIsWrittenOnceAndAResumeLiftsIt: the ConfigMap is made when it is missing, and what else is in it stays.
func TestC08APauseIsWrittenOnceAndAResumeLiftsIt(t *testing.T) {
	b := newBench(t, benchState())
	var out bytes.Buffer
	if err := b.pause(t.Context(), &out, "maintenance", b.clock); err != nil {
		t.Fatal(err)
	}
	wantWords(t, out.String(), "story is paused: no commits and no patches, alerts go on", "end it with: poolwright resume --cluster story -n db")
	if p := b.control().Pause; p == nil || *p != (live.Pause{Reason: "maintenance", By: "alice", At: b.clock}) {
		t.Fatalf("got pause %v, want alice's", p)
	}
	b.writes()
	out.Reset()
	if err := b.pause(t.Context(), &out, "maintenance", b.clock.Add(1)); err != nil {
		t.Fatal(err)
	}
	wantWrites(t, b.writes())
	wantWords(t, out.String(), "paused already, since 2026-11-30T08:00:00Z by alice: maintenance")

	c, _, err := b.order(to("b"))
	if err != nil {
		t.Fatal(err)
	}
	wantWords(t, c, "story is paused by alice (maintenance): nothing is carried into Git before `poolwright resume")
	out.Reset()
	if err := b.resume(t.Context(), &out, b.clock); err != nil {
		t.Fatal(err)
	}
	wantWords(t, out.String(), "no longer paused (it was since 2026-11-30T08:00:00Z by alice: maintenance)")
	said := b.control()
	if said.Pause != nil || said.Resume == nil || said.Order == nil || said.Override == nil {
		t.Errorf("got control %+v, want no pause, and resume, order and mirror", said)
	}
	out.Reset()
	if err := b.resume(t.Context(), &out, b.clock); err != nil {
		t.Fatal(err)
	}
	wantWords(t, out.String(), "story was not paused")
}
