package session

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

func lost(w *Watch) bool {
	select {
	case <-w.Lost():
		return true
	default:
		return false
	}
}

func TestALostConnectionIsToldOnceAndAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		w := NewWatch(server.config())
		defer w.Close()
		w.On(Address{Host: "db"})
		synctest.Wait()
		if lost(w) || server.dialled() != 1 {
			t.Fatalf("lost before anything happened; dialled %d times", server.dialled())
		}
		begun := time.Now()
		server.restart()
		synctest.Wait()
		if !lost(w) || time.Since(begun) != 0 {
			t.Errorf("not told at once")
		}
		if synctest.Wait(); lost(w) || server.dialled() != 1 {
			t.Errorf("told twice, or connected again at once; dialled %d times", server.dialled())
		}
		time.Sleep(firstPause)
		synctest.Wait()
		server.restart()
		if synctest.Wait(); !lost(w) || server.dialled() != 2 {
			t.Errorf("not armed again; dialled %d times", server.dialled())
		}
	})
}

func TestWatchingTheSameAgainDoesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		w := NewWatch(server.config())
		defer w.Close()
		for range 3 {
			w.On(Address{Host: "db"})
			synctest.Wait()
		}
		if server.dialled() != 1 || lost(w) {
			t.Errorf("dialled %d times", server.dialled())
		}
	})
}

func TestWatchingAnotherIsNoLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		w := NewWatch(server.config())
		defer w.Close()
		w.On(Address{Host: "a"})
		synctest.Wait()
		w.On(Address{Host: "b"})
		if synctest.Wait(); lost(w) || server.dialled() != 2 {
			t.Errorf("dialled %d times", server.dialled())
		}
		server.restart()
		if synctest.Wait(); !lost(w) {
			t.Error("the other one is not watched")
		}
	})
}

// Whoever refuses the watch may answer all questions. Each of them arms it.
func TestAWatchThatIsNotLetInIsNoLossAndTriesAgainWithPauses(t *testing.T) {
	for _, code := range []string{"53300", "57P03", "28P01"} {
		t.Run(code, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newServer()
				server.set(refuses("FATAL", code, "no"), one)
				w := NewWatch(server.config())
				defer w.Close()
				for range 600 { // a minute of rounds
					w.On(Address{Host: "db"})
					time.Sleep(100 * time.Millisecond)
				}
				if want := 11; lost(w) || server.dialled() != want { // at 0, ¼, ¾, 1¾, 3¾, 7¾, 15¾, 25¾ ... s
					t.Errorf("lost what it never had, or dialled %d times, not %d", server.dialled(), want)
				}
				server.set(welcome, one)
				time.Sleep(longestPause)
				synctest.Wait()
				server.restart()
				if synctest.Wait(); !lost(w) {
					t.Error("not let in again")
				}
			})
		})
	}
}

// A rule, or a proxy, that ends idle sessions at once.
func TestAWatchThatIsEndedEachTimeTellsNotMoreOftenThanItTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		server.set(func(b *pgproto3.Backend) {
			welcome(b)
			b.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: "57P01", Message: "terminated by an administrator"})
		}, one)
		w := NewWatch(server.config())
		defer w.Close()
		w.On(Address{Host: "db"})
		losses := 0
		for range 600 {
			time.Sleep(100 * time.Millisecond)
			if lost(w) {
				losses++
			}
		}
		if losses != 11 || server.dialled() != 11 {
			t.Errorf("told %d times, dialled %d times", losses, server.dialled())
		}
	})
}

// So that it does not stay with a machine to which the name leads no more.
func TestAWatchIsRenewedAndThatIsNoLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		w := NewWatch(server.config())
		defer w.Close()
		w.On(Address{Host: "db"})
		time.Sleep(lifetime * 3 / 4)
		if synctest.Wait(); server.dialled() != 1 {
			t.Errorf("dialled %d times before its time", server.dialled())
		}
		time.Sleep(lifetime / 2)
		if synctest.Wait(); lost(w) || server.dialled() != 2 {
			t.Errorf("told as a loss, or dialled %d times", server.dialled())
		}
		server.restart()
		if synctest.Wait(); !lost(w) {
			t.Error("the new one is not watched")
		}
	})
}

func TestAnIdleTimeoutOfTheServerIsNoLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		server.set(func(b *pgproto3.Backend) {
			welcome(b)
			_ = b.Flush()
			time.Sleep(beatEvery * 4 / 5) // a longer one never comes: the watch is not idle for so long
			b.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: "57P05", Message: "idle-session timeout"})
		}, one)
		w := NewWatch(server.config())
		w.On(Address{Host: "db"})
		time.Sleep(59 * time.Second)
		if lost(w) || server.dialled() != 11 {
			t.Errorf("told as a loss, or dialled %d times, want 11 with pauses up to 10 s", server.dialled())
		}
		w.Close()
		time.Sleep(20 * time.Second)
	})
}

// TestAFrozenPeerIsALoss: it ends no connection, and is known to be lost all the same, soon; one that answers is not.
func TestAFrozenPeerIsALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		w := NewWatch(server.config())
		defer w.Close()
		w.On(Address{Host: "db"})
		time.Sleep(20 * time.Second)
		if synctest.Wait(); lost(w) || server.dialled() != 1 {
			t.Fatalf("lost although it answers; dialled %d times", server.dialled())
		}
		server.freeze()
		time.Sleep(beatEvery + beatWithin)
		if synctest.Wait(); !lost(w) {
			t.Error("not lost")
		}
	})
}

func TestNotificationsAndParametersAreNoLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		server.set(func(b *pgproto3.Backend) {
			welcome(b)
			b.Send(&pgproto3.NotificationResponse{Channel: "x"})
			b.Send(&pgproto3.ParameterStatus{Name: "TimeZone", Value: "UTC"})
			b.Send(&pgproto3.NotificationResponse{Channel: "x"})
		}, one)
		w := NewWatch(server.config())
		defer w.Close()
		w.On(Address{Host: "db"})
		if synctest.Wait(); lost(w) {
			t.Error("told as a loss")
		}
	})
}
