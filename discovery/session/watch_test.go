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
			t.Errorf("told twice, or connected again by itself; dialled %d times", server.dialled())
		}
		w.On(Address{Host: "db"})
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

func TestAWatchThatIsNotLetInIsNoLossAndTriesAgainWhenAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		server.set(refuses("FATAL", "53300", "too many connections"), one)
		w := NewWatch(server.config())
		defer w.Close()
		w.On(Address{Host: "db"})
		if synctest.Wait(); lost(w) {
			t.Error("lost what it never had")
		}
		server.set(welcome, one)
		w.On(Address{Host: "db"})
		synctest.Wait()
		server.restart()
		if synctest.Wait(); !lost(w) || server.dialled() != 2 {
			t.Errorf("dialled %d times", server.dialled())
		}
	})
}

// Between the answer and the watch.
func TestOneThatIsGoneBeforeItIsWatchedIsALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		server.set(refuses("FATAL", "57P03", "starting up"), one)
		w := NewWatch(server.config())
		defer w.Close()
		w.On(Address{Host: "db"})
		if synctest.Wait(); !lost(w) {
			t.Error("not told")
		}
	})
}

func TestAnIdleTimeoutOfTheServerIsNoLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		server.set(func(b *pgproto3.Backend) {
			welcome(b)
			_ = b.Flush()
			time.Sleep(time.Hour)
			b.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: "57P05", Message: "idle-session timeout"})
		}, one)
		w := NewWatch(server.config())
		defer w.Close()
		w.On(Address{Host: "db"})
		time.Sleep(2 * time.Hour)
		if lost(w) {
			t.Error("told as a loss")
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
