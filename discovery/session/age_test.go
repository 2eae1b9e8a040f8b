package session

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/poolwright/poolwright/discovery"
)

// moved is a session whose name leads to another machine by now, while the old one still answers over the kept connection.
func moved(t *testing.T, to *server) (*Session, *server) {
	t.Helper()
	from := newServer()
	config, target := from.config(), from
	config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		return target.dial(ctx, network, address)
	}
	s := New(config, Address{Host: "db"})
	asks(t, s)
	target = to
	return s, from
}

func TestAConnectionIsKeptForItsLifetime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := newServer()
		s, _ := moved(t, to)
		defer s.Close()
		time.Sleep(lifetime*3/4 - time.Millisecond)
		asks(t, s)
		if synctest.Wait(); to.dialled() != 0 {
			t.Errorf("dialled %d times", to.dialled())
		}
		time.Sleep(lifetime / 2)
		for range 3 {
			asks(t, s)
			synctest.Wait()
		}
		if to.dialled() != 1 {
			t.Errorf("dialled %d times", to.dialled())
		}
	})
}

// Blue/green: the name leads to the new machine, and PgBouncer follows it.
func TestTheMachineThatTheNameLeadsToAnswersInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := newServer()
		to.set(welcome, refuses("ERROR", "42883", "the new one"))
		s, from := moved(t, to)
		defer s.Close()
		time.Sleep(2 * lifetime)
		asks(t, s) // still the old one, while the new connection is made
		synctest.Wait()
		fault(t, s, discovery.Broken, "the new one (SQLSTATE 42883)")
		if from.dialled() != 1 {
			t.Errorf("dialled the old one %d times", from.dialled())
		}
	})
}

func TestANameThatRefusesByNowIsAFaultAlthoughTheOldMachineAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := newServer()
		to.set(refuses("FATAL", "57P03", "starting up"), one)
		s, _ := moved(t, to)
		defer s.Close()
		time.Sleep(2 * lifetime)
		asks(t, s)
		for range 3 {
			synctest.Wait()
			fault(t, s, discovery.StartingUp, "")
		}
		to.set(welcome, one)
		asks(t, s)
	})
}

func TestNoQuestionWaitsForTheSuccessor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := newServer()
		to.set(func(b *pgproto3.Backend) { time.Sleep(time.Second); welcome(b) }, one)
		s, from := moved(t, to)
		defer s.Close()
		time.Sleep(2 * lifetime)
		for range 10 {
			begun := time.Now()
			if asks(t, s); time.Since(begun) != 0 {
				t.Errorf("waited %s", time.Since(begun))
			}
			time.Sleep(200 * time.Millisecond)
		}
		if from.dialled() != 1 || to.dialled() != 1 {
			t.Errorf("dialled %d and %d times", from.dialled(), to.dialled())
		}
	})
}

// The old one is in the middle of an answer when the new one is there.
func TestTheSuccessorIsKeptNotWhatItReplaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := newServer()
		s, from := moved(t, to)
		defer s.Close()
		time.Sleep(2 * lifetime)
		from.set(welcome, func(b *pgproto3.Backend) { time.Sleep(time.Second); one(b) })
		asks(t, s)
		from.set(welcome, refuses("ERROR", "XX000", "the old one"))
		for range 3 {
			asks(t, s)
		}
		if to.dialled() != 1 {
			t.Errorf("dialled %d times", to.dialled())
		}
	})
}

func TestLifetimesDiffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := map[time.Duration]bool{}
		for range 100 {
			life := time.Until(expiry())
			seen[life] = true
			if life < lifetime*3/4 || life >= lifetime*5/4 {
				t.Errorf("%s", life)
			}
		}
		if len(seen) < 50 {
			t.Errorf("%d different ones", len(seen))
		}
	})
}
