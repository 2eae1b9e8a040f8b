package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/poolwright/poolwright/gitsync"
)

// farAway is a repository of many clusters where each request takes long, and one comes after the other.
type farAway struct {
	latency time.Duration
	turn    chan struct{} // holds one value while nobody is served
	dirs    map[string]gitsync.Files
	pushes  [][]string // the subjects of each, in their order
	done    time.Time  // of the last push
}

func newFarAway(latency time.Duration) *farAway {
	f := &farAway{latency: latency, turn: make(chan struct{}, 1), dirs: map[string]gitsync.Files{}}
	f.turn <- struct{}{}
	return f
}

func (f *farAway) base(dir string) gitsync.Base {
	return gitsync.Base{Head: fmt.Sprint(len(f.pushes)), Files: applied(f.dirs[dir], gitsync.Change{})}
}

// Read is one request.
func (f *farAway) Read(_ context.Context, dir string) (gitsync.Base, error) {
	<-f.turn
	time.Sleep(f.latency)
	base := f.base(dir)
	f.turn <- struct{}{}
	return base, nil
}

// Glob is never asked for here.
func (f *farAway) Glob(context.Context, string) (gitsync.Files, string, error) {
	return nil, "", errors.ErrUnsupported
}

// Publish is one request, and another one if there is something to push.
func (f *farAway) Publish(_ context.Context, edits []gitsync.Edit) ([]gitsync.Receipt, error) {
	<-f.turn
	defer func() { f.turn <- struct{}{} }()
	time.Sleep(f.latency)
	receipts, subjects := make([]gitsync.Receipt, len(edits)), []string(nil)
	for i, e := range edits {
		changes, err := e.Draw(f.base(e.Dir))
		receipts[i].Err = err
		for _, c := range changes {
			f.dirs[e.Dir] = applied(f.dirs[e.Dir], c)
			subject, _, _ := strings.Cut(c.Message, "\n")
			subjects = append(subjects, subject)
			receipts[i].Commits = append(receipts[i].Commits, fmt.Sprintf("%d-%d", len(f.pushes), len(subjects)))
		}
	}
	if len(subjects) > 0 {
		time.Sleep(f.latency)
		f.pushes, f.done = append(f.pushes, subjects), time.Now()
	}
	for i := range receipts {
		receipts[i].Head = fmt.Sprint(len(f.pushes))
	}
	return receipts, nil
}

// laned is a repository behind one lane.
type laned struct{ *lane }

func (l laned) Read(ctx context.Context, d declaration) (gitsync.Base, error) {
	return l.lane.Read(ctx, d.Dir())
}

func (l laned) Submit(ctx context.Context, d declaration, e gitsync.Edit) gitsync.Receipt {
	return l.lane.Submit(ctx, e)
}

// TestC17FiftyClustersOfOneRepositoryChangeTogether: each request to the remote takes 3 s. Reading takes no
// longer for fifty than for one, all is committed within 20 s and two pushes, and a failover is in the first.
func TestC17FiftyClustersOfOneRepositoryChangeTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		git := newFarAway(3 * time.Second)
		l := newLane(branch{git: git})
		ctx, stop := context.WithCancel(context.Background())
		t.Cleanup(stop)
		go l.run(ctx)
		all := make([]*story, 50)
		for i := range all {
			name := fmt.Sprintf("c%02d", i)
			all[i] = tellStoryIn(t, newWorld("a", "b", "c"), laned{l}, "name: story", "name: "+name)
			after(61 * time.Millisecond) // nobody looks at the same moment
		}
		after(30 * time.Second)
		if n := subjectsIn(git.pushes); n != 50 {
			t.Fatalf("%d first trees after half a minute, want 50", n)
		}
		git.pushes = nil
		began := time.Now()
		for i, st := range all {
			if i != 37 {
				st.declare(storyDeclaration(t, "name: story", fmt.Sprintf("name: c%02d", i), "1.24.1", "1.25.2"), nil)
				continue
			}
			st.world.change(func() { st.world.writer = "b" })
			st.world.lost <- struct{}{}
		}
		after(25 * time.Second)
		if n := len(git.pushes); n > 2 || subjectsIn(git.pushes) < 50 {
			t.Errorf("%d commits in %d pushes, want 50 in at most 2", subjectsIn(git.pushes), n)
		}
		if took := git.done.Sub(began); took > 20*time.Second {
			t.Errorf("took %v, want at most 20 s", took)
		}
		if !slices.Contains(git.pushes[0], "c37: writer a → b (epoch 2)") {
			t.Errorf("the first push is %q, without the failover", git.pushes[0])
		}
	})
}

func subjectsIn(pushes [][]string) (n int) {
	for _, p := range pushes {
		n += len(p)
	}
	return n
}
