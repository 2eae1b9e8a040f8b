package cmd

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/poolwright/poolwright/discovery"
	"github.com/poolwright/poolwright/discovery/aurorasim"
	"github.com/poolwright/poolwright/gitsync"
	"github.com/poolwright/poolwright/render/build"
)

// readersIn are the members whom the newest topology.yaml lets serve readers.
func readersIn(t *testing.T, s *shelf) string {
	t.Helper()
	declared, err := declaredIn(storyDeclaration(t), gitsync.Base{Files: s.now()}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(declared.State.Readers(), " ")
}

// overlays are the instances with files.
func overlays(s *shelf) string {
	names := map[string]bool{}
	for file := range s.now() {
		if rest, ok := strings.CutPrefix(file, "instances/"); ok {
			name, _, _ := strings.Cut(rest, "/")
			names[name] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(names)), " ")
}

func wantIs(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// TestB07D18AReaderThatIsGoneLeavesTrafficThenGit: one look without it is nothing; then it serves no more and its
// files stay; after the retention they and the parent's entry go in one commit. Every tree in between builds.
func TestB07D18AReaderThatIsGoneLeavesTrafficThenGit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := &shelf{}, newWorld("a", "b", "c")
		tellStory(t, w, s)
		after(time.Minute)
		everybody := w.names
		w.change(func() { w.names = []string{"a", "b"} })
		after(3 * time.Second)
		w.change(func() { w.names = everybody })
		after(time.Minute)
		wantSubjects(t, s, "epoch 1")
		w.change(func() { w.names = []string{"a", "b"} })
		after(9 * time.Second)
		wantSubjects(t, s, "epoch 1")
		after(30 * time.Minute)
		wantSubjects(t, s, "epoch 1", "readers lose c")
		wantIs(t, "readers", readersIn(t, s), "b")
		wantIs(t, "overlays", overlays(s), "a b c")
		wantBuilds(t, s)
		after(31 * time.Minute)
		wantSubjects(t, s, "epoch 1", "readers lose c", "remove c")
		wantIs(t, "overlays", overlays(s), "a b")
		if bytes.Contains(s.now()["kustomization.yaml"], []byte("instances/c")) {
			t.Error("the parent still lists c")
		}
		wantBuilds(t, s)
	})
}

func wantBuilds(t *testing.T, s *shelf) {
	t.Helper()
	var builder build.Builder
	if _, err := builder.Build(s.now()); err != nil {
		t.Error(err)
	}
}

// TestB11ANewReaderHasItsOverlayAtOnceAndTrafficWhenItIsUp: it says that it starts up five times, then answers twice.
func TestB11ANewReaderHasItsOverlayAtOnceAndTrafficWhenItIsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := &shelf{}, newWorld("a", "b")
		tellStory(t, w, s)
		after(time.Minute)
		w.change(func() { w.names, w.fault = append(w.names, "c"), map[string]discovery.Fault{"c": discovery.StartingUp} })
		after(3 * time.Second)
		wantSubjects(t, s, "epoch 1", "add c")
		wantIs(t, "overlays", overlays(s), "a b c")
		after(time.Minute)
		wantIs(t, "readers", readersIn(t, s), "b")
		w.change(func() { w.fault = nil })
		after(9 * time.Second) // one probe, maybe
		wantIs(t, "readers", readersIn(t, s), "b")
		after(15 * time.Second)
		wantSubjects(t, s, "epoch 1", "add c", "readers gain c")
		wantIs(t, "readers", readersIn(t, s), "b c")
	})
}

// TestB13MetadataThatGoesStaleForTenMinutesIsNoCommit: what AWS said stays; that it says nothing now changes nothing.
func TestB13MetadataThatGoesStaleForTenMinutesIsNoCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := &shelf{}, newWorld("a", "b", "c")
		meta := discovery.Metadata{State: discovery.MetadataFresh}
		for _, n := range w.names {
			meta.Instances = append(meta.Instances, discovery.MetaInstance{Name: n, Resource: "db-" + n, Zone: "z", Status: "available"})
		}
		w.meta = &meta
		st := tellStory(t, w, s)
		after(time.Minute)
		n := len(s.subjects())
		stale := meta
		stale.State, stale.Detail = discovery.MetadataStale, "throttled"
		w.change(func() { w.meta = &stale })
		after(10 * time.Minute)
		w.change(func() { w.meta = &meta })
		after(10 * time.Minute)
		if got := s.subjects(); len(got) != n {
			t.Errorf("got commits %q, want %d", got, n)
		}
		if got := st.kinds(); slices.Contains(got, Doubted) {
			t.Errorf("got events %v, want no doubt", got)
		}
	})
}

// TestB18AClusterThatResumesIsNoOutage: its databases need 20 s for the first answer of each pause, within the
// timeout that is declared. Nobody leaves traffic for that.
func TestB18AClusterThatResumesIsNoOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, err := aurorasim.Start(aurorasim.Config{Name: "story", Domain: "example.internal", Instances: []string{"a", "b"}, InMemory: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(sim.Close)
		ctx, stop := context.WithCancel(context.Background())
		t.Cleanup(stop)
		eyes := &lookout{outside: outside{Dial: sim.Dial, Lookup: sim.Lookup, Now: time.Now, Getenv: func(string) string { return "story" }, AWS: newAWS(ctx)}}
		t.Cleanup(eyes.close)
		t.Setenv("PGUSER", "story")
		s := &shelf{}
		st := tellStoryWith(t, eyes, s, "domainName: example.internal", `domainName: example.internal
    sslMode: disable
    interval: 5m
    timeout: 30s
  monitor: {interval: 5m, timeout: 30s}`)
		after(10 * time.Minute)
		wantSubjects(t, s, "epoch 1")
		for range 4 {
			for _, n := range []string{"a", "b"} {
				if err := sim.Inject(n, aurorasim.Slow, aurorasim.For(20*time.Second)); err != nil {
					t.Fatal(err)
				}
			}
			after(5 * time.Minute)
			for _, n := range []string{"a", "b"} {
				if err := sim.Clear(n); err != nil {
					t.Fatal(err)
				}
			}
			after(10 * time.Minute)
		}
		wantSubjects(t, s, "epoch 1")
		if got := st.kinds(); slices.Contains(got, Doubted) {
			t.Errorf("got events %v, want no doubt", got)
		}
	})
}

// TestB25FourReadersWithinNinetySecondsAreTwoCommits: with a window of 60 s; and the tree has all of them.
func TestB25FourReadersWithinNinetySecondsAreTwoCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := &shelf{}, newWorld("a", "b")
		tellStory(t, w, s, "fleet.git\n", "fleet.git\n    batchWindow: 60s\n")
		after(5 * time.Minute)
		n := len(s.subjects())
		for _, name := range []string{"c", "d", "e", "f"} {
			w.change(func() { w.names = append(w.names, name) })
			after(30 * time.Second)
		}
		after(5 * time.Minute)
		if got := s.subjects()[n:]; len(got) > 2 {
			t.Errorf("got commits %q, want at most 2", got)
		}
		wantIs(t, "readers", readersIn(t, s), "b c d e f")
	})
}

// TestB25AFailoverDoesNotWaitForTheWindow: at the tenth second of it the writer moves; that is committed at once, and
// the new reader when its window ends.
func TestB25AFailoverDoesNotWaitForTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := &shelf{}, newWorld("a", "b", "x")
		tellStory(t, w, s, "fleet.git\n", "fleet.git\n    batchWindow: 60s\n")
		after(5 * time.Minute)
		wantSubjects(t, s, "epoch 1")
		w.change(func() { w.names = append(w.names, "c") })
		after(10 * time.Second)
		wantSubjects(t, s, "epoch 1")
		w.change(func() { w.writer = "b" })
		w.lost <- struct{}{}
		after(100 * time.Millisecond)
		wantSubjects(t, s, "epoch 1", "writer a → b")
		after(5 * time.Minute)
		wantIs(t, "overlays", overlays(s), "a b c x")
		wantIs(t, "readers", readersIn(t, s), "a c x")
	})
}

// TestC02AnEditOfOurFileIsWrittenOverByACommitThatSaysSo: the file says so in its head; what it was is in Git's history.
func TestC02AnEditOfOurFileIsWrittenOverByACommitThatSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{}
		tellStory(t, newWorld("a", "b"), s)
		after(time.Minute)
		good := s.now()["services.yaml"]
		edited := bytes.ReplaceAll(good, []byte("instance: a"), []byte("instance: b"))
		s.mu.Lock()
		s.commit(gitsync.Change{Put: gitsync.Files{"services.yaml": edited}, Message: "somebody else"})
		s.mu.Unlock()
		after(time.Minute)
		wantSubjects(t, s, "epoch 1", "somebody else", "puts right services.yaml")
		if !bytes.Equal(s.now()["services.yaml"], good) || bytes.Equal(edited, good) {
			t.Error("services.yaml is not as drawn")
		}
	})
}

// TestC18AnotherVersionsTreeIsDrawnAnewOnce: what an older version drew differs; that is one commit, not one a look.
func TestC18AnotherVersionsTreeIsDrawnAnewOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := &shelf{}, newWorld("a", "b")
		st := tellStory(t, w, s)
		after(time.Minute)
		st.stop()
		for name, data := range s.files {
			s.files[name] = bytes.ReplaceAll(data, []byte("server_login_retry = 1"), []byte("server_login_retry = 2"))
		}
		tellStory(t, w, s)
		after(10 * time.Minute)
		wantSubjects(t, s, "epoch 1", "puts right instances/a/pgbouncer.ini")
	})
}

// TestD08OneOfSixLeftNeedsAPersonsReason: which is in the commit.
func TestD08OneOfSixLeftNeedsAPersonsReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := &shelf{}, newWorld("a", "b", "c", "d", "e", "f")
		st := tellStory(t, w, s)
		after(time.Minute)
		w.change(func() { w.names = []string{"a"} })
		after(2 * time.Hour)
		wantSubjects(t, s, "epoch 1")
		st.declare(storyDeclaration(t, "spec:\n", "spec:\n  topologyPolicy: {allowShrink: ticket 7}\n"), nil)
		after(3 * time.Second)
		if got := fmt.Sprint(s.log[0]); !strings.Contains(got, "shrink-allowed (ticket 7)") {
			t.Errorf("got %s, want the reason in its trailers", got)
		}
		wantIs(t, "readers", readersIn(t, s), "a")
	})
}
