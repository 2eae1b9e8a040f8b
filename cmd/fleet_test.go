package cmd

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/poolwright/poolwright/gitsync"
)

// picky is a remote whose hook refuses a push with anything in the directory bad.
type picky struct{ *farAway }

func (p picky) Publish(ctx context.Context, edits []gitsync.Edit) ([]gitsync.Receipt, error) {
	for _, e := range edits {
		if e.Dir == "bad" {
			return nil, fmt.Errorf("publishing: %w", gitsync.ErrRefused)
		}
	}
	return p.farAway.Publish(ctx, edits)
}

// TestARefusedDirectoryStopsNoOther: a batch that is refused is tried one by one.
func TestARefusedDirectoryStopsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		l := newLane(branch{git: picky{newFarAway(time.Second)}})
		go l.run(ctx)
		got := map[string]error{}
		done := make(chan struct{})
		receipts := make(chan struct {
			dir string
			err error
		})
		for _, dir := range []string{"bad", "good", "quiet"} {
			go func() {
				r := l.Submit(ctx, gitsync.Edit{Dir: dir, Draw: func(gitsync.Base) ([]gitsync.Change, error) {
					if dir == "quiet" {
						return nil, nil
					}
					return []gitsync.Change{{Dir: dir, Put: gitsync.Files{"x": nil}, Message: dir}}, nil
				}})
				receipts <- struct {
					dir string
					err error
				}{dir, r.Err}
			}()
		}
		go func() {
			defer close(done)
			for range 3 {
				r := <-receipts
				got[r.dir] = r.err
			}
		}()
		<-done
		if !errors.Is(got["bad"], gitsync.ErrRefused) || got["good"] != nil || got["quiet"] != nil {
			t.Errorf("got %v, want only bad refused", got)
		}
	})
}

// slow is a remote that draws when it is let.
type slow struct {
	*farAway
	begun, let, over chan struct{}
}

func (s slow) Publish(_ context.Context, edits []gitsync.Edit) ([]gitsync.Receipt, error) {
	close(s.begun)
	<-s.let
	defer close(s.over)
	_, err := edits[0].Draw(gitsync.Base{Head: "late"})
	return make([]gitsync.Receipt, len(edits)), err
}

// TestAReadThatIsGivenUpHasNothing: also when the lane reads all the same, later.
func TestAReadThatIsGivenUpHasNothing(t *testing.T) {
	remote := slow{newFarAway(0), make(chan struct{}), make(chan struct{}), make(chan struct{})}
	l := newLane(branch{git: remote})
	go l.run(t.Context())
	ctx, giveUp := context.WithCancel(t.Context())
	go func() {
		<-remote.begun
		giveUp()
	}()
	base, err := l.Read(ctx, "clusters/a")
	close(remote.let)
	<-remote.over
	if !errors.Is(err, errClosing) || base.Head != "" {
		t.Errorf("got %q, %v, want nothing", base.Head, err)
	}
}
