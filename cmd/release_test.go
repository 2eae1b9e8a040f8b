package cmd

import (
	"bytes"
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poolwright/poolwright/live"
	"github.com/poolwright/poolwright/render"
)

// releases runs `release`. Beside it runs a poolwright that has decided as decide says; nil for none.
func (b *liveBench) releases(force bool, decide ...func(live.Sight) live.Want) (string, error) {
	b.api.ClearActions()
	var out bytes.Buffer
	r := release{site: b.site}
	var err error
	synctest.Test(b.t, func(t *testing.T) {
		for _, d := range decide {
			go b.keep(t.Context(), d)
		}
		err = r.run(t.Context(), force, b.clock)
	})
	if r.said() {
		if err := r.text(&out); err != nil {
			b.t.Fatal(err)
		}
	}
	return out.String(), err
}

// keep does what a Keeper does, one write after the other, until ctx ends.
func (b *liveBench) keep(ctx context.Context, decide func(live.Sight) live.Want) {
	for ticks := time.NewTicker(30 * time.Millisecond); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		sight, err := live.Look(ctx, b.api, b.names)
		if err != nil {
			return
		}
		if v := live.Next(sight, decide(sight), b.clock); len(v.Writes) > 0 {
			_ = live.Do(ctx, b.api, b.names, v.Writes[0]) // the next look tells
		}
	}
}

// decides is a decision for a writer, as a Reconciler makes it.
func decides(writer string, epoch uint64) func(live.Sight) live.Want {
	return func(s live.Sight) live.Want {
		to := benchState()
		to.Writer = writer
		chosen, declared := render.Select("story", to), render.Select("story", benchState())
		return live.Want{
			Epoch: epoch, Declared: 7, Known: s.Records(), From: "a", To: writer, Begin: writer != "a", Reason: "writer-moved " + writer,
			Roles: []live.Target{
				{Role: live.Writer, Select: chosen.Writer, Declared: declared.Writer},
				{Role: live.Reader, Select: chosen.Reader, Declared: declared.Reader},
			},
		}
	}
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

// TestAReleaseLeavesItToAPoolwrightThatRuns: that one knows where the Services belong, and puts them there at once.
func TestAReleaseLeavesItToAPoolwrightThatRuns(t *testing.T) {
	b := afterAnOrder(t)
	for _, role := range []live.Role{live.Writer, live.Reader} {
		b.edit(role, func(svc *corev1.Service) { svc.Annotations[render.AnnotationEpoch] = "7" })
	}
	out, err := b.releases(true, decides("a", 7))
	if err != nil {
		t.Fatal(err)
	}
	wantWords(t, out, "taken back  the order for b", "handed back by the poolwright that runs", "story: Git has what the Services select, and owns them again")
	wantIs(t, "the writer", b.service(live.Writer).Spec.Selector[render.LabelInstance], "a")
	for _, role := range []live.Role{live.Writer, live.Reader} {
		if svc := b.service(role); svc.Annotations[live.AnnotationOverride] != "" || svc.Annotations[freeze] != "" {
			t.Errorf("%s: got annotations %v, want nothing of ours", role, svc.Annotations)
		}
	}
	if c := b.control(); c.Order != nil || c.Override != nil || c.Release == nil || c.Release.Epoch != 8 || c.Release.By != "alice" {
		t.Errorf("got control %+v, want alice's release of epoch 8 alone", c)
	}
}

// TestAReleaseThatDoesNotLastSaysSo: the databases disagree with Git, so a poolwright that runs moves the Services ahead again.
func TestAReleaseThatDoesNotLastSaysSo(t *testing.T) {
	b := afterAnOrder(t)
	_, err := b.releases(true, decides("b", 9))
	wantExit(t, err, ExitRefused, "a poolwright that runs has moved them ahead of Git again, to b (epoch 9): writer-moved b", "poolwright pause --cluster story -n db --reason")
}

// TestAReleaseOfAnOrderThatGitHas: the order was committed, and the databases say a; without the order that is a failover back.
func TestAReleaseOfAnOrderThatGitHas(t *testing.T) {
	b := afterAnOrder(t)
	out, err := b.releases(true, func(s live.Sight) live.Want {
		w := decides("a", 9)(s)
		w.Declared, w.Begin = 8, true
		return w
	})
	if err != nil {
		t.Fatal(err)
	}
	wantWords(t, out, "moved on by the poolwright that runs, to a (epoch 9)")
	wantIs(t, "the writer", b.service(live.Writer).Spec.Selector[render.LabelInstance], "a")
}

// TestAReleaseOfWhatKubectlMoved: somebody moved the Writer with the lines that `status` prints; no record tells of it.
func TestAReleaseOfWhatKubectlMoved(t *testing.T) {
	b := newBench(t, benchState())
	b.edit(live.Writer, func(svc *corev1.Service) {
		svc.Spec.Selector[render.LabelInstance], svc.Annotations[freeze] = "b", "disabled"
		ours := owning(live.FieldManager)
		ours.FieldsV1 = metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:` + freeze + `":{}}},"f:spec":{"f:selector":{}}}`)
		svc.ManagedFields = []metav1.ManagedFieldsEntry{owning("kustomize-controller"), ours}
	})
	_, err := b.releases(false)
	wantExit(t, err, ExitRefused, "story-writer selects b, and Git says a: flux flux-system/pools puts them back to a when it reconciles next", "poolwright release --cluster story -n db --force")
	out, err := b.releases(true)
	if err != nil {
		t.Fatal(err)
	}
	wantWords(t, out, "released    story-writer", "story-writer selects b, and Git says a: flux")
	if svc := b.service(live.Writer); svc.Annotations[freeze] != "" || len(svc.ManagedFields) != 1 {
		t.Errorf("got annotations %v, managers %v; want nothing of ours", svc.Annotations, svc.ManagedFields)
	}
}

// TestAReleaseIsToldToMachines: the same facts as the text.
func TestAReleaseIsToldToMachines(t *testing.T) {
	b := afterAnOrder(t)
	r := release{site: b.site}
	var err error
	synctest.Test(t, func(t *testing.T) { err = r.run(t.Context(), true, b.clock) })
	if err != nil {
		t.Fatal(err)
	}
	v := r.view()
	want := []releasedView{{Role: live.Writer, Name: "story-writer", Selects: "b", Git: "a"}, {Role: live.Reader, Name: "story-reader", Selects: "c", Git: "b, c"}}
	if v.Order == nil || v.Order.Writer != "b" || !slices.Equal(v.Services, want) || !slices.Equal(v.Wrote, []string{"story-writer", "story-reader", "story-control"}) || v.Behind == "" {
		t.Errorf("got %+v", v)
	}
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
