package live

import (
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/render"
)

// history is what may happen to a world.
type history struct {
	*world
	truth string // the writer, as the databases say
	late  *Want  // a decision that has not been acted on, nil for none
}

// decided is the writer of poolwright's decision: the ordered one while the order stands.
func (h *history) decided() string {
	if o := h.sight().Order(); o != nil && h.now.Before(o.Until) {
		return o.Writer
	}
	return h.truth
}

// wanted is poolwright's Want now.
func (h *history) wanted() Want { return h.wish(h.decided()) }

// TestAnyHistoryConverges lets poolwright crash between any two writes, the tool apply old and new commits at any time, people edit
// and recreate Services, give orders, take them back, pause and spoil records, and the truth change; then lets all of them finish.
func TestAnyHistoryConverges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := &history{world: newWorld(t, rapid.SampledFrom([]Tool{Flux, ArgoCD}).Draw(t, "tool")), truth: "a"}
		h.stanza = rapid.Bool().Draw(t, "stanza")
		happenings := map[string]func(*rapid.T){"": h.isSound}
		maps.Copy(happenings, h.machines())
		maps.Copy(happenings, h.people())
		t.Repeat(happenings)
		h.now = h.now.Add(maxOrderInTests)
		h.control.Order = nil
		h.settle(h.truth)
		h.sync()
		h.isGits(t)
	})
}

// maxOrderInTests is more than any order stands.
const maxOrderInTests = 24 * time.Hour

// machines are what poolwright, the tool and the clock do.
func (h *history) machines() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"truth": func(t *rapid.T) { h.truth = rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "writer") },
		"poolwright": func(t *rapid.T) {
			v := Next(h.sight(), h.wanted(), h.now)
			h.perform(v, rapid.IntRange(0, len(v.Writes)).Draw(t, "writes"))
		},
		"poolwright in doubt": func(*rapid.T) {
			v := Next(h.sight(), h.held(), h.now)
			h.perform(v, len(v.Writes))
		},
		"poolwright that has not read Git since": func(t *rapid.T) {
			v := Next(h.sight(), unread(h.wanted()), h.now)
			h.perform(v, rapid.IntRange(0, len(v.Writes)).Draw(t, "writes"))
		},
		"poolwright, late": func(*rapid.T) {
			if h.late != nil {
				v := Next(h.sight(), *h.late, h.now)
				h.perform(v, len(v.Writes))
			}
			now := h.wanted()
			h.late = &now
		},
		"another process, with another Git": func(t *rapid.T) {
			h.movedAt(h.head().Epoch+rapid.Uint64Range(0, 3).Draw(t, "beyond"), rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "to"))
		},
		"poolwright paused": func(t *rapid.T) {
			w := h.wanted()
			w.Paused = "by anna"
			if v := Next(h.sight(), w, h.now); len(v.Writes) > 0 {
				t.Fatalf("paused, it writes %s", writesOf(v))
			}
		},
		"poolwright commits": func(*rapid.T) {
			if to := h.decided(); to != h.head().Writer {
				h.commit(state(h.nextEpoch(), to))
			}
		},
		"tool":           func(*rapid.T) { h.sync() },
		"tool in flight": func(t *rapid.T) { h.apply(rapid.SampledFrom(h.git).Draw(t, "commit")) },
		"time":           func(*rapid.T) { h.now = h.now.Add(time.Minute) },
	}
}

// people are what people do.
func (h *history) people() map[string]func(*rapid.T) {
	instance := rapid.SampledFrom([]string{"a", "b", "c"})
	role := rapid.SampledFrom([]Role{Writer, Reader})
	return map[string]func(*rapid.T){
		"person": func(t *rapid.T) {
			to := instance.Draw(t, "to")
			h.edit(Writer, "kubectl", func(s *corev1.Service) { s.Spec.Selector[render.LabelInstance] = to })
		},
		"recreated": func(t *rapid.T) {
			h.create(role.Draw(t, "role")).Spec.Selector = selectOf(h.head())[Writer]
			h.sync()
		},
		"order": func(t *rapid.T) {
			want := h.ordered(instance.Draw(t, "to"))
			if rapid.Bool().Draw(t, "written down") {
				h.control.Order = &Order{Writer: want.To, Reason: want.Reason, By: want.By, At: h.now, Until: want.Until}
			}
			v := Next(h.sight(), want, h.now)
			h.perform(v, rapid.IntRange(0, len(v.Writes)).Draw(t, "writes"))
		},
		"release": func(t *rapid.T) {
			h.taken()
			writes := HandBack(h.sight())
			h.perform(Verdict{Writes: writes}, rapid.IntRange(0, len(writes)).Draw(t, "writes"))
		},
		"spoiled record": func(t *rapid.T) {
			text := rapid.SampledFrom([]string{"{", "null", `{"v":1,"epoch":9,"to":"b","at":"2026-11-30T08:00:00Z"}`}).Draw(t, "record")
			h.edit(role.Draw(t, "role"), "kubectl", func(s *corev1.Service) { s.Annotations[AnnotationOverride] = text })
		},
	}
}

// isSound is true at any time.
func (h *history) isSound(t *rapid.T) {
	for _, r := range []Role{Writer, Reader} {
		if keys := OurKeys(h.services[r].Spec.Selector); keys[render.LabelCluster] == "" {
			t.Fatalf("the %s selects %v", r, keys)
		}
	}
}

// isGits is true in the end: every Service is the tool's, and as Git says.
func (h *history) isGits(t *rapid.T) {
	if got := h.traces(); len(got) > 0 {
		t.Fatal(got)
	}
	for _, r := range slices.Sorted(maps.Keys(h.services)) {
		svc := h.services[r]
		if selectorManager(svc) == "somebody" {
			t.Fatalf("nobody owns the selector of the %s", r)
		}
		if keys := selectOf(h.head())[r]; !maps.Equal(OurKeys(svc.Spec.Selector), keys) {
			t.Fatalf("the %s selects %v, Git says %v", r, svc.Spec.Selector, keys)
		}
	}
}
