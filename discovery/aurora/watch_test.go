package aurora

import (
	"context"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/poolwright/poolwright/discovery/aurorasim"
)

func TestALostWriterIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, o := simulate(t, aurorasim.Config{InMemory: true, FailoverDelay: -1})
		for _, writer := range []string{"a", "b"} {
			o.Observe(t.Context())
			if synctest.Wait(); isLost(o) {
				t.Fatalf("%s is lost before anything happened", writer)
			}
			begun := time.Now()
			do(t, sim.Kill(writer))
			if synctest.Wait(); !isLost(o) || time.Since(begun) != 0 {
				t.Fatalf("the loss of %s is not told at once", writer)
			}
			do(t, sim.Restart(writer))
			do(t, sim.Promote("b"))
		}
	})
}

// The writer answers over the session that there is, and lets nobody else in: it is full, say. That is no loss, and no reason to
// ask more often.
func TestAWriterThatRefusesTheWatchIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var full atomic.Bool
		var refused atomic.Int32
		var writer string
		sim, o := simulate(t, aurorasim.Config{InMemory: true, FailoverDelay: -1}, func(c *Config) {
			dial := c.Session.Dial
			c.Session.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
				if address == writer && full.Load() {
					refused.Add(1)
					return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
				}
				return dial(ctx, network, address)
			}
		})
		writer = sim.Addr("a")
		o.ask(t.Context(), "a")
		full.Store(true)
		for range 200 { // rounds in 40 s, before the session is renewed
			expect(t, o, "a=writer b=reader c=reader")
			time.Sleep(200 * time.Millisecond)
			synctest.Wait()
			if isLost(o) {
				t.Fatal("told as a loss")
			}
		}
		if got := refused.Load(); got != 10 { // the writer endpoint once, the watch at 0, ¼, ¾, 1¾, 3¾, 7¾, 15¾, 25¾ and 35¾ s
			t.Errorf("refused %d times", got)
		}
		full.Store(false)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		do(t, sim.Kill("a"))
		if synctest.Wait(); !isLost(o) {
			t.Error("the loss is not told")
		}
	})
}

func isLost(o *Observer) bool {
	select {
	case <-o.Lost():
		return true
	default:
		return false
	}
}
