package review_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/gitsync/review"
)

// words are facts: of the wish, of the pull request, of the branch.
func words() map[string]func(*review.Seen) {
	type s = *review.Seen
	return map[string]func(s){
		"wanted":   func(s s) { s.Wanted = true },
		"declined": func(s s) { s.Declined = true },
		"direct":   func(s s) { s.Direct = true },

		"bare":        func(s s) { s.Pull = review.Pull{Phase: review.OpenPull} },
		"proposed":    func(s s) { s.Pull = review.Pull{Phase: review.OpenPull, Asked: true, Described: true} },
		"closed":      func(s s) { s.Pull = review.Pull{Phase: review.ClosedPull, Asked: true} },
		"merged":      func(s s) { s.Pull = review.Pull{Phase: review.MergedPull, Asked: true} },
		"by-us":       func(s s) { s.Pull.ByUs = true },
		"read":        func(s s) { s.Pull.Read = true },
		"undescribed": func(s s) { s.Pull.Described = false },
		"retargeted":  func(s s) { s.Pull.Retargeted = true },
		"told":        func(s s) { s.Pull.Told = true },

		"branch": func(s s) {
			s.Branch = review.Branch{There: true, AsWished: true, Current: true, OnlyOurs: true, OwnHead: true}
		},
		"stale":      func(s s) { s.Branch.AsWished = false },
		"edited":     func(s s) { s.Branch.Edited = true },
		"behind":     func(s s) { s.Branch.Behind = true },
		"moved":      func(s s) { s.Branch.Current = false },
		"shared":     func(s s) { s.Branch.OnlyOurs = false },
		"their-head": func(s s) { s.Branch.OwnHead = false },
		"barred":     func(s s) { s.Branch.Barred = true },
	}
}

func seen(t *testing.T, facts string) (s review.Seen) {
	t.Helper()
	known := words()
	for word := range strings.FieldsSeq(facts) {
		if known[word] == nil {
			t.Fatalf("there is no fact %q", word)
		}
		known[word](&s)
	}
	return s
}

func TestNext(t *testing.T) {
	t.Parallel()
	for sentence, c := range map[string]struct {
		facts string
		step  review.Step
		state review.State
	}{
		"nothing wished, nothing there":                               {"", review.Rest, review.None},
		"C13 nothing wished and one is open: close it":                {"proposed branch", review.CloseEqual, review.Closed},
		"C13 closed by us: its branch goes":                           {"closed by-us branch", review.Delete, review.Closed},
		"C13 it may not be deleted: its content goes":                 {"closed by-us branch barred stale", review.Draw, review.Closed},
		"C13 its content is gone: rest":                               {"closed by-us branch barred moved", review.Rest, review.Closed},
		"C14 a person's commit is on it: the branch stays":            {"closed by-us branch shared stale", review.Draw, review.Closed},
		"C14 a person's edit is on it: nothing is drawn":              {"closed by-us branch shared stale edited", review.Rest, review.Closed},
		"a branch that a person closed is left alone":                 {"closed branch stale", review.Rest, review.None},
		"a branch that never had a pull request is left alone":        {"branch stale", review.Rest, review.None},
		"C22 merged, not read: wait, and tidy up":                     {"wanted merged branch", review.Delete, review.Merged},
		"C22 merged, not read, branch gone: wait":                     {"wanted merged", review.Rest, review.Merged},
		"C22 merged, not read, and there is more on the branch":       {"wanted merged branch moved", review.Rest, review.Merged},
		"merged and read, branch may not be deleted":                  {"merged read branch barred", review.Rest, review.None},
		"merged and read, and something else is wished":               {"wanted merged read", review.Draw, review.Proposed},
		"C15 declined: rest":                                          {"wanted declined closed branch", review.Rest, review.Declined},
		"C15 declined, and the open one has other content":            {"wanted declined proposed branch stale", review.CloseDeclined, review.Declined},
		"C15 another content than the declined one":                   {"wanted closed branch stale", review.Draw, review.Proposed},
		"C01 a branch with other commits and no pull request":         {"wanted branch stale edited their-head", review.Draw, review.Proposed},
		"wished and nothing there":                                    {"wanted", review.Draw, review.Proposed},
		"C13 pushed, but not opened":                                  {"wanted branch", review.Open, review.Proposed},
		"C12 opened, but labels and text are not there":               {"wanted bare branch", review.Ask, review.Proposed},
		"C12 the text differs":                                        {"wanted proposed undescribed branch", review.Describe, review.Proposed},
		"open and as wished":                                          {"wanted proposed branch", review.Rest, review.Proposed},
		"open, and the base moved elsewhere":                          {"wanted proposed branch behind", review.Rest, review.Proposed},
		"direct, and the base moved elsewhere":                        {"wanted direct proposed branch behind", review.Draw, review.Proposed},
		"direct, and a person's file stands in the way of the base":   {"wanted direct proposed branch behind edited", review.Tell, review.Stopped},
		"direct and ready":                                            {"wanted direct proposed branch", review.Merge, review.Proposed},
		"direct, and a person's commit is the newest":                 {"wanted direct proposed branch their-head", review.Rest, review.Proposed},
		"direct, and the forge does not know our commit yet":          {"wanted direct proposed branch moved", review.Rest, review.Proposed},
		"C16 the wish changed: another commit":                        {"wanted proposed branch stale", review.Draw, review.Proposed},
		"C14 a person's edit stands in the way":                       {"wanted proposed branch stale edited", review.Tell, review.Stopped},
		"C14 it was said":                                             {"wanted proposed told branch stale edited", review.Rest, review.Stopped},
		"C14 a person's edit is what is wished":                       {"wanted proposed branch edited", review.Rest, review.Proposed},
		"retargeted by a person":                                      {"wanted proposed retargeted branch", review.Tell, review.Stopped},
		"retargeted by a person, and nothing is wished":               {"proposed retargeted branch", review.Rest, review.Stopped},
		"retargeted by a person, and this content was declined":       {"wanted declined proposed retargeted branch", review.Rest, review.Declined},
		"C11 open without a branch: somebody is closing it":           {"wanted proposed", review.Rest, review.Proposed},
		"C11 open without a branch or a text: somebody is closing it": {"wanted bare", review.Rest, review.Proposed},
		"open without a branch, and nothing is wished":                {"proposed", review.Rest, review.Closed},
		"a commit after the merge does not go with the branch":        {"merged read branch moved shared", review.Rest, review.None},
		"a commit after the closing does not go with the branch":      {"closed by-us branch moved stale", review.Rest, review.Closed},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			if step, state := review.Next(seen(t, c.facts)); step != c.step || state != c.state {
				t.Errorf("%v, %v; want %v, %v", step, state, c.step, c.state)
			}
		})
	}
}

// every calls f with each combination of facts.
func every(f func(review.Seen)) {
	for bits := range 1 << 17 {
		bit := func(n int) bool { return bits>>n&1 == 1 }
		for phase := review.NoPull; phase <= review.MergedPull; phase++ {
			f(review.Seen{
				Wanted: bit(0), Declined: bit(1), Direct: bit(2),
				Pull: review.Pull{
					Phase: phase, ByUs: bit(3), Read: bit(4), Retargeted: bit(5), Asked: bit(6), Described: bit(7), Told: bit(8),
				},
				Branch: review.Branch{
					There: bit(9), AsWished: bit(10), Edited: bit(11), Behind: bit(12), Current: bit(13), OnlyOurs: bit(14), OwnHead: bit(15), Barred: bit(16),
				},
			})
		}
	}
}

// disposable tells whether the pull request shows all of the branch, and nothing on it waits for somebody.
func disposable(s review.Seen) bool {
	return s.Branch.Current && (s.Pull.Phase == review.MergedPull || s.Branch.OnlyOurs)
}

func ready(b review.Branch) bool { return b.AsWished && b.OwnHead && b.Current && !b.Behind }

func writes(step review.Step) bool { return step != review.Rest && step != review.Delete }

// TestLaws: what holds of a step whatever is seen.
func TestLaws(t *testing.T) {
	t.Parallel()
	taken := map[review.Step]int{}
	every(func(s review.Seen) {
		step, state := review.Next(s)
		taken[step]++
		open := s.Pull.Phase == review.OpenPull
		for law, broken := range map[string]bool{
			"one pull request at a time":                    step == review.Open && (open || !s.Branch.There || !s.Wanted),
			"a close has a reason":                          (step == review.CloseEqual || step == review.CloseDeclined) && (!open || s.Wanted && !s.Declined),
			"C15 a no is a no":                              s.Wanted && s.Declined && state != review.Declined && state != review.Merged,
			"C15 nothing is pushed or opened against a no":  s.Wanted && s.Declined && (step == review.Draw || step == review.Open || step == review.Merge),
			"the branch of an open pull request stays":      step == review.Delete && (open || s.Pull.Phase == review.NoPull),
			"C14 no commit is lost with a branch":           step == review.Delete && !disposable(s),
			"what is barred is not tried again":             step == review.Delete && s.Branch.Barred,
			"C14 a person's edit in review is not drawn on": step == review.Draw && open && s.Branch.There && s.Branch.Edited,
			"merging is for who said so":                    step == review.Merge && (!s.Direct || !open || !ready(s.Branch)),
			"a retargeted pull request is not written to":   open && s.Pull.Retargeted && step != review.Rest && step != review.Tell,
			"it is said once":                               step == review.Tell && s.Pull.Told,
			"C22 what was not read is not built on":         s.Pull.Phase == review.MergedPull && !s.Pull.Read && (writes(step) || state != review.Merged),
		} {
			if broken {
				t.Fatalf("%s: %v, %v for %+v", law, step, state, s)
			}
		}
	})
	for step := review.Rest; step <= review.Merge; step++ {
		if taken[step] == 0 {
			t.Errorf("nothing leads to %v", step)
		}
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	if got := fmt.Sprint(review.Merge, review.Closed, review.MergedPull, review.State(9)); got != "merge closed merged (9)" {
		t.Error(got)
	}
}
