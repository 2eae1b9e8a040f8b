package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Watch holds an idle connection to one endpoint at a time, and tells when it is lost. The zero value is not usable.
type Watch struct {
	config Config
	lost   chan struct{}
	silent func(Address) // hears of a peer that gave no sign of life, before the loss is told

	mu   sync.Mutex
	at   Address
	stop context.CancelFunc // nil when nothing is watched
	gone sync.WaitGroup
}

// NewWatch returns a Watch that holds nothing yet.
func NewWatch(config Config) *Watch {
	return &Watch{config: config, lost: make(chan struct{}, 1), silent: func(Address) {}}
}

// Lost has a value after a connection that stood was lost. One value stands for any number of losses. Not being let in is none.
func (w *Watch) Lost() <-chan struct{} { return w.lost }

// On watches that endpoint from now on. It does nothing when that is watched already, and never waits.
func (w *Watch) On(at Address) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stop != nil && w.at == at {
		return
	}
	w.off()
	ctx, cancel := context.WithCancel(context.Background())
	w.at, w.stop = at, cancel
	w.gone.Go(func() { w.hold(ctx, at) })
}

// Close stops watching and waits until the connection is gone.
func (w *Watch) Close() {
	w.mu.Lock()
	w.off()
	w.mu.Unlock()
	w.gone.Wait()
}

func (w *Watch) off() {
	if w.stop != nil {
		w.stop()
		w.stop = nil
	}
}

// The pauses between two connections. Who refuses the watch, or ends it at once every time, can still answer questions:
// each loss starts a round, so there must not be many.
const (
	firstPause   = 250 * time.Millisecond // doubled each time
	longestPause = 10 * time.Second
)

// hold connects, and connects again, until it is given up.
func (w *Watch) hold(ctx context.Context, at Address) {
	pause := time.Duration(0)
	for ctx.Err() == nil {
		begun := time.Now()
		loss := w.read(ctx, at)
		if loss {
			w.tell(ctx)
		}
		switch {
		case time.Since(begun) < longestPause:
			pause = min(max(2*pause, firstPause), longestPause)
		case loss:
			pause = firstPause
		default:
			pause = 0
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// read connects, and reads until the read ends. It reports whether that was a loss: only of a connection that stood.
func (w *Watch) read(ctx context.Context, at Address) (loss bool) {
	soon, done := context.WithTimeout(ctx, w.config.timeout())
	c, err := w.config.connect(soon, at)
	done()
	if err != nil {
		return false
	}
	held, done := context.WithDeadline(ctx, c.expires)
	defer done()
	for err == nil {
		err = c.listen(held)
	}
	if held.Err() != nil {
		c.close()
		return false
	}
	c.drop()
	if errors.Is(err, errSilent) {
		w.silent(at)
	}
	return judge(ctx, err).Code != idleTimeout
}

// How often a quiet peer is asked for a sign of life, and how long it may take. A machine that is frozen, or
// whose network is gone, ends no connection. A loss that was none costs a window of faster looks.
const (
	beatEvery  = 250 * time.Millisecond
	beatWithin = 500 * time.Millisecond
)

// listen reads for a while; when nothing came, the peer has to answer. It asks no question, only whether it is in step
// (Sync), which no log of statements shows.
func (c *conn) listen(ctx context.Context) error {
	quiet, done := context.WithTimeout(ctx, beatEvery)
	defer done()
	err := c.pg.WaitForNotification(quiet)
	if quiet.Err() == nil || ctx.Err() != nil {
		return err
	}
	within, done := context.WithTimeout(ctx, beatWithin)
	defer done()
	beat := c.pg.StartPipeline(within)
	if err := beat.Sync(); err != nil {
		return errors.Join(err, beat.Close())
	}
	_, err = beat.GetResults()
	if err = cmp.Or(beat.Close(), err); err != nil && within.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("%w: %w", errSilent, err)
	}
	return err
}

var errSilent = errors.New("no sign of life")

// idleTimeout is idle_session_timeout: a rule of the server against idle sessions, and no loss.
const idleTimeout = "57P05"

// tell tells the loss, unless something else is watched by now.
func (w *Watch) tell(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	select {
	case w.lost <- struct{}{}:
	default: // one is waiting to be seen
	}
}
