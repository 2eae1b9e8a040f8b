package hub

import (
	"context"
	"time"
)

// pace lets one write go out at a time, with a pause after each.
type pace struct {
	turn  chan struct{}
	pause time.Duration
	now   func() time.Time
	sleep func(context.Context, time.Duration) error
	last  time.Time // under the turn
}

func newPace(pause time.Duration, now func() time.Time, sleep func(context.Context, time.Duration) error) *pace {
	return &pace{turn: make(chan struct{}, 1), pause: pause, now: now, sleep: sleep}
}

// take waits for the turn and for the end of the pause, or for the end of ctx.
func (p *pace) take(ctx context.Context) error {
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	wait := p.pause - p.now().Sub(p.last)
	if p.last.IsZero() || wait <= 0 {
		return nil
	}
	// A clock that was set back must not make the pause longer.
	if err := p.sleep(ctx, min(wait, p.pause)); err != nil {
		<-p.turn
		return err
	}
	return nil
}

func (p *pace) give() {
	p.last = p.now()
	<-p.turn
}
