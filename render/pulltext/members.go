package pulltext

import (
	"strconv"

	"github.com/poolwright/poolwright/plan"
)

// members is a table of everybody before and after.
func (p *paper) members() []block {
	titles := []markdown{"Instance", "Role", "Serves readers", "Zone", "Slot:", "Pods:", "Pool size × databases"}
	return []block{
		heading("Before and after"),
		table(9_000, "%d more instances", titles, p.memberRows()),
	}
}

func (p *paper) memberRows() (rows [][]markdown) {
	all := append(names(p.Declared), without(names(p.want), names(p.Declared))...)
	for _, name := range sortedNames(all) {
		before, had := p.Declared.Member(name)
		after, has := p.want.Member(name)
		title := span(name)
		switch {
		case p.first():
		case !had:
			title += " (new)"
		case !has:
			title += " (removed)"
		}
		then, now := p.cells(p.Declared, before, p.old), p.cells(p.want, after, p.objects)
		row := []markdown{title}
		for i := range then {
			row = append(row, fromTo(then[i], had, now[i], has))
		}
		rows = append(rows, row)
	}
	return rows
}

// cells are a member's facts in one state.
func (p *paper) cells(s plan.State, m plan.Member, built objects) []markdown {
	return []markdown{role(s, m), servesReaders(s, m), p.zone(m), say("%d", m.Slot), pods(built, m.Name), poolsOf(built, m.Name).short()}
}

// fromTo is a cell; what differs is said with both values, and the new one in bold.
func fromTo(before markdown, had bool, after markdown, has bool) markdown {
	switch {
	case !had:
		return after
	case !has, before == after:
		return before
	}
	return before + " → **" + after + "**"
}

func role(s plan.State, m plan.Member) markdown {
	if m.Name == s.Writer {
		return "writer"
	}
	return "reader"
}

func servesReaders(s plan.State, m plan.Member) markdown {
	switch {
	case m.Name == s.Writer && s.Fallback:
		return "yes, for want of readers"
	case m.Name == s.Writer:
		return "no"
	case m.Out == plan.In:
		return "yes"
	}
	return say("no, %s", m.Out.String())
}

// zone is the member's, or what the provider says now.
func (p *paper) zone(m plan.Member) markdown {
	if m.Zone != "" {
		return clippedName(m.Zone)
	}
	if i, _ := p.topology.Instance(m.Name); i.Zone != "" {
		return clippedName(i.Zone)
	}
	return "not known"
}

func clippedName(s string) markdown { return prose(clipped(s, longestName)) }

// replicas is how many pods an instance has, 0 when that is not known.
func replicas(built objects, instance string) int {
	deployment, ok := built.of(instance, "Deployment")
	if !ok {
		return 0
	}
	n, _ := at(deployment.content, "spec", "replicas").(int)
	return n
}

func pods(built objects, instance string) markdown {
	if n := replicas(built, instance); n > 0 {
		return markdown(strconv.Itoa(n))
	}
	return "not known"
}
