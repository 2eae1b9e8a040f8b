package session

import (
	"context"
	"sync"

	"github.com/poolwright/poolwright/discovery"
)

// Watch holds an idle connection to one endpoint at a time, and tells when it is lost. The zero value is not usable.
type Watch struct {
	config Config
	lost   chan struct{}

	mu   sync.Mutex
	at   Address
	stop context.CancelFunc // nil when nothing is watched
	gone sync.WaitGroup
}

// NewWatch returns a Watch that holds nothing yet.
func NewWatch(config Config) *Watch { return &Watch{config: config, lost: make(chan struct{}, 1)} }

// Lost has a value after the connection was lost. One value stands for any number of losses.
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
	w.gone.Go(func() { w.hold(ctx, cancel, at) })
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

// hold holds a connection until it is lost or given up. The next On begins anew, also one that comes of the news of the loss.
func (w *Watch) hold(ctx context.Context, cancel context.CancelFunc, at Address) {
	defer cancel()
	loss := w.read(ctx, at)
	if !w.forget(ctx) || !loss {
		return
	}
	select {
	case w.lost <- struct{}{}:
	default: // one is waiting to be seen
	}
}

// read connects, and reads until the read ends. It reports whether that was a loss.
func (w *Watch) read(ctx context.Context, at Address) (loss bool) {
	soon, done := context.WithTimeout(ctx, w.config.timeout())
	c, err := w.config.connect(soon, at)
	done()
	if err != nil {
		// Whoever is watched has just answered a question. When it is gone by now, that is a loss too.
		fault := judge(ctx, err).Fault
		return fault == discovery.Unreachable || fault == discovery.StartingUp
	}
	for err == nil {
		err = c.pg.WaitForNotification(ctx)
	}
	c.drop()
	return judge(ctx, err).Code != idleTimeout
}

// idleTimeout is idle_session_timeout: a rule of the server against idle sessions, and no loss.
const idleTimeout = "57P05"

// forget lets the same endpoint be watched again. It reports false when another one is by now, or none is to be.
func (w *Watch) forget(ctx context.Context) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if ctx.Err() != nil {
		return false
	}
	w.stop = nil
	return true
}
