package evict

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/poolwright/poolwright/live/pooler"
)

// settled is the end of every story: nobody is left on what was demoted, nothing is blocked, and the entry is over.
func settled(t *testing.T, w *world, to string, from ...string) {
	t.Helper()
	for _, i := range from {
		if n := w.on(i); n > 0 {
			t.Errorf("%d clients are left on %s", n, i)
		}
	}
	if n := w.on(to); n != 20 {
		t.Errorf("%d of 20 clients are on %s", n, to)
	}
	if b := w.blocked(); len(b) > 0 {
		t.Errorf("blocked: %v", b)
	}
	if e := w.entry(); e.Open() || e.To != to {
		t.Errorf("the entry is %v", e)
	}
}

// codes are the conditions that stand.
func (p *process) codes() (found []string) {
	for _, c := range p.runner.State().Conditions {
		found = append(found, c.Code.String()+" "+c.Object)
	}
	return found
}

func (p *process) expect(t *testing.T, want ...string) {
	t.Helper()
	if got := p.codes(); !slices.Equal(got, want) {
		t.Errorf("the conditions are %q, want %q", got, want)
	}
}

func TestAFailoverTakesEveryClientOffTheDemotedInstance(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.begin(asIs)
		after(time.Minute)
		if e := w.entry(); e.Open() || e.To != "a" || len(e.From) > 0 {
			t.Fatalf("the first entry is %v", e)
		}
		begun := time.Now()
		w.move("b", 300*time.Millisecond)
		after(200 * time.Millisecond)
		if n := w.on("a"); n > 0 {
			t.Errorf("%d clients are still there after 200 ms", n)
		}
		if s := p.runner.State(); s.Phase != Draining || s.Eviction.Evicted != 20 || s.Left != 0 || len(s.Pods) != 4 {
			t.Errorf("the state is %+v", s)
		}
		after(5 * time.Second)
		settled(t, w, "b", "a")
		e := w.entry()
		if e.Number != 2 || e.Evicted != 20 || e.Returned != 20 || e.Done.Sub(begun) > 2600*time.Millisecond {
			t.Errorf("the entry is %v, after %v", e, e.Done.Sub(begun))
		}
		if r := w.refusedFor("a"); r < 2300*time.Millisecond || r > 2500*time.Millisecond {
			t.Errorf("readers were refused for %v: the move and the margin take 2.3 s", r)
		}
		if r := w.refusedFor("b"); r > 0 {
			t.Errorf("the new writer refused for %v", r)
		}
		want := []string{`DISABLE odd "name`, "DISABLE shop", "KILL_CLIENT", `ENABLE odd "name`, "ENABLE shop"}
		if w.version == old {
			want = []string{`DISABLE odd "name`, "DISABLE shop", `KILL odd "name`, `RESUME odd "name`, "KILL shop", "RESUME shop", `ENABLE odd "name`, "ENABLE shop"}
		}
		// Each pod in front of the Service has a share of the clients; here the first has all.
		if got := w.commands("a-1"); !slices.Equal(trimmed(got), want) {
			t.Errorf("on a-1: %q", got)
		}
		if got := trimmed(w.commands("b-1")); !slices.Equal(got, []string{`RECONNECT odd "name`, "RECONNECT shop"}) {
			t.Errorf("on b-1: %q", got)
		}
		p.expect(t)
	})
}

func trimmed(list []string) (found []string) {
	for _, l := range list {
		found = append(found, strings.TrimSpace(strings.ReplaceAll(l, "  ", " ")))
	}
	return found
}

func TestNothingIsAskedWhileNoEvictionIsOpen(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.begin(asIs)
		after(time.Minute)
		w.move("b", 100*time.Millisecond)
		after(time.Minute)
		n, turn := len(w.log), p.runner.State()
		for range 10 {
			w.show()
			after(time.Minute)
		}
		if len(w.log) != n {
			t.Errorf("asked %v", w.log[n:])
		}
		if now := p.runner.State(); now.Phase != Complete || now.Eviction.String() != turn.Eviction.String() {
			t.Errorf("the state is %+v", now)
		}
	})
}

func TestAtoBtoAPutsARightAtOnceAndClearsB(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.begin(asIs)
		after(time.Minute)
		w.move("b", 300*time.Millisecond)
		after(time.Second)
		w.move("a", 300*time.Millisecond)
		after(1100 * time.Millisecond)
		for _, b := range w.blocked() {
			if strings.HasPrefix(b, "a") {
				t.Errorf("the writer is blocked: %s", b)
			}
		}
		after(5 * time.Second)
		settled(t, w, "a", "b")
		if e := w.entry(); e.Number != 3 || !slices.Equal(e.From, []string{"b"}) || !slices.Equal(e.Restore, []string{"a"}) {
			t.Errorf("the entry is %v", e)
		}
	})
}

func TestAtoBtoCClearsBoth(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.begin(asIs)
		after(time.Minute)
		w.move("b", 300*time.Millisecond)
		after(400 * time.Millisecond)
		w.move("c", 300*time.Millisecond)
		after(6 * time.Second)
		settled(t, w, "c", "a", "b")
		if e := w.entry(); e.Number != 3 || !slices.Equal(e.From, []string{"a", "b"}) {
			t.Errorf("the entry is %v", e)
		}
	})
}

func TestTheToolPutsTheServiceBackForAMoment(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.begin(asIs)
		after(time.Minute)
		w.move("b", 100*time.Millisecond)
		for range 5 { // within the eviction
			after(300 * time.Millisecond)
			w.change(func() { w.service, w.routed = "a", "a" })
			after(100 * time.Millisecond)
			w.change(func() { w.service, w.routed = "b", "b" })
		}
		after(4 * time.Second)
		settled(t, w, "b", "a")
		if e := w.entry(); e.Number != 2 {
			t.Errorf("another eviction began: %v", e)
		}
		// After it, clients come to the old pods while it is so.
		w.change(func() {
			w.service, w.routed = "a", "a"
			for _, p := range w.of("b") {
				p.clients = nil // their pool let them go, just then
			}
		})
		after(200 * time.Millisecond)
		if e := w.entry(); e.Number != 2 || len(w.blocked()) > 0 || w.on("a") != 20 {
			t.Fatalf("evicted towards the old writer: %v, %v", e, w.blocked())
		}
		w.change(func() { w.service, w.routed = "b", "b" })
		after(15 * time.Second)
		settled(t, w, "b", "a")
		if e := w.entry(); e.Number != 3 || !slices.Equal(e.From, []string{"a"}) {
			t.Errorf("the entry is %v", e)
		}
	})
}

func TestAPersonMovesTheServiceWithoutAnOverride(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.begin(asIs)
		after(time.Minute)
		w.change(func() { w.service = "b" }) // a is wanted, and no record stands
		after(time.Minute)
		w.change(func() { w.service = "a" })
		after(time.Minute)
		if e := w.entry(); e.Number != 1 || len(w.commands("")) > 0 {
			t.Errorf("%v: %v", e, w.commands(""))
		}
	})
}

func TestPodsThatComeGoAndRestartInTheMiddle(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.begin(asIs)
		after(time.Minute)
		w.move("b", 1500*time.Millisecond)
		after(200 * time.Millisecond)
		w.change(func() {
			w.pods["a-1"].restart() // it has forgotten DISABLE
			w.pods["a-2"].stop()
			delete(w.pods, "a-2")
			w.birth("a-3", "a")
			w.birth("b-3", "b")
		})
		after(100 * time.Millisecond)
		w.change(func() { w.pods["a-1"].databases["late"] = &fakeDatabase{} })
		after(6 * time.Second)
		settled(t, w, "b", "a")
		if got := w.commands("b-3"); len(got) != 3 {
			t.Errorf("the late pod of the new writer was told %q", got)
		}
		if got := w.commands("a-1"); !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, "DISABLE") && strings.Contains(s, "late") }) {
			t.Errorf("a name that came later was not disabled: %q", got)
		}
	})
}

func TestAConsoleThatFailsCostsThePod(t *testing.T) {
	for name, fault := range map[string]error{
		"hangs": errHangs, "denied": &pooler.Error{Fault: pooler.Denied, Detail: "wrong password"},
		"untrusted": &pooler.Error{Fault: pooler.Untrusted, Detail: "no TLS"}, "garbled": &pooler.Error{Fault: pooler.Garbled, Detail: "?"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.begin(asIs)
				after(time.Minute)
				w.change(func() { w.pods["a-1"].fault = fault })
				begun := time.Now()
				w.move("b", 300*time.Millisecond)
				after(2200 * time.Millisecond)
				if w.seePods()[0].Name == "a-1" {
					t.Error("it was not deleted")
				}
				w.change(func() { w.birth("a-9", "a").fault = fault }) // its successor is no better, and has nobody
				after(6 * time.Second)
				settled(t, w, "b", "a")
				if e := w.entry(); e.Done.Sub(begun) > 5*time.Second {
					t.Errorf("over after %v", e.Done.Sub(begun))
				}
				if w.seePods()[1].Name != "a-9" {
					t.Errorf("the pods are %v", w.seePods())
				}
				if r := w.refusedFor("a"); r > 2500*time.Millisecond { // the other pod waited for nobody
					t.Errorf("refused for %v", r)
				}
			})
		})
	}
}

func TestAPodThatMayNotBeDeletedIsNamedWithWhoIsStuck(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.refused["delete pods"] = rbac("delete pods/a-1")
		p := w.begin(asIs)
		after(time.Minute)
		w.change(func() { w.pods["a-1"].fault = &pooler.Error{Fault: pooler.Denied, Detail: "wrong password"} })
		w.move("b", 300*time.Millisecond)
		after(4 * time.Second)
		p.expect(t, "stuck pod db/a-1")
		c := p.runner.State().Conditions[0]
		if !strings.Contains(c.Detail, "denied: wrong password") || !strings.Contains(c.Detail, "an unknown number of clients is stuck") || !strings.Contains(c.Hint, "verbs: [delete]") {
			t.Errorf("it says %+v", c)
		}
		if s := p.runner.State(); s.Uncounted != 1 || s.Phase != Draining {
			t.Errorf("the state is %+v", s)
		}
		after(time.Minute)
		p.expect(t, "stuck pod db/a-1", "late cluster db/pg")
		if n := len(w.events); n > 60 {
			t.Errorf("%d events", n)
		}
		w.change(func() { w.pods["a-1"].fault = nil })
		after(20 * time.Second)
		settled(t, w, "b", "a")
		p.expect(t)
	})
}

func TestTheNewWritersPodsAreNeverDeletedOrWaitedFor(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.begin(asIs)
		after(time.Minute)
		w.change(func() { w.pods["b-1"].fault = errHangs })
		w.move("b", 300*time.Millisecond)
		after(2 * time.Second)
		p.expect(t, "console-fails pod db/b-1")
		after(4 * time.Second)
		settled(t, w, "b", "a")
	})
}
