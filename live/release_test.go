package live

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

// ordered is the Want for a person's order.
func (w *world) ordered(writer string) Want {
	want := w.wish(writer)
	want.By, want.Reason, want.Until = "anna", "a is slow", w.now.Add(10*time.Minute)
	return want
}

// overriddenByOrder has made every write of an order for a writer; Git and the tool are untouched.
func (w *world) overriddenByOrder(writer string) *world {
	v := Next(w.sight(), w.ordered(writer), w.now)
	w.perform(v, len(v.Writes))
	return w
}

// taken is a person's `release`, said and not yet done.
func (w *world) taken() *world {
	w.control.Order, w.control.Release = nil, &Recall{Epoch: w.sight().LastEpoch(), By: "anna", At: w.now}
	return w
}

func TestAnOrderIsKnownFromTheServicesUntilItIsTakenBack(t *testing.T) {
	w := newWorld(t, Flux).overriddenByOrder("b")
	w.control = Control{} // the command could write neither the order nor the mirror
	want := Order{Writer: "b", Reason: "a is slow", By: "anna", At: start, Until: start.Add(10 * time.Minute)}
	if o := w.sight().Order(); o == nil || *o != want {
		t.Errorf("the order is %+v, want %+v", o, want)
	}
	if o := w.taken().sight().Order(); o != nil {
		t.Errorf("the order is %+v after it was taken back", o)
	}
}

func TestWhatWasTakenBackStandsAgainstNothing(t *testing.T) {
	stale := func(w *world) Want { // decided before anybody knew of the release
		want := w.ordered("b")
		want.Epoch = 2
		return want
	}
	for name, c := range map[string]struct {
		want    func(w *world) Want
		writes  string
		writers string // of the two Services afterwards, and who ordered it
	}{
		"the databases say what Git says: back at once":     {want: func(w *world) Want { return w.wish("a") }, writes: "override writer, override reader, mirror", writers: "a"},
		"a decision from before it: nothing until the next": {want: stale, writers: "b by anna"},
		"in doubt: off the Services, and nobody is moved":   {want: (*world).held, writes: "release writer, release reader, forget", writers: "b"},
		"nothing declared: off the Services":                {want: func(*world) Want { return Want{Hold: true} }, writes: "release writer, release reader, forget", writers: "b"},
		"paused: nothing": {want: func(w *world) Want {
			want := w.wish("a")
			want.Paused = "by anna"
			return want
		}, writers: "b by anna"},
		"the databases disagree with Git: a new epoch, which nobody ordered": {want: func(w *world) Want {
			want := w.wish("b")
			want.Epoch = 3 // no decision has an epoch again that was taken back
			return want
		}, writes: "override writer, override reader, mirror", writers: "b"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, Flux).overriddenByOrder("b").taken()
			v := Next(w.sight(), c.want(w), w.now)
			if got := writesOf(v); got != c.writes {
				t.Errorf("writes %q, want %q", got, c.writes)
			}
			w.perform(v, len(v.Writes))
			writer := w.selected(Writer)
			if r := w.sight().Record(); r != nil && r.By != "" {
				writer += " by " + r.By
			}
			if writer != c.writers {
				t.Errorf("the Writer selects %s, want %s", writer, c.writers)
			}
			if v := Next(w.sight(), c.want(w), w.now.Add(time.Minute)); strings.Contains(writesOf(v), "mirror") {
				t.Errorf("and a minute later it writes the same again: %s", writesOf(v))
			}
		})
	}
}

// TestAReleaseAndARunningKeeperAgree: the command and the keeper write in any order, the tool in between; nothing of the override is
// left at the end, and the Services are where Git says.
func TestAReleaseAndARunningKeeperAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, rapid.SampledFrom([]Tool{Flux, ArgoCD}).Draw(t, "tool"))
		w.overriddenByOrder("b").taken()
		t.Repeat(map[string]func(*rapid.T){
			"keeper": func(*rapid.T) { w.perform(w.look("a"), 1) },
			"command": func(*rapid.T) {
				w.perform(Verdict{Writes: HandBack(w.sight())}, 1)
			},
			"tool": func(*rapid.T) { w.sync() },
			"":     func(*rapid.T) {},
		})
		for range 6 {
			v := w.look("a")
			w.perform(v, len(v.Writes))
			w.perform(Verdict{Writes: HandBack(w.sight())}, 9)
			w.sync()
		}
		if got := w.traces(); len(got) > 0 || w.selected(Writer) != "a" {
			t.Fatalf("the Writer selects %s; %v", w.selected(Writer), got)
		}
	})
}

func TestRecordsThatAreNotBelieved(t *testing.T) {
	const rest = `"to":"b","at":"2026-11-30T08:00:00Z"`
	for name, text := range map[string]string{
		"no JSON":                      `{`,
		"null":                         `null`,
		"another version":              `{"v":2,"epoch":9,` + rest + `,"select":{"writer":{"poolwright.dev/cluster":"shop"}}}`,
		"no epoch":                     `{"v":1,` + rest + `,"select":{"writer":{"poolwright.dev/cluster":"shop"}}}`,
		"an epoch without a next":      `{"v":1,"epoch":18446744073709551615,` + rest + `,"select":{"writer":{"poolwright.dev/cluster":"shop"}}}`,
		"no time":                      `{"v":1,"epoch":9,"to":"b","select":{"writer":{"poolwright.dev/cluster":"shop"}}}`,
		"nothing selected":             `{"v":1,"epoch":9,` + rest + `}`,
		"a role that is none":          `{"v":1,"epoch":9,` + rest + `,"select":{"spare":{"poolwright.dev/cluster":"shop"}}}`,
		"a selector of every cluster":  `{"v":1,"epoch":9,` + rest + `,"select":{"writer":{"poolwright.dev/instance":"b"}}}`,
		"a selector of every pod":      `{"v":1,"epoch":9,` + rest + `,"select":{"writer":{}}}`,
		"a key of somebody else":       `{"v":1,"epoch":9,` + rest + `,"select":{"writer":{"poolwright.dev/cluster":"shop","app":"x"}}}`,
		"an epoch beyond JSON numbers": `{"v":1,"epoch":9007199254740992,` + rest + `,"select":{"writer":{"poolwright.dev/cluster":"shop"}}}`,
	} {
		if r, err := ParseRecord(text); err == nil {
			t.Errorf("%s: is read as %s", name, r)
		}
	}
}

func TestWordsThatSayNothing(t *testing.T) {
	for name, c := range map[string]struct {
		key, text string
		paused    bool
	}{
		"an order that is null":           {key: KeyOrder, text: "null"},
		"an order for nobody":             {key: KeyOrder, text: `{"until":"2026-11-30T09:00:00Z"}`},
		"an order without an end":         {key: KeyOrder, text: `{"writer":"b"}`},
		"a pause that is null":            {key: KeyPause, text: "null", paused: true},
		"a pause that a person typed":     {key: KeyPause, text: "maintenance", paused: true},
		"a pause without a word":          {key: KeyPause, text: "", paused: true},
		"a resume that is null":           {key: KeyResume, text: "null"},
		"a release without a time":        {key: KeyRelease, text: `{"epoch":9}`},
		"a release of every epoch to be":  {key: KeyRelease, text: `{"epoch":18446744073709551615,"at":"2026-11-30T09:00:00Z"}`},
		"a mirror that is null":           {key: keyOverride, text: "null"},
		"an eviction that is not ours":    {key: keyEviction, text: "{}"},
		"an order that is a number":       {key: KeyOrder, text: "7"},
		"an order with a time that isn't": {key: KeyOrder, text: `{"writer":"b","until":"soon"}`},
	} {
		got, err := ParseControl(map[string]string{c.key: c.text})
		if err == nil || !strings.Contains(err.Error(), "data."+c.key) {
			t.Errorf("%s: the error is %v, want one that names the key", name, err)
		}
		if paused := got.Pause != nil; paused != c.paused || got.Order != nil || got.Release != nil || got.Resume != nil || got.Override != nil || got.Eviction != nil {
			t.Errorf("%s: is read as %+v", name, got)
		}
	}
}

// TestAControlConfigMapOfSomebodyElse: an application happens to have a ConfigMap of that name. Nothing in it counts, nothing is
// written to it, and the failover goes on without a mirror.
func TestAControlConfigMapOfSomebodyElse(t *testing.T) {
	theirs := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "pg-control", Labels: map[string]string{"app": "pg"}},
		Data:       map[string]string{KeyPause: `{"by":"mallory","reason":"x"}`, KeyOrder: `{"writer":"b","until":"2099-01-01T00:00:00Z"}`},
	}
	b := newBed(t)
	b.add("configmaps", theirs)
	s, err := Look(t.Context(), b.client("me"), b.names)
	if err != nil {
		t.Fatal(err)
	}
	if s.Control != (Control{}) || !s.ControlIsForeign() {
		t.Errorf("it says %+v, %v", s.Control, s.ControlErr)
	}
	record := &Record{Version: 1, Epoch: 8, To: "b", At: start}
	for _, w := range []Write{{Kind: Mirror, Name: "pg-control", Record: record}, {Kind: Forget, Name: "pg-control"}} {
		if err := Do(t.Context(), b.client("me"), b.names, w); CodeOf(err) != NotOurs {
			t.Errorf("%s: %v", w.Kind, err)
		}
	}
	if c := read[corev1.ConfigMap](b.apiServer, "configmaps", "pg-control"); len(c.Data) != 2 {
		t.Errorf("it was written: %v", c.Data)
	}

	w := newWorld(t, Flux)
	sight := w.sight()
	sight.ControlErr = foreign(theirs.Labels)
	v := Next(sight, w.wish("b"), w.now)
	if got := writesOf(v); got != "override writer, override reader" {
		t.Errorf("writes %q", got)
	}
	if !slices.ContainsFunc(v.Conditions, func(c Condition) bool { return c.Code == NotOurs && c.Object == "configmap db/shop-control" }) {
		t.Errorf("nobody is told: %v", v.Conditions)
	}
}

// TestAFreezeByThePrintedLinesIsOurs: a person moved a Service with the kubectl lines that `status` prints, under poolwright's name.
func TestAFreezeByThePrintedLinesIsOurs(t *testing.T) {
	for manager, want := range map[string]bool{FieldManager: false, "kubectl-annotate": true} {
		w := newWorld(t, Flux)
		svc := w.services[Writer]
		svc.Annotations[annotationFreeze] = frozen
		svc.ManagedFields = append(svc.ManagedFields,
			metav1.ManagedFieldsEntry{Manager: manager, FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:` + annotationFreeze + `":{}}}}`)},
			metav1.ManagedFieldsEntry{Manager: FieldManager, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:selector":{}}}`)})
		w.perform(Verdict{Writes: HandBack(w.sight())}, 9)
		if got := isFrozen(w.services[Writer]); got != want {
			t.Errorf("frozen by %s: still frozen is %v", manager, got)
		}
	}
}
