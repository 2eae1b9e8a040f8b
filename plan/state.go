package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"sort"
	"strings"
)

// Slots is how many overlays a cluster can have: Aurora's 15 readers and writer, and 4 retained ones.
const Slots = 20

// Member returns the member of that name.
func (s State) Member(name string) (Member, bool) {
	i, ok := sort.Find(len(s.Members), func(i int) int { return strings.Compare(name, s.Members[i].Name) })
	if !ok {
		return Member{}, false
	}
	return s.Members[i], true
}

// ServesReaders reports whether the Reader Service includes m. The slots of
// all others are what its selector excludes.
func (s State) ServesReaders(m Member) bool {
	if m.Name == s.Writer {
		return s.Fallback
	}
	return m.Out == In
}

// Readers are the names behind the Reader Service, sorted.
func (s State) Readers() []string {
	var names []string
	for _, m := range s.Members {
		if s.ServesReaders(m) {
			names = append(names, m.Name)
		}
	}
	return names
}

// served reports whether anybody is behind the Reader Service.
func (s State) served() bool { return slices.ContainsFunc(s.Members, s.ServesReaders) }

// Facts is a stable digest, 16 hex digits, of what s says about a cluster under
// a declaration: not of its epoch, nor of when anything happened. It tells
// whether two states say the same.
func (s State) Facts(spec string) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %t\n", spec, s.Writer, s.Fallback)
	for _, m := range s.Members {
		fmt.Fprintf(h, "%q %q %d %t\n", m.Name, m.Resource, m.Slot, m.Out != In)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// sameSelectors reports whether both role Services select the same in a and b.
// Without members there are no Services yet.
func sameSelectors(a, b State) bool {
	exist := len(a.Members) > 0
	return exist == (len(b.Members) > 0) && a.Writer == b.Writer && a.excluded() == b.excluded()
}

// excluded is the set of slots that the Reader Service excludes, one bit each.
func (s State) excluded() (set uint64) {
	for _, m := range s.Members {
		if !s.ServesReaders(m) {
			set |= 1 << m.Slot
		}
	}
	return set
}

// same reports whether a and b agree in all but the epoch and the timeline, which are recorded with other changes.
func same(a, b State) bool {
	return a.Writer == b.Writer && a.Fallback == b.Fallback && slices.Equal(a.Members, b.Members)
}

// flaw says what contradicts what in s, which somebody may have edited by hand.
func (s State) flaw() (name, what string) {
	var used [Slots]bool
	for i, m := range s.Members {
		switch {
		case m.Name == "":
			return "", "a member has no name"
		case i > 0 && s.Members[i-1].Name == m.Name:
			return m.Name, "it is declared twice"
		case m.Slot < 0 || m.Slot >= Slots:
			return m.Name, "its slot does not exist"
		case used[m.Slot]:
			return m.Name, "another member has its slot"
		}
		used[m.Slot] = true
	}
	if _, ok := s.Member(s.Writer); s.Writer != "" && !ok {
		return s.Writer, "it is the writer but not a member"
	}
	return "", ""
}
