package cmd

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poolwright/poolwright/live"
	"github.com/poolwright/poolwright/render"
)

// TestAnOrderForTheDeclaredWriterMovesWhatDrifted: Git says the same already, and a Service does not.
func TestAnOrderForTheDeclaredWriterMovesWhatDrifted(t *testing.T) {
	for name, c := range map[string]struct {
		drift map[live.Role]map[string]string
		moved string
	}{
		"the Writer":  {map[live.Role]map[string]string{live.Writer: {render.LabelInstance: "b"}}, "story-writer"},
		"the Reader":  {map[live.Role]map[string]string{live.Reader: {render.SlotLabel(1): "out"}}, "story-reader"},
		"both":        {map[live.Role]map[string]string{live.Writer: {render.LabelInstance: "c"}, live.Reader: {render.SlotLabel(2): "out"}}, "story-writer story-reader"},
		"neither":     {nil, ""},
		"foreign key": {map[live.Role]map[string]string{live.Writer: {"team": "theirs"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, benchState())
			for role, keys := range c.drift {
				b.edit(role, func(svc *corev1.Service) { maps.Copy(svc.Spec.Selector, keys) })
			}
			out, _, err := b.order(to("a"))
			if err != nil {
				t.Fatal(err)
			}
			var moved []string
			for line := range strings.Lines(out) {
				if name, ok := strings.CutPrefix(line, "moved    "); ok {
					moved = append(moved, strings.TrimSpace(name))
				}
			}
			wantIs(t, "moved", strings.Join(moved, " "), c.moved)
			wantIs(t, "nothing to move", fmtBool(strings.Contains(out, "nothing to move")), fmtBool(c.moved == ""))
			sel := render.Select("story", benchState())
			for role, keys := range map[live.Role]map[string]string{live.Writer: sel.Writer, live.Reader: sel.Reader} {
				ours, _ := split(b.service(role).Spec.Selector)
				wantIs(t, string(role), selectorText(ours), selectorText(keys))
			}
			wantWords(t, out, "expect   a poolwright that runs hands the Services back: what is applied from Git says this already, as epoch 7")
		})
	}
}

func fmtBool(is bool) string { return map[bool]string{true: "yes", false: "no"}[is] }

// TestAnOrderIsForMachinesToo: one value, whatever became of it.
func TestAnOrderIsForMachinesToo(t *testing.T) {
	b := newBench(t, benchState())
	ask := func(c PatchCmd) (v patchView, err error) {
		c.Format = "json"
		out, _, err := b.order(c)
		if e := json.Unmarshal([]byte(out), &v); e != nil {
			t.Fatalf("%v in %q", e, out)
		}
		return v, err
	}
	c := to("b")
	c.Yes = false
	v, err := ask(c)
	wantExit(t, err, ExitRefused, "nobody is at a terminal")
	if v.Order != nil || len(v.Moved) != 0 || v.From != "a" || v.To != "b" || v.Applied != 7 || v.Epoch != 8 || len(v.Services) != 2 || v.Services[0].Now != "a" || v.Services[0].Would != "b" {
		t.Errorf("without consent: %+v", v)
	}
	delete(b.said, "b")
	v, err = ask(to("b"))
	wantExit(t, err, ExitRefused, "b cannot be asked")
	if len(v.Evidence.Against) != 1 || len(v.Moved) != 0 {
		t.Errorf("refused: %+v", v)
	}
	c = to("b")
	c.Force = true
	if v, err = ask(c); err != nil || v.Order == nil || v.Order.Writer != "b" || strings.Join(v.Moved, " ") != "story-writer story-reader" || len(v.Writes) != 3 {
		t.Errorf("got %+v, %v; want it moved", v, err)
	}
}

// TestAnOrderShowsWhatStandsInItsWay: the conditions of the Services, with their hints.
func TestAnOrderShowsWhatStandsInItsWay(t *testing.T) {
	b := newBench(t, benchState())
	b.edit(live.Writer, func(svc *corev1.Service) {
		delete(svc.Labels, "kustomize.toolkit.fluxcd.io/name")
		svc.Labels["helm.toolkit.fluxcd.io/name"] = "pools"
	})
	out, _, err := b.order(to("b"))
	if err != nil {
		t.Fatal(err)
	}
	wantWords(t, out, "- service db/story-writer: unsupported-owner: helm-release pools applies it and knows no freeze", "; hint: apply the directory with a Flux Kustomization or Argo CD")
}

// TestAnOrderSaysWhatFollowsAndWhatItsEndBrings: in sentences that are true.
func TestAnOrderSaysWhatFollowsAndWhatItsEndBrings(t *testing.T) {
	b := newBench(t, benchState())
	b.edit(live.Writer, func(svc *corev1.Service) { delete(svc.Labels, "kustomize.toolkit.fluxcd.io/name") })
	if err := b.pause(t.Context(), &bytes.Buffer{}, "maintenance", b.clock); err != nil {
		t.Fatal(err)
	}
	out, _, err := b.order(to("b"))
	if err != nil {
		t.Fatal(err)
	}
	wantWords(t, out,
		"expect   after `poolwright resume --cluster story -n db` a poolwright that runs commits this as epoch 8, with your reason; when somebody has applied it (no GitOps tool says that it does), it hands the Services back",
		"until    2026-11-30T08:30:00Z the order stands; then the databases are believed again, and if they say another writer, a failover to that one follows")
}

// TestTheClockOfTheAPIServerCounts: others go by the end of an order, by a pause and by a resume.
func TestTheClockOfTheAPIServerCounts(t *testing.T) {
	for name, c := range map[string]struct {
		apart time.Duration
		mute  bool
		at    string
		note  string
	}{
		"they agree":          {0, false, "08:00:00", ""},
		"nearly":              {20 * time.Second, false, "08:00:20", ""},
		"this one is behind":  {5 * time.Minute, false, "08:05:00", "the clock of this machine is 5m0s off that of the API server, which counts: it is 2026-11-30T08:05:00Z"},
		"this one is ahead":   {-5 * time.Minute, false, "07:55:00", "is 5m0s off"},
		"it does not tell it": {0, true, "08:00:00", "the API server does not say its time: what is said now has the time of this machine, 2026-11-30T08:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, benchState())
			b.apart, b.mute = c.apart, c.mute
			_, errs, err := b.order(to("b"))
			if err != nil {
				t.Fatal(err)
			}
			wantIs(t, "said", fmtBool(errs != ""), fmtBool(c.note != ""))
			wantWords(t, errs, c.note)
			at, err := time.Parse(time.DateTime, "2026-11-30 "+c.at)
			if err != nil {
				t.Fatal(err)
			}
			r, err := live.ParseRecord(b.service(live.Writer).Annotations[live.AnnotationOverride])
			if o := b.control().Order; err != nil || !o.At.Equal(at) || !o.Until.Equal(at.Add(30*time.Minute)) || !r.At.Equal(at) || !r.Until.Equal(o.Until) {
				t.Errorf("got order %v, record %v, %v; want them of %v", o, r, err, at)
			}
			var notes bytes.Buffer
			if _, err := b.paused(t.Context(), &notes, "maintenance", b.clock); err != nil {
				t.Fatal(err)
			}
			if p := b.control().Pause; !p.At.Equal(at) || notes.String() != errs {
				t.Errorf("got pause %v and notes %q, want it of %v", p, &notes, at)
			}
			if _, err := b.resumed(t.Context(), &notes, b.clock); err != nil || !b.control().Resume.At.Equal(at) {
				t.Errorf("got resume %v, %v, want it of %v", b.control().Resume, err, at)
			}
		})
	}
}

// TestPauseAndResumeAreForMachinesToo: as they are written down.
func TestPauseAndResumeAreForMachinesToo(t *testing.T) {
	b := newBench(t, benchState())
	p, err := b.paused(t.Context(), &bytes.Buffer{}, "maintenance", b.clock)
	if err != nil || p.Already || p.Pause != *b.control().Pause || p.Resume != "poolwright resume --cluster story -n db" {
		t.Errorf("got %+v, %v", p, err)
	}
	if p, err = b.paused(t.Context(), &bytes.Buffer{}, "maintenance", b.clock.Add(time.Hour)); err != nil || !p.Already || !p.Pause.At.Equal(b.clock) {
		t.Errorf("the second time: %+v, %v", p, err)
	}
	r, err := b.resumed(t.Context(), &bytes.Buffer{}, b.clock)
	if err != nil || r.Pause == nil || r.Pause.By != "alice" || r.Resume != *b.control().Resume {
		t.Errorf("got %+v, %v", r, err)
	}
}

// TestC08APauseThatNobodyWouldHearIsRefused: the Cluster file says that Kubernetes is not read.
func TestC08APauseThatNobodyWouldHearIsRefused(t *testing.T) {
	b := newBench(t, benchState())
	d := storyDeclaration(t, "  publish:", "  failover: {patchServices: false}\n  publish:")
	b.declared = &d
	_, err := b.paused(t.Context(), &bytes.Buffer{}, "maintenance", b.clock)
	wantExit(t, err, ExitRefused, "failover.patchServices: false", "spec.paused: true")
	wantWrites(t, b.writes())
}

// TestAResumeDoesNotHideThePauseOfTheFile: both may pause a cluster.
func TestAResumeDoesNotHideThePauseOfTheFile(t *testing.T) {
	b := newBench(t, benchState())
	d := storyDeclaration(t, "spec:\n", "spec:\n  paused: true\n")
	b.declared = &d
	if err := b.pause(t.Context(), &bytes.Buffer{}, "maintenance", b.clock); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := b.resume(t.Context(), &out, b.clock); err != nil {
		t.Fatal(err)
	}
	wantWords(t, out.String(), "story is no longer paused (it was since", "spec.paused of the Cluster file of story pauses it still")
}

// gone deletes a Service.
func (b *liveBench) gone(role live.Role) {
	b.t.Helper()
	if err := b.api.CoreV1().Services("db").Delete(b.t.Context(), b.names.Services[role], metav1.DeleteOptions{}); err != nil {
		b.t.Fatal(err)
	}
}

// TestAnOrderThatNobodyFollowsSaysHowTheClientsGo: those of the old writer alone; readers stay where they are.
func TestAnOrderThatNobodyFollowsSaysHowTheClientsGo(t *testing.T) {
	b := newBench(t, benchState())
	out, _, err := b.order(to("b"))
	if want := "kubectl -n db delete pods -l poolwright.dev/cluster=story,poolwright.dev/instance=a --grace-period=1"; err != nil || !strings.Contains(out, want) {
		t.Errorf("%v: it says\n%s\nwant %q", err, out, want)
	}
}
