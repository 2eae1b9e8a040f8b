package live

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/poolwright/poolwright/render"
)

// look is what Next says about the world for a wanted writer.
func (w *world) look(writer string) Verdict { return Next(w.sight(), w.wish(writer), w.now) }

// fail over to a writer, all writes made, Git and the tool untouched.
func (w *world) overridden(writer string) *world {
	v := w.look(writer)
	w.perform(v, len(v.Writes))
	return w
}

// movedAt lets somebody who counted from another Git move the Services.
func (w *world) movedAt(epoch uint64, writer string) *world {
	want := w.wish(writer)
	want.Epoch, want.Begin, want.Read = epoch, true, 0
	v := Next(w.sight(), want, w.now)
	w.perform(v, len(v.Writes))
	return w
}

// unread is a decision on what Git said before the override.
func unread(w Want) Want {
	w.Read = 0
	return w
}

func writesOf(v Verdict) string {
	words := make([]string, len(v.Writes))
	for i, w := range v.Writes {
		words[i] = strings.TrimSpace(w.Kind.String() + " " + string(w.Role))
	}
	return strings.Join(words, ", ")
}

func codesOf(v Verdict) string {
	var words []string
	for _, c := range v.Conditions {
		words = append(words, c.Code.String())
	}
	return strings.Join(slices.Compact(words), ", ")
}

func TestNext(t *testing.T) {
	foreign := func(s *corev1.Service) { s.Labels[render.LabelCluster] = "other" }
	steer := func(writer string) func(*corev1.Service) {
		return func(s *corev1.Service) { s.Spec.Selector[render.LabelInstance] = writer }
	}
	for name, c := range map[string]struct {
		tool  Tool
		given func(w *world)
		want  func(w *world) Want // default: the writer is b
		// expected
		phase          Phase
		writes, hurdle string
	}{
		"nothing differs": {want: func(w *world) Want { return w.wish("a") }, phase: Idle},
		"a failover moves the Writer, then the Reader, then notes it down": {
			phase: Overriding, writes: "override writer, override reader, mirror",
		},
		"and then waits for Git": {
			given: func(w *world) { w.overridden("b") }, phase: Overriding, hurdle: "ahead-of-git",
		},
		"15 a crash after the Writer goes on with the Reader": {
			given: func(w *world) { w.perform(w.look("b"), 1) }, phase: Overriding, writes: "override reader, mirror", hurdle: "ahead-of-git",
		},
		"16 a crash after the push and before any patch still moves the Services": {
			given: func(w *world) { w.commit(state(2, "b")) }, phase: Overriding, writes: "override writer, override reader, mirror",
		},
		"01 Flux had read the old Service and puts it back": {
			given: func(w *world) {
				w.overridden("b")
				w.edit(Writer, "kustomize-controller", steer("a"))
			}, phase: Overriding, writes: "reassert writer", hurdle: "ahead-of-git, reverted",
		},
		"02 Argo CD had read the old Service and puts it back": {
			tool: ArgoCD, given: func(w *world) { w.overridden("b").sync() },
			phase: Overriding, writes: "reassert writer, reassert reader", hurdle: "ahead-of-git, reverted",
		},
		"14 a person changes the live Service during the override": {
			given: func(w *world) {
				w.overridden("b")
				w.edit(Writer, "kubectl-edit", steer("c"))
			}, phase: Overriding, writes: "reassert writer", hurdle: "ahead-of-git, reverted",
		},
		"14 unless the cluster is paused": {
			given: func(w *world) {
				w.overridden("b")
				w.edit(Writer, "kubectl-edit", steer("c"))
			}, want: func(w *world) Want {
				want := w.wish("b")
				want.Paused = "for maintenance"
				return want
			}, phase: Blocked, hurdle: "paused, ahead-of-git",
		},
		"26 the Service is replaced and its record is lost, the mirror is not": {
			given: func(w *world) {
				w.overridden("b")
				w.create(Writer)
				w.apply(state(1, "a"))
			}, phase: Overriding, writes: "reassert writer", hurdle: "ahead-of-git, reverted",
		},
		"26 the Service is gone for now": {
			given: func(w *world) { delete(w.overridden("b").services, Writer) }, phase: Overriding, hurdle: "service-missing, ahead-of-git",
		},
		"19 a Service of that name is somebody else's": {
			given: func(w *world) {
				w.edit(Writer, "kubectl", foreign)
				w.edit(Reader, "kubectl", foreign)
			}, phase: Idle, hurdle: "not-ours",
		},
		"20 the new writer has no ready pod, the old one has": {
			given: func(w *world) { w.ready["b"] = 0 }, phase: Blocked, hurdle: "target-not-ready",
		},
		"20 neither has": {
			given: func(w *world) { w.ready["a"], w.ready["b"] = 0, 0 }, phase: Overriding, writes: "override writer, override reader, mirror",
		},
		"20 its pods cannot be seen": {
			given: func(w *world) { w.ready = nil }, phase: Blocked, hurdle: "pods-unseen",
		},
		"20 a person ordered it": {
			given: func(w *world) { w.ready["b"] = 0 }, want: func(w *world) Want {
				want := w.wish("b")
				want.By = "alice"
				return want
			}, phase: Overriding, writes: "override writer, override reader, mirror",
		},
		"09 Git has it, the tool has not applied it": {
			given: func(w *world) { w.overridden("b").commit(state(2, "b")) }, phase: Committed, hurdle: "ahead-of-git",
		},
		"11 the tool has applied it, except for the frozen Services": {
			given: func(w *world) {
				w.overridden("b").commit(state(2, "b"))
				w.sync()
			}, phase: Seen, writes: "unfreeze writer, unfreeze reader", hurdle: "ahead-of-git",
		},
		"22 its receipt is there, but the selector is another": {
			tool: ArgoCD, given: func(w *world) {
				w.overridden("b").commit(state(2, "b"))
				w.sync()
				w.edit(Writer, "argocd-controller", steer("c"))
			}, phase: Overriding, writes: "reassert writer, release reader", hurdle: "ahead-of-git, reverted",
		},
		"its own receipt is there": {
			tool: ArgoCD, given: func(w *world) {
				w.overridden("b").commit(state(2, "b"))
				w.sync()
			}, phase: Applied, writes: "release writer, release reader", hurdle: "ahead-of-git",
		},
		"35 a person froze the Service: it stays frozen": {
			given: func(w *world) {
				for _, r := range []Role{Writer, Reader} {
					w.edit(r, "kubectl", func(s *corev1.Service) { s.Annotations[annotationFreeze] = frozen })
				}
				w.overridden("b").commit(state(2, "b"))
				w.sync()
			}, phase: Seen, hurdle: "ahead-of-git, frozen-by-person",
		},
		"21 a second failover before Git has the first": {
			given: func(w *world) { w.overridden("b") }, want: func(w *world) Want { return w.wish("c") },
			phase: Overriding, writes: "override writer, override reader, mirror", hurdle: "ahead-of-git",
		},
		"a fail-back before Git has it moves the Services back": {
			given: func(w *world) { w.overridden("b") }, want: func(w *world) Want { return w.wish("a") },
			phase: Overriding, writes: "override writer, override reader, mirror", hurdle: "ahead-of-git",
		},
		"and releases them at once": {
			given: func(w *world) { w.overridden("b").overridden("a") }, want: func(w *world) Want { return w.wish("a") },
			phase: Applied, writes: "release writer, release reader", hurdle: "ahead-of-git",
		},
		"a doubt holds what was moved": {
			given: func(w *world) {
				w.overridden("b")
				w.edit(Writer, "kustomize-controller", steer("a"))
			}, want: (*world).held, phase: Overriding, writes: "reassert writer", hurdle: "ahead-of-git, reverted",
		},
		"a doubt with nothing moved changes nothing": {want: (*world).held, phase: Idle},
		"13 a person reverts the commit in Git during the override": {
			given: func(w *world) {
				w.overridden("b").commit(state(2, "b"))
				w.commit(state(1, "a"))
				w.sync()
			}, want: (*world).held, phase: Overriding, hurdle: "ahead-of-git",
		},
		"Git cannot be read after a restart": {
			given: func(w *world) {
				w.overridden("b")
				w.edit(Writer, "kustomize-controller", steer("a"))
			}, want: func(*world) Want { return Want{Hold: true} }, phase: Overriding, writes: "reassert writer", hurdle: "ahead-of-git, reverted",
		},
		"19 C24 somebody who knows more has moved it meanwhile": {
			given: func(w *world) { w.overridden("b") }, want: func(w *world) Want {
				want := w.wish("a")
				want.Known = nil
				return want
			}, phase: Overriding, hurdle: "ahead-of-git",
		},
		"19 C24 a doubt in the middle of a fail-back brings nobody back to whom it overruled": {
			given: func(w *world) { w.overridden("b").perform(w.look("a"), 1) }, want: (*world).held,
			phase: Overriding, writes: "override reader, mirror", hurdle: "ahead-of-git",
		},
		"19 C24 a person with an older Git than ours has moved it meanwhile": {
			given: func(w *world) {
				w.commit(state(6, "a"))
				w.movedAt(5, "b")
			}, want: func(w *world) Want {
				want := w.wish("a")
				want.Known = nil
				return want
			}, phase: Overriding, hurdle: "ahead-of-git",
		},
		"19 C24 what a failover has moved stays in doubt, also when Git turns out to be further": {
			given: func(w *world) {
				w.movedAt(2, "b")
				w.commit(state(6, "a"))
			}, want: (*world).held, phase: Overriding, hurdle: "ahead-of-git",
		},
		"19 C24 it is moved when the doubt is over": {
			given: func(w *world) {
				w.movedAt(2, "b")
				w.commit(state(6, "a"))
			}, want: func(w *world) Want { return w.wish("a") },
			phase: Overriding, writes: "override writer, override reader, mirror", hurdle: "ahead-of-git",
		},
		"19 C24 a failover of the past, after a newer one was applied, begins nothing": {
			given: func(w *world) {
				w.commit(state(6, "a"))
				w.sync()
			}, want: func(w *world) Want {
				want := w.wish("b")
				want.Epoch, want.Declared = 5, 4
				return want
			}, phase: Idle, hurdle: "receipt-behind, drifted",
		},
		"19 C24 a decision from an older Git came to the epoch that Git has": {
			given: func(w *world) {
				w.commit(state(2, "a"))
				w.sync()
				w.movedAt(2, "b")
			}, want: func(w *world) Want {
				want := w.wish("a")
				want.Known = nil
				return want
			}, phase: Overriding, hurdle: "ahead-of-git",
		},
		"19 C24 the same in doubt": {
			given: func(w *world) {
				w.commit(state(2, "a"))
				w.sync()
				w.movedAt(2, "b")
			}, want: (*world).held, phase: Overriding, hurdle: "ahead-of-git",
		},
		"19 C24 somebody with a newer Git moved it to the same writer": {
			given: func(w *world) { w.movedAt(4, "b") }, want: func(w *world) Want { return unread(w.wish("b")) }, phase: Overriding, hurdle: "ahead-of-git",
		},
		"a fail-back is not handed back before Git has been read since: the commit may be there": {
			given: func(w *world) { w.overridden("b") }, want: func(w *world) Want { return unread(w.wish("a")) },
			phase: Overriding, writes: "override writer, override reader, mirror", hurdle: "ahead-of-git",
		},
		"and stays where it is": {
			given: func(w *world) {
				w.overridden("b")
				v := Next(w.sight(), unread(w.wish("a")), w.now)
				w.perform(v, len(v.Writes))
			}, want: func(w *world) Want { return unread(w.wish("a")) }, phase: Overriding, hurdle: "ahead-of-git",
		},
		"in doubt Git counts at its own epoch, if it has the same writer": {
			given: func(w *world) {
				w.overridden("b")
				w.commit(withoutC(state(2, "b")))
			}, want: (*world).held, phase: Overriding, writes: "override writer, override reader, mirror", hurdle: "ahead-of-git",
		},
		"without Git, and what is applied at the record's epoch has another writer": {
			given: func(w *world) {
				w.overridden("b")
				w.commit(state(2, "a"))
				w.sync()
			}, want: func(w *world) Want {
				want := w.held()
				want.Declared = 0
				return want
			}, phase: Overriding, hurdle: "ahead-of-git",
		},
		"19 C24 Git has been read since, and was put back": {
			given: func(w *world) { w.movedAt(4, "b") }, want: func(w *world) Want { return w.wish("b") }, phase: Overriding, writes: "override writer, override reader, mirror", hurdle: "ahead-of-git",
		},
		"19 C24 somebody with a newer Git moved it, and the databases say otherwise": {
			given: func(w *world) { w.movedAt(4, "b") }, want: func(w *world) Want { return unread(w.wish("c")) },
			phase: Overriding, writes: "override writer, override reader, mirror", hurdle: "ahead-of-git",
		},
		"13 the tool went back to an older commit, and Git has not been read since": {
			given: func(w *world) {
				w.settle("b")
				w.apply(state(1, "a"))
			}, want: func(w *world) Want {
				want := w.wish("b")
				want.Applied = 2
				return want
			}, phase: Idle,
		},
		"13 Git has been read since, and says what it said": {
			given: func(w *world) {
				w.settle("b")
				w.apply(state(1, "a"))
			}, phase: Overriding, writes: "override writer, override reader, mirror",
		},
		"17 our entry among the managers is all that is left": {
			given: func(w *world) {
				w.edit(Writer, FieldManager, steer("b"))
				w.commit(state(2, "b"))
				w.apply(state(2, "b"))
				w.edit(Writer, FieldManager, func(s *corev1.Service) { s.Spec.Selector["team"] = "x" })
			}, phase: Idle, writes: "release writer",
		},
		"drift outside of an override is only said": {
			given: func(w *world) {
				w.edit(Reader, "kubectl-edit", func(s *corev1.Service) { delete(s.Spec.Selector, render.SlotLabel(0)) })
			},
			want: func(w *world) Want { return w.wish("a") }, phase: Idle, hurdle: "drifted",
		},
		"a record that cannot be read is said, and overwritten by the next": {
			given: func(w *world) {
				w.edit(Writer, "kubectl", func(s *corev1.Service) { s.Annotations[AnnotationOverride] = "{" })
			}, phase: Overriding, writes: "override writer, override reader, mirror", hurdle: "bad-record",
		},
		"31 an owner without a freeze is said": {
			given: func(w *world) {
				for _, r := range []Role{Writer, Reader} {
					w.edit(r, "helm", func(s *corev1.Service) {
						s.Labels = map[string]string{render.LabelCluster: cluster, "helm.toolkit.fluxcd.io/name": "db"}
					})
				}
			}, phase: Overriding, writes: "override writer, override reader, mirror", hurdle: "unsupported-owner",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.tool == NoTool {
				c.tool = Flux
			}
			w := newWorld(t, c.tool)
			if c.given != nil {
				c.given(w)
			}
			want := w.wish("b")
			if c.want != nil {
				want = c.want(w)
			}
			v := Next(w.sight(), want, w.now)
			if v.Phase != c.phase || writesOf(v) != c.writes || codesOf(v) != c.hurdle {
				t.Errorf("got  %s: %s (%s)\nwant %s: %s (%s)\n%v", v.Phase, writesOf(v), codesOf(v), c.phase, c.writes, c.hurdle, v.Conditions)
			}
		})
	}
}

func TestD02PatchKeepsForeignKeysAndReplacesOurs(t *testing.T) {
	w := newWorld(t, Flux).overridden("b")
	got := w.services[Writer].Spec.Selector
	want := map[string]string{"team": "shop", render.LabelCluster: cluster, render.LabelInstance: "b"}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestPatchOfServiceWithoutAnnotationsOrSelector(t *testing.T) {
	w := newWorld(t, Flux)
	for _, r := range []Role{Writer, Reader} {
		w.edit(r, "kubectl", func(s *corev1.Service) { s.Annotations, s.Spec.Selector = nil, nil })
	}
	if w.overridden("b"); w.selected(Writer) != "b" {
		t.Errorf("the writer selects %q", w.selected(Writer))
	}
}

func TestOverrideIsHandedBack(t *testing.T) {
	for _, tool := range []Tool{Flux, ArgoCD} {
		for _, stanza := range []bool{true, false} {
			w := newWorld(t, tool)
			w.stanza = stanza
			w.settle("b")
			if got := w.traces(); len(got) > 0 || w.selected(Writer) != "b" {
				t.Errorf("%s: the writer selects %s, and %v", tool, w.selected(Writer), got)
			}
		}
	}
}

func TestReleaseGivesTheSelectorToTheToolThatFoundItEqual(t *testing.T) {
	for _, tool := range []Tool{Flux, ArgoCD} {
		w := newWorld(t, tool).overridden("b").overridden("a")
		w.settle("a")
		for role, svc := range w.services {
			if got := selectorManager(svc); got != toolManager(tool) {
				t.Errorf("%s: the selector of the %s is owned by %s", tool, role, got)
			}
		}
	}
}

func TestVerdictIsRepeatable(t *testing.T) {
	w := newWorld(t, Flux)
	if a, b := w.look("b"), w.look("b"); writesOf(a) != writesOf(b) || a.Record.String() != b.Record.String() {
		t.Errorf("the same look gives %v and %v", a, b)
	}
	w.overridden("b")
	w.now = w.now.Add(time.Hour)
	if v := w.look("b"); len(v.Writes) > 0 {
		t.Errorf("an hour later it writes again: %s", writesOf(v))
	}
}

// TestARecordWithoutARoleEmptiesNoSelector: a record that was edited by hand, or is of a cluster that had no Writer then, moves only what
// it speaks of.
func TestARecordWithoutARoleEmptiesNoSelector(t *testing.T) {
	for name, record := range map[string]Record{
		"without any":         {Version: 1, Epoch: 9, To: "b", At: start},
		"of the Reader alone": {Version: 1, Epoch: 9, To: "b", At: start, Select: map[Role]map[string]string{Reader: {render.LabelCluster: cluster}}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, Flux)
			before := maps.Clone(w.services[Writer].Spec.Selector)
			w.control.Override = &record
			held := w.held()
			held.Known = nil
			v := Next(w.sight(), held, w.now)
			w.perform(v, len(v.Writes))
			if got := w.services[Writer].Spec.Selector; !maps.Equal(got, before) {
				t.Errorf("the Writer selects %v, before %v", got, before)
			}
			if !slices.ContainsFunc(v.Conditions, func(c Condition) bool { return c.Code == BadRecord && strings.Contains(c.Object, "writer") }) {
				t.Errorf("nobody is told: %v", v.Conditions)
			}
		})
	}
}

func FuzzParseRecord(f *testing.F) {
	f.Add(Record{Version: 1, Epoch: 2, To: "b", At: start, Select: map[Role]map[string]string{Writer: {render.LabelCluster: cluster}}}.String())
	f.Add(`{"v":1}`)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRecord(text)
		if err != nil {
			return
		}
		again, err := ParseRecord(r.String())
		if err != nil || again.String() != r.String() {
			t.Errorf("%q is read as %s, and that as %s (%v)", text, r, again, err)
		}
	})
}
