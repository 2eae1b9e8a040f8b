package review_test

import (
	"testing"

	"github.com/poolwright/poolwright/gitsync/review"
)

// clean is a branch with one commit of ours that says what is wished.
var clean = review.Branch{There: true, AsWished: true, Current: true, OnlyOurs: true, OwnHead: true}

// proposed is an open pull request with nothing left to do.
var proposed = review.Pull{Phase: review.OpenPull, Asked: true, Described: true}

func branch(change func(*review.Branch)) review.Branch {
	b := clean
	change(&b)
	return b
}

func pull(change func(*review.Pull)) review.Pull {
	p := proposed
	change(&p)
	return p
}

func closed(byUs bool) review.Pull {
	return review.Pull{Phase: review.ClosedPull, ByUs: byUs, Asked: true}
}

func merged(read bool) review.Pull {
	return review.Pull{Phase: review.MergedPull, Read: read, Asked: true}
}

func TestNext(t *testing.T) {
	t.Parallel()
	stale := branch(func(b *review.Branch) { b.AsWished = false })
	barred := func(b *review.Branch) { b.Barred = true }
	for sentence, c := range map[string]struct {
		seen  review.Seen
		step  review.Step
		state review.State
	}{
		"nothing wished, nothing there":                    {review.Seen{}, review.Rest, review.None},
		"C13 nothing wished and one is open: close it":     {review.Seen{Pull: proposed, Branch: clean}, review.CloseEqual, review.Closed},
		"C13 closed by us: its branch goes":                {review.Seen{Pull: closed(true), Branch: clean}, review.Delete, review.Closed},
		"C13 it may not be deleted: its content goes":      {review.Seen{Pull: closed(true), Branch: branch(func(b *review.Branch) { b.Barred, b.AsWished = true, false })}, review.Draw, review.Closed},
		"C13 its content is gone: rest":                    {review.Seen{Pull: closed(true), Branch: branch(func(b *review.Branch) { b.Barred, b.Current = true, false })}, review.Rest, review.Closed},
		"C14 a person's commit is on it: the branch stays": {review.Seen{Pull: closed(true), Branch: branch(func(b *review.Branch) { b.OnlyOurs, b.AsWished = false, false })}, review.Draw, review.Closed},
		"C14 a person's edit is on it: nothing is drawn": {review.Seen{Pull: closed(true), Branch: branch(func(b *review.Branch) {
			b.OnlyOurs, b.AsWished, b.Edited = false, false, true
		})}, review.Rest, review.Closed},
		"a branch that a person closed is left alone":                          {review.Seen{Pull: closed(false), Branch: stale}, review.Rest, review.None},
		"a branch that never had a pull request is left alone":                 {review.Seen{Branch: stale}, review.Rest, review.None},
		"C22 merged, not read: wait, and tidy up":                              {review.Seen{Wanted: true, Pull: merged(false), Branch: clean}, review.Delete, review.Merged},
		"C22 merged, not read, branch gone: wait":                              {review.Seen{Wanted: true, Pull: merged(false)}, review.Rest, review.Merged},
		"C22 merged, not read, and there is more on the branch":                {review.Seen{Wanted: true, Pull: merged(false), Branch: branch(func(b *review.Branch) { b.Current = false })}, review.Rest, review.Merged},
		"merged and read, branch may not be deleted":                           {review.Seen{Pull: merged(true), Branch: branch(barred)}, review.Rest, review.None},
		"merged and read, and something else is wished":                        {review.Seen{Wanted: true, Pull: merged(true)}, review.Draw, review.Proposed},
		"C15 declined: rest":                                                   {review.Seen{Wanted: true, Declined: true, Pull: closed(false), Branch: clean}, review.Rest, review.Declined},
		"C15 declined, and the open one has other content":                     {review.Seen{Wanted: true, Declined: true, Pull: proposed, Branch: stale}, review.CloseDeclined, review.Declined},
		"C15 another content than the declined one":                            {review.Seen{Wanted: true, Pull: closed(false), Branch: stale}, review.Draw, review.Proposed},
		"C01 a branch with other commits and no pull request":                  {review.Seen{Wanted: true, Branch: branch(func(b *review.Branch) { b.AsWished, b.Edited, b.OwnHead = false, true, false })}, review.Draw, review.Proposed},
		"wished and nothing there":                                             {review.Seen{Wanted: true}, review.Draw, review.Proposed},
		"C13 pushed, but not opened":                                           {review.Seen{Wanted: true, Branch: clean}, review.Open, review.Proposed},
		"C12 opened, but labels and text are not there":                        {review.Seen{Wanted: true, Pull: review.Pull{Phase: review.OpenPull}, Branch: clean}, review.Ask, review.Proposed},
		"C12 the text differs":                                                 {review.Seen{Wanted: true, Pull: pull(func(p *review.Pull) { p.Described = false }), Branch: clean}, review.Describe, review.Proposed},
		"open and as wished":                                                   {review.Seen{Wanted: true, Pull: proposed, Branch: clean}, review.Rest, review.Proposed},
		"open, and the base moved elsewhere":                                   {review.Seen{Wanted: true, Pull: proposed, Branch: branch(func(b *review.Branch) { b.Behind = true })}, review.Rest, review.Proposed},
		"direct, and the base moved elsewhere":                                 {review.Seen{Wanted: true, Direct: true, Pull: proposed, Branch: branch(func(b *review.Branch) { b.Behind = true })}, review.Draw, review.Proposed},
		"direct and ready":                                                     {review.Seen{Wanted: true, Direct: true, Pull: proposed, Branch: clean}, review.Merge, review.Proposed},
		"direct, and a person's commit is the newest":                          {review.Seen{Wanted: true, Direct: true, Pull: proposed, Branch: branch(func(b *review.Branch) { b.OwnHead = false })}, review.Rest, review.Proposed},
		"direct, and the forge does not know our commit yet":                   {review.Seen{Wanted: true, Direct: true, Pull: proposed, Branch: branch(func(b *review.Branch) { b.Current = false })}, review.Rest, review.Proposed},
		"C16 the wish changed: another commit":                                 {review.Seen{Wanted: true, Pull: proposed, Branch: stale}, review.Draw, review.Proposed},
		"C14 a person's edit stands in the way":                                {review.Seen{Wanted: true, Pull: proposed, Branch: branch(func(b *review.Branch) { b.AsWished, b.Edited = false, true })}, review.Tell, review.Stopped},
		"C14 it was said":                                                      {review.Seen{Wanted: true, Pull: pull(func(p *review.Pull) { p.Told = true }), Branch: branch(func(b *review.Branch) { b.AsWished, b.Edited = false, true })}, review.Rest, review.Stopped},
		"C14 a person's edit is what is wished":                                {review.Seen{Wanted: true, Pull: proposed, Branch: branch(func(b *review.Branch) { b.Edited = true })}, review.Rest, review.Proposed},
		"retargeted by a person":                                               {review.Seen{Wanted: true, Pull: pull(func(p *review.Pull) { p.Retargeted = true }), Branch: clean}, review.Tell, review.Stopped},
		"retargeted by a person, and nothing is wished":                        {review.Seen{Pull: pull(func(p *review.Pull) { p.Retargeted = true }), Branch: clean}, review.Rest, review.Stopped},
		"retargeted by a person, and this content was declined":                {review.Seen{Wanted: true, Declined: true, Pull: pull(func(p *review.Pull) { p.Retargeted = true }), Branch: clean}, review.Rest, review.Declined},
		"open without a branch, and nothing is wished: somebody is closing it": {review.Seen{Pull: proposed}, review.Rest, review.Closed},
		"C11 open without a branch: somebody is closing it":                    {review.Seen{Wanted: true, Pull: proposed}, review.Rest, review.Proposed},
		"C11 open without a branch and labels: somebody closes":                {review.Seen{Wanted: true, Pull: review.Pull{Phase: review.OpenPull}}, review.Rest, review.Proposed},
		"a commit after the merge does not go with the branch":                 {review.Seen{Pull: merged(true), Branch: branch(func(b *review.Branch) { b.Current, b.OnlyOurs = false, false })}, review.Rest, review.None},
		"a commit after the closing does not go with the branch":               {review.Seen{Pull: closed(true), Branch: branch(func(b *review.Branch) { b.Current, b.AsWished = false, false })}, review.Rest, review.Closed},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			if step, state := review.Next(c.seen); step != c.step || state != c.state {
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
			"C14 no commit is lost with a branch":           step == review.Delete && (!s.Branch.Current || s.Pull.Phase == review.ClosedPull && !s.Branch.OnlyOurs),
			"what is barred is not tried again":             step == review.Delete && s.Branch.Barred,
			"C14 a person's edit in review is not drawn on": step == review.Draw && open && s.Branch.There && s.Branch.Edited,
			"merging is for who said so":                    step == review.Merge && !(s.Direct && open && s.Branch.AsWished && s.Branch.OwnHead && s.Branch.Current && !s.Branch.Behind),
			"a retargeted pull request is not written to":   open && s.Pull.Retargeted && step != review.Rest && step != review.Tell,
			"it is said once":                               step == review.Tell && s.Pull.Told,
			"C22 what was not read is not built on":         s.Pull.Phase == review.MergedPull && !s.Pull.Read && (step != review.Rest && step != review.Delete || state != review.Merged),
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
	if got := review.Merge.String() + " " + review.Closed.String() + " " + review.MergedPull.String() + " " + review.State(9).String(); got != "merge closed merged (9)" {
		t.Error(got)
	}
}
