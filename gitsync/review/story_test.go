package review_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/gitsync/review"
)

// world is a repository with one cluster, as a forge has it. Content is a number; the base's is what Git says.
type world struct {
	t *rapid.T
	// base and wish are contents. The base's head is the number of its commits, and the wish was drawn on drawn of them.
	base, wish  int
	head, drawn int
	branch      *line
	pulls       []*request
	direct      bool
	barred      bool // deletions are forbidden
	refused     bool // we know
	people      int  // commits by people so far
	closes      int  // by us
}

// line is a branch: it never loses a commit.
type line struct {
	content int
	edited  bool // a person's commit since our last changed our file
	based   int  // the base commits in it
	commits []commit
}

type commit struct {
	ours bool
	id   int
}

// request is a pull request.
type request struct {
	phase      review.Phase
	key        int
	text       int
	asked      bool
	byUs, told bool
	head       int // commits
	merge      int // the base commit
	tells      int
	retargeted bool
}

func (w *world) newest() *request {
	if len(w.pulls) == 0 {
		return &request{}
	}
	return w.pulls[len(w.pulls)-1]
}

func (w *world) declined() bool {
	for _, p := range slices.Backward(w.pulls) {
		if p.phase == review.MergedPull {
			return false
		}
		if p.phase == review.ClosedPull && !p.byUs && p.key == w.wish {
			return true
		}
	}
	return false
}

func (w *world) seen() review.Seen {
	p := w.newest()
	s := review.Seen{Wanted: w.wish != w.base, Declined: w.declined(), Direct: w.direct, Pull: review.Pull{
		Phase: p.phase, ByUs: p.byUs, Read: p.merge <= w.drawn, Retargeted: p.retargeted,
		Asked: p.asked, Described: p.text == w.wish, Told: p.told,
	}}
	if b := w.branch; b != nil {
		s.Branch = review.Branch{
			There: true, AsWished: b.content == w.wish && len(b.commits) > 0, Edited: b.edited, Behind: b.based < w.drawn,
			Current: p.head == len(b.commits), OnlyOurs: !slices.ContainsFunc(b.commits, func(c commit) bool { return !c.ours }),
			OwnHead: len(b.commits) > 0 && b.commits[len(b.commits)-1].ours, Barred: w.refused,
		}
	}
	return s
}

// take carries a step out, as a forge would.
func (w *world) take(step review.Step) {
	p := w.newest()
	switch step {
	case review.Draw:
		if w.branch == nil {
			w.branch = &line{}
		}
		w.branch.content, w.branch.edited, w.branch.based = w.wish, false, w.drawn
		w.branch.commits = append(w.branch.commits, commit{ours: true})
		w.follow()
	case review.Open:
		w.pulls = append(w.pulls, &request{phase: review.OpenPull, key: w.branch.content, text: w.wish, head: len(w.branch.commits)})
	case review.Ask:
		p.asked = true
	case review.Describe:
		p.text = w.wish
	case review.Tell:
		p.told = true
		p.tells++
	case review.CloseEqual, review.CloseDeclined:
		p.phase, p.byUs = review.ClosedPull, true
		w.closes++
	case review.Delete:
		if w.barred {
			w.refused = true
			return
		}
		w.branch = nil
	case review.Merge:
		w.merge()
	case review.Rest:
	}
}

// follow: an open pull request has the head of its branch.
func (w *world) follow() {
	if p := w.newest(); p.phase == review.OpenPull {
		p.head, p.key = len(w.branch.commits), w.branch.content
	}
}

func (w *world) merge() {
	p := w.newest()
	w.head++
	p.phase, p.merge = review.MergedPull, w.head
	w.base = w.branch.content
	w.branch.commits, p.head = nil, 0 // the base has them now
}

// tick is one call: look, decide, act, until rest. mishap is the step at which the forge fails, before or after its effect.
func (w *world) tick(mishap int, after bool) (state review.State, rest bool) {
	const most = 8
	for n := range most {
		seen := w.seen()
		step, state := review.Next(seen)
		if step == review.Rest {
			return state, true
		}
		if n == mishap && !after {
			return state, false
		}
		before := w.snapshot()
		w.take(step)
		w.check(before, step)
		if n == mishap {
			return state, false
		}
	}
	w.t.Fatalf("no rest after %d steps: %+v", most, w.seen())
	return 0, false
}

type snapshot struct {
	commits []commit
	open    int
}

func (w *world) snapshot() snapshot {
	s := snapshot{open: w.open()}
	if w.branch != nil {
		s.commits = slices.Clone(w.branch.commits)
	}
	return s
}

func (w *world) open() (n int) {
	for _, p := range w.pulls {
		if p.phase == review.OpenPull {
			n++
		}
	}
	return n
}

func (w *world) check(before snapshot, step review.Step) {
	if w.open() > 1 {
		w.t.Fatal("two open pull requests")
	}
	if step == review.Delete {
		if slices.ContainsFunc(before.commits, func(c commit) bool { return !c.ours }) {
			w.t.Fatal("a person's commit went with the branch")
		}
		return
	}
	gone := w.branch == nil && len(before.commits) > 0
	if step != review.Merge && (gone || w.branch != nil && !slices.Equal(w.branch.commits[:len(before.commits)], before.commits)) {
		w.t.Fatalf("%v rewrote the branch", step)
	}
	for _, p := range w.pulls {
		if p.tells > 1 {
			w.t.Fatal("said twice")
		}
	}
}

// happen is what people and databases do between two ticks.
func (w *world) happen() {
	p := w.newest()
	events := []string{"wish", "wish", "base", "direct commit", "merge", "close", "reopen", "commit", "edit", "mend", "gone", "retarget"}
	switch what := rapid.SampledFrom(events).Draw(w.t, "what"); {
	case what == "wish":
		w.wish = rapid.IntRange(0, 3).Draw(w.t, "wish")
	case what == "base":
		w.head++
	case what == "direct commit":
		w.head++
		w.base = rapid.IntRange(0, 3).Draw(w.t, "base")
	case what == "merge" && p.phase == review.OpenPull && w.branch != nil && len(w.branch.commits) > 0:
		w.merge()
	case what == "close" && p.phase == review.OpenPull:
		p.phase, p.byUs = review.ClosedPull, false
	case what == "reopen" && p.phase == review.ClosedPull && w.branch != nil && p.head == len(w.branch.commits):
		p.phase, p.byUs = review.OpenPull, false
	case what == "retarget" && p.phase == review.OpenPull:
		p.retargeted = !p.retargeted
	case what == "gone":
		w.branch = nil
		if p.phase == review.OpenPull {
			p.phase, p.byUs = review.ClosedPull, false
		}
	case w.branch != nil:
		w.commit(what)
	}
}

// commit is a person's, on the branch.
func (w *world) commit(what string) {
	switch what {
	case "edit":
		w.branch.content, w.branch.edited = 100+w.people, true
	case "mend":
		w.branch.content = w.wish
	case "commit":
	default:
		return
	}
	w.people++
	w.branch.commits = append(w.branch.commits, commit{id: w.people})
	w.follow()
}

// TestStories: whatever people do and wherever the forge fails, there is never more than one open pull request, no
// commit of a person's is lost, one call comes to rest, and then what stands is what the state says.
func TestStories(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := &world{t: t, direct: rapid.Bool().Draw(t, "direct"), barred: rapid.Bool().Draw(t, "barred")}
		for range rapid.IntRange(1, 30).Draw(t, "ticks") {
			for range rapid.IntRange(0, 3).Draw(t, "events") {
				w.happen()
			}
			if rapid.IntRange(0, 3).Draw(t, "read late") > 0 {
				w.drawn = w.head
			}
			mishap := rapid.IntRange(-4, 3).Draw(t, "mishap")
			if state, rest := w.tick(mishap, rapid.Bool().Draw(t, "after")); rest {
				w.settled(state)
			}
		}
	})
}

// settled checks what stands at rest, and that a second look changes nothing.
func (w *world) settled(state review.State) {
	before := fmt.Sprintf("%+v", w.seen())
	again, _ := w.tick(-1, false)
	if after := fmt.Sprintf("%+v", w.seen()); again != state || before != after {
		w.t.Fatalf("rest is no rest: %v, %s, then %v, %s", state, before, again, after)
	}
	s, p := w.seen(), w.newest()
	ok := true
	switch state {
	case review.Proposed:
		ok = s.Wanted && p.phase == review.OpenPull && s.Branch.AsWished && p.text == w.wish && p.asked
	case review.None, review.Closed:
		ok = !s.Wanted && w.open() == 0
	case review.Declined:
		ok = s.Declined && (w.open() == 0 || p.retargeted)
	case review.Stopped:
		ok = w.open() == 1 && (p.retargeted || s.Branch.Edited)
	case review.Merged:
		ok = p.phase == review.MergedPull && !s.Pull.Read
	}
	if !ok {
		w.t.Fatalf("%v, but %+v and %+v", state, s, p)
	}
}
