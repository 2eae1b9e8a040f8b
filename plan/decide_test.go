package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// telling is one of the rules by example.
type telling struct{ name, script string }

// stories are all rules by example. Together they show every reason.
func stories() []telling {
	return slices.Concat(holdStories, orderStories, writerStories, readerStories, leaverStories, reviewStories, restStories)
}

func readers(prefix string, n int) string {
	return strings.ReplaceAll(names(prefix, n), " ", ":reader ") + ":reader"
}

func names(prefix string, n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf("%s%02d", prefix, i+1))
	}
	return strings.Join(list, " ")
}

func TestStories(t *testing.T) {
	for _, s := range stories() {
		t.Run(s.name, func(t *testing.T) { tell(t, s.script) })
	}
}

// TestDeclaredBroken has its stories in Go: no decision makes such a state.
func TestDeclaredBroken(t *testing.T) {
	good := State{Epoch: 1, Writer: "a", Members: []Member{{Name: "a", Slot: 0}, {Name: "b", Slot: 1}}}
	for _, c := range []struct {
		name, about string
		spoil       func(*State)
	}{
		{"a writer that is no member", "c", func(s *State) { s.Writer = "c" }},
		{"one slot twice", "b", func(s *State) { s.Members[1].Slot = 0 }},
		{"one name twice", "a", func(s *State) { s.Members[1].Name = "a" }},
		{"a slot below the first", "b", func(s *State) { s.Members[1].Slot = -1 }},
		{"a slot above the last", "b", func(s *State) { s.Members[1].Slot = Slots }},
		{"no name", "", func(s *State) { s.Members[0].Name = "" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			state := good
			state.Members = slices.Clone(good.Members)
			c.spoil(&state)
			saw := Observation{Topology: topology("a:writer b:reader"), Declared: Declared{State: state}}
			plan, _ := Decide(Memory{}, saw, DefaultRules(), epochStart)
			if plan.Action != Hold || len(plan.Reasons) != 1 || plan.Reasons[0].Code != DeclaredBroken || plan.Reasons[0].Instance != c.about {
				t.Errorf("got %v %v, want a hold about %q", plan.Action, plan.Reasons, c.about)
			}
		})
	}
}

// TestEveryReasonHasItsStory fails when a new reason comes without one.
func TestEveryReasonHasItsStory(t *testing.T) {
	told := map[string]bool{DeclaredBroken.String(): true} // TestDeclaredBroken
	for _, s := range stories() {
		for line := range strings.Lines(s.script) {
			_, reasons, ok := strings.Cut(strings.TrimSpace(line), ": ")
			if !ok || !strings.HasPrefix(strings.TrimSpace(line), "then ") {
				continue
			}
			for r := range strings.SplitSeq(reasons, "; ") {
				told[strings.Fields(r)[0]] = true
			}
		}
	}
	for c := FirstTree; c <= lastCode; c++ {
		if !told[c.String()] {
			t.Errorf("no story shows %s", c)
		}
	}
}
