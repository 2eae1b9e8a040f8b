package plan

import (
	"encoding"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestF06 restarts at each point of a failover to an instance without an overlay.
func TestF06RestartAtEachPointOfAFailover(t *testing.T) {
	steps := strings.Split("a:writer b:reader|a:?/unreachable b:reader c:writer|a:?/unreachable b:reader c:writer|"+
		"a:reader b:reader c:writer|a:reader b:reader c:writer|a:reader b:reader c:writer|a:reader b:reader c:writer|a:reader b:reader c:writer", "|")
	run := func(restart int) (string, int) {
		s, commits := newStory(t), 0
		for k, flat := range steps {
			if k == restart {
				s.mem = Memory{}
			}
			s.sees(flat)
			if s.plan.Action == Publish || s.plan.Action == Failover {
				commits++
			}
		}
		return drawn(s.saw.Declared.State), commits
	}
	want, commits := run(-1)
	if want != "4: c | a b |" || commits != 4 {
		t.Fatalf("without a restart: %s in %d commits", want, commits)
	}
	for k := range steps {
		if got, n := run(k); got != want || n != commits {
			t.Errorf("restarted before step %d: %s in %d commits", k, got, n)
		}
	}
}

func TestMetadataIsRecordedWhereItRollsNobodyWhoServes(t *testing.T) {
	s := newStory(t)
	s.sees("a:writer b:reader c:reader/timeout")
	s.sees("a:writer#A b:reader#B c:reader#C")
	s.sees("a:writer#A b:reader#B c:reader#C d:reader#D")
	s.sees("a:writer#A b:reader#B c:reader#C d:reader#D")
	got := map[string]string{}
	for _, m := range s.saw.Declared.State.Members {
		got[m.Name] = m.Resource
	}
	if diff := cmp.Diff(map[string]string{"a": "", "b": "", "c": "C", "d": "D"}, got); diff != "" {
		t.Error(diff)
	}
}

// A higher timeline of the same writer is worth no commit, but goes along with one.
func TestTimelineIsRecordedWithAnotherChange(t *testing.T) {
	s := newStory(t)
	for _, c := range []struct {
		script string
		want   uint32
	}{
		{"timeline 5\nsees a:writer b:reader", 5},
		{"timeline 6\nsees 3x a:writer b:reader\nthen keep", 5},
		{"sees 3x a:writer b:reader/timeout\nthen publish membership: failed b; fallback-began a", 6},
		{"timeline 0\nsees a:writer b:reader\nsees a:writer b:reader\nthen publish membership: joined b; fallback-ended a", 6},
		{"timeline 7\nsees a:reader c:writer\nthen publish scale: overlay-added c; writer-not-ready c", 6}, // a is still declared
		{"sees a:reader c:writer\nthen failover: writer-moved c; writer-demoted a", 7},
		{"rule global-secondary\nrule shrink yes\nsees a:reader c:reader\nthen publish membership: writer-demoted c; writer-dropped c; shrink-allowed", 0},
	} {
		s.run(c.script)
		if got := s.saw.Declared.State.Timeline; got != c.want {
			t.Errorf("%q: timeline %d is declared, want %d", c.script, got, c.want)
		}
	}
}

// What a person said is for people to read again: in the commit, and in status.
func TestD21ReasonsCarryThePersonsWords(t *testing.T) {
	seen := Observation{Topology: topology("a:writer b:reader"), Declared: Declared{State: State{Epoch: 1, Writer: "a", Members: []Member{{Name: "a"}, {Name: "b", Slot: 1}}}}}
	for _, c := range []struct {
		name  string
		order Order
		rules func(*Rules)
		about Code
		want  string
	}{
		{"why and who", Order{Writer: "b", Reason: "disk full", By: "ann"}, nil, WriterOrdered, "b: is the writer now, by a person's order (disk full; by ann)"},
		{"only why", Order{Writer: "b", Reason: "disk full"}, nil, WriterOrdered, "b: is the writer now, by a person's order (disk full)"},
		{"only who", Order{Writer: "b", By: "ann"}, nil, WriterOrdered, "b: is the writer now, by a person's order (by ann)"},
		{"an order that stands", Order{Writer: "a", Reason: "b lies", By: "ann"}, nil, OrderStands, "a: is the writer by a person's order (b lies; by ann)"},
		{"an order that cannot be followed", Order{Writer: "z"}, nil, OrderRefused, "z: was ordered to be the writer and cannot be (it has no overlay)"},
		{"who paused it", Order{}, func(r *Rules) { r.Paused, r.PausedBy = true, "audit; by ann" }, Paused, "a person paused this cluster (audit; by ann)"},
		{"paused in the declaration", Order{}, func(r *Rules) { r.Paused = true }, Paused, "a person paused this cluster"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, rules := seen, DefaultRules()
			c.order.Until = epochStart.Add(time.Hour)
			o.Order = &c.order
			if c.rules != nil {
				c.rules(&rules)
			}
			p, _ := Decide(Memory{}, o, rules, epochStart)
			i := slices.IndexFunc(p.Reasons, func(r Reason) bool { return r.Code == c.about })
			if i < 0 || p.Reasons[i].String() != c.want {
				t.Errorf("want %q in %v", c.want, p.Reasons)
			}
		})
	}
}

// An order says nothing about a member but who the writer is, so that a tree drawn under it is drawn as without.
func TestAKeepUnderAnOrderIsTheDeclaredState(t *testing.T) {
	s := newStory(t)
	s.run("timeline 5\nsees a:writer#A b:reader#B c:reader\norder a 1h why\ntimeline 6\nsees 5x a:writer#A b:reader#B c:reader#C\nthen keep: order-stands a")
	if diff := cmp.Diff(s.saw.Declared.State, s.plan.Want); diff != "" {
		t.Error(diff)
	}
}

// One instance that waits for a person keeps nothing else from going on: that would be a hold.
func TestOneThatNeedsAPersonHoldsNobodyElse(t *testing.T) {
	for _, c := range []struct {
		name, script string
		reason       Code
	}{
		{"a disabled writer", "sees a:writer b:reader\nrule disabled a\nsees a:writer b:reader", WriterDisabled},
		{"a step that shrinks too much", "sees a:writer b:reader c:reader d:reader\nsees 3x a:writer", NeedsConsent},
		{"an instance without a slot", "sees a:writer " + readers("b", 19) + "\nsees a:writer z:reader " + readers("b", 19), NoSlot},
		{"an overlay with a person's file", "sees a:writer b:reader c:reader\nsees 3x a:writer b:reader\nwait 1h\npinned c\nsees a:writer b:reader", OverlayPinned},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStory(t)
			s.run(c.script)
			needs := func(r Reason) bool { return r.Code == c.reason && r.NeedsPerson() }
			if s.plan.Action != Keep || !slices.ContainsFunc(s.plan.Reasons, needs) {
				t.Errorf("got %s", s.said())
			}
		})
	}
	for _, c := range []Code{Doubted, Batching, WriterNotReady, NoTrustedWriter, NoInstances, Joined, Proving, WriterFailing} {
		if (Reason{Code: c}).NeedsPerson() {
			t.Errorf("%s needs a person", c)
		}
	}
}

func TestFactsAreWhatAStateSays(t *testing.T) {
	state := State{Epoch: 4, Writer: "a", Members: []Member{
		{Name: "a", Resource: "A", Slot: 0}, {Name: "b", Slot: 1, Out: Unproven, Since: epochStart, Host: "b.example"},
	}}
	facts := state.Facts("spec")
	if len(facts) != 16 {
		t.Fatalf("facts are %q", facts)
	}
	for _, c := range []struct {
		name   string
		differ bool
		change func(*State, *Member)
	}{
		{"epoch", false, func(s *State, _ *Member) { s.Epoch++ }},
		{"since", false, func(_ *State, m *Member) { m.Since = time.Time{} }},
		{"why it is out", false, func(_ *State, m *Member) { m.Out = Unhealthy }},
		{"endpoint", false, func(_ *State, m *Member) { m.Host = "c.example" }},
		{"writer", true, func(s *State, _ *Member) { s.Writer = "b" }},
		{"fallback", true, func(s *State, _ *Member) { s.Fallback = true }},
		{"name", true, func(_ *State, m *Member) { m.Name = "c" }},
		{"resource", true, func(_ *State, m *Member) { m.Resource = "B" }},
		{"slot", true, func(_ *State, m *Member) { m.Slot = 2 }},
		{"that it is out", true, func(_ *State, m *Member) { m.Out = In }},
	} {
		other := state
		other.Members = append([]Member(nil), state.Members...)
		c.change(&other, &other.Members[1])
		if got := other.Facts("spec"); (got != facts) != c.differ {
			t.Errorf("another %s: facts differ is %t", c.name, got != facts)
		}
	}
	if state.Facts("another") == facts {
		t.Error("another declaration gives the same facts")
	}
}

// A reverted commit may have changed nothing here: class config.
func TestC08ARevertedDrawingIsNotDrawnAgain(t *testing.T) {
	s := newStory(t)
	s.rules.Spec = "one"
	s.sees("a:writer b:reader")
	s.saw.Declared.Reverted = []Revert{{By: "f00d", Facts: s.saw.Declared.State.Facts("one")}}
	s.sees("a:writer b:reader")
	if got := s.said(); got != "hold: reverted-by-person" {
		t.Error(got)
	}
	s.rules.Spec = "two"
	s.sees("a:writer b:reader")
	if got := s.said(); got != "keep" {
		t.Error(got)
	}
}

func TestC08ARevertSaysUntilWhenItHolds(t *testing.T) {
	saw := Observation{Topology: topology("a:writer b:reader"), Declared: Declared{State: State{Epoch: 1, Writer: "a", Members: []Member{{Name: "a"}, {Name: "b", Slot: 1}}}}}
	for _, c := range []struct {
		name string
		hold time.Duration
		no   Revert
		want string
	}{
		{"for ever", 0, Revert{By: "f00d", At: epochStart}, "a person reverted this very change (f00d)"},
		{"for a time", time.Hour, Revert{By: "f00d", At: epochStart}, "a person reverted this very change (f00d, until 2026-01-02T04:04:05Z)"},
		{"nobody knows by what", time.Hour, Revert{At: epochStart}, "a person reverted this very change (a commit, until 2026-01-02T04:04:05Z)"},
		{"nobody knows since when", time.Hour, Revert{By: "f00d"}, "a person reverted this very change (f00d)"},
		{"no longer", time.Minute, Revert{By: "f00d", At: epochStart.Add(-time.Minute)}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			rules := DefaultRules()
			rules.RevertHold, c.no.Facts = c.hold, saw.Declared.State.Facts("")
			saw.Declared.Reverted = []Revert{c.no}
			got := ""
			if p, _ := Decide(Memory{}, saw, rules, epochStart); p.Action == Hold {
				got = p.Reasons[0].String()
			}
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestWordsReadBack(t *testing.T) {
	words := func(n int, at func(int) encoding.TextMarshaler, into encoding.TextUnmarshaler) {
		t.Helper()
		for k := range n {
			text, err := at(k).MarshalText()
			if err != nil {
				t.Fatal(err)
			}
			if err := into.UnmarshalText(text); err != nil {
				t.Error(err)
			}
			again, _ := into.(encoding.TextMarshaler).MarshalText()
			if string(again) != string(text) || strings.HasPrefix(string(text), "(") {
				t.Errorf("%q reads back as %q", text, again)
			}
		}
		if err := into.UnmarshalText([]byte("nonsense")); err == nil {
			t.Errorf("%T reads nonsense", into)
		}
		if beyond := fmt.Sprint(at(255)); beyond != "(255)" {
			t.Errorf("a value that is none prints as %q", beyond)
		}
	}
	words(4, func(k int) encoding.TextMarshaler { return Action(k) }, new(Action))
	words(5, func(k int) encoding.TextMarshaler { return Class(k) }, new(Class))
	words(6, func(k int) encoding.TextMarshaler { return Out(k) }, new(Out))
	words(3, func(k int) encoding.TextMarshaler { return FallbackPolicy(k) }, new(FallbackPolicy))
	words(int(lastCode), func(k int) encoding.TextMarshaler {
		if k < 255 {
			k++
		}
		return Code(k)
	}, new(Code))
}

// Each code has exactly one line of text, which is its own: the word in its comment is checked by eye once, here by count.
func TestEveryReasonHasAWordAndASentence(t *testing.T) {
	if n := strings.Count(strings.TrimSpace(codeText), "\n") + 1; n != int(lastCode) {
		t.Errorf("%d lines for %d codes", n, lastCode)
	}
	seen := map[string]bool{}
	for c := FirstTree; c <= lastCode; c++ {
		word, sentence := c.text()
		if word == "" || sentence == "" || seen[word] || strings.ToLower(word) != word || strings.ContainsAny(word, " _") {
			t.Errorf("code %d is %q: %q", c, word, sentence)
		}
		seen[word] = true
	}
	if got := (Reason{WriterMoved, "b", "was a"}).String(); got != "b: is the writer now (was a)" {
		t.Error(got)
	}
	for code, want := range map[Code]string{Doubted: "doubt", NoSlot: "no-slot", WriterFailing: "writer-failing", Absent: "absent"} {
		if code.String() != want {
			t.Errorf("%d is %q, want %q", code, code, want)
		}
	}
}
