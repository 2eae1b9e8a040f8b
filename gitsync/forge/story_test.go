package forge_test

import (
	"errors"
	"flag"
	"fmt"
	"net/http"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/gitsync/forge"
	"github.com/poolwright/poolwright/gitsync/githubfake"
	"github.com/poolwright/poolwright/gitsync/hub"
)

// story is a bed through a random time.
type story struct {
	*bed
	t      *rapid.T
	pushed []string // commits by people on the branch that is there
	n      int
	faults int // those asked for, each of which may take its time
}

// happen is what people, databases and GitHub do between two ticks.
func (s *story) happen() {
	s.n++
	open := s.open()
	tip := s.hub.Repo().Tip(branch)
	events := []string{"wish", "wish", "wish", "base", "merge", "close", "commit", "edit", "fault", "restart", "gone"}
	switch what := rapid.SampledFrom(events).Draw(s.t, "what"); {
	case what == "wish":
		s.files = grown(rapid.IntRange(1, 3).Draw(s.t, "epoch"), rapid.SampledFrom([]string{"x", "y"}).Draw(s.t, "instance"))
		if rapid.IntRange(0, 3).Draw(s.t, "none") == 0 {
			s.files = nil
		}
	case what == "base":
		s.push("main", rapid.SampledFrom([]string{"README.md", dir + "/services.yaml"}).Draw(s.t, "path"), fmt.Sprintf("%s%d\n", header, s.n))
	case what == "merge" && len(open) == 1 && s.mergeable():
		s.hub.MergePull(open[0].Number, "alice", rapid.SampledFrom([]string{"merge", "squash"}).Draw(s.t, "method"))
		s.pushed = nil
	case what == "close" && len(open) == 1:
		s.hub.ClosePull(open[0].Number, "alice")
	case what == "gone" && tip != "":
		s.hub.DeleteBranch(branch)
		s.pushed = nil
	case what == "commit" && tip != "":
		s.pushed = append(s.pushed, s.push(branch, fmt.Sprintf("docs/%d.md", s.n), "notes\n"))
	case what == "edit" && tip != "":
		s.pushed = append(s.pushed, s.push(branch, dir+"/services.yaml", fmt.Sprintf("%sby hand %d\n", header, s.n)))
	case what == "restart":
		s.restart()
	case what == "fault":
		status := rapid.SampledFrom([]int{http.StatusBadGateway, http.StatusInternalServerError}).Draw(s.t, "status")
		s.faults++
		s.hub.Fault("*", rapid.IntRange(0, 12).Draw(s.t, "after"), githubfake.Fault{})
		s.hub.Fault("*", 1, githubfake.Fault{Status: status, Carried: rapid.Bool().Draw(s.t, "carried")})
	}
}

func (s *story) mergeable() bool {
	_, err := s.hub.Repo().Git("merge-tree", "--write-tree", "main", branch)
	return err == nil
}

// TestStories: whatever people do and wherever GitHub fails, there is one open pull request at most, no branch is forced, no
// person's commit leaves a branch that is there, and once nothing fails the standing says what there is.
func TestStories(t *testing.T) {
	few(t)
	rapid.Check(t, func(rt *rapid.T) {
		s := &story{bed: newBed(t, nil), t: rt}
		for range rapid.IntRange(2, 8).Draw(rt, "ticks") {
			for range rapid.IntRange(0, 2).Draw(rt, "events") {
				s.happen()
			}
			s.now = s.now.Add(11 * time.Minute)
			_, err := s.try()
			if err != nil && !errors.Is(err, hub.ErrUnreachable) {
				rt.Fatal(err)
			}
			s.kept()
		}
		for calm := 0; s.faults > 0 && calm < 8; calm++ { // until nothing is left of the faults
			if _, err := s.try(); err != nil {
				calm = -1
			}
			s.now = s.now.Add(time.Minute)
		}
		s.settled(s.tick())
		if t.Failed() {
			rt.FailNow()
		}
	})
}

// few lets rapid make 15 stories unless -rapid.checks says otherwise: each runs git some hundred times. The test that calls
// it is not parallel, because the flag is everybody's.
func few(t *testing.T) {
	t.Helper()
	f := flag.Lookup("rapid.checks")
	if f.Value.String() != f.DefValue {
		return
	}
	if err := f.Value.Set("15"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Value.Set(f.DefValue) })
}

// kept expects the commits of people on the branch.
func (s *story) kept() {
	tip := s.hub.Repo().Tip(branch)
	if tip == "" {
		if len(s.pushed) > 0 {
			s.t.Fatal("the branch went with a person's commits")
		}
		return
	}
	for _, sha := range s.pushed {
		if !s.ancestor(sha, tip) {
			s.t.Fatalf("%s is lost", sha)
		}
	}
}

func (s *story) settled(got forge.Standing) {
	open := s.open()
	var ok bool
	switch got.State {
	case forge.Proposed:
		ok = len(open) == 1 && open[0].Title == s.wish().Title
		s.holds(false)
	case forge.Stopped:
		ok = len(open) == 1 && len(open[0].Comments) >= 1
	case forge.Declined, forge.None, forge.Closed:
		ok = len(open) == 0
	default:
		ok = false
	}
	if !ok {
		s.t.Fatalf("%+v with %d open", got, len(open))
	}
}
