package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/poolwright/poolwright/discovery"
)

// A story is a script: what is seen, and what comes of it.
//
//	rule paused | unpaused | disabled a,b | fallback none | shrink why | ...  from now on
//	sees a:writer b:reader        one tick (10 s) later
//	sees 3x a:writer b:reader     three ticks; nothing is published before the last
//	sees none                     a trusted topology without instances
//	doubts no-writer b            a topology with that doubt, about b
//	wait 59m                      nothing is seen for so long
//	restart | revert | lost       memory is lost; a person reverts the last commit ("revert 2": the last two); the last push never arrived
//	rule review scale,failover    these classes go in by pull requests; "rule review none"
//	merge                         a person merges the pull request, which has all that is wished
//	ready a=1 b=0 | ready unknown
//	pinned b                      a person's file is in b's overlay; "pinned none" when it is gone
//	window open | window closed   a failover window; "tick 1s" sets the length of a tick
//	order b 30m disk full         a person's order from now on: writer, how long, why; "order none" takes it away
//	timeline 5                    the writer's from now on; 0 is not known
//	then again                    the same observation once more
//	then publish scale: overlay-added b; joined c     action, class and all reasons; "by review" when nothing is committed
//	awaited failed c              what each reason awaits-review is about, and who
//	git 2: a | b | c=unhealthy    epoch, writer, who serves readers, who is out and why
//
// An instance is name:role, with /fault, +deleting, #resource and @host after it in that order.
// A role of "?" is unknown.
type story struct {
	t     *testing.T
	now   time.Time
	tick  time.Duration
	rules Rules
	mem   Memory
	saw   Observation
	past  []Declared // before each publish that was neither reverted nor lost
	plan  Plan
	// timeline is the writer's, 0 when not known.
	timeline uint32
}

var epochStart = time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC)

func newStory(t *testing.T) *story {
	return &story{t: t, now: epochStart, tick: 10 * time.Second, rules: DefaultRules()}
}

func tell(t *testing.T, script string) {
	t.Helper()
	newStory(t).run(script)
}

func (s *story) run(script string) {
	s.t.Helper()
	for n, line := range strings.Split(strings.TrimSpace(script), "\n") {
		verb, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		rest = strings.TrimSpace(rest)
		do, ok := s.verbs()[verb]
		if !ok {
			s.t.Fatalf("line %d: %q is no verb", n+1, verb)
		}
		if problem := do(rest); problem != "" {
			s.t.Fatalf("line %d: %s %s\n%s", n+1, verb, rest, problem)
		}
	}
}

func (s *story) verbs() map[string]func(string) string {
	return map[string]func(string) string{
		"sees": s.sees, "doubts": s.doubts, "then": s.then, "git": s.git, "rule": s.rule, "ready": s.ready,
		"restart": func(string) string { s.mem = Memory{}; return "" },
		"lost":    func(string) string { s.saw.Declared = s.before(); return "" },
		"revert":  s.revert,
		"order":   s.order,
		"merge":   func(string) string { return s.merge() },
		"awaited": func(want string) string { return cmp.Diff(want, s.awaited()) },
		"pinned":  func(name string) string { s.saw.Pinned = map[string]bool{name: true}; return "" },
		"window":  func(on string) string { s.saw.Window = on == "open"; return "" },
		"timeline": func(n string) string {
			k, err := strconv.ParseUint(n, 10, 32)
			s.timeline = uint32(k)
			return problem(err)
		},
		"tick": func(d string) (p string) { s.tick, p = duration(d); return p },
		"wait": func(d string) (p string) {
			wait, p := duration(d)
			s.now = s.now.Add(wait - s.tick)
			return p
		},
	}
}

func problem(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}

func duration(text string) (time.Duration, string) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, err.Error()
	}
	return d, ""
}

func (s *story) sees(text string) string {
	times := 1
	if n, rest, ok := strings.Cut(text, "x "); ok {
		if k, err := strconv.Atoi(n); err == nil {
			times, text = k, rest
		}
	}
	for i := range times {
		s.saw.Topology = topology(text)
		s.saw.Topology.Timeline = s.timeline
		s.step()
		if i < times-1 && s.commits() {
			return fmt.Sprintf("published %d ticks early: %s", times-1-i, s.said())
		}
	}
	return ""
}

func (s *story) doubts(text string) string {
	code, instance, _ := strings.Cut(text, " ")
	var c discovery.DoubtCode
	if err := c.UnmarshalText([]byte(code)); err != nil {
		return err.Error()
	}
	s.saw.Topology = discovery.Topology{Cluster: "example-pg", Doubts: []discovery.Doubt{{Code: c, Instance: instance}}}
	s.step()
	return ""
}

// step decides, checks what has to hold for every decision, and does it.
func (s *story) step() {
	s.t.Helper()
	s.now = s.now.Add(s.tick)
	s.saw.Topology.At = s.now
	s.decide()
}

func (s *story) decide() {
	s.t.Helper()
	before := s.saw.Declared
	s.plan, s.mem = checked(s.t, s.mem, s.saw, s.rules, s.now)
	if s.commits() {
		s.publish(before, s.plan)
	}
}

// commits reports whether the last plan is brought to Git at once.
func (s *story) commits() bool {
	return (s.plan.Action == Publish || s.plan.Action == Failover) && !s.plan.ByReview
}

func (s *story) publish(before Declared, p Plan) {
	s.past, s.saw.Declared = append(s.past, before), Declared{State: p.Want, LastEpoch: max(s.saw.Declared.LastEpoch, p.Want.Epoch)}
}

// merge is a person's yes to all that is wished. It comes to steps, as the commits of a push do.
func (s *story) merge() string {
	for n := 0; ; n++ {
		p, _ := checked(s.t, s.mem, s.saw, s.rules.Wish(), s.now)
		switch {
		case p.Action == Publish || p.Action == Failover:
			s.publish(s.saw.Declared, p)
		case n == 0:
			return "nothing is wished: " + p.Action.String()
		default:
			return ""
		}
	}
}

// awaited is what awaits review, by the details of the reasons.
func (s *story) awaited() string {
	var words []string
	for _, r := range s.plan.Reasons {
		if r.Code == AwaitsReview {
			words = append(words, strings.TrimSpace(r.Detail+" "+r.Instance))
		}
	}
	return strings.Join(words, "; ")
}

// before is what was declared before the last publish, which is forgotten.
func (s *story) before() Declared {
	last := len(s.past) - 1
	d := s.past[last]
	s.past = s.past[:last]
	return d
}

// revert takes the last commits back as a person does, the newest first.
func (s *story) revert(text string) string {
	if n, err := strconv.Atoi(text); err == nil {
		for range n - 1 {
			s.revert("")
		}
	}
	no := Revert{By: fmt.Sprintf("f00d%d", s.saw.Declared.State.Epoch), Facts: s.saw.Declared.State.Facts(s.rules.Spec), At: s.now}
	s.saw.Declared.Reverted = append(s.saw.Declared.Reverted, no)
	s.saw.Declared.State = s.before().State
	return ""
}

func (s *story) order(text string) string {
	writer, rest, ok := strings.Cut(text, " ")
	if s.saw.Order = nil; !ok && writer == "none" {
		return ""
	}
	span, why, _ := strings.Cut(rest, " ")
	d, problem := duration(span)
	s.saw.Order = &Order{Writer: writer, Reason: why, By: "dba", Until: s.now.Add(d)}
	return problem
}

func (s *story) then(want string) string {
	if want == "again" { // the same observation once more
		s.decide()
		return ""
	}
	return cmp.Diff(want, s.said())
}

// said is the last plan in the words of "then".
func (s *story) said() string {
	said := s.plan.Action.String()
	if s.plan.Class != NoChange && s.plan.Class != FailoverChange {
		said += " " + s.plan.Class.String()
	}
	if s.plan.ByReview {
		said += " by review"
	}
	var reasons []string
	for _, r := range s.plan.Reasons {
		reasons = append(reasons, strings.TrimSpace(r.Code.String()+" "+r.Instance))
	}
	if len(reasons) > 0 {
		said += ": " + strings.Join(reasons, "; ")
	}
	return said
}

func (s *story) git(want string) string { return cmp.Diff(want, drawn(s.saw.Declared.State)) }

// drawn is a state in the words of "git".
func drawn(st State) string {
	var out []string
	for _, m := range st.Members {
		if m.Out != In {
			out = append(out, m.Name+"="+m.Out.String())
		}
	}
	return strings.TrimSpace(fmt.Sprintf("%d: %s | %s | %s", st.Epoch, st.Writer, strings.Join(st.Readers(), " "), strings.Join(out, " ")))
}

func (s *story) ready(text string) string {
	s.saw.Ready = nil
	if text == "unknown" {
		return ""
	}
	s.saw.Ready = map[string]int{}
	for f := range strings.FieldsSeq(text) {
		name, n, _ := strings.Cut(f, "=")
		k, err := strconv.Atoi(n)
		if err != nil {
			return err.Error()
		}
		s.saw.Ready[name] = k
	}
	return ""
}

func (s *story) rule(text string) (problem string) {
	name, value, _ := strings.Cut(text, " ")
	switch name {
	case "paused", "unpaused":
		s.rules.Paused = name == "paused"
	case "disabled":
		s.rules.Disabled = map[string]bool{}
		for n := range strings.FieldsSeq(value) {
			s.rules.Disabled[n] = true
		}
	case "fallback":
		if err := s.rules.Fallback.UnmarshalText([]byte(value)); err != nil {
			return err.Error()
		}
	case "shrink":
		s.rules.AllowShrink = value
	case "spec":
		s.rules.Spec = value
	case "global-secondary":
		s.rules.GlobalSecondary = value != "no"
	case "batch":
		s.rules.BatchWindow, problem = duration(value)
	case "retention":
		s.rules.Retention, problem = duration(value)
	case "review":
		s.rules.ByReview, problem = classes(value)
	case "revert-hold":
		s.rules.RevertHold, problem = duration(value)
	default:
		return "no such rule"
	}
	return problem
}

func classes(text string) (map[Class]bool, string) {
	set := map[Class]bool{}
	for word := range strings.SplitSeq(strings.TrimPrefix(text, "none"), ",") {
		var c Class
		if err := c.UnmarshalText([]byte(word)); err != nil {
			return nil, err.Error()
		}
		set[c] = c != NoChange
	}
	return set, ""
}

// topology reads instances in the words of "sees".
func topology(text string) discovery.Topology {
	top := discovery.Topology{Cluster: "example-pg"}
	for f := range strings.FieldsSeq(strings.TrimPrefix(text, "none")) {
		top.Instances = append(top.Instances, instance(f))
	}
	slices.SortFunc(top.Instances, func(a, b discovery.Instance) int { return strings.Compare(a.Name, b.Name) })
	return top
}

func instance(text string) discovery.Instance {
	var host, resource, fault string
	text, host, _ = strings.Cut(text, "@")
	text, resource, _ = strings.Cut(text, "#")
	text, deleting := strings.CutSuffix(text, "+deleting")
	text, fault, _ = strings.Cut(text, "/")
	name, role, _ := strings.Cut(text, ":")
	if host == "" {
		host = name + ".example"
	}
	i := discovery.Instance{Name: name, Host: host, Port: 5432, Resource: resource, Deleting: deleting}
	roles := map[string]discovery.Role{"?": discovery.Unknown, "writer": discovery.Writer, "reader": discovery.Reader}
	i.Role = roles[role]
	if err := i.Probe.UnmarshalText([]byte(fault)); err != nil {
		panic(err)
	}
	return i
}
