package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/discovery"
)

// history is a cluster through a random time.
type history struct {
	t       *rapid.T
	now     time.Time
	rules   Rules
	mem     Memory
	saw     Observation
	commits int
	// merges is true while a person merges at once what goes by review.
	merges  bool
	decider func(failer, Memory, Observation, Rules, time.Time) (Plan, Memory)
}

func unchecked(_ failer, m Memory, o Observation, r Rules, now time.Time) (Plan, Memory) {
	return Decide(m, o, r, now)
}

func newHistory(t *rapid.T, r Rules) *history {
	return &history{t: t, now: epochStart, rules: r, decider: checked}
}

// someRules are policies as people have them. AllowShrink decides whether a history can end with dead members.
func someRules(t *rapid.T) Rules {
	r := DefaultRules()
	r.Fallback = rapid.SampledFrom([]FallbackPolicy{FallbackWriter, FallbackNone, FallbackOnlyWhenAbsent}).Draw(t, "fallback")
	r.FailureThreshold = rapid.IntRange(0, 4).Draw(t, "failure threshold")
	r.RecoveryThreshold = rapid.IntRange(0, 4).Draw(t, "recovery threshold")
	r.ProbeInterval = rapid.SampledFrom([]time.Duration{0, 3 * time.Second, 10 * time.Second}).Draw(t, "probe interval")
	r.Retention = rapid.SampledFrom([]time.Duration{0, time.Minute, time.Hour}).Draw(t, "retention")
	r.AllowShrink = rapid.SampledFrom([]string{"", "yes"}).Draw(t, "allow shrink")
	r.GlobalSecondary = rapid.IntRange(0, 5).Draw(t, "mode") == 0
	r.BatchWindow = rapid.SampledFrom([]time.Duration{0, 0, time.Minute}).Draw(t, "batch window")
	r.ByReview = someReview(t)
	return r
}

// someReview is which classes go by review: none more often than not.
func someReview(t *rapid.T) map[Class]bool {
	set := map[Class]bool{}
	for _, c := range []Class{FailoverChange, MembershipChange, ScaleChange} {
		if rapid.IntRange(0, 3).Draw(t, c.String()+" by review") == 0 {
			set[c] = true
		}
	}
	return set
}

// someTopology is what one observation may come to: any instances, at most one
// writer, any probes; and sometimes doubts.
func someTopology(t *rapid.T, rules Rules, deletions bool) discovery.Topology {
	top := discovery.Topology{Cluster: "example-pg"}
	there := rapid.SliceOfNDistinct(rapid.IntRange(0, 23), 0, 6, rapid.ID[int]).Draw(t, "instances")
	slices.Sort(there)
	for _, n := range there {
		i := instance(fmt.Sprintf("i%02d:reader", n))
		i.Probe = rapid.SampledFrom([]discovery.Fault{discovery.None, discovery.None, discovery.None, discovery.NotAsked, discovery.Timeout}).Draw(t, "probe")
		i.Role = rapid.SampledFrom([]discovery.Role{discovery.Reader, discovery.Reader, discovery.Reader, discovery.Unknown}).Draw(t, "role")
		i.Resource = rapid.SampledFrom([]string{"", "A", "A", "A", "B"}).Draw(t, "resource")
		i.Deleting = deletions && rapid.IntRange(0, 9).Draw(t, "deleting") == 0
		top.Instances = append(top.Instances, i)
	}
	if len(there) > 0 && (!rules.GlobalSecondary || rapid.Bool().Draw(t, "promoted")) {
		top.Instances[rapid.IntRange(0, len(there)-1).Draw(t, "writer")].Role = discovery.Writer
	}
	if _, ok := top.Writer(); ok {
		top.Timeline = rapid.Uint32Range(0, 3).Draw(t, "timeline")
	}
	if rapid.IntRange(0, 4).Draw(t, "trust") == 0 {
		top.Doubts = []discovery.Doubt{{Code: discovery.NoWriter}}
	}
	return top
}

// tick lets d pass and acts on a topology.
func (h *history) tick(d time.Duration, top discovery.Topology) {
	h.now = h.now.Add(d)
	h.saw.Topology = top
	h.saw.Topology.At = h.now
	h.decide()
}

func (h *history) decide() (acted bool) {
	var p Plan
	p, h.mem = h.decider(h.t, h.mem, h.saw, h.rules, h.now)
	if h.merges && says(p, AwaitsReview) {
		p, _ = h.decider(h.t, h.mem, h.saw, h.rules.Wish(), h.now)
	}
	if p.Action != Publish && p.Action != Failover || p.ByReview {
		return false
	}
	h.commits++
	h.saw.Declared.State = p.Want
	return true
}

// settle repeats one observation until nothing more comes of it.
func (h *history) settle() {
	for range Slots + 4 {
		if !h.decide() {
			return
		}
	}
	h.t.Fatalf("one observation comes to ever more commits: %+v", h.saw)
}

func TestLawsOfEachDecision(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := newHistory(t, someRules(t))
		for range rapid.IntRange(1, 30).Draw(t, "ticks") {
			h.between()
			h.tick(rapid.SampledFrom([]time.Duration{100 * time.Millisecond, 3 * time.Second, 10 * time.Second, 20 * time.Minute}).Draw(t, "wait"), someTopology(t, h.rules, true))
			if rapid.Bool().Draw(t, "settle") {
				h.settle()
			}
		}
	})
}

// between is what else may happen: a restart, a person, Kubernetes.
func (h *history) between() {
	switch rapid.IntRange(0, 14).Draw(h.t, "between") {
	case 0:
		h.mem = Memory{}
	case 1:
		h.rules.Paused = !h.rules.Paused
	case 2:
		h.saw.Window = !h.saw.Window
	case 3:
		h.rules.Disabled = map[string]bool{fmt.Sprintf("i%02d", rapid.IntRange(0, 23).Draw(h.t, "disabled")): true}
	case 4:
		h.saw.Ready = nil
	case 5:
		h.saw.Ready = map[string]int{}
		for n := range 24 {
			h.saw.Ready[fmt.Sprintf("i%02d", n)] = rapid.IntRange(0, 1).Draw(h.t, "ready")
		}
	case 6:
		h.now = h.now.Add(-time.Minute) // a clock that was set
	case 7:
		h.rules.Disabled, h.saw.Pinned = nil, nil
	case 8:
		h.saw.Pinned = map[string]bool{fmt.Sprintf("i%02d", rapid.IntRange(0, 23).Draw(h.t, "pinned")): true}
	case 9, 10:
		h.saw.Order = h.someOrder()
	case 11:
		h.saw.Order = nil
	case 12:
		h.merges = !h.merges
	case 13:
		h.rules.ByReview = someReview(h.t)
	}
}

// someOrder is for a member more often than not: others are refused.
func (h *history) someOrder() *Order {
	who := []string{"i00"}
	for _, m := range h.saw.Declared.State.Members {
		who = append(who, m.Name)
	}
	return &Order{
		Writer: rapid.SampledFrom(who).Draw(h.t, "ordered"), Reason: "why", By: "dba",
		Until: h.now.Add(rapid.SampledFrom([]time.Duration{-time.Second, 3 * time.Second, 20 * time.Second, time.Hour}).Draw(h.t, "for")),
	}
}

// An order is followed by one failover, in doubt and out of it; after its end, and be it years, doubt brings nothing back. Where failovers
// go by review and nobody merges it, Git stays as it was, and the live Services are told of the order until its end.
func TestLawNoTimeoutReverts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := someRules(t)
		rules.GlobalSecondary = false
		h := newHistory(t, rules)
		h.saw.Declared.State, h.mem = h.firstOf("i00:writer i01:reader i02:reader i03:reader")
		h.saw.Order = h.someOrder()
		h.saw.Order.Until = h.now.Add(time.Hour)
		blind := discovery.Topology{Cluster: "example-pg", Doubts: []discovery.Doubt{{Code: discovery.Blind}}}
		h.merges = rapid.Bool().Draw(t, "a person merges")
		before := h.saw.Declared.State
		h.tick(time.Minute, blind)
		ordered := h.saw.Declared.State
		p, _ := h.decider(t, h.mem, h.saw, h.rules, h.now)
		switch unmerged := rules.ByReview[FailoverChange] && !h.merges; {
		case p.Want.Writer != h.saw.Order.Writer:
			t.Fatalf("ordered %s, wanted %s", h.saw.Order.Writer, p.Want.Writer)
		case unmerged && !same(before, ordered):
			t.Fatalf("nobody merged it, and Git has %+v", ordered)
		case !unmerged && ordered.Writer != h.saw.Order.Writer:
			t.Fatalf("ordered %s, got %s", h.saw.Order.Writer, ordered.Writer)
		}
		for range rapid.IntRange(1, 20).Draw(t, "ticks") {
			if rapid.Bool().Draw(t, "restart") {
				h.mem = Memory{}
			}
			h.tick(rapid.SampledFrom([]time.Duration{time.Second, time.Minute, time.Hour, 9000 * time.Hour}).Draw(t, "wait"), blind)
			if diff := cmp.Diff(ordered, h.saw.Declared.State); diff != "" {
				t.Fatalf("doubt brought something back:\n%s", diff)
			}
		}
	})
}

// quiet is a world in which nothing changes any more: everybody answers, nobody is held up, and what is proposed is merged.
func (h *history) quiet(top discovery.Topology) {
	h.saw.Ready, h.saw.Pinned, h.saw.Window, h.rules.Paused, h.rules.Disabled, h.saw.Order = nil, nil, false, false, nil, nil
	h.decider, h.merges = unchecked, true
	for range 40 { // longer than the longest proof, 5 min
		h.tick(10*time.Second, top)
	}
	h.tick(h.rules.Retention, top)
	for range 20 { // longer than debounces and two batch windows
		h.tick(10*time.Second, top)
	}
	h.decider = checked
	h.settle()
}

// outcome is what a state comes to, whenever and in whatever order it came about.
func outcome(s State) string {
	var list []string
	for _, m := range s.Members {
		list = append(list, fmt.Sprintf("%s out=%t", m.Name, m.Out != In))
	}
	return fmt.Sprintf("writer %s, fallback %t\n%s", s.Writer, s.Fallback, strings.Join(list, "\n"))
}

// A quiet world comes to the same, whatever was before, and however often memory was lost; where classes go by review, once a person has
// merged what was proposed.
func TestLawQuietWorldsComeToTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := someRules(t)
		rules.AllowShrink = "a refusal would stay"
		top := topology("i00:writer i01:reader i02:reader i23:reader")
		fresh := newHistory(t, rules)
		fresh.quiet(top)
		lived := newHistory(t, rules)
		for range rapid.IntRange(1, 20).Draw(t, "ticks") {
			lived.between()
			lived.tick(10*time.Second, someTopology(t, rules, false)) // deletion is for good
		}
		lived.quiet(top)
		if diff := cmp.Diff(outcome(fresh.saw.Declared.State), outcome(lived.saw.Declared.State)); diff != "" {
			t.Fatalf("a history comes to something else than none:\n%s", diff)
		}
		commits := lived.commits
		lived.mem = Memory{}
		lived.quiet(top)
		if lived.commits != commits {
			t.Fatalf("a restart in a quiet world made %d commits", lived.commits-commits)
		}
	})
}

// A restart between any two ticks of one history changes nothing in the end.
func TestLawRestartsDoNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := someRules(t)
		rules.AllowShrink = "a refusal would stay"
		plain := newHistory(t, rules)
		restarted := newHistory(t, rules)
		for range rapid.IntRange(1, 20).Draw(t, "ticks") {
			top := someTopology(t, rules, false) // deletion is for good
			plain.tick(10*time.Second, top)
			restarted.tick(10*time.Second, top)
			if rapid.Bool().Draw(t, "restart") {
				restarted.mem = Memory{}
			}
		}
		end := topology("i00:writer i01:reader i02:reader i03:reader")
		plain.quiet(end)
		restarted.quiet(end)
		a, b := plain.saw.Declared.State, restarted.saw.Declared.State
		if diff := cmp.Diff(outcome(a), outcome(b)); diff != "" {
			t.Fatalf("restarts come to something else:\n%s", diff)
		}
	})
}

// However readers flap for two hours, each makes few commits: damping bounds
// its returns to one in five minutes, after the first few. So do pull requests, merged or not.
func TestLawFlappingMakesFewCommits(t *testing.T) {
	const tick, span = 5 * time.Second, 2 * time.Hour
	rapid.Check(t, func(t *rapid.T) {
		h := newHistory(t, DefaultRules())
		h.saw.Window = rapid.Bool().Draw(t, "window")
		h.rules.ByReview, h.merges = someReview(t), rapid.Bool().Draw(t, "a person merges")
		h.saw.Declared.State, h.mem = h.firstOf("a:writer b:reader c:reader")
		runs := rapid.SliceOfN(rapid.IntRange(1, 80), 2, 8).Draw(t, "ticks up and down by turns")
		good := topology("a:writer b:reader c:reader")
		bad := topology(rapid.SampledFrom([]string{"a:writer b:reader", "a:writer b:reader c:reader/timeout"}).Draw(t, "bad"))
		h.decider = unchecked
		for run := 0; h.now.Before(epochStart.Add(span)); run++ {
			for range runs[run%len(runs)] {
				h.tick(tick, []discovery.Topology{good, bad}[run%2])
			}
		}
		// 2, 4, 8, 16 and then 30 probes of 10 s: 5 doublings, and once in 5 min for the rest.
		if most := 2 * (5 + int(span/(5*time.Minute))); h.commits > most {
			t.Fatalf("%d commits, want at most %d", h.commits, most)
		}
	})
}

func (h *history) firstOf(flat string) (State, Memory) {
	h.saw.Topology = topology(flat)
	h.saw.Topology.At = h.now
	p, mem := Decide(Memory{}, h.saw, h.rules.Wish(), h.now)
	return p.Want, mem
}
