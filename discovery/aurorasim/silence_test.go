package aurorasim_test

import (
	"context"
	"errors"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/poolwright/poolwright/discovery/aurorasim"
)

func unanswered(t *testing.T, c *aurorasim.Cluster, want int, f func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	if err := c.Wait(ctx, func(s aurorasim.State) bool { return s.Instances[1].Sessions == want }); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-done:
		t.Fatalf("it answered: %v", err)
	default:
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want no answer until cancelled", err)
	}
}

func TestSilenceAndItsEnd(t *testing.T) {
	for _, fault := range []aurorasim.Fault{aurorasim.Hang, aurorasim.HalfOpen} {
		t.Run(fault.String(), func(t *testing.T) {
			c := start(t, aurorasim.Config{})
			conn := connect(t, c, "b")
			inject(t, c, "b", fault)
			unanswered(t, c, 2, func(ctx context.Context) error {
				_, err := dial(ctx, c, c.Host("b"))
				return err
			})
			answered := make(chan error, 1)
			go func() {
				_, err := conn.Exec(context.Background(), "select 1")
				answered <- err
			}()
			if err := c.Clear("b"); err != nil {
				t.Fatal(err)
			}
			if err := <-answered; err != nil {
				t.Errorf("after the silence the session got %v", err)
			}
		})
	}
}

func TestClientThatLeavesDuringSilenceIsNoticed(t *testing.T) {
	c := start(t, aurorasim.Config{})
	conn := connect(t, c, "b")
	inject(t, c, "b", aurorasim.Hang)
	if err := conn.PgConn().Conn().Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(within(t), func(s aurorasim.State) bool { return s.Instances[1].Sessions == 0 }); err != nil {
		t.Errorf("the session is still there: %v", err)
	}
}

func TestHalfOpenSessionsAreNotToldOfADeath(t *testing.T) {
	c := start(t, aurorasim.Config{})
	conn := connect(t, c, "a")
	inject(t, c, "a", aurorasim.HalfOpen)
	if err := c.Kill("a"); err != nil {
		t.Fatal(err)
	}
	if got := c.State(); got.Writer != "b" || got.Instances[0].Sessions != 1 {
		t.Fatalf("after the kill: %+v, want writer b and one silent session on a", got)
	}
	answered := make(chan error, 1)
	go func() {
		_, err := conn.Exec(context.Background(), "select 1")
		answered <- err
	}()
	if err := c.Clear("a"); err != nil {
		t.Fatal(err)
	}
	if err := <-answered; err == nil {
		t.Error("a session outlived its process")
	}
	if _, err := dial(within(t), c, c.Host("a")); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("connecting to the dead instance: %v, want connection refused", err)
	}
}

func TestOthersSeeAHalfOpenInstanceAgeButNotAHangingOne(t *testing.T) {
	var later atomic.Int64
	c := start(t, aurorasim.Config{Now: func() time.Time { return still().Add(time.Duration(later.Load())) }})
	conn := connect(t, c, "a")
	inject(t, c, "b", aurorasim.Hang)
	inject(t, c, "c", aurorasim.HalfOpen)
	later.Store(int64(time.Minute))
	want := []row{{"a", "M", -1, -1}, {"b", "R", 100, 20}, {"c", "R", 60000, 20}}
	if diff := cmp.Diff(want, rowsOf(t, conn)); diff != "" {
		t.Errorf("view of a (-want +got):\n%s", diff)
	}
}
