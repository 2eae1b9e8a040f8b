package cmd

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/poolwright/poolwright/gitsync"
)

func TestAQuietClusterIsCommittedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{}
		tellStory(t, newWorld("a", "b", "c"), s)
		after(10 * time.Minute)
		wantSubjects(t, s, "epoch 1")
	})
}

func TestAKilledWriterIsOneCommitWithinTheCadenceOfTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := &shelf{}, newWorld("a", "b", "c")
		st := tellStory(t, w, s)
		after(time.Minute)
		w.kill()
		after(2 * time.Second)
		w.change(func() { w.writer = "b" })
		after(150 * time.Millisecond)
		wantSubjects(t, s, "epoch 1", "writer a → b")
		if got := st.kinds(); !slices.Contains(got, WriterLost) || !slices.Contains(got, WindowOpened) || !slices.Contains(got, Doubted) {
			t.Errorf("got events %v, want the loss, the window and the doubt among them", got)
		}
	})
}

func TestTheWindowClosesAndTheIntervalIsNormalAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := &shelf{}, newWorld("a", "b")
		st := tellStory(t, w, s)
		after(time.Minute)
		w.lost <- struct{}{}
		after(31 * time.Second)
		if got := st.kinds(); got[len(got)-1] != WindowClosed {
			t.Errorf("got events %v, want the window closed at the end", got)
		}
		w.change(func() { w.looks = nil })
		after(time.Minute)
		if got := len(w.looks); got < 19 || got > 21 {
			t.Errorf("got %d looks a minute after the window, want 20", got)
		}
	})
}

func TestAWriterUnknownForAnHourKeepsTheWindowForTenMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := &shelf{}, newWorld("a", "b")
		tellStory(t, w, s)
		after(time.Minute)
		w.kill()
		after(11 * time.Minute)
		w.change(func() { w.looks = nil })
		after(time.Minute)
		if got := len(w.looks); got < 19 || got > 21 {
			t.Errorf("got %d looks in a minute after the window, want 20", got)
		}
		wantSubjects(t, s, "epoch 1")
	})
}

func TestC03TenLooksAtTheSameClusterAreOneCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := &shelf{}, newWorld("a", "b", "c")
		tellStory(t, w, s)
		for range 10 {
			after(3 * time.Second)
			w.change(func() { slices.Reverse(w.names) })
		}
		wantSubjects(t, s, "epoch 1")
	})
}

func TestC02AForeignCommitInBetweenIsDrawnOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{foreign: gitsync.Files{"custom/patch.yaml": []byte("a: b\n")}}
		tellStory(t, newWorld("a", "b"), s)
		after(time.Minute)
		wantSubjects(t, s, "somebody else", "epoch 1")
		if string(s.now()["custom/patch.yaml"]) != "a: b\n" {
			t.Error("the foreign file is gone")
		}
	})
}

func TestC08APersonsRevertHoldsUntilAFactIsNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := &shelf{}, newWorld("a", "b", "c")
		tellStory(t, w, s)
		after(time.Minute)
		w.change(func() { w.writer = "b" })
		for len(s.subjects()) < 2 {
			after(50 * time.Millisecond)
		}
		before := s.now()
		after(time.Minute)
		n := len(s.subjects())
		s.revert(before)
		after(10 * time.Minute)
		if got := len(s.subjects()); got != n+1 {
			t.Fatalf("got commits %q, want none after the revert", s.subjects())
		}
		w.change(func() { w.writer = "c" })
		after(time.Minute)
		if got := s.subjects(); len(got) < n+2 || !strings.Contains(got[n+1], "writer b → c") {
			t.Errorf("got commits %q, want the new fact committed", got)
		}
	})
}

func TestC08PausedIsHonouredWithinOneLoopAndLifted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := &shelf{}, newWorld("a", "b", "c")
		st := tellStory(t, w, s)
		after(time.Minute)
		st.declare(storyDeclaration(t, "spec:\n", "spec:\n  paused: true\n"), nil)
		after(3 * time.Second)
		w.change(func() { w.writer = "b" })
		after(10 * time.Minute)
		wantSubjects(t, s, "epoch 1")
		st.declare(storyDeclaration(t), nil)
		after(3 * time.Second)
		if got := s.subjects(); len(got) < 2 || !strings.Contains(got[1], "writer a → b") {
			t.Errorf("got commits %q, want the failover after the pause", got)
		}
	})
}

func TestABrokenClusterFileStandsStillAndIsSaidOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := &shelf{}, newWorld("a", "b")
		st := tellStory(t, w, s)
		after(time.Minute)
		good := st.decl
		st.declare(declaration{}, errors.New("story.yaml:7: unknown key"))
		w.change(func() { w.writer = "b" })
		after(time.Minute)
		wantSubjects(t, s, "epoch 1")
		st.declare(good, nil)
		after(1100 * time.Millisecond)
		wantFirst(t, s, "epoch 1", "writer a → b")
		got := st.kinds()
		if n := count(got, Standing); n != 1 {
			t.Errorf("got %d times standing in %v, want 1", n, got)
		}
		if n := count(got, Moving); n != 1 {
			t.Errorf("got %d times moving in %v, want 1", n, got)
		}
	})
}

func TestADeadRemoteIsRetriedAndNothingIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := &shelf{}, newWorld("a", "b", "c")
		st := tellStory(t, w, s)
		after(time.Minute)
		s.mu.Lock()
		s.down = errors.New("no space left on device")
		s.mu.Unlock()
		w.change(func() { w.writer = "b" })
		after(2 * time.Hour)
		wantSubjects(t, s, "epoch 1")
		s.mu.Lock()
		s.down = nil
		s.mu.Unlock()
		after(time.Minute)
		if got := s.subjects(); len(got) < 2 || !strings.Contains(got[1], "writer a → b") {
			t.Errorf("got commits %q, want the failover once the remote is back", got)
		}
		if got := st.kinds(); count(got, GitFailed) < 20 || count(got, GitFailed) > 25 || count(got, GitBack) != 1 {
			t.Errorf("got events %v, want a failure said every five minutes for two hours, and one return of Git", got)
		}
	})
}

func TestAStopWaitsForThePushUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := &shelf{}, newWorld("a", "b")
		st := tellStory(t, w, s)
		after(time.Minute)
		s.mu.Lock()
		s.latency = 5 * time.Second
		s.mu.Unlock()
		w.change(func() { w.writer = "b" })
		after(4 * time.Second) // within 3 s it looks; the push takes 5 s
		st.stop()
		wantFirst(t, s, "epoch 1", "writer a → b")
	})
}

func TestATreeThatCannotBeReadBackIsReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := &shelf{}, newWorld("a", "b", "c")
		st := tellStory(t, w, s)
		after(time.Minute)
		good := s.now()
		s.edit("a person breaks it", gitsync.Files{"topology.yaml": []byte("# Generated by poolwright\n\t{")})
		after(time.Minute)
		if got := st.kinds(); count(got, Standing) != 1 {
			t.Fatalf("got events %v, want it standing", got)
		}
		s.edit("and mends it", good)
		w.change(func() { w.writer = "b" })
		after(time.Minute)
		wantFirst(t, s, "epoch 1", "a person breaks it", "and mends it", "writer a → b")
	})
}

func TestAnotherPathInTheClusterFileIsPublishedTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, elsewhere := &shelf{}, &shelf{}
		w := newWorld("a", "b")
		st := tellStoryIn(t, w, &shelves{map[string]*shelf{"clusters/story": s, "clusters/other": elsewhere}})
		after(time.Minute)
		st.declare(storyDeclaration(t, "  publish:\n", "  publish:\n    path: clusters/other\n"), nil)
		after(10 * time.Second)
		wantSubjects(t, elsewhere, "epoch 1")
		wantSubjects(t, s, "epoch 1")
	})
}

func TestLossesOfTheWriterAreNoStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("a", "b")
		st := tellStory(t, w, &shelf{})
		after(time.Minute)
		w.change(func() { w.looks = nil })
		for range 1000 {
			select {
			case w.lost <- struct{}{}:
			default:
			}
			after(time.Millisecond)
		}
		if got := len(w.looks); got > 11 {
			t.Errorf("got %d looks in a second of losses, want 10", got)
		}
		if got := count(st.kinds(), WriterLost); got != 1 {
			t.Errorf("the loss was said %d times, want once a window", got)
		}
	})
}

func TestC08ARevertOfARangeHoldsAsAWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := &shelf{}, newWorld("a", "b", "c")
		tellStory(t, w, s)
		after(time.Minute)
		before := s.now()
		w.change(func() { w.writer = "b" })
		after(time.Minute)
		wantFirst(t, s, "epoch 1", "writer a → b", "readers gain a")
		s.revertNewest(2, before)
		after(time.Hour)
		if got := len(s.subjects()); got != 5 {
			t.Errorf("got commits %q, want none after the two reverts", s.subjects())
		}
	})
}

func count(kinds []EventKind, k EventKind) (n int) {
	for _, other := range kinds {
		if other == k {
			n++
		}
	}
	return n
}
