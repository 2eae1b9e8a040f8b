package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/poolwright/poolwright/discovery"
	"github.com/poolwright/poolwright/gitsync"
	"github.com/poolwright/poolwright/live"
	"github.com/poolwright/poolwright/live/pooler"
	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/render"
)

// surveyed is what a look at the bench sees, Git and databases left out.
func (b *liveBench) surveyed() survey {
	return surveyOf(b.t.Context(), b.site, b.world(), leaseView{"poolwright", "poolwright"}, nil)
}

// withGit adds a Git head and databases to a survey, and decides again.
func (b *liveBench) withGit(v survey, head plan.State, writer string) survey {
	b.t.Helper()
	d := storyDeclaration(b.t)
	tree, err := render.Draw(d.Cluster, head, render.GivenIn(nil))
	if err != nil {
		b.t.Fatal(err)
	}
	v.site.declared = &d
	v.base = &gitsync.Base{Head: strings.Repeat("5", 40), Files: gitsync.Files(tree)}
	v.seen = &discovery.Topology{}
	for _, m := range head.Members {
		i := discovery.Instance{Name: m.Name, Host: m.Host, Port: m.Port, Role: discovery.Reader}
		if m.Name == writer {
			i.Role = discovery.Writer
		}
		v.seen.Instances = append(v.seen.Instances, i)
	}
	v.readDeclared()
	v.decide()
	if v.sight != nil {
		v.verdict = live.Next(*v.sight, v.want, v.now)
	}
	return v
}

// states are the five states of a view, in one line.
func statesIn(v survey) string { return statesText(v.view().States) }

func textOf(t *testing.T, v survey) string {
	t.Helper()
	var out bytes.Buffer
	if err := writeStatus(&out, v.view(), v.now); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestStatusOfAQuietClusterIsInOrder(t *testing.T) {
	b := newBench(t, benchState())
	v := b.surveyed()
	if !v.view().InOrder {
		t.Errorf("got %+v, want it in order", v.view())
	}
	wantIs(t, "states without Git", statesIn(v), "rendered unknown → proposed unknown → merged unknown → synced yes (7) → live yes (7)")
	v = b.withGit(v, benchState(), "a")
	wantIs(t, "states", statesIn(v), "rendered yes (7) → proposed yes (7) → merged yes (7) → synced yes (7) → live yes (7)")
	if !v.view().InOrder {
		t.Errorf("got %+v, want it in order", v.view())
	}
	wantWords(t, textOf(t, v), "declared  epoch 7, writer a, at commit 555555555", "observed  writer a", "decided   keep, epoch 7, writer a", "live      idle, epoch 7 applied")
}

// TestStatusFollowsAChangeThroughTheFiveStates: each step of it turns one more state to yes.
func TestStatusFollowsAChangeThroughTheFiveStates(t *testing.T) {
	b := newBench(t, benchState())
	wantIs(t, "decided", statesIn(b.withGit(b.surveyed(), benchState(), "b")), "rendered yes (8) → proposed no (7) → merged no (7) → synced no (7) → live no (7)")

	if _, _, err := b.order(to("b")); err != nil {
		t.Fatal(err)
	}
	v := b.withGit(b.surveyed(), benchState(), "b")
	wantIs(t, "ahead of Git", statesIn(v), "rendered yes (8) → proposed no (7) → merged no (7) → synced no (7) → live yes (8)")
	v.now = v.now.Add(90 * time.Second)
	wantWords(t, textOf(t, v), "live ahead of Git since 2026-11-30T08:00:00Z (1m30s): a → b, epoch 8, a hangs, by alice",
		"order     b until 2026-11-30T08:30:00Z (28m30s left), by alice: a hangs", "flux flux-system/pools, frozen")
	if v.view().InOrder {
		t.Error("a cluster ahead of Git is in order")
	}

	next := v.decided.Want
	wantIs(t, "merged", statesIn(b.withGit(b.surveyed(), next, "b")), "rendered yes (8) → proposed yes (8) → merged yes (8) → synced no (7) → live yes (8)")

	tree, err := render.Draw(storyDeclaration(t).Cluster, next, render.GivenIn(nil))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.api.CoreV1().ConfigMaps("db").Update(t.Context(), b.newTopology(tree), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	wantIs(t, "synced", statesIn(b.withGit(b.surveyed(), next, "b")), "rendered yes (8) → proposed yes (8) → merged yes (8) → synced yes (8) → live yes (8)")
}

// TestStatusSaysWhatIsOutOfReachAndGoesOn: a column each.
// TestStatusTellsOfClientsThatAreTakenOff: while they are, the cluster is not in order; afterwards it is, and it is still told.
func TestStatusTellsOfClientsThatAreTakenOff(t *testing.T) {
	b := newBench(t, benchState())
	e := live.Eviction{Number: 2, To: "a", From: []string{"b"}, At: b.clock.Add(-3 * time.Second), Evicted: 40, Returned: 38}
	v := b.withGit(b.surveyed(), benchState(), "a")
	v.sight.Control.Eviction = &e
	wantWords(t, textOf(t, v), "being taken off b for 3s: 40 cut, 38 seen again on a")
	if v.view().InOrder {
		t.Error("it is in order, while clients are taken off")
	}
	e.Done = b.clock.Add(-time.Second)
	wantWords(t, textOf(t, v), "were taken off b at 2026-11-30T07:59:57Z, in 2s: 40 cut, 38 seen again on a")
	if len(v.view().Conditions) == 0 && !v.view().InOrder {
		t.Error("it is not in order, although nobody is left")
	}
}

func TestStatusSaysWhatIsOutOfReachAndGoesOn(t *testing.T) {
	b := newBench(t, benchState())
	b.refuse("get", "services")
	b.refuse("get", "leases")
	v := b.surveyed()
	v.gitErr, v.dataErr = errors.New("reading the branch: no route"), errors.New("no credentials")
	wantWords(t, textOf(t, v), "Git cannot be read: reading the branch: no route", "the databases cannot be asked: no credentials", "live      cannot be seen: ", "not known: reading lease poolwright/poolwright")
	v = b.withGit(b.surveyed(), benchState(), "a")
	wantWords(t, textOf(t, v), "declared  epoch 7, writer a, at commit", "live      cannot be seen: ", `User "alice" cannot get resource "services"`)
	if v.view().InOrder {
		t.Error("a cluster that cannot be seen is in order")
	}
}

func TestStatusWithoutKubernetesStillKnowsTheRest(t *testing.T) {
	b := newBench(t, benchState())
	v := surveyOf(t.Context(), b.site, b.world(), leaseView{}, errNoKube)
	v = b.withGit(v, benchState(), "b")
	wantWords(t, textOf(t, v), "live      cannot be seen: connecting to Kubernetes", "decided   failover failover, epoch 8, writer b", "kubectl -n db patch service story-writer")
}

// TestTheBreakGlassLinesMoveTheServicesByThemselves: what status prints is a patch that an API server takes.
func TestTheBreakGlassLinesMoveTheServicesByThemselves(t *testing.T) {
	b := newBench(t, benchState())
	b.edit(live.Writer, func(s *corev1.Service) { s.Spec.Selector["team"] = "it's theirs" })
	v := b.withGit(b.surveyed(), benchState(), "b")
	lines := v.breakGlass()
	if len(lines) != 3 {
		t.Fatalf("got %q, want two lines that move and one that gives back", lines)
	}
	for i, role := range []live.Role{live.Writer, live.Reader} {
		before, quotedPatch, _ := strings.Cut(lines[i], " -p ")
		wantIs(t, "the line", before, "kubectl -n db patch service story-"+string(role)+" --type=json --field-manager=poolwright-failover")
		patch := strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(quotedPatch, "'"), "'"), `'\''`, "'")
		if _, err := b.api.CoreV1().Services("db").Patch(t.Context(), b.names.Services[role], types.JSONPatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatalf("%s: %v", patch, err)
		}
		wantIs(t, "freeze", b.service(role).Annotations[freeze], "disabled")
	}
	got := b.service(live.Writer).Spec.Selector
	if got[render.LabelInstance] != "b" || got["team"] != "it's theirs" {
		t.Errorf("got selector %v, want b's with the foreign key kept", got)
	}
	wantIs(t, "the reader's", selectorText(b.service(live.Reader).Spec.Selector), "poolwright.dev/cluster=story,slot.poolwright.dev/0=out,slot.poolwright.dev/1=out")
	wantIs(t, "the way back", lines[2], "kubectl -n db annotate service story-writer story-reader kustomize.toolkit.fluxcd.io/reconcile- poolwright.dev/override-")
}

func TestTheFreezeIsOnlyForFlux(t *testing.T) {
	b := newBench(t, benchState())
	b.edit(live.Writer, func(s *corev1.Service) {
		delete(s.Labels, "kustomize.toolkit.fluxcd.io/name")
		s.Annotations["argocd.argoproj.io/tracking-id"] = "pools:/Service:db/story-writer"
	})
	v := b.surveyed()
	if lines := v.breakGlass(); strings.Contains(lines[0], freeze[:10]) || !strings.Contains(lines[1], freeze[:10]) {
		t.Errorf("got %q, want the mark of Flux on the Reader alone", lines)
	}
}

// TestStatusIsTextThatCannotWriteToTheTerminal: what people and databases said is escaped.
func TestStatusIsTextThatCannotWriteToTheTerminal(t *testing.T) {
	b := newBench(t, benchState())
	c := to("b")
	c.Reason = "\x1b[31mred"
	if _, _, err := b.order(c); err != nil {
		t.Fatal(err)
	}
	if err := b.pause(t.Context(), &bytes.Buffer{}, "\x1b[2J", b.clock); err != nil {
		t.Fatal(err)
	}
	if text := textOf(t, b.surveyed()); strings.Contains(text, "\x1b") {
		t.Errorf("got %q", text)
	}
}

func TestStatusForMachinesIsOneValueACluster(t *testing.T) {
	b := newBench(t, benchState())
	var out bytes.Buffer
	c := StatusCmd{Output: Output{Format: "json"}}
	if err := c.tell(&out, []survey{b.surveyed(), b.surveyed()}); err != nil {
		t.Fatal(err)
	}
	var views []statusView
	if err := json.Unmarshal(out.Bytes(), &views); err != nil || len(views) != 2 || views[0].Cluster != "story" || views[0].Live.Phase != "idle" {
		t.Errorf("got %s, %v", out.String(), err)
	}
}

func TestStatusExitsWithOneWhenAnythingIsNotInOrder(t *testing.T) {
	b := newBench(t, benchState())
	good := b.surveyed()
	b.edit(live.Writer, func(s *corev1.Service) { s.Spec.Selector[render.LabelInstance] = "b" })
	bad := b.surveyed()
	for _, c := range []struct {
		flag bool
		all  []survey
		want int
	}{{true, []survey{good}, ExitOK}, {true, []survey{good, bad}, ExitDiffers}, {false, []survey{bad}, ExitOK}} {
		if got := report(&bytes.Buffer{}, StatusCmd{ExitCode: c.flag}.verdict(c.all)); got != c.want {
			t.Errorf("flag %v, %d clusters: got exit code %d, want %d", c.flag, len(c.all), got, c.want)
		}
	}
}

// TestWatchTellsOnlyWhatChanges: time alone is no change.
func TestWatchTellsOnlyWhatChanges(t *testing.T) {
	b := newBench(t, benchState())
	before := b.surveyed()
	if _, _, err := b.order(to("b")); err != nil {
		t.Fatal(err)
	}
	afterwards := b.surveyed()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		looks := 0
		var out bytes.Buffer
		look := func(context.Context) []survey {
			looks++
			v := before
			if looks > 3 {
				v = afterwards
			}
			if looks > 8 {
				cancel()
			}
			v.now = v.now.Add(time.Duration(looks) * time.Hour)
			return []survey{v}
		}
		c := StatusCmd{Output: Output{Format: "text"}}
		if err := c.watch(ctx, &out, look); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(out.String(), "db/story\n"); got != 2 {
			t.Errorf("got %d tellings of 8 looks, want 2: %s", got, out.String())
		}
	})
}

// TestA09StatusSaysWhetherWritesReachTheWriter: a Service that is out of reach from here says nothing of the cluster.
func TestA09StatusSaysWhetherWritesReachTheWriter(t *testing.T) {
	for name, c := range map[string]struct {
		proof   pooler.Proof
		want    string
		inOrder bool
	}{
		"they do":                   {pooler.Proof{Outcome: pooler.Proven}, "writes reach the writer: yes (asked 10.0.0.1:6432 just now)", true},
		"who answers cannot write":  {pooler.Proof{Outcome: pooler.RoleMismatch, Code: "25006", Detail: "a standby"}, "writes reach the writer: no, role mismatch: a standby (SQLSTATE 25006)", false},
		"nobody answers from there": {pooler.Proof{Outcome: pooler.Failed, Fault: pooler.Unreachable, Detail: "i/o timeout"}, "writes reach the writer: no, unreachable: i/o timeout", true},
	} {
		v := survey{proofs: []answer{{pooler.Writes, "10.0.0.1:6432", c.proof}}}
		s := v.view()
		var out strings.Builder
		if err := writeStatus(&out, s, time.Now()); err != nil {
			t.Fatal(err)
		}
		if s.InOrder != c.inOrder || !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: in order %v, want %v:\n%s\nwant %q", name, s.InOrder, c.inOrder, out.String(), c.want)
		}
	}
}
