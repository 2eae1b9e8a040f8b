package cmd

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/discovery"
	"github.com/poolwright/poolwright/gitsync"
	"github.com/poolwright/poolwright/live"
	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/render"
)

func TestD21AnOrderMovesTheWriterFirstAndIsWrittenDown(t *testing.T) {
	b := newBench(t, benchState())
	out, _, err := b.order(to("b"))
	if err != nil {
		t.Fatal(err)
	}
	wantWrites(t, b.writes(),
		"create configmaps", // the order, bounded
		"patch services story-writer", "patch services story-reader", "patch configmaps story-control")
	want := benchState()
	want.Writer, want.Members[0].Out = "b", plan.Unproven
	sel := render.Select("story", want)
	for role, keys := range map[live.Role]map[string]string{live.Writer: sel.Writer, live.Reader: sel.Reader} {
		if got := b.service(role).Spec.Selector; !maps.Equal(got, keys) {
			t.Errorf("%s: got selector %v, want %v", role, got, keys)
		}
		r, err := live.ParseRecord(b.service(role).Annotations[live.AnnotationOverride])
		if err != nil {
			t.Fatal(err)
		}
		if r.By != "alice" || r.Reason != "a hangs" || r.Epoch != 8 || !r.Froze || !r.At.Equal(b.clock) {
			t.Errorf("%s: got record %v, want alice's, epoch 8, frozen, of now", role, r)
		}
		wantIs(t, "freeze", b.service(role).Annotations[freeze], "disabled")
	}
	o := b.control().Order
	if o == nil || *o != (live.Order{Writer: "b", Reason: "a hangs", By: "alice", At: b.clock, Until: b.clock.Add(30 * time.Minute)}) {
		t.Errorf("got order %v, want alice's for b, for 30 minutes", o)
	}
	if m := b.control().Override; m == nil || m.Epoch != 8 {
		t.Errorf("got mirror %v, want epoch 8", m)
	}
	wantWords(t, out, "epoch 7 as applied from Git, epoch 8 by this order", "ready pods  1", "not in recovery, writable", "by kustomize-controller",
		"moved    story-writer", "poolwright release --cluster story -n db --force", "until    2026-11-30T08:30:00Z", "git commit -am 'a hangs'")
}

// TestD21WhatSpeaksAgainstATargetRefusesItWithoutForce: nothing is written then, and the hint can be typed.
func TestD21WhatSpeaksAgainstATargetRefusesItWithoutForce(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*liveBench)
		want  string
	}{
		"it is in recovery":          {func(b *liveBench) { b.said["b"] = [3]string{"t", "on", "off"} }, "b is in recovery"},
		"it is read-only":            {func(b *liveBench) { b.said["b"] = [3]string{"f", "on", "off"} }, "b is read-only"},
		"it is read-only by default": {func(b *liveBench) { b.said["b"] = [3]string{"f", "off", "on"} }, "b is read-only"},
		"nobody answers":             {func(b *liveBench) { delete(b.said, "b") }, "b cannot be asked (unreachable"},
		"there are no credentials":   {func(b *liveBench) { delete(b.env, "PGUSER") }, "PGUSER is not set"},
		"it answers nonsense":        {func(b *liveBench) { b.said["b"] = [3]string{"perhaps", "on", "off"} }, "b cannot be asked"},
		"it has no ready pod": {func(b *liveBench) {
			if err := b.api.CoreV1().Pods("db").Delete(b.t.Context(), "pod-b", metav1.DeleteOptions{}); err != nil {
				b.t.Fatal(err)
			}
		}, "b has no ready pod"},
		"its pods may not be listed": {func(b *liveBench) { b.refuse("list", "pods") }, "the pods of b cannot be seen"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, benchState())
			c.spoil(b)
			_, _, err := b.order(to("b"))
			wantExit(t, err, ExitRefused, c.want, "poolwright patch --cluster story -n db --to b --reason 'a hangs' --force")
			wantWrites(t, b.writes())
			forced := to("b")
			forced.Force = true
			if _, _, err := b.order(forced); err != nil {
				t.Fatal(err)
			}
			wantIs(t, "the writer", b.service(live.Writer).Spec.Selector[render.LabelInstance], "b")
		})
	}
}

func TestAnOrderForSomebodyUnknownIsRefusedAlsoByForce(t *testing.T) {
	b := newBench(t, benchState())
	c := to("d")
	c.Force = true
	_, _, err := b.order(c)
	wantExit(t, err, ExitRefused, `no pooler for "d"; there are a, b, c`)
	wantWrites(t, b.writes())
}

func TestAnOrderNeverTouchesWhatIsNotOurs(t *testing.T) {
	for _, role := range []live.Role{live.Writer, live.Reader} {
		b := newBench(t, benchState())
		b.edit(role, func(svc *corev1.Service) { svc.Labels[render.LabelCluster] = "other" })
		c := to("b")
		c.Force = true
		_, _, err := b.order(c)
		wantExit(t, err, ExitRefused, "somebody else's")
		wantWrites(t, b.writes())
	}
}

func TestAControlConfigMapOfSomebodyElseIsNotWritten(t *testing.T) {
	b := newBench(t, benchState())
	foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "story-control", Namespace: "db"}}
	if _, err := b.api.CoreV1().ConfigMaps("db").Create(t.Context(), foreign, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	wantExit(t, b.say(t.Context(), word{live.KeyPause: nil}), ExitRefused, "somebody else's")
}

func TestADryRunAndAMissingConsentWriteNothing(t *testing.T) {
	b := newBench(t, benchState())
	c := to("b")
	c.DryRun = true
	out, _, err := b.order(c)
	if err != nil {
		t.Fatal(err)
	}
	wantWrites(t, b.writes())
	wantWords(t, out, "would write story-writer: override", "story-writer would select poolwright.dev/cluster=story,poolwright.dev/instance=b")
	c = to("b")
	c.Yes = false
	_, _, err = b.order(c)
	wantExit(t, err, ExitRefused, "nobody is at a terminal", "--reason 'a hangs' --yes")
	wantWrites(t, b.writes())
}

// TestTheWriterDoesNotNeedTheOrder: what cannot be written down is said, and the Services move.
func TestTheWriterDoesNotNeedTheOrder(t *testing.T) {
	b := newBench(t, benchState())
	for _, verb := range []string{"create", "patch"} {
		b.refuse(verb, "configmaps")
	}
	_, errs, err := b.order(to("b"))
	if err != nil {
		t.Fatal(err)
	}
	wantWords(t, errs, "the order could not be written, going on", "the record could not be mirrored")
	wantIs(t, "the writer", b.service(live.Writer).Spec.Selector[render.LabelInstance], "b")
}

// TestAServiceThatSomebodyMovedMeanwhileIsLookedAtAgain: the test operations of the patch hold it back once.
func TestAServiceThatSomebodyMovedMeanwhileIsLookedAtAgain(t *testing.T) {
	b := newBench(t, benchState())
	once, theirs := true, b.service(live.Writer)
	theirs.Spec.Selector["team"] = "theirs"
	b.api.PrependReactor("patch", "services", func(clienttesting.Action) (bool, runtime.Object, error) {
		if !once {
			return false, nil, nil
		}
		once = false
		if err := b.api.Tracker().Update(corev1.SchemeGroupVersion.WithResource("services"), theirs, "db"); err != nil {
			t.Error(err)
		}
		return true, nil, &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid, Message: "the server rejected our request due to an error in our request"}}
	})
	if _, _, err := b.order(to("b")); err != nil {
		t.Fatal(err)
	}
	got := b.service(live.Writer).Spec.Selector
	if got["team"] != "theirs" || got[render.LabelInstance] != "b" {
		t.Errorf("got selector %v, want b's and the foreign key kept", got)
	}
}

func TestAPatchThatIsDeniedOrUnansweredEndsTheOrder(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		code int
	}{
		"admission": {apierrors.NewForbidden(corev1.Resource("services"), "story-writer", errors.New(`ValidatingAdmissionPolicy "p" denied request: no`)), ExitRefused},
		"silence":   {errors.New("dial tcp: connection refused"), ExitUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, benchState())
			b.api.PrependReactor("patch", "services", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, c.err })
			_, _, err := b.order(to("b"))
			wantExit(t, err, c.code, "moving the Services of story: writer story-writer")
		})
	}
}

// TestASecondOrderIsANewEpoch: also one back to what is applied, while an override stands; Git may have gone on since.
func TestASecondOrderIsANewEpoch(t *testing.T) {
	b := newBench(t, benchState())
	b.said["c"] = [3]string{"f", "off", "off"}
	for _, step := range []struct {
		to    string
		epoch uint64
	}{{"b", 8}, {"b", 8}, {"c", 9}, {"a", 10}} {
		if _, _, err := b.order(to(step.to)); err != nil {
			t.Fatal(err)
		}
		r, err := live.ParseRecord(b.service(live.Writer).Annotations[live.AnnotationOverride])
		if err != nil {
			t.Fatal(err)
		}
		if r.Epoch != step.epoch || r.Select[live.Writer][render.LabelInstance] != step.to {
			t.Errorf("to %s: got %v, want epoch %d", step.to, r, step.epoch)
		}
	}
}

// TestAnOrderSelectsWhatTheCommitWillSay: for random memberships, the Services are moved to the selectors and the epoch
// that a running poolwright commits for the same order, whatever the databases say.
func TestAnOrderSelectsWhatTheCommitWillSay(t *testing.T) {
	d := storyDeclaration(t)
	rapid.Check(t, func(rt *rapid.T) {
		s := plan.State{Epoch: rapid.Uint64Range(1, 99).Draw(rt, "epoch")}
		slots := rapid.Permutation([]int{0, 1, 2, 3, 4, 5, 6, 7}).Draw(rt, "slots")
		for i := range rapid.IntRange(2, 6).Draw(rt, "members") {
			name := string(rune('a' + i))
			out := rapid.SampledFrom([]plan.Out{plan.In, plan.In, plan.Unproven, plan.Unhealthy}).Draw(rt, "out")
			s.Members = append(s.Members, plan.Member{Name: name, Host: name + ".example.internal", Port: 5432, Slot: slots[i], Out: out})
		}
		s.Writer, s.Members[0].Out = "a", plan.In
		s.Fallback = len(s.Readers()) == 0
		target := rapid.SampledFrom(s.Members[1:]).Draw(rt, "target").Name
		m := motion{site: site{names: live.Names{Cluster: "story"}, declared: &d}, now: time.Unix(1e9, 0), state: s}
		ours := m.decide(to(target), "alice")

		tree, err := render.Draw(d.Cluster, s, render.GivenIn(nil))
		if err != nil {
			rt.Fatal(err)
		}
		order := &plan.Order{Writer: target, Reason: "a hangs", Until: m.now.Add(time.Hour)}
		theirs, err := propose(d, gitsync.Base{Files: gitsync.Files(tree)}, evidence{Topology: doubtful(s), Now: m.now, Order: order})
		if err != nil {
			rt.Fatal(err)
		}
		got, want := render.Select("story", ours.Want), render.Select("story", theirs[0].Plan.Want)
		if ours.Want.Epoch != theirs[0].Plan.Want.Epoch || !maps.Equal(got.Writer, want.Writer) || !maps.Equal(got.Reader, want.Reader) {
			rt.Fatalf("got epoch %d %v, the commit says epoch %d %v", ours.Want.Epoch, got, theirs[0].Plan.Want.Epoch, want)
		}
	})
}

// doubtful is everybody of a state, and two writers.
func doubtful(s plan.State) discovery.Topology {
	t := discovery.Topology{Doubts: []discovery.Doubt{{Code: discovery.TwoWriters}}}
	for _, m := range s.Members {
		t.Instances = append(t.Instances, discovery.Instance{Name: m.Name, Host: m.Host, Port: m.Port})
	}
	return t
}

func TestFindingAClusterByItsLabels(t *testing.T) {
	b := newBench(t, benchState())
	names, err := findNames(t.Context(), b.api, "db", "story")
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(names); got != fmt.Sprint(b.names) {
		t.Errorf("got %s, want %v", got, b.names)
	}
	_, err = findNames(t.Context(), b.api, "elsewhere", "story")
	wantExit(t, err, ExitUsage, "namespace elsewhere has none", "kubectl get services -A -l poolwright.dev/cluster=story")
	second := b.service(live.Writer)
	second.Name, second.UID, second.ResourceVersion = "story-writer-2", "x", ""
	if _, err := b.api.CoreV1().Services("db").Create(t.Context(), second, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err = findNames(t.Context(), b.api, "db", "story")
	wantExit(t, err, ExitRefused, "both say that they are its writer")
	b.refuse("list", "services")
	names, err = findNames(t.Context(), b.api, "db", "story")
	if err != nil || names.Services[live.Writer] != "story-writer" {
		t.Errorf("without the right to list: got %v, %v, want the default names", names, err)
	}
}

func TestAReasonIsOneLineThatSaysSomething(t *testing.T) {
	for reason, ok := range map[string]bool{"a hangs": true, " ": false, "": false, "two\nlines": false, strings.Repeat("x", maxReason+1): false} {
		if err := haveReason(reason); (err == nil) != ok {
			t.Errorf("%.20q: got %v", reason, err)
		}
	}
	for _, long := range []time.Duration{0, time.Second, 25 * time.Hour} {
		c := to("b")
		c.For = long
		wantExit(t, c.usable(), ExitUsage, "--for")
	}
}
