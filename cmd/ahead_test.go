package cmd

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/poolwright/poolwright/live"
	"github.com/poolwright/poolwright/render"
)

// liveStage is the live side of a storyboard: it shows what it is given, and notes
// what it is asked to do.
type liveStage struct {
	mu    sync.Mutex
	sight live.Sight
	seen  bool
	read  bool // the control ConfigMap, also while not everything is seen
	wants []live.Want
	rival string
	keeps []string // what the rival says it keeps
	ping  chan struct{}
}

func newLiveStage() *liveStage {
	return &liveStage{seen: true, ping: make(chan struct{}, 1), sight: live.Sight{Ready: map[string]int{"a": 1, "b": 1, "c": 1}}}
}

func (s *liveStage) Follow(declaration) string { return "db/story" }

func (s *liveStage) Sight() (live.Sight, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sight, s.seen
}

func (s *liveStage) Words() (live.Control, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sight.Control, s.seen || s.read
}

func (s *liveStage) Want(w live.Want) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wants = append(s.wants, w)
}

func (s *liveStage) Changed() <-chan struct{} { return s.ping }

func (s *liveStage) Rival() rival {
	s.mu.Lock()
	defer s.mu.Unlock()
	return rival{s.rival, "poolwright/poolwright", s.keeps}
}

func (s *liveStage) Trouble() error { return nil }

// change changes what is seen, as a watch would tell.
func (s *liveStage) change(f func(*liveStage)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s)
	s.ping <- struct{}{}
}

// last is the newest want.
func (s *liveStage) last(t *testing.T) live.Want {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.wants) == 0 {
		t.Fatal("nothing was wanted of the live side")
	}
	return s.wants[len(s.wants)-1]
}

// began are the writers to which a failover was begun, each once.
func (s *liveStage) began() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var words []string
	for _, w := range s.wants {
		if w.Begin && (len(words) == 0 || words[len(words)-1] != w.To) {
			words = append(words, w.To)
		}
	}
	return strings.Join(words, " ")
}

// tellLiveStory is a story with a live side.
func tellLiveStory(t *testing.T, w *world, s *shelf, live *liveStage) *story {
	t.Helper()
	st := newStory(t, w, s)
	st.world, st.Live = w, live
	st.run(t)
	return st
}

// applied shows the live side what Git has, as if a GitOps tool had applied it.
func (s *liveStage) applied(t *testing.T, files map[string][]byte) {
	t.Helper()
	state, err := render.ReadBack("story", files)
	if err != nil {
		t.Fatal(err)
	}
	data, err := topologyData(files[render.TopologyFile])
	if err != nil {
		t.Fatal(err)
	}
	s.change(func(s *liveStage) { s.sight.Receipt, s.sight.Topology = state.Epoch, data })
}

func TestFailoverLeadsTheLiveSideBeforeGit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w, k := &shelf{latency: 2 * time.Second}, newWorld("a", "b", "c"), newLiveStage()
		tellLiveStory(t, w, s, k)
		after(time.Minute)
		w.kill()
		after(time.Second)
		w.change(func() { w.writer = "b" })
		after(200 * time.Millisecond)
		want := k.last(t)
		if !want.Begin || want.Hold || want.To != "b" || want.From != "a" || want.Epoch != 2 || want.Declared != 1 {
			t.Errorf("200 ms after the database said so, it wants %+v", want)
		}
		if got := want.Roles[0].Select[render.LabelInstance]; got != "b" {
			t.Errorf("the Writer is to select %q", got)
		}
		wantSubjects(t, s, "epoch 1")
		after(10 * time.Second)
		wantFirst(t, s, "epoch 1", "writer a → b (epoch 2)")
		if want := k.last(t); want.Begin || want.Declared < 2 {
			t.Errorf("after the commit it wants %+v", want)
		}
	})
}

func TestFailoverWaitsForAReadyPodAndNoLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w, k := &shelf{}, newWorld("a", "b", "c"), newLiveStage()
		tellLiveStory(t, w, s, k)
		after(time.Minute)
		k.change(func(s *liveStage) { s.sight.Ready = map[string]int{"a": 1, "c": 1} })
		w.change(func() { w.writer = "b" })
		after(20 * time.Second)
		if want := k.last(t); !want.Hold || k.began() != "" {
			t.Errorf("without a ready pod it wants %+v", want)
		}
		k.change(func(s *liveStage) { s.sight.Ready = map[string]int{"a": 1, "b": 1, "c": 1} })
		after(150 * time.Millisecond)
		if k.began() != "b" {
			t.Errorf("began %q 150 ms after the pod became ready", k.began())
		}
	})
}

func TestTheLiveSideDoesNotWaitForAGitServerThatIsDownFromTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w, k := &shelf{}, newWorld("a", "b", "c"), newLiveStage()
		first := tellLiveStory(t, w, s, k)
		after(time.Minute)
		first.stop()
		k.applied(t, s.now())
		s.mu.Lock()
		s.down = errors.New("no route to host")
		s.mu.Unlock()
		tellLiveStory(t, w, s, k)
		after(10 * time.Second)
		w.change(func() { w.writer = "b" })
		after(5 * time.Second)
		want := k.last(t)
		if !want.Begin || want.To != "b" || want.Epoch != 2 || want.Declared != 0 {
			t.Errorf("with Git out of reach it wants %+v", want)
		}
		s.mu.Lock()
		s.down = nil
		s.mu.Unlock()
		after(time.Minute)
		wantFirst(t, s, "epoch 1", "writer a → b (epoch 2)")
	})
}

func TestC24WhereAnotherProcessHoldsTheClusterNothingIsPublished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w, k := &shelf{}, newWorld("a", "b", "c"), newLiveStage()
		k.rival = "other"
		tellLiveStory(t, w, s, k)
		after(time.Minute)
		wantSubjects(t, s)
		k.change(func(s *liveStage) { s.rival = "" })
		after(10 * time.Second)
		wantSubjects(t, s, "epoch 1")
	})
}

func TestD21APersonsOrderIsCarriedIntoGitWithItsReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w, k := &shelf{}, newWorld("a", "b", "c"), newLiveStage()
		tellLiveStory(t, w, s, k)
		after(time.Minute)
		w.change(func() { w.down["a"], w.writer = true, "" }) // nobody says that he is the writer: a doubt
		after(time.Minute)
		wantSubjects(t, s, "epoch 1")
		now := time.Now()
		k.change(func(s *liveStage) {
			s.sight.Control.Order = &live.Order{Writer: "c", Reason: "zone is dark", By: "alice", At: now, Until: now.Add(30 * time.Minute)}
		})
		after(5 * time.Second)
		wantFirst(t, s, "epoch 1", "writer a → c (epoch 2)")
		if got := s.log[0].Trailers[render.TrailerReason]; !strings.Contains(got, "zone is dark") || !strings.Contains(got, "alice") {
			t.Errorf("the trailer says %q", got)
		}
		w.change(func() { w.writer = "b" })
		after(5 * time.Minute)
		if n := len(s.subjects()); !strings.Contains(s.subjects()[1], "writer a → c") || strings.Contains(s.subjects()[n-1], "→ b") {
			t.Errorf("while the order stands: %q", s.subjects())
		}
		after(30 * time.Minute)
		if got := strings.Join(s.subjects(), "; "); !strings.Contains(got, "writer c → b") {
			t.Errorf("after the order's end: %q", got)
		}
	})
}

func TestD20TheDebtOfAnOverrideIsSaidAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w, k := &shelf{}, newWorld("a", "b", "c"), newLiveStage()
		st := tellLiveStory(t, w, s, k)
		after(time.Minute)
		k.change(func(s *liveStage) {
			s.sight.Control.Override = &live.Record{Version: 1, Epoch: 2, From: "a", To: "b", At: time.Now()}
		})
		said := func() (n int) {
			st.mu.Lock()
			defer st.mu.Unlock()
			for _, e := range st.said {
				if e.Kind == Hindered && strings.Contains(e.Err.Error(), "ahead of Git") {
					n++
				}
			}
			return n
		}
		after(14 * time.Minute)
		if said() != 0 {
			t.Error("said before 15 minutes")
		}
		after(20 * time.Minute)
		if n := said(); n < 3 || n > 5 {
			t.Errorf("said %d times in 20 minutes, want one every five", n)
		}
		k.change(func(s *liveStage) { s.sight.Control.Override = nil })
		after(time.Minute)
		if kinds := st.kinds(); kinds[len(kinds)-1] != Cleared {
			t.Errorf("got %v, want the end said", kinds)
		}
	})
}

func TestC08PauseAndResumeFromTheCommandLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w, k := &shelf{}, newWorld("a", "b", "c"), newLiveStage()
		tellLiveStory(t, w, s, k)
		after(time.Minute)
		k.change(func(s *liveStage) { s.sight.Control.Pause = &live.Pause{By: "alice", Reason: "maintenance"} })
		w.change(func() { w.writer = "b" })
		after(time.Minute)
		wantSubjects(t, s, "epoch 1")
		if want := k.last(t); want.Paused != "alice: maintenance" {
			t.Errorf("the live side is told %q", want.Paused)
		}
		k.change(func(s *liveStage) { s.sight.Control.Pause = nil })
		after(10 * time.Second)
		wantFirst(t, s, "epoch 1", "writer a → b")
	})
}

func TestC08ResumeLiftsARevert(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w, k := &shelf{}, newWorld("a", "b", "c"), newLiveStage()
		tellLiveStory(t, w, s, k)
		after(time.Minute)
		before := s.now()
		w.change(func() { w.writer = "b" })
		for len(s.subjects()) < 2 {
			after(50 * time.Millisecond)
		}
		after(time.Minute)
		n := len(s.subjects())
		s.revertNewest(n-1, before)
		s.mu.Lock()
		for i := range s.log[:n-1] {
			s.log[i].When = time.Now()
		}
		s.mu.Unlock()
		after(10 * time.Minute)
		held := len(s.subjects())
		k.change(func(s *liveStage) { s.sight.Control.Resume = &live.Resume{By: "alice", At: time.Now()} })
		after(time.Minute)
		if got := s.subjects(); len(got) == held || !strings.Contains(strings.Join(got[held:], ";"), "writer a → b") {
			t.Errorf("after the resume: %q", got)
		}
	})
}

// topologyData is the data of a topology ConfigMap, as Kubernetes would hold it.
func topologyData(text []byte) (map[string]string, error) {
	var object struct {
		Data map[string]string `json:"data"`
	}
	err := yaml.Unmarshal(text, &object)
	return object.Data, err
}
