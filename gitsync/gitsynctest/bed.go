package gitsynctest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/poolwright/poolwright/gitsync"
	"github.com/poolwright/poolwright/gitsync/gitserver"
)

// Bed is one repository with publishers for its branch main.
type Bed struct {
	// Repo is the bare repository behind the publishers, empty.
	Repo *gitserver.Repo
	// New makes a publisher that shares nothing with the others: another process. Commits are by [Author].
	New func(t *testing.T) gitsync.Publisher
	// Signed is New with a signer; nil for a publisher that does not sign itself.
	Signed func(t *testing.T, s gitsync.Signer) gitsync.Publisher
	// Unborn is the kind of error that publishing to an empty repository ends in; nil when it gets its first commit.
	Unborn error
	// Portion is how many edits go into one push; 0 for all.
	Portion int
	// Pushes is how often the branch was moved, or tried to be, through publishers.
	Pushes func() int
}

// Author makes the commits of the suite.
var Author = gitsync.Identity{Name: "Poolwright", Email: "poolwright@example.com"}

// When is the time of the suite's commits.
var When = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

func (b Bed) git(t *testing.T, args ...string) string {
	t.Helper()
	out, err := b.Repo.Git(args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// foreign makes somebody else's commit.
func (b Bed) foreign(t *testing.T, files map[string]*gitserver.File) string {
	t.Helper()
	return b.foreignSaying(t, "somebody else's work", files)
}

func (b Bed) foreignSaying(t *testing.T, message string, files map[string]*gitserver.File) string {
	t.Helper()
	h, err := b.Repo.Commit("main", message, files)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// refusesTheFirst tells whether the publisher cannot begin a branch, and checks that it says so.
func (b Bed) refusesTheFirst(t *testing.T, p gitsync.Publisher) bool {
	t.Helper()
	if b.Unborn == nil {
		return false
	}
	_, err := p.Publish(t.Context(), []gitsync.Edit{write("a", "first", put("x", "1\n"))})
	if !errors.Is(err, b.Unborn) || b.Repo.Tip("main") != "" || b.Pushes() != 0 {
		t.Errorf("the error is %v, want %v and no push", err, b.Unborn)
	}
	return true
}

// seed gives the branch a first commit.
func (b Bed) seed(t *testing.T) {
	t.Helper()
	b.foreign(t, map[string]*gitserver.File{"README.md": gitserver.Text("hello\n")})
}

func (b Bed) count(t *testing.T) string { return b.git(t, "rev-list", "--count", "main") }

func (b Bed) file(t *testing.T, path string) string {
	t.Helper()
	return b.git(t, "show", "main:"+path)
}

// sound checks what must hold of every history: whole and without merges.
func (b Bed) sound(t *testing.T) {
	t.Helper()
	if out := b.git(t, "fsck", "--strict", "--no-dangling"); out != "" {
		t.Errorf("git fsck says:\n%s", out)
	}
	if merges := b.git(t, "rev-list", "--merges", "main"); merges != "" {
		t.Errorf("the history has merges: %s", merges)
	}
}

// write is an edit which puts files in dir, whatever is there.
func write(dir, message string, files gitsync.Files) gitsync.Edit {
	return gitsync.Edit{Dir: dir, Draw: func(gitsync.Base) ([]gitsync.Change, error) {
		return []gitsync.Change{{Dir: dir, Put: files, Message: message, When: When}}, nil
	}}
}

func put(name, content string) gitsync.Files { return gitsync.Files{name: []byte(content)} }

// publish fails the test on any error, also of a single edit.
func publish(t *testing.T, p gitsync.Publisher, edits ...gitsync.Edit) []gitsync.Receipt {
	t.Helper()
	rs, err := p.Publish(t.Context(), edits)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range rs {
		if r.Err != nil {
			t.Fatalf("edit %d: %v", i, r.Err)
		}
	}
	return rs
}

func read(t *testing.T, p gitsync.Publisher, dir string) gitsync.Base {
	t.Helper()
	b, err := p.Read(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// persist publishes like a caller whose loop comes again when the branch kept moving.
func persist(ctx context.Context, p gitsync.Publisher, e gitsync.Edit) (gitsync.Receipt, error) {
	for {
		rs, err := p.Publish(ctx, []gitsync.Edit{e})
		if errors.Is(err, gitsync.ErrMoved) && ctx.Err() == nil {
			continue
		}
		if err != nil {
			return gitsync.Receipt{}, err
		}
		return rs[0], rs[0].Err
	}
}

func lines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}
