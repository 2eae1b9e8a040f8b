package proof

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/poolwright/poolwright/live/pooler"
)

// world answers the questions of a Prover, in the test's own time, and writes down what happens.
type world struct {
	mu    sync.Mutex
	start time.Time
	// answer is what each access gets, Proven when it is not there; takes is how long an answer takes.
	answer map[pooler.Access]pooler.Outcome
	takes  time.Duration
	fast   bool
	asked  []string
	told   []string
	atOnce int // questions under way, of one access
	most   int
}

func newWorld() *world {
	return &world{start: time.Now(), answer: map[pooler.Access]pooler.Outcome{}}
}

// prover runs a Prover until the test ends.
func (w *world) prover(t *testing.T, c Config) *Prover {
	t.Helper()
	c.Ask, c.Tell = w.ask, w.tell
	c.Fast = func() bool { w.mu.Lock(); defer w.mu.Unlock(); return w.fast }
	p := New(c)
	ctx, stop := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() { p.Run(ctx) })
	t.Cleanup(func() { stop(); done.Wait() })
	return p
}

func (w *world) ask(ctx context.Context, access pooler.Access, address string) pooler.Proof {
	w.mu.Lock()
	at := time.Now()
	w.asked = append(w.asked, fmt.Sprintf("%s %s at %s", access, address, at.Sub(w.start)))
	if access == pooler.Writes {
		w.atOnce++
		w.most = max(w.most, w.atOnce)
	}
	takes := w.takes
	w.mu.Unlock()
	select {
	case <-time.After(takes):
	case <-ctx.Done():
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if access == pooler.Writes {
		w.atOnce--
	}
	outcome := w.answer[access]
	if outcome == 0 {
		outcome = pooler.Proven
	}
	return pooler.Proof{Access: access, At: at, Took: time.Since(at), Outcome: outcome}
}

func (w *world) tell(e Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	was := ""
	if e.Was != 0 {
		was = fmt.Sprintf(", was %s for %s", e.Was, e.Stood)
	}
	w.told = append(w.told, fmt.Sprintf("%s at %s: %s%s", e.Proof.Access, e.Address, e.Proof.Outcome, was))
}

// set changes the world.
func (w *world) set(change func()) { w.mu.Lock(); defer w.mu.Unlock(); change() }

// pass lets time go by, and everybody who then has something to do do it.
func pass(d time.Duration) { time.Sleep(d); synctest.Wait() }

// wants compares what happened since the last time; nil for asked is anything.
func (w *world) wants(t *testing.T, asked, told []string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if diff := cmp.Diff(sorted(asked), sorted(w.asked)); asked != nil && diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(sorted(told), sorted(w.told)); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	w.asked, w.told = nil, nil
}

func sorted(all []string) []string {
	return slices.Sorted(slices.Values(all))
}

// story is a test of a Prover in a bubble of its own time.
func story(t *testing.T, tell func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { tell(t, newWorld()) })
}

func TestEachRoleIsAskedAtItsServiceEveryHalfMinute(t *testing.T) {
	story(t, func(t *testing.T, w *world) {
		p := w.prover(t, Config{})
		pass(time.Minute)
		w.wants(t, []string{}, nil) // nobody has said whom to ask
		w.start = time.Now()
		p.Target("w:1", "r:1")
		pass(time.Minute)
		w.wants(t, []string{
			"writes w:1 at 0s", "writes w:1 at 30s", "writes w:1 at 1m0s", "reads r:1 at 0s", "reads r:1 at 30s", "reads r:1 at 1m0s",
		}, []string{"writes at w:1: proven", "reads at r:1: proven"})
		last, proven := p.Last(pooler.Writes)
		if last.Outcome != pooler.Proven || !proven.Equal(time.Now()) {
			t.Errorf("the last is %+v, proven at %s", last, proven)
		}
	})
}

func TestInAWindowEveryTenthOfASecond(t *testing.T) {
	story(t, func(t *testing.T, w *world) {
		p := w.prover(t, Config{})
		p.Target("w:1", "")
		pass(10 * time.Second)
		w.set(func() { w.fast, w.asked, w.told = true, nil, nil })
		p.Wake()
		pass(250 * time.Millisecond)
		w.wants(t, []string{"writes w:1 at 10s", "writes w:1 at 10.1s", "writes w:1 at 10.2s"}, nil)
		w.set(func() { w.fast = false })
		pass(time.Minute)
		w.wants(t, []string{"writes w:1 at 10.3s", "writes w:1 at 40.3s"}, nil)
	})
}

func TestASecondQuestionWaitsForTheFirstAnswer(t *testing.T) {
	story(t, func(t *testing.T, w *world) {
		w.fast, w.takes = true, 2*time.Second
		p := w.prover(t, Config{})
		p.Target("w:1", "")
		for range 20 {
			p.Wake()
			pass(100 * time.Millisecond)
		}
		if w.most != 1 || len(w.asked) > 2 {
			t.Errorf("%d questions at once, asked %q", w.most, w.asked)
		}
	})
}

func TestAChangeIsToldOnce(t *testing.T) {
	story(t, func(t *testing.T, w *world) {
		p := w.prover(t, Config{})
		p.Target("w:1", "r:1")
		pass(time.Minute)
		w.set(func() { w.told, w.answer[pooler.Writes], w.fast = nil, pooler.Failed, true })
		p.Wake()
		pass(time.Second)
		w.wants(t, nil, []string{"writes at w:1: failed, was proven for 1m0s"})
		w.set(func() { w.answer[pooler.Writes] = pooler.RoleMismatch })
		pass(time.Second)
		w.wants(t, nil, []string{"writes at w:1: role-mismatch, was failed for 1.1s"})
		if last, proven := p.Last(pooler.Writes); last.Outcome != pooler.RoleMismatch || !proven.Equal(w.start.Add(time.Minute)) {
			t.Errorf("the last is %+v, proven at %s", last, proven)
		}
		if got := p.Counts(pooler.Writes); got[pooler.Proven] != 3 || got[pooler.Failed] != 11 || got[pooler.RoleMismatch] != 10 {
			t.Errorf("counts are %v", got)
		}
	})
}

func TestWhatIsNotProvenIsAskedAgainSoon(t *testing.T) {
	story(t, func(t *testing.T, w *world) {
		w.answer[pooler.Writes] = pooler.RoleMismatch
		p := w.prover(t, Config{})
		p.Target("w:1", "")
		pass(7 * time.Second)
		w.wants(t, []string{"writes w:1 at 0s", "writes w:1 at 3s", "writes w:1 at 6s"}, []string{"writes at w:1: role-mismatch"})
	})
}

func TestANewAddressIsAskedAtOnceAndTheOldOneCountsNoMore(t *testing.T) {
	story(t, func(t *testing.T, w *world) {
		w.takes, w.answer[pooler.Writes] = time.Second, pooler.Failed
		p := w.prover(t, Config{})
		p.Target("w:1", "")
		pass(500 * time.Millisecond)
		p.Target("w:2", "")
		p.Target("w:2", "")
		pass(time.Second)
		w.wants(t, []string{"writes w:1 at 0s", "writes w:2 at 1s"}, nil)
		pass(time.Second)
		w.wants(t, []string{}, []string{"writes at w:2: failed"})
		p.Target("", "")
		pass(time.Hour)
		w.wants(t, []string{}, nil)
		if last, _ := p.Last(pooler.Writes); last.Outcome != 0 {
			t.Errorf("of nobody it says %+v", last)
		}
	})
}

func TestStoppingIsNoOutcome(t *testing.T) {
	story(t, func(t *testing.T, w *world) {
		w.takes, w.answer[pooler.Writes] = time.Hour, pooler.Failed
		p := New(Config{Ask: w.ask, Tell: w.tell})
		ctx, stop := context.WithCancel(t.Context())
		p.Target("w:1", "")
		go func() { time.Sleep(time.Second); stop() }()
		p.Run(ctx)
		w.wants(t, []string{"writes w:1 at 0s"}, nil)
	})
}

func TestA09SayWhatIsProven(t *testing.T) {
	for _, tc := range []struct {
		access pooler.Access
		last   pooler.Proof
		want   string
	}{
		{pooler.Writes, pooler.Proof{}, "writes reach the writer: not asked yet"},
		{pooler.Writes, pooler.Proof{Outcome: pooler.Proven}, "writes reach the writer: yes"},
		{pooler.Reads, pooler.Proof{Outcome: pooler.Proven}, "reads are answered: yes"},
		{pooler.Writes, pooler.Proof{Outcome: pooler.RoleMismatch, Fault: pooler.Refused, Code: "25006", Detail: "the node that answers is a standby"}, "writes reach the writer: no, role mismatch: the node that answers is a standby (SQLSTATE 25006)"},
		{pooler.Reads, pooler.Proof{Outcome: pooler.Failed, Fault: pooler.Timeout, Detail: "no answer in time"}, "reads are answered: no, timeout: no answer in time"},
	} {
		if got := Say(tc.access, tc.last); got != tc.want {
			t.Errorf("got %q, want %q", got, tc.want)
		}
	}
}
