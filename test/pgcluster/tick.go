package pgcluster

import (
	"context"
	"time"
)

// startTicking keeps the heartbeats of the emulation fresh on the writer, about
// once a second as on Aurora, until the test ends. A writer that is down leaves
// them to age.
func (c *Cluster) startTicking() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	c.t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		every := time.NewTicker(time.Second)
		defer every.Stop()
		writer := &asker{}
		defer func() { writer.close() }()
		for {
			if now := c.Primary(); now != writer.node {
				writer.close()
				writer = &asker{node: now}
			}
			_ = writer.whether(ctx, "SELECT true FROM aurora_emu.tick()")
			select {
			case <-ctx.Done():
				return
			case <-every.C:
			}
		}
	}()
}
