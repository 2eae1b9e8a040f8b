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

func TestOnePlaceHasOneFile(t *testing.T) {
	f := &fleet{keeps: map[place]string{}}
	at := func(dir string) place { return place{"https://git.example.com/x.git", "main", dir} }
	elsewhere := place{"https://git.example.com/x.git", "next", "clusters/a"}
	for _, step := range []struct {
		says, file string
		at         place
		refused    bool
	}{
		{"the first file has the place", "a.yaml", at("clusters/a"), false},
		{"and keeps it", "a.yaml", at("clusters/a"), false},
		{"a second one does not get it", "b.yaml", at("clusters/a"), true},
		{"nor what is inside of it", "b.yaml", at("clusters/a/base"), true},
		{"nor what it is inside of", "b.yaml", at("clusters"), true},
		{"a name that only begins like it is another place", "b.yaml", at("clusters/ab"), false},
		{"another branch is another place", "c.yaml", elsewhere, false},
		{"the first file goes away", "a.yaml", at("clusters/z"), false},
		{"and its place is free", "b.yaml", at("clusters/a"), false},
	} {
		if err := f.claim(step.file, step.at); (err != nil) != step.refused {
			t.Errorf("%s: got %v", step.says, err)
		}
	}
}

// TestAClusterIsKeptByOneFile: two files in different directories, or repositories, may not declare the same cluster.
func TestAClusterIsKeptByOneFile(t *testing.T) {
	f := &fleet{names: map[string]string{}}
	for _, step := range []struct {
		path, name string
		taken      bool
	}{
		{path: "a.yaml", name: "db/story"},
		{path: "a.yaml", name: "db/story"},
		{path: "b.yaml", name: "db/story", taken: true},
		{path: "b.yaml", name: "other/story"},
		{path: "a.yaml", name: "db/renamed"},
		{path: "b.yaml", name: "db/story"},
		{path: "a.yaml", name: "db/story", taken: true},
	} {
		if err := f.claimName(step.path, step.name); (err != nil) != step.taken {
			t.Errorf("%s declares %s: %v", step.path, step.name, err)
		}
	}
}
