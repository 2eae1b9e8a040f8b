package gitsync

import (
	"context"
	"slices"
	"sync"
)

// turn is a lock for which the urgent do not stand in line behind the others.
type turn struct {
	mu              sync.Mutex
	taken           bool
	urgent, routine []chan struct{}
}

// take waits for the turn or for the end of ctx.
func (t *turn) take(ctx context.Context, urgent bool) error {
	t.mu.Lock()
	if !t.taken {
		t.taken = true
		t.mu.Unlock()
		return nil
	}
	line := &t.routine
	if urgent {
		line = &t.urgent
	}
	mine := make(chan struct{})
	*line = append(*line, mine)
	t.mu.Unlock()
	select {
	case <-mine:
		return nil
	case <-ctx.Done():
		t.leave(line, mine)
		return ctx.Err()
	}
}

// leave gives up waiting; a turn that was handed over in the meantime is passed on.
func (t *turn) leave(line *[]chan struct{}, mine chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(*line, mine); i >= 0 {
		*line = slices.Delete(*line, i, i+1)
		return
	}
	t.handOver()
}

func (t *turn) give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.handOver()
}

func (t *turn) handOver() {
	for _, line := range []*[]chan struct{}{&t.urgent, &t.routine} {
		if len(*line) > 0 {
			close((*line)[0])
			*line = slices.Delete(*line, 0, 1)
			return
		}
	}
	t.taken = false
}
