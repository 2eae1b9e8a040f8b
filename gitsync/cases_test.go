package gitsync_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/poolwright/poolwright/gitsync"
	"github.com/poolwright/poolwright/gitsync/gitserver"
)

// A hook which commits somebody else's change to the branch, in the quarantine of our push: then ours no longer fits.
const insertForeign = `
[ -n "$POOLWRIGHT_FOREIGN" ] && exit 0
unset GIT_QUARANTINE_PATH GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES
n=$(git rev-list --count main)
[ "$n" -gt %d ] && exit 0
printf 'commit refs/heads/main\ncommitter S <s@example.com> 1700000000 +0000\ndata 7\nforeign\nfrom refs/heads/main^0\nM 644 inline %s\ndata 2\n%%s\n' "$n" | git fast-import --quiet
`

// TestC01C02ForeignCommitInAHook: the branch moves between the server's word and our push. The second try lands, the
// history is linear, both sides are there.
func TestC01C02ForeignCommitInAHook(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, prepare maker) {
		repo, p := prepare(t, func(*gitserver.Repo, *gitsync.Options) {})
		foreign(t, repo, map[string]*gitserver.File{"README.md": gitserver.Text("hello\n")})
		if err := repo.Hook("pre-receive", fmt.Sprintf(insertForeign, 1, "theirs")); err != nil {
			t.Fatal(err)
		}
		publishOne(t, p, write("a", "x", "1\n"))
		if got := git(t, repo, "log", "--reverse", "--format=%s", "main"); got != "somebody else's work\nforeign\nwrite x" {
			t.Errorf("the history is\n%s", got)
		}
		for n := range 10 { // ticks, of which the last has news: no trouble is left behind
			publishOne(t, p, write("a", "x", fmt.Sprintf("%d\n", 1+n/9)))
		}
		if got := git(t, repo, "rev-list", "--count", "main"); got != "4" {
			t.Errorf("%s commits, want 4", got)
		}
		git(t, repo, "fsck", "--strict")
	})
}

// TestC02AlwaysBeaten: somebody is faster each time. That ends, with an error that says so, and is no hot loop.
func TestC02AlwaysBeaten(t *testing.T) {
	t.Parallel()
	var pauses []time.Duration
	b := newHTTPBed(t, gitsync.Options{Sleep: func(_ context.Context, d time.Duration) error { pauses = append(pauses, d); return nil }})
	if err := b.repo.Hook("pre-receive", fmt.Sprintf(insertForeign, 20, "theirs")); err != nil {
		t.Fatal(err)
	}
	draws := 0
	_, err := b.git.Publish(t.Context(), []gitsync.Edit{{Dir: "a", Draw: func(base gitsync.Base) ([]gitsync.Change, error) {
		draws++
		return write("a", "x", "1\n").Draw(base)
	}}})
	if !errors.Is(err, gitsync.ErrMoved) {
		t.Errorf("the error is %v", err)
	}
	if draws != 10 || b.Pushes() != 10 || len(pauses) != 9 {
		t.Errorf("%d draws, %d pushes, %d pauses; want 10, 10, 9", draws, b.Pushes(), len(pauses))
	}
	if got := git(t, b.repo, "rev-list", "--count", "main", "--", "a"); got != "0" {
		t.Error("something of ours landed")
	}
}

// TestC02Rejected: a hook that says no is asked once per publish, not ten times.
func TestC02Rejected(t *testing.T) {
	t.Parallel()
	b := newHTTPBed(t, gitsync.Options{})
	if err := b.repo.Hook("pre-receive", "echo 'not on a Friday' >&2; exit 1"); err != nil {
		t.Fatal(err)
	}
	for n := range 20 {
		_, err := b.git.Publish(t.Context(), []gitsync.Edit{write("a", "x", "1\n")})
		if !errors.Is(err, gitsync.ErrRefused) || !strings.Contains(err.Error(), "not on a Friday") {
			t.Fatalf("the error is %v", err)
		}
		if b.Pushes() != n+1 {
			t.Fatalf("%d pushes after %d publishes", b.Pushes(), n+1)
		}
	}
}

// TestC16NoForce: a server that forbids force and deletion takes everything we do.
func TestC16NoForce(t *testing.T) {
	t.Parallel()
	b := newHTTPBed(t, gitsync.Options{})
	if err := b.repo.Config("receive.denyNonFastForwards=true", "receive.denyDeletes=true"); err != nil {
		t.Fatal(err)
	}
	for n := range 5 {
		publishOne(t, b.git, write("a", "x", fmt.Sprintf("%d\n", n)))
		foreign(t, b.repo, map[string]*gitserver.File{"theirs": gitserver.Text(fmt.Sprint(n))})
	}
}

// TestC17FiftyClusters: 50 clusters in one batch on a remote where each request takes 3 s. The time is counted, not
// waited: requests times latency. A failover among them is in the first push and the first commit.
func TestC17FiftyClusters(t *testing.T) {
	t.Parallel()
	const latency = 3 * time.Second
	b := newHTTPBed(t, gitsync.Options{})
	edits := make([]gitsync.Edit, 50)
	for i := range edits {
		edits[i] = write(fmt.Sprintf("clusters/c%02d", i), "services.yaml", fmt.Sprintf("cluster: %d\n", i))
	}
	edits[37].Urgent = true
	b.Reset()
	rs := must[[]gitsync.Receipt](t)(b.git.Publish(t.Context(), edits))
	if b.Pushes() > 2 {
		t.Errorf("%d pushes, want at most 2", b.Pushes())
	}
	if took := time.Duration(len(b.Requests())) * latency; took > 20*time.Second {
		t.Errorf("%d requests take %v at %v each, want at most 20 s", len(b.Requests()), took, latency)
	}
	order := strings.Fields(git(t, b.repo, "rev-list", "--reverse", "main"))[1:]
	if len(order) != 50 || rs[37].Commits[0] != order[0] {
		t.Errorf("%d commits, the failover is not the first", len(order))
	}
	b.Reset()
	must[[]gitsync.Receipt](t)(b.git.Publish(t.Context(), edits))
	if n := len(b.Requests()); n != 1 {
		t.Errorf("a tick without news takes %d requests, want 1", n)
	}
}

// TestC17FailoverJumpsTheQueue: an urgent publish is served before the others that wait for the same repository.
func TestC17FailoverJumpsTheQueue(t *testing.T) {
	t.Parallel()
	b := newHTTPBed(t, gitsync.Options{})
	var order []string
	note := func(name string) gitsync.Edit {
		return gitsync.Edit{Dir: name, Urgent: name == "failover", Draw: func(gitsync.Base) ([]gitsync.Change, error) {
			order = append(order, name) // serialised by the Repo
			return nil, nil
		}}
	}
	var wg sync.WaitGroup
	publish := func(e gitsync.Edit) {
		wg.Go(func() {
			if _, err := b.git.Publish(t.Context(), []gitsync.Edit{e}); err != nil {
				t.Error(err)
			}
		})
	}
	first := note("first")
	draw := first.Draw
	first.Draw = func(base gitsync.Base) ([]gitsync.Change, error) {
		for _, name := range []string{"routine", "routine", "failover"} {
			before := gitsync.Waiting(b.git)
			publish(note(name))
			for gitsync.Waiting(b.git) == before { // until it stands in line
				runtime.Gosched()
			}
		}
		return draw(base)
	}
	publish(first)
	wg.Wait()
	if got := strings.Join(order, " "); got != "first failover routine routine" {
		t.Errorf("served in the order %s", got)
	}
}

// TestC19TwoProcesses: two processes, different clusters, the same repository, at once, 50 rounds.
func TestC19TwoProcesses(t *testing.T) {
	t.Parallel()
	repo := must[*gitserver.Repo](t)(gitserver.CreateRepo(t.TempDir(), "example.git"))
	foreign(t, repo, map[string]*gitserver.File{"README.md": gitserver.Text("hello\n")})
	const rounds = 50
	processes := map[string]*gitsync.Repo{"one": open(t, gitsync.Options{URL: repo.Dir}), "two": open(t, gitsync.Options{URL: repo.Dir})}
	for n := range rounds {
		var wg sync.WaitGroup
		for dir, p := range processes {
			wg.Go(func() {
				if rs, err := p.Publish(t.Context(), []gitsync.Edit{write(dir, "x", fmt.Sprintf("%d\n", n))}); err != nil || rs[0].Err != nil {
					t.Errorf("round %d of %s: %v, %+v", n, dir, err, rs)
				}
			})
		}
		wg.Wait()
	}
	for dir := range processes {
		if got := git(t, repo, "rev-list", "--count", "main", "--", dir); got != fmt.Sprint(rounds) {
			t.Errorf("%s has %s commits, want %d", dir, got, rounds)
		}
	}
	if got := git(t, repo, "rev-list", "--merges", "main"); got != "" {
		t.Errorf("merges: %s", got)
	}
	git(t, repo, "fsck", "--strict")
}
