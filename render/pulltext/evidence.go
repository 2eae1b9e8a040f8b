package pulltext

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/poolwright/poolwright/discovery"
	"github.com/poolwright/poolwright/plan"
)

// evidence is who said what about itself, and when.
func (p *paper) evidence() []block {
	blocks := []block{heading("Evidence")}
	if p.onlyConfig() {
		return append(blocks, paragraph("Membership stays as Git has it: nothing in this change rests on what the databases say."))
	}
	if p.Seen.At.IsZero() {
		return append(blocks, paragraph("None was recorded."))
	}
	titles := []markdown{"Instance", "Judged", "Said about itself", p.proof()}
	blocks = append(blocks,
		paragraph(say("Each instance was asked over a connection of its own; the last answer came at %s. %s", stamp(p.Seen.At), p.trust())),
		table(8_000, "%d more answers", titles, p.answers()),
	)
	if notes := p.notes(); len(notes) > 0 {
		blocks = append(blocks, list(3_000, "%d more notes", notes))
	}
	return blocks
}

func (p *paper) onlyConfig() bool {
	return !slices.ContainsFunc(p.Steps, func(s plan.Plan) bool { return s.Class != plan.ConfigChange })
}

// proof is the column by which a provider's claims are told apart.
func (p *paper) proof() markdown {
	if p.Seen.Provider == discovery.Postgres {
		return "Timeline:"
	}
	return "Its view calls the writer"
}

func (p *paper) trust() markdown {
	if p.topology.Trusted() {
		return "No doubt remained."
	}
	return "**The topology is in doubt.**"
}

// answers has a row for each instance that was asked or is judged.
func (p *paper) answers() (rows [][]markdown) {
	asked := map[string]discovery.Answer{}
	var who []string
	for _, a := range p.Seen.Answers {
		if a.Asked != "" {
			asked[a.Asked], who = a, append(who, a.Asked)
		}
	}
	for _, i := range p.topology.Instances {
		who = append(who, i.Name)
	}
	for _, name := range sortedNames(who) {
		a, was := asked[name]
		if !was {
			a = discovery.Answer{Fault: discovery.NotAsked}
		}
		rows = append(rows, []markdown{span(name), p.judged(name), saidOf(a), p.proofOf(a)})
	}
	return rows
}

func (p *paper) judged(name string) markdown {
	i, ok := p.topology.Instance(name)
	switch {
	case !ok:
		return "not in the cluster"
	case i.Deleting:
		return markdown(i.Role.String()) + ", being deleted"
	}
	return markdown(i.Role.String())
}

// saidOf is an instance's own word.
func saidOf(a discovery.Answer) markdown {
	if a.Fault != discovery.None {
		text := "nothing: " + markdown(strings.ReplaceAll(a.Fault.String(), "-", " "))
		if a.Detail != "" {
			text += say(" (%s)", a.Detail)
		}
		return text
	}
	text := markdown("not in recovery, ")
	if a.InRecovery {
		text = "in recovery, "
	}
	switch {
	case a.ReadOnly:
		return text + "read-only"
	case a.DefaultReadOnly:
		return text + "writable, read-only by default"
	}
	return text + "writable"
}

// proofOf is the timeline, or whom the instance's own view calls the writer and how old that is.
func (p *paper) proofOf(a discovery.Answer) markdown {
	if a.Fault != discovery.None {
		return "–"
	}
	if p.Seen.Provider == discovery.Postgres {
		if a.Timeline == 0 {
			return "not known"
		}
		return say("%d", a.Timeline)
	}
	var masters []markdown
	rows := slices.SortedStableFunc(slices.Values(a.Rows), func(a, b discovery.Row) int { return cmp.Compare(a.ServerID, b.ServerID) })
	for _, r := range rows {
		if r.Master() {
			masters = append(masters, span(r.ServerID)+age(r))
		}
	}
	return orDash(joinedBy(masters[:min(len(masters), 4)], ", "))
}

// age says how old a row is; the node that answered has no age for its own.
func age(r discovery.Row) markdown {
	if r.AgeMillis == nil {
		return ", itself"
	}
	return say(", %s ago", (time.Duration(*r.AgeMillis) * time.Millisecond).Round(100*time.Millisecond).String())
}

// notes are doubts, facts of the topology, metadata and cluster endpoints.
func (p *paper) notes() (said []markdown) {
	for _, d := range p.topology.Doubts {
		said = append(said, "**Doubt**: "+aboutOf(d.Code.String(), d.Instance, d.Detail))
	}
	for _, n := range p.topology.Notes {
		if n.Code == discovery.NoAnswer { // it is in the table
			continue
		}
		said = append(said, "Note: "+aboutOf(n.Code.String(), n.Instance, n.Detail))
	}
	for _, a := range p.Seen.Answers {
		if a.Asked == "" && a.Fault == discovery.None {
			said = append(said, say("The cluster's %s endpoint led to %s.", a.Via.String(), orNone(a.Name)))
		}
	}
	if p.topology.Timeline > 0 {
		said = append(said, say("The writer is on timeline %d; the one in Git is %s.", p.topology.Timeline, timeline(p.Declared.Timeline)))
	}
	slices.Sort(said)
	return append(slices.Compact(said), p.metadata()...)
}

func timeline(n uint32) markdown {
	if n == 0 {
		return "not known"
	}
	return say("%d", n)
}

func aboutOf(code, instance, detail string) markdown {
	text := say("%s", strings.ReplaceAll(code, "-", " "))
	if instance != "" {
		text += ", " + span(instance)
	}
	if detail != "" {
		text += say(": %s", detail)
	}
	return text + "."
}

// metadata says what the provider's API adds, and how far to believe it.
func (p *paper) metadata() []markdown {
	m := p.Seen.Metadata
	if m == nil || m.State == discovery.MetadataOff {
		return nil
	}
	text := say("Zones and states come from the provider's API: %s, of %s", m.State.String(), stamp(m.At))
	if m.Detail != "" {
		text += say(" (%s)", m.Detail)
	}
	return []markdown{text + "."}
}

// sortedNames are names, each once.
func sortedNames(names []string) []string {
	names = slices.Sorted(slices.Values(names))
	return slices.Compact(names)
}
