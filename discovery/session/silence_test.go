package session

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/poolwright/poolwright/discovery"
)

// waits is how long a question waits that gets no answer.
func waits(t *testing.T, s *Session) time.Duration {
	t.Helper()
	begun := time.Now()
	if _, err := s.Ask(t.Context(), "SELECT 1"); !isFault(err, discovery.Timeout) {
		t.Errorf("the answer is %v", err)
	}
	return time.Since(begun).Round(time.Millisecond)
}

// TestWhoIsSilentIsNotWaitedFor: a frozen writer ends no connection, and all others wait for its answer; that it gives no sign of life is known.
func TestWhoIsSilentIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, at := newServer(), Address{Host: "db"}
		c := NewCluster(server.config())
		defer c.Close()
		s := c.Sessions.session(at)
		asks(t, s)
		c.watch.On(at)
		synctest.Wait()
		server.freeze()
		server.set(hangs, hangs)
		time.Sleep(beatWithin) // it is known to be silent at beatEvery + beatWithin
		if took := waits(t, s); took != beatEvery {
			t.Errorf("the question that is under way waits %s", took)
		}
		if synctest.Wait(); !lost(c.watch) {
			t.Error("the loss is not told")
		}
		for range 4 {
			if took := waits(t, s); took != silentTimeout {
				t.Errorf("the next question waits %s", took)
			}
		}
	})
}

func TestWhoIsOnlySlowIsWaitedForInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		s := New(server.config(), Address{Host: "db"})
		defer s.Close()
		asks(t, s)
		server.set(welcome, hangs)
		s.Silence()
		time.Sleep(silentFor)
		if took := waits(t, s); took != defaultTimeout {
			t.Errorf("after a while a question waits %s", took)
		}
		s.Silence()
		server.set(welcome, one)
		asks(t, s)
		server.set(welcome, hangs)
		if took := waits(t, s); took != defaultTimeout {
			t.Errorf("after an answer a question waits %s", took)
		}
	})
}

// TestALossThatIsSeenIsNoSilence: the kernel told it, so the next question finds out at once who is there.
func TestALossThatIsSeenIsNoSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, at := newServer(), Address{Host: "db"}
		c := NewCluster(server.config())
		defer c.Close()
		c.watch.On(at)
		synctest.Wait()
		server.restart()
		synctest.Wait()
		server.set(welcome, hangs)
		if took := waits(t, c.Sessions.session(at)); took != defaultTimeout {
			t.Errorf("a question waits %s", took)
		}
	})
}
