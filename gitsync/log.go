package gitsync

import (
	"regexp"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

func hashOf(hex string) hash { return plumbing.NewHash(hex) }

// history is the newest n commits from head, newest first like git log: by committer time, but never
// a parent before its child. It ends where commits are not known.
func history(commits map[hash]commit, head hash, n int) []Commit {
	pending := childCounts(commits, head)
	ready := []hash{head}
	var out []Commit
	for len(ready) > 0 && len(out) < n {
		i := newest(commits, ready)
		c, ok := commits[ready[i]]
		ready = slices.Delete(ready, i, i+1)
		if !ok {
			continue
		}
		out = append(out, c.Commit)
		for _, p := range c.parents {
			if pending[p]--; pending[p] == 0 {
				ready = append(ready, p)
			}
		}
	}
	return out
}

// childCounts counts for each commit reachable from head how many edges lead to it.
func childCounts(commits map[hash]commit, head hash) map[hash]int {
	n, seen, todo := map[hash]int{}, map[hash]bool{head: true}, []hash{head}
	for len(todo) > 0 {
		h := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, p := range commits[h].parents {
			n[p]++
			if !seen[p] {
				seen[p] = true
				todo = append(todo, p)
			}
		}
	}
	return n
}

// newest picks the ready commit to show next; the hash breaks ties.
func newest(commits map[hash]commit, ready []hash) int {
	best := 0
	for i := range ready {
		a, b := commits[ready[i]].When, commits[ready[best]].When
		if a.After(b) || a.Equal(b) && ready[i].String() < ready[best].String() {
			best = i
		}
	}
	return best
}

// What people take a commit back with: the sentence that git revert writes, and that of GitHub's button for a pull request, which names
// its number. The commit of a pull request that was squashed has that number at the end of its subject.
var (
	reverts       = regexp.MustCompile(`(?m)^This reverts commit ([0-9a-f]{7,64})\b`)
	revertsNumber = regexp.MustCompile(`(?m)^\s*(?:\* )?Reverts [\w.-]+/[\w.-]+#([0-9]+)\s*$`)
	squashed      = regexp.MustCompile(`\(#([0-9]+)\)$`)
)

// Reversal is a person's no: By takes back Of.
type Reversal struct{ By, Of Commit }

// ReversalsOf are the commits that we last made for value (the trailer key=value marks our commits) and that
// people took back, newest first, down to the first that stands. A commit is taken back by the newest one
// after it whose body has git's "This reverts commit <sha>" for it, or GitHub's "Reverts owner/name#7" for the pull request that it was
// squashed from; a revert that was itself reverted does not count. A newer commit of ours that stands is the end of the matter. log is newest first.
func ReversalsOf(log []Commit, key, value string) (found []Reversal) {
	var standing []Commit // reverts that no newer commit took back
	for _, c := range log {
		by := slices.IndexFunc(standing, func(r Commit) bool { return r.undoes(c) })
		v, ours := c.Trailers[key]
		switch {
		case ours && v == value && by < 0:
			return found
		case ours && v == value:
			found = append(found, Reversal{By: standing[by], Of: c})
		case by < 0 && (reverts.MatchString(c.Body) || revertsNumber.MatchString(c.Body)):
			standing = append(standing, c)
		}
	}
	return found
}

func (c Commit) undoes(other Commit) bool {
	for _, m := range reverts.FindAllStringSubmatch(c.Body, -1) {
		if strings.HasPrefix(other.Hash, m[1]) {
			return true
		}
	}
	number := squashed.FindStringSubmatch(other.Subject)
	return number != nil && slices.ContainsFunc(revertsNumber.FindAllStringSubmatch(c.Body, -1), func(m []string) bool { return m[1] == number[1] })
}
