package evict

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// nextPass is how long a pod may stay blocked once somebody is there again: the margin, or the time that must pass after a KILL,
// and what it takes to look.
const nextPass = 2500 * time.Millisecond

// atEachCommand plays a story for each command from doom on, at which the first process has its fate. It ends when a process
// has survived. Commands are those of the consoles and the writes of the entry.
func atEachCommand(t *testing.T, fates []fate, story func(t *testing.T, w *world, first *process, doom func())) {
	for _, f := range fates {
		for n := 0; ; n++ {
			fell := false
			t.Run(fmt.Sprintf("command %d, %s", n, f), func(t *testing.T) {
				inWorld(t, func(t *testing.T, w *world) {
					first := w.begin(asIs)
					after(2 * time.Second)
					story(t, w, first, func() { w.doom(first, n, f) })
					fell = fell || first.hasFallen()
				})
			})
			if n > 100 || !fell && n < 10 {
				t.Errorf("at %d commands, it is %v that a process was %s", n, fell, f)
			}
			if n > 100 || !fell {
				break
			}
		}
	}
}

// TestF06KilledAtEachCommand is the whole promise: a process is killed when a command has been done, or told to end; another
// comes seconds later, and blocks nobody beyond its first pass. To be killed before a command is to be killed after the one before.
func TestF06KilledAtEachCommand(t *testing.T) {
	t.Parallel()
	atEachCommand(t, []fate{killedAfter, ended}, func(t *testing.T, w *world, first *process, doom func()) {
		doom()
		w.move("b", 300*time.Millisecond)
		after(3 * time.Second)
		first.stop()
		if b := w.blocked(); first.fate == ended && len(b) > 0 {
			t.Errorf("it was told to end, and left behind: %v", b)
		}
		w.begin(asIs)
		after(nextPass)
		if b := w.blocked(); len(b) > 0 {
			t.Errorf("blocked after the next pass: %v", b)
		}
		after(4 * time.Second)
		settled(t, w, "b", "a")
	})
}

// TestSuccessorIsNotConfusedByADeathAtOnce is the same for one that comes within milliseconds, as a container is restarted,
// while the data plane has not moved.
func TestSuccessorIsNotConfusedByADeathAtOnce(t *testing.T) {
	t.Parallel()
	atEachCommand(t, []fate{killedAfter}, func(t *testing.T, w *world, first *process, doom func()) {
		doom()
		w.move("b", 3*time.Second)
		for range 600 {
			if after(10 * time.Millisecond); first.hasFallen() {
				break
			}
		}
		first.stop()
		w.begin(asIs)
		after(10 * time.Second)
		settled(t, w, "b", "a")
	})
}

// TestEachOfManyIsKilled has every process killed after its first commands, as by a liveness probe, until one lives.
func TestEachOfManyIsKilled(t *testing.T) {
	t.Parallel()
	for n := range 8 {
		t.Run(fmt.Sprintf("after %d commands", n), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				p := w.begin(asIs)
				after(2 * time.Second)
				w.doom(p, n, killedAfter)
				w.move("b", 300*time.Millisecond)
				for range 10 {
					after(400 * time.Millisecond)
					p.stop()
					p = w.begin(asIs)
					w.doom(p, n, []fate{killed, killedAfter}[n%2])
				}
				after(400 * time.Millisecond)
				p.stop()
				w.begin(asIs)
				after(nextPass)
				if b := w.blocked(); len(b) > 0 {
					t.Errorf("blocked after the next pass: %v", b)
				}
				after(4 * time.Second)
				settled(t, w, "b", "a")
			})
		})
	}
}

// TestKilledWhileAnotherFailoverBegins is a death at each command of the second of two failovers, A→B→A and A→B→C.
func TestKilledWhileAnotherFailoverBegins(t *testing.T) {
	t.Parallel()
	for _, to := range []string{"a", "c"} {
		t.Run("to "+to, func(t *testing.T) {
			atEachCommand(t, []fate{killedAfter}, func(t *testing.T, w *world, first *process, doom func()) {
				w.move("b", 300*time.Millisecond)
				after(500 * time.Millisecond)
				doom()
				w.move(to, 300*time.Millisecond)
				after(time.Second)
				first.stop()
				w.begin(asIs)
				after(nextPass)
				if b := w.blocked(); len(b) > 0 {
					t.Errorf("blocked after the next pass: %v", b)
				}
				after(5 * time.Second)
				settled(t, w, to, slices.DeleteFunc([]string{"a", "b", "c"}, func(i string) bool { return i == to })...)
			})
		})
	}
}

// TestADatabaseIsTakenOutOfTheConfigurationBetweenTwoProcesses: the second one was told of it, and is not held up by it.
func TestADatabaseIsTakenOutOfTheConfigurationBetweenTwoProcesses(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		first := w.begin(asIs)
		after(2 * time.Second)
		w.move("b", 300*time.Millisecond)
		after(200 * time.Millisecond)
		w.change(func() { first.dead = true })
		first.stop()
		if e := w.entry(); !e.Open() || !slices.Contains(e.Databases, "shop") {
			t.Fatalf("the entry is %v", e)
		}
		w.change(func() {
			for _, p := range w.pods {
				p.fixed = true
			}
			delete(w.pods["a-1"].databases, "shop")
			delete(w.pods["b-2"].databases, "shop")
		})
		w.begin(asIs)
		after(6 * time.Second)
		settled(t, w, "b", "a")
	})
}
