package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/poolwright/poolwright/clusters"
	"github.com/poolwright/poolwright/discovery"
	"github.com/poolwright/poolwright/gitsync"
)

// storyFile is the Cluster file of the storyboards: the defaults, three instances.
const storyFile = `apiVersion: poolwright.dev/v1alpha1
kind: Cluster
metadata: {name: story, namespace: db}
spec:
  discovery:
    clusterName: story
    domainName: example.internal
  pgbouncer:
    image: registry.example.com/pgbouncer:1.24.1
    authFileSecretRef: {name: userlist}
  publish:
    repository: https://git.example.com/fleet.git
`

func storyDeclaration(t *testing.T, edits ...string) declaration {
	t.Helper()
	text := strings.NewReplacer(edits...).Replace(storyFile)
	c, err := clusters.Load("story.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return declaration{Cluster: c, Spec: specOf([]byte(text))}
}

// world is the databases of a storyboard: who is the writer, who is down.
type world struct {
	mu     sync.Mutex
	names  []string
	writer string
	down   map[string]bool
	fault  map[string]discovery.Fault
	meta   *discovery.Metadata
	lost   chan struct{}
	looks  []time.Time
}

func newWorld(writer string, readers ...string) *world {
	return &world{names: append([]string{writer}, readers...), writer: writer, down: map[string]bool{}, lost: make(chan struct{}, 1)}
}

func (w *world) change(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

// kill ends the writer: its connection breaks, and nobody is the writer.
func (w *world) kill() {
	w.change(func() { w.down[w.writer], w.writer = true, "" })
	w.lost <- struct{}{}
}

func (w *world) Lost() <-chan struct{} { return w.lost }

func (w *world) Observe(context.Context, declaration, bool) (discovery.Observation, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looks = append(w.looks, time.Now())
	o := discovery.Observation{Cluster: "story", Provider: discovery.Aurora, Domain: "example.internal", At: time.Now(), Metadata: w.meta}
	for _, n := range w.names {
		o.Answers = append(o.Answers, w.answer(n))
	}
	return o, nil
}

func (w *world) answer(name string) discovery.Answer {
	a := discovery.Answer{Endpoint: name + ".example.internal:5432", Asked: name, Name: name}
	if a.Fault = w.fault[name]; w.down[name] {
		a.Fault = discovery.Unreachable
	}
	if a.Fault != discovery.None {
		a.Name = ""
		return a
	}
	a.InRecovery, a.ReadOnly = name != w.writer, name != w.writer
	for _, n := range w.names {
		row := discovery.Row{ServerID: n, SessionID: "session-" + n}
		if n == w.writer {
			row.SessionID = discovery.MasterSession
		}
		if age, lag := int64(500+len(w.looks)%9), float64(len(w.looks)%7); n != name {
			row.AgeMillis, row.LagMillis = &age, &lag
		}
		a.Rows = append(a.Rows, row)
	}
	return a
}

// shelf is a repository in memory. It is moved and refused as a storyboard wants.
type shelf struct {
	mu      sync.Mutex
	files   gitsync.Files
	log     []gitsync.Commit
	down    error
	latency time.Duration
	reads   int
	foreign gitsync.Files // lands at the first draw, as another writer's commit
}

// now is the shelf as it is.
func (s *shelf) now() gitsync.Files {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.base().Files
}

func (s *shelf) base() gitsync.Base {
	head := ""
	if len(s.log) > 0 {
		head = s.log[0].Hash
	}
	return gitsync.Base{Head: head, Files: applied(s.files, gitsync.Change{}), Log: slices.Clone(s.log)}
}

// shelves are the directories of a storyboard; the first is where it begins.
type shelves struct{ at map[string]*shelf }

func (s *shelves) Read(ctx context.Context, d declaration) (gitsync.Base, error) {
	return s.at[d.Dir()].Read(ctx, d)
}

func (s *shelves) Submit(ctx context.Context, d declaration, e gitsync.Edit) gitsync.Receipt {
	return s.at[d.Dir()].Submit(ctx, d, e)
}

func (s *shelf) Read(context.Context, declaration) (gitsync.Base, error) {
	time.Sleep(s.latency)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	return s.base(), s.down
}

func (s *shelf) Submit(_ context.Context, _ declaration, edit gitsync.Edit) gitsync.Receipt {
	time.Sleep(s.latency)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down != nil {
		return gitsync.Receipt{Err: s.down}
	}
	changes, err := edit.Draw(s.base())
	if err == nil && s.foreign != nil {
		s.commit(gitsync.Change{Put: s.foreign, Message: "somebody else"})
		s.foreign = nil
		changes, err = edit.Draw(s.base())
	}
	if err != nil {
		return gitsync.Receipt{Err: err}
	}
	r := gitsync.Receipt{}
	for _, c := range changes {
		r.Commits = append(r.Commits, s.commit(c))
	}
	r.Head = s.base().Head
	return r
}

// commit adds one commit; its hash is its number.
func (s *shelf) commit(c gitsync.Change) string {
	s.files = applied(s.files, c)
	subject, rest, _ := strings.Cut(c.Message, "\n")
	commit := gitsync.Commit{Hash: fmt.Sprintf("%040d", len(s.log)+1), Subject: subject, Body: rest, Trailers: map[string]string{}}
	for line := range strings.Lines(rest) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && strings.HasPrefix(key, "Poolwright-") {
			commit.Trailers[key] = value
		}
	}
	s.log = slices.Insert(s.log, 0, commit)
	return commit.Hash
}

// revert undoes the newest commit the way `git revert` does.
func (s *shelf) revert(before gitsync.Files) { s.revertNewest(1, before) }

// revertNewest undoes the newest n commits, the newest first.
func (s *shelf) revertNewest(n int, before gitsync.Files) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files = before
	for _, c := range slices.Clone(s.log[:n]) {
		s.log = slices.Insert(s.log, 0, gitsync.Commit{
			Hash: fmt.Sprintf("%040d", len(s.log)+1), Subject: `Revert "` + c.Subject + `"`,
			Body: "This reverts commit " + c.Hash + ".", Trailers: map[string]string{},
		})
	}
}

// edit is a person's commit.
func (s *shelf) edit(subject string, files gitsync.Files) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.commit(gitsync.Change{Put: files, Message: subject})
}

func (s *shelf) subjects() (subjects []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range slices.Backward(s.log) {
		subjects = append(subjects, c.Subject)
	}
	return subjects
}

// story is a Reconciler in a bubble, with what it said.
type story struct {
	*Reconciler
	world *world
	mu    sync.Mutex
	said  []Event
	decl  declaration
	err   error
	stop  func()
}

func tellStory(t *testing.T, w *world, s *shelf, edits ...string) *story {
	t.Helper()
	return tellStoryIn(t, w, s, edits...)
}

// tellStoryIn tells it in any repository.
func tellStoryIn(t *testing.T, w *world, git repository, edits ...string) *story {
	t.Helper()
	st := tellStoryWith(t, w, git, edits...)
	st.world = w
	return st
}

// tellStoryWith tells it with any eyes.
func tellStoryWith(t *testing.T, sees eyes, git repository, edits ...string) *story {
	t.Helper()
	st := &story{decl: storyDeclaration(t, edits...)}
	st.Reconciler = &Reconciler{
		Name: "story", Eyes: sees, Git: git, Now: time.Now,
		Declare: func() (declaration, error) {
			st.mu.Lock()
			defer st.mu.Unlock()
			return st.decl, st.err
		},
		Say: func(e Event) {
			st.mu.Lock()
			defer st.mu.Unlock()
			st.said = append(st.said, e)
		},
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); st.Run(ctx) }()
	st.stop = func() { cancel(); <-done }
	t.Cleanup(st.stop)
	return st
}

func (st *story) declare(d declaration, err error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.decl, st.err = d, err
}

func (st *story) kinds() (kinds []EventKind) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, e := range st.said {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

// after lets time pass in the bubble.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// wantSubjects wants exactly these commits, by a part of their subjects.
func wantSubjects(t *testing.T, s *shelf, want ...string) {
	t.Helper()
	wantFirst(t, s, want...)
	if got := s.subjects(); len(got) > len(want) {
		t.Errorf("got commits %q, want none after the first %d", got, len(want))
	}
}

// wantFirst wants these commits before any others.
func wantFirst(t *testing.T, s *shelf, want ...string) {
	t.Helper()
	got := s.subjects()
	for i, w := range want {
		if i >= len(got) || !strings.Contains(got[i], w) {
			t.Fatalf("got commits %q, want ones with %q", got, want)
		}
	}
}

func TestAQuietClusterIsCommittedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{}
		tellStory(t, newWorld("a", "b", "c"), s)
		after(10 * time.Minute)
		wantSubjects(t, s, "epoch 1")
	})
}

func TestAKilledWriterIsOneCommitWithinTheCadenceOfTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := &shelf{}, newWorld("a", "b", "c")
		st := tellStory(t, w, s)
		after(time.Minute)
		w.kill()
		after(2 * time.Second)
		w.change(func() { w.writer = "b" })
		after(150 * time.Millisecond)
		wantSubjects(t, s, "epoch 1", "writer a → b")
		if got := st.kinds(); !slices.Contains(got, WriterLost) || !slices.Contains(got, WindowOpened) || !slices.Contains(got, Doubted) {
			t.Errorf("got events %v, want the loss, the window and the doubt among them", got)
		}
	})
}

func TestTheWindowClosesAndTheIntervalIsNormalAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := &shelf{}, newWorld("a", "b")
		st := tellStory(t, w, s)
		after(time.Minute)
		w.lost <- struct{}{}
		after(31 * time.Second)
		if got := st.kinds(); got[len(got)-1] != WindowClosed {
			t.Errorf("got events %v, want the window closed at the end", got)
		}
		w.change(func() { w.looks = nil })
		after(time.Minute)
		if got := len(w.looks); got < 19 || got > 21 {
			t.Errorf("got %d looks a minute after the window, want 20", got)
		}
	})
}

func TestAWriterUnknownForAnHourKeepsTheWindowForTenMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := &shelf{}, newWorld("a", "b")
		tellStory(t, w, s)
		after(time.Minute)
		w.kill()
		after(11 * time.Minute)
		w.change(func() { w.looks = nil })
		after(time.Minute)
		if got := len(w.looks); got < 19 || got > 21 {
			t.Errorf("got %d looks in a minute after the window, want 20", got)
		}
		wantSubjects(t, s, "epoch 1")
	})
}

func TestC03TenLooksAtTheSameClusterAreOneCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := &shelf{}, newWorld("a", "b", "c")
		tellStory(t, w, s)
		for range 10 {
			after(3 * time.Second)
			w.change(func() { slices.Reverse(w.names) })
		}
		wantSubjects(t, s, "epoch 1")
	})
}

func TestC02AForeignCommitInBetweenIsDrawnOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{foreign: gitsync.Files{"custom/patch.yaml": []byte("a: b\n")}}
		tellStory(t, newWorld("a", "b"), s)
		after(time.Minute)
		wantSubjects(t, s, "somebody else", "epoch 1")
		if string(s.now()["custom/patch.yaml"]) != "a: b\n" {
			t.Error("the foreign file is gone")
		}
	})
}

func TestC08APersonsRevertHoldsUntilAFactIsNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := &shelf{}, newWorld("a", "b", "c")
		tellStory(t, w, s)
		after(time.Minute)
		w.change(func() { w.writer = "b" })
		for len(s.subjects()) < 2 {
			after(50 * time.Millisecond)
		}
		before := s.now()
		after(time.Minute)
		n := len(s.subjects())
		s.revert(before)
		after(10 * time.Minute)
		if got := len(s.subjects()); got != n+1 {
			t.Fatalf("got commits %q, want none after the revert", s.subjects())
		}
		w.change(func() { w.writer = "c" })
		after(time.Minute)
		if got := s.subjects(); len(got) < n+2 || !strings.Contains(got[n+1], "writer b → c") {
			t.Errorf("got commits %q, want the new fact committed", got)
		}
	})
}

func TestC08PausedIsHonouredWithinOneLoopAndLifted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := &shelf{}, newWorld("a", "b", "c")
		st := tellStory(t, w, s)
		after(time.Minute)
		st.declare(storyDeclaration(t, "spec:\n", "spec:\n  paused: true\n"), nil)
		after(3 * time.Second)
		w.change(func() { w.writer = "b" })
		after(10 * time.Minute)
		wantSubjects(t, s, "epoch 1")
		st.declare(storyDeclaration(t), nil)
		after(3 * time.Second)
		if got := s.subjects(); len(got) < 2 || !strings.Contains(got[1], "writer a → b") {
			t.Errorf("got commits %q, want the failover after the pause", got)
		}
	})
}

func TestABrokenClusterFileStandsStillAndIsSaidOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := &shelf{}, newWorld("a", "b")
		st := tellStory(t, w, s)
		after(time.Minute)
		good := st.decl
		st.declare(declaration{}, errors.New("story.yaml:7: unknown key"))
		w.change(func() { w.writer = "b" })
		after(time.Minute)
		wantSubjects(t, s, "epoch 1")
		st.declare(good, nil)
		after(1100 * time.Millisecond)
		wantFirst(t, s, "epoch 1", "writer a → b")
		got := st.kinds()
		if n := count(got, Standing); n != 1 {
			t.Errorf("got %d times standing in %v, want 1", n, got)
		}
		if n := count(got, Moving); n != 1 {
			t.Errorf("got %d times moving in %v, want 1", n, got)
		}
	})
}

func TestADeadRemoteIsRetriedAndNothingIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := &shelf{}, newWorld("a", "b", "c")
		st := tellStory(t, w, s)
		after(time.Minute)
		s.mu.Lock()
		s.down = errors.New("no space left on device")
		s.mu.Unlock()
		w.change(func() { w.writer = "b" })
		after(2 * time.Hour)
		wantSubjects(t, s, "epoch 1")
		s.mu.Lock()
		s.down = nil
		s.mu.Unlock()
		after(time.Minute)
		if got := s.subjects(); len(got) < 2 || !strings.Contains(got[1], "writer a → b") {
			t.Errorf("got commits %q, want the failover once the remote is back", got)
		}
		if got := st.kinds(); count(got, GitFailed) < 20 || count(got, GitFailed) > 25 || count(got, GitBack) != 1 {
			t.Errorf("got events %v, want a failure said every five minutes for two hours, and one return of Git", got)
		}
	})
}

func TestAStopWaitsForThePushUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := &shelf{}, newWorld("a", "b")
		st := tellStory(t, w, s)
		after(time.Minute)
		s.mu.Lock()
		s.latency = 5 * time.Second
		s.mu.Unlock()
		w.change(func() { w.writer = "b" })
		after(4 * time.Second) // within 3 s it looks; the push takes 5 s
		st.stop()
		wantFirst(t, s, "epoch 1", "writer a → b")
	})
}

func TestATreeThatCannotBeReadBackIsReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := &shelf{}, newWorld("a", "b", "c")
		st := tellStory(t, w, s)
		after(time.Minute)
		good := s.now()
		s.edit("a person breaks it", gitsync.Files{"topology.yaml": []byte("# Generated by poolwright\n\t{")})
		after(time.Minute)
		if got := st.kinds(); count(got, Standing) != 1 {
			t.Fatalf("got events %v, want it standing", got)
		}
		s.edit("and mends it", good)
		w.change(func() { w.writer = "b" })
		after(time.Minute)
		wantFirst(t, s, "epoch 1", "a person breaks it", "and mends it", "writer a → b")
	})
}

func TestAnotherPathInTheClusterFileIsPublishedTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, elsewhere := &shelf{}, &shelf{}
		w := newWorld("a", "b")
		st := tellStoryIn(t, w, &shelves{map[string]*shelf{"clusters/story": s, "clusters/other": elsewhere}})
		after(time.Minute)
		st.declare(storyDeclaration(t, "  publish:\n", "  publish:\n    path: clusters/other\n"), nil)
		after(10 * time.Second)
		wantSubjects(t, elsewhere, "epoch 1")
		wantSubjects(t, s, "epoch 1")
	})
}

func TestLossesOfTheWriterAreNoStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("a", "b")
		st := tellStory(t, w, &shelf{})
		after(time.Minute)
		w.change(func() { w.looks = nil })
		for range 1000 {
			select {
			case w.lost <- struct{}{}:
			default:
			}
			after(time.Millisecond)
		}
		if got := len(w.looks); got > 11 {
			t.Errorf("got %d looks in a second of losses, want 10", got)
		}
		if got := count(st.kinds(), WriterLost); got != 1 {
			t.Errorf("the loss was said %d times, want once a window", got)
		}
	})
}

func TestC08ARevertOfARangeHoldsAsAWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := &shelf{}, newWorld("a", "b", "c")
		tellStory(t, w, s)
		after(time.Minute)
		before := s.now()
		w.change(func() { w.writer = "b" })
		after(time.Minute)
		wantFirst(t, s, "epoch 1", "writer a → b", "readers gain a")
		s.revertNewest(2, before)
		after(time.Hour)
		if got := len(s.subjects()); got != 5 {
			t.Errorf("got commits %q, want none after the two reverts", s.subjects())
		}
	})
}

func count(kinds []EventKind, k EventKind) (n int) {
	for _, other := range kinds {
		if other == k {
			n++
		}
	}
	return n
}
