package live

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

func TestPace(t *testing.T) {
	start := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	var p pace
	if p.wait(start) != 0 {
		t.Error("the first write waits")
	}
	now := start
	var gaps []time.Duration
	for range 16 {
		p.wrote(now)
		gap := p.wait(now)
		gaps = append(gaps, gap)
		now = now.Add(gap)
	}
	ms := time.Millisecond
	want := []time.Duration{
		100 * ms, 100 * ms, 100 * ms, 100 * ms, 100 * ms, 100 * ms, 100 * ms, 100 * ms, 100 * ms,
		200 * ms, 400 * ms, 800 * ms, 1600 * ms, 3200 * ms, 5000 * ms, 5000 * ms,
	}
	if fmt.Sprint(gaps) != fmt.Sprint(want) {
		t.Errorf("the gaps are %v, want %v", gaps, want)
	}
	if until, ok := p.contended(now); !ok || until.Before(now) {
		t.Errorf("contended %v until %v, at %v", ok, until, now)
	}
	p.hurry()
	if _, ok := p.contended(now); ok || p.wait(now) != 0 {
		t.Error("something new is wanted, and it waits")
	}
	p.wrote(now)
	p.hurry()
	if got := p.wait(now); got != minGap {
		t.Errorf("after a hurry it waits %v", got)
	}
	now = now.Add(window)
	p.wrote(now)
	if got := p.wait(now); got != minGap {
		t.Errorf("a minute later it waits %v", got)
	}
}

// TestPaceIsNeverHot: whatever happens, ten writes a second at most, and a write waits 5 s at most.
func TestPaceIsNeverHot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p pace
		now := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
		var last time.Time
		for range rapid.IntRange(1, 60).Draw(t, "writes") {
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				p.hurry()
			case 1:
				now = now.Add(time.Duration(rapid.IntRange(0, 70_000).Draw(t, "ms")) * time.Millisecond)
			}
			wait := p.wait(now)
			if wait > maxGap {
				t.Fatalf("it waits %v", wait)
			}
			now = now.Add(wait)
			if !last.IsZero() && now.Sub(last) < minGap {
				t.Fatalf("two writes within %v", now.Sub(last))
			}
			last = now
			if rapid.Bool().Draw(t, "failed") {
				p.failed(now)
			} else {
				p.wrote(now)
			}
		}
	})
}

// TestConflictStorm: somebody puts a Service back the moment it was moved, for ten minutes.
func TestConflictStorm(t *testing.T) {
	inBed(t, func(t *testing.T, b *bed) {
		b.start()
		b.afterwards(func(q request) {
			if q.Name == "pg-writer" {
				b.steer(Writer, "a", "argocd-controller")
			}
		})
		b.keeper.Want(wantWriter(8, "b"))
		time.Sleep(10 * time.Minute)
		at := b.writes(Writer)
		expectPace(t, at)
		if n := len(at); n < 10*12 || n > 10*26 {
			t.Errorf("%d writes in ten minutes", n)
		}
		for i := 11; i < len(at); i++ {
			if gap := at[i].Sub(at[i-1]); gap > maxGap {
				t.Errorf("write %d came only after %v: it gives up", i, gap)
			}
		}
		c := b.keeper.Verdict().Conditions
		if len(c) != 1 || c[0].Code != Contended || c[0].Object != "service example/pg-writer" || c[0].Hint != "kubectl -n example get service pg-writer -o yaml --show-managed-fields" {
			t.Errorf("the conditions are %+v", c)
		}
		if e := b.lastWrite(); e.Wrote.Kind != Reassert || e.Wrote.Reverter != "argocd-controller" {
			t.Errorf("the last event is %+v", e)
		}
		// Something new is wanted: it does not wait for the slow pace.
		begun := time.Now()
		b.afterwards(nil)
		b.keeper.Want(wantWriter(9, "c"))
		time.Sleep(minGap)
		synctest.Wait()
		if b.selects(Writer) != "c" {
			t.Errorf("after %v the Writer selects %s", time.Since(begun), b.selects(Writer))
		}
		if c := b.keeper.Verdict().Conditions; len(c) > 0 {
			t.Errorf("still: %v", c)
		}
	})
}

func TestContentionIsOverAMinuteLater(t *testing.T) {
	inBed(t, func(t *testing.T, b *bed) {
		b.start()
		left := 12
		b.afterwards(func(q request) {
			if q.Name == "pg-writer" && left > 0 {
				left--
				b.steer(Writer, "a", "somebody")
			}
		})
		b.keeper.Want(wantWriter(8, "b"))
		time.Sleep(30 * time.Second)
		if c := b.keeper.Verdict().Conditions; len(c) != 1 {
			t.Errorf("the conditions are %v", c)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if c := b.keeper.Verdict().Conditions; len(c) != 0 {
			t.Errorf("still: %v", c)
		}
	})
}

// TestMovedWorldIsReadAgain: each write finds another selector than it was decided on, before the watch tells.
func TestMovedWorldIsReadAgain(t *testing.T) {
	inBed(t, func(t *testing.T, b *bed) {
		b.start()
		b.delayed(10 * time.Second)
		b.steer(Writer, "c", "somebody")
		b.keeper.Want(wantWriter(8, "b"))
		time.Sleep(minGap)
		synctest.Wait()
		if b.selects(Writer) != "b" || b.selects(Reader) != "b" {
			t.Errorf("Writer at %s, Reader at %s", b.selects(Writer), b.selects(Reader))
		}
		if gets := b.made("get"); len(gets) != 2 || gets[0].Name != "pg-writer" || gets[1].Name != "pg-control" {
			t.Errorf("read %v", gets)
		}
		expectTold(t, b, "phase overriding", "failed override pg-writer", "wrote override pg-writer", "wrote override pg-reader", "phase idle", "wrote mirror pg-control")
	})
}

func TestServiceThatIsGoneIsNotWrittenHot(t *testing.T) {
	inBed(t, func(t *testing.T, b *bed) {
		b.start()
		b.delayed(time.Minute)
		b.remove("services", "pg-writer")
		b.keeper.Want(wantWriter(8, "b"))
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if c := b.keeper.Verdict().Conditions; len(c) != 1 || c[0].Code != ServiceMissing {
			t.Errorf("the conditions are %v", c)
		}
		if n := len(b.writes(Writer)); n > 20 {
			t.Errorf("%d writes in 30 s", n)
		}
		b.delayed(0)
		b.add("services", bedService("pg-writer", map[string]string{}))
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := read[corev1.Service](b.apiServer, "services", "pg-writer"); instanceOf(got.Spec.Selector) != "b" {
			t.Errorf("the new Service selects %v", got.Spec.Selector)
		}
	})
}
