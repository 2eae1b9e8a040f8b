package cmd

import (
	"cmp"
	"context"
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
	asked  func() // called while the databases are asked, nil for nothing
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
	if w.asked != nil {
		w.asked()
	}
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
	refuses error // every push, and no read
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
	if err := cmp.Or(s.down, s.refuses); err != nil {
		return gitsync.Receipt{Err: err}
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

// refuse refuses every push from now on.
func (s *shelf) refuse(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuses = why
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

func (s *shelf) readCount() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reads
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
	st := newStory(t, sees, git, edits...)
	st.run(t)
	return st
}

// newStory has not begun yet.
func newStory(t *testing.T, sees eyes, git repository, edits ...string) *story {
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
	return st
}

// run lets it begin.
func (st *story) run(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); st.Run(ctx) }()
	st.stop = func() { cancel(); <-done }
	t.Cleanup(st.stop)
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
