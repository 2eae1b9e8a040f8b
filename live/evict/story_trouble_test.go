package evict

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestSlicesForbidden(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.refused["list"] = rbac("list endpointslices")
		p := w.begin(asIs)
		after(time.Minute)
		w.move("b", 300*time.Millisecond)
		after(time.Second)
		p.expect(t, "slices-unseen endpointslices of service db/pg-writer")
		after(4 * time.Second)
		settled(t, w, "b", "a")
		if r := w.refusedFor("a"); r > 2200*time.Millisecond {
			t.Errorf("readers were refused for %v", r)
		}
	})
}

func TestControlForbiddenDisablesNobody(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.begin(asIs)
		after(time.Minute)
		w.change(func() { w.refused["patch "+control] = rbac("patch configmaps/pg-control") })
		w.move("b", 300*time.Millisecond)
		after(6 * time.Second)
		for _, c := range w.commands("") {
			if !strings.HasPrefix(c, "KILL_CLIENT") && !strings.HasPrefix(c, "RECONNECT") {
				t.Errorf("it was not recorded, and yet %s", c)
			}
		}
		p.expect(t, "unrecorded configmap db/pg-control")
		if w.version == current && w.on("b") != 20 {
			t.Errorf("%d clients are on b", w.on("b"))
		}
		w.change(func() { delete(w.refused, "patch "+control) })
		after(40 * time.Second)
		p.expect(t)
		if e := w.entry(); e.Open() || e.To != "b" {
			t.Errorf("the entry is %v", e)
		}
	})
}

func TestAConfigMapOfSomebodyElseIsNotWritten(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.begin(asIs)
		after(time.Minute)
		w.change(func() { w.foreign = true })
		w.move("b", 300*time.Millisecond)
		after(6 * time.Second)
		if c := w.control["evictions"]; !strings.Contains(c, `"n":1,`) || len(w.blocked()) > 0 || slices.ContainsFunc(w.commands(""), func(c string) bool { return strings.HasPrefix(c, "DISABLE") }) {
			t.Errorf("%s, %v, %v", c, w.commands(""), w.blocked())
		}
		p.expect(t, "unrecorded configmap db/pg-control")
		w.change(func() { w.foreign = false })
		after(40 * time.Second)
		p.expect(t)
		if e := w.entry(); e.Open() || e.To != "b" {
			t.Errorf("the entry is %v", e)
		}
	})
}

func TestAnUnreadableEntryIsNotWrittenOver(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.control = map[string]string{"evictions": `{"v":2}`}
		w.begin(asIs)
		after(time.Minute)
		w.move("b", 0)
		after(time.Minute)
		if w.control["evictions"] != `{"v":2}` || len(w.commands("")) > 0 {
			t.Errorf("%v %v", w.control, w.commands(""))
		}
	})
}

func TestAnEntryThatSomebodyTookAwayIsWrittenAgain(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.begin(asIs)
		after(time.Minute)
		w.move("b", 100*time.Millisecond)
		after(5 * time.Second)
		w.change(func() { w.control = nil })
		after(10 * time.Second)
		settled(t, w, "b", "a")
	})
}

func TestTheEndOfTheProcessLeavesNothingBehind(t *testing.T) {
	for _, ms := range []int{5, 20, 50, 150, 400, 1000, 2200} {
		t.Run(fmt.Sprint(ms, " ms into it"), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				p := w.begin(asIs)
				after(time.Minute)
				w.move("b", 300*time.Millisecond)
				after(time.Duration(ms) * time.Millisecond)
				begun := time.Now()
				p.stop()
				if took := time.Since(begun); took > 1200*time.Millisecond {
					t.Errorf("it took %v to leave", took)
				}
				if b := w.blocked(); len(b) > 0 {
					t.Errorf("left behind: %v", b)
				}
				w.begin(asIs)
				after(6 * time.Second)
				settled(t, w, "b", "a")
			})
		})
	}
}

func TestTheLeaseIsLostInTheMiddle(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.begin(asIs)
		after(time.Minute)
		w.move("b", time.Minute) // slow nodes
		after(500 * time.Millisecond)
		if len(w.blocked()) == 0 {
			t.Fatal("nothing is disabled yet")
		}
		w.change(func() { p.holds = false })
		after(1500 * time.Millisecond)
		if b := w.blocked(); len(b) > 0 {
			t.Errorf("left behind: %v", b)
		}
		n := len(w.log)
		after(time.Minute)
		if len(w.log) != n {
			t.Errorf("it does not hold, and yet %v", w.log[n:])
		}
		if s := p.runner.State(); s.Phase != Draining || s.Eviction.Number != 2 {
			t.Errorf("who does not hold shows %+v", s)
		}
		w.change(func() { p.holds = true })
		after(6 * time.Second)
		settled(t, w, "b", "a")
	})
}

func TestAPauseCutsNobodyAndEnablesAtOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.begin(asIs)
		after(time.Minute)
		w.move("b", time.Hour)
		after(300 * time.Millisecond)
		w.change(func() { w.paused = true })
		after(1100 * time.Millisecond)
		if b := w.blocked(); len(b) > 0 {
			t.Errorf("blocked: %v", b)
		}
		n := len(w.commands("a"))
		after(time.Minute)
		if got := w.commands("a"); len(got) != n || w.on("a") != 20 {
			t.Errorf("it is paused, and yet %q", got[n:])
		}
		p.expect(t, "late cluster db/pg", "paused cluster db/pg")
		w.change(func() { w.paused, w.routed = false, "b" })
		after(6 * time.Second)
		settled(t, w, "b", "a")
	})
}

func TestAPauseBeginsNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.begin(asIs)
		after(time.Minute)
		w.change(func() { w.paused = true })
		w.move("b", 0)
		after(time.Minute)
		if e := w.entry(); e.Number != 1 || len(w.commands("")) > 0 {
			t.Errorf("%v %v", e, w.commands(""))
		}
		w.change(func() { w.paused = false })
		after(6 * time.Second)
		settled(t, w, "b", "a")
	})
}

func TestWhatAPersonDisabledStaysSo(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.begin(asIs)
		for _, name := range []string{"a-1", "b-1", "c-1"} {
			w.change(func() { w.pods[name].databases["theirs"] = &fakeDatabase{disabled: true} })
		}
		w.change(func() { w.pods["a-2"].databases["theirs"] = &fakeDatabase{paused: true} })
		after(time.Minute)
		want := []string{"a-1 theirs (paused false, disabled true)", "a-2 theirs (paused true, disabled false)", "b-1 theirs (paused false, disabled true)", "c-1 theirs (paused false, disabled true)"}
		if got := w.blocked(); !slices.Equal(got, want) {
			t.Errorf("without an eviction: %v", got)
		}
		w.move("b", 300*time.Millisecond)
		after(6 * time.Second)
		if got := w.blocked(); !slices.Equal(got, want) {
			t.Errorf("after one: %v", got)
		}
		if w.on("b") != 20 || w.entry().Open() {
			t.Errorf("%d on b, %v", w.on("b"), w.entry())
		}
	})
}

func TestADataPlaneThatDoesNotMoveKeepsNobodyRefused(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.begin(asIs)
		after(time.Minute)
		w.move("b", time.Minute)
		after(6 * time.Second)
		if b := w.blocked(); len(b) > 0 {
			t.Errorf("blocked: %v", b)
		}
		p.expect(t, "late cluster db/pg")
		if c := p.runner.State().Conditions[0]; !strings.Contains(c.Detail, "the EndpointSlices of the Writer Service still name pods of a") {
			t.Errorf("it says %q", c.Detail)
		}
		after(time.Minute)
		settled(t, w, "b", "a")
		p.expect(t)
	})
}

func TestPodsUnseen(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.begin(asIs)
		after(time.Minute)
		w.change(func() { w.blind = true })
		w.move("b", 100*time.Millisecond)
		after(time.Second)
		p.expect(t, "pods-unseen cluster db/pg")
		w.change(func() { w.blind = false })
		after(6 * time.Second)
		settled(t, w, "b", "a")
	})
}

func TestModeDeletePods(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.begin(func(c *Config) { c.Mode, c.Console = ModeDeletePods, nil })
		after(time.Minute)
		w.move("b", 100*time.Millisecond)
		after(200 * time.Millisecond)
		w.change(func() { w.birth("a-3", "a") })
		after(3 * time.Second)
		settled(t, w, "b", "a")
		if pods := w.seePods(); len(pods) != 5 || pods[0].Name != "a-3" || len(w.commands("")) > 0 {
			t.Errorf("the pods are %v, commands %v", pods, w.commands(""))
		}
	})
}

func TestModeNone(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		none := func(c *Config) { c.Mode, c.Console = ModeNone, nil }
		p := w.begin(none)
		after(time.Minute)
		w.move("b", 100*time.Millisecond)
		after(time.Minute)
		if e := w.entry(); e.Open() || e.To != "b" || len(w.commands("")) > 0 || w.on("a") != 20 {
			t.Errorf("%v: %v", e, w.commands(""))
		}
		p.expect(t)
		p.stop()
		w.begin(asIs) // what happened before is not made up for
		after(time.Minute)
		if w.on("a") != 20 {
			t.Error("clients were cut without a failover")
		}
	})
	inWorld(t, func(t *testing.T, w *world) {
		p := w.begin(asIs)
		after(time.Minute)
		w.move("b", time.Hour)
		after(300 * time.Millisecond)
		w.change(func() { p.dead = true })
		p.stop()
		if len(w.blocked()) == 0 {
			t.Fatal("nothing was left behind")
		}
		w.begin(func(c *Config) { c.Mode = ModeNone })
		after(2 * time.Second)
		if b := w.blocked(); len(b) > 0 || w.entry().Open() {
			t.Errorf("what an earlier mode left: %v, %v", b, w.entry())
		}
	})
}

func TestADatabaseThatIsHiddenAlthoughItIsUsed(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.begin(asIs)
		after(time.Minute)
		w.change(func() { w.pods["a-1"].hide() })
		w.move("b", 300*time.Millisecond)
		after(6 * time.Second)
		settled(t, w, "b", "a")
		if e := w.entry(); e.Evicted != 20 {
			t.Errorf("the entry is %v", e)
		}
	})
}
