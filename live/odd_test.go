package live

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/poolwright/poolwright/render"
)

// TestARecordOfAnotherClusterIsNotObeyed: somebody copied a Service with its annotations, or a ConfigMap.
func TestARecordOfAnotherClusterIsNotObeyed(t *testing.T) {
	theirs := Record{Version: 1, Epoch: 9, To: "x", At: start, Select: map[Role]map[string]string{
		Writer: {render.LabelCluster: "billing", render.LabelInstance: "x"}, Reader: {render.LabelCluster: "billing"},
	}}
	for where, put := range map[string]func(w *world){
		"on the Writer": func(w *world) {
			w.edit(Writer, "kubectl", func(s *corev1.Service) { s.Annotations[AnnotationOverride] = theirs.String() })
		},
		"mirrored": func(w *world) { w.control.Override = &theirs },
	} {
		for _, held := range []bool{false, true} {
			w := newWorld(t, Flux)
			put(w)
			want := w.wish("a")
			if held {
				want = w.held()
			}
			v := Next(w.sight(), want, w.now)
			w.perform(v, len(v.Writes))
			if w.selected(Writer) != "a" || OurKeys(w.services[Reader].Spec.Selector)[render.LabelCluster] != cluster {
				t.Errorf("%s: writes %q, the Writer selects %s", where, writesOf(v), w.selected(Writer))
			}
			if !slices.ContainsFunc(v.Conditions, func(c Condition) bool { return c.Code == BadRecord && strings.Contains(c.Detail, `cluster "billing"`) }) {
				t.Errorf("%s: nobody is told: %v", where, v.Conditions)
			}
		}
	}
}

// TestARecordThatADecisionDidNotKnowStands: a person counted from what is applied, and came to the epoch that Git has for another writer.
func TestARecordThatADecisionDidNotKnowStands(t *testing.T) {
	w := newWorld(t, Flux)
	before := w.wish("a")
	w.overriddenByOrder("b")
	before.Epoch, before.Known = 2, nil
	if v := Next(w.sight(), before, w.now); len(v.Writes) > 0 || v.Record.To != "b" {
		t.Errorf("it writes %q for %+v", writesOf(v), v.Record)
	}
	before.Known = w.sight().Records()
	if v := Next(w.sight(), before, w.now); !strings.HasPrefix(writesOf(v), "override writer") {
		t.Errorf("it knows of it, and writes %q", writesOf(v))
	}
}

// TestC24ADecisionFromAnOlderGitGoesBeyondTheRecord: or the process that has the newer Git would put the Services back.
func TestC24ADecisionFromAnOlderGitGoesBeyondTheRecord(t *testing.T) {
	w := newWorld(t, Flux).movedAt(7, "c")
	w.movedAt(2, "b")
	if got := w.sight().Record(); got.To != "b" || got.Epoch != 8 {
		t.Fatalf("the record is %+v, want b at epoch 8", got)
	}
	w.commit(state(7, "c"))
	if v := w.look("c"); v.Record.To != "c" {
		t.Errorf("a decision that knows of it wants %+v", v.Record)
	}
	before := w.wish("c")
	before.Known, before.Read = nil, 0
	if v := Next(w.sight(), before, w.now); len(v.Writes) > 0 || v.Record.To != "b" {
		t.Errorf("a decision that does not know of it writes %q for %+v", writesOf(v), v.Record)
	}
}

// TestC24RecordsOfOneEpochDoNotTakeTurns: two decided on one base, and Git's tool has applied what a third wrote. Decisions lag one write behind.
func TestC24RecordsOfOneEpochDoNotTakeTurns(t *testing.T) {
	w := newWorld(t, ArgoCD)
	w.commit(state(2, "a"))
	w.sync()
	w.movedAt(2, "b")
	next, arrived := w.wish("a"), false
	for range 30 {
		want := next
		next = w.wish("a")
		v := Next(w.sight(), want, w.now)
		w.perform(v, 1)
		w.now = w.now.Add(100 * time.Millisecond)
		if at := w.selected(Writer) == "a"; arrived && !at {
			t.Fatalf("it goes back to %s: %s", w.selected(Writer), writesOf(v))
		} else {
			arrived = at
		}
	}
	if got := w.traces(); !arrived || len(got) > 0 {
		t.Errorf("the Writer selects %s; %v", w.selected(Writer), got)
	}
}

// TestWhatWasTakenBackIsNotGoneBeyond: a decision from before the release, on a Git that is older than the order's record.
func TestWhatWasTakenBackIsNotGoneBeyond(t *testing.T) {
	w := newWorld(t, Flux)
	w.movedAt(3, "b")
	stale := unread(w.ordered("b"))
	stale.Epoch = 2
	w.taken()
	v := Next(w.sight(), stale, w.now)
	w.perform(v, len(v.Writes))
	if r := w.sight().Record(); r != nil && !w.control.Release.takes(*r) {
		t.Errorf("%+v stands after %+v", r, w.control.Release)
	}
}

// TestAnEpochThatIsLiveIsSpent: the repository was put back, or restored, and counts from below what is live.
func TestAnEpochThatIsLiveIsSpent(t *testing.T) {
	w := newWorld(t, Flux)
	for epoch, writer := range map[uint64]string{2: "b"} {
		w.commit(state(epoch, writer))
		w.sync()
	}
	w.commit(state(1, "b"))
	if got := w.sight().SpentEpoch(); got != 2 {
		t.Errorf("spent is %d, want 2", got)
	}
	w.control.Release = &Recall{Epoch: 7, At: start}
	if got := w.sight().SpentEpoch(); got != 7 {
		t.Errorf("spent is %d, want 7", got)
	}
	w.services[Reader].Annotations[render.AnnotationEpoch] = "9007199254740991" // nobody could come after it
	if got := w.sight().SpentEpoch(); got != 7 {
		t.Errorf("spent is %d, want 7", got)
	}
}

// TestAnOverrideEndsWithoutAReader: one that is somebody else's is nobody's business, and one that is away comes back with what was applied last.
func TestAnOverrideEndsWithoutAReader(t *testing.T) {
	for name, c := range map[string]struct {
		change        func(w *world)
		applied, ends bool
	}{
		"somebody else's":                        {change: func(w *world) { w.services[Reader].Labels[render.LabelCluster] = "other" }, applied: true, ends: true},
		"away, and the commit is applied":        {change: func(w *world) { delete(w.services, Reader) }, applied: true, ends: true},
		"away, and the commit is not applied":    {change: func(w *world) { delete(w.services, Reader) }},
		"somebody else's, and it is not applied": {change: func(w *world) { w.services[Reader].Labels[render.LabelCluster] = "other" }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, ArgoCD)
			c.change(w)
			w.overridden("b")
			w.commit(state(2, "b"))
			for range 6 {
				if c.applied {
					w.applyWriterAlone()
				}
				w.now = w.now.Add(time.Second)
				v := Next(w.sight(), w.wish("b"), w.now)
				w.perform(v, len(v.Writes))
			}
			v := Next(w.sight(), w.wish("b"), w.now)
			if ends := v.Phase == Idle && w.control.Override == nil; ends != c.ends {
				t.Errorf("it ends is %v, want %v: %s, %s", ends, c.ends, v.Phase, codesOf(v))
			}
		})
	}
}

// applyWriterAlone lets the tool apply the head to the Writer and the topology.
func (w *world) applyWriterAlone() {
	reader, ok := w.services[Reader]
	w.sync()
	if delete(w.services, Reader); ok {
		w.services[Reader] = reader
	}
}

// TestNoOverrideBeginsWhereItIsOff: and one that stands is handed back.
func TestNoOverrideBeginsWhereItIsOff(t *testing.T) {
	w := newWorld(t, Flux)
	off := func(writer string) Want {
		want := w.wish(writer)
		want.Off, want.Begin = true, false
		return want
	}
	w.commit(state(2, "b")) // and not applied: Git names another writer than the Service
	if v := Next(w.sight(), off("b"), w.now); len(v.Writes) > 0 {
		t.Errorf("it writes %s", writesOf(v))
	}
	w = newWorld(t, Flux).overridden("b")
	w.commit(state(2, "b"))
	for range 8 {
		w.sync()
		v := Next(w.sight(), off("b"), w.now)
		w.perform(v, len(v.Writes))
	}
	if got := w.traces(); len(got) > 0 || w.selected(Writer) != "b" {
		t.Errorf("the Writer selects %s; %v", w.selected(Writer), got)
	}
}
