package render

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/poolwright/poolwright/clusters"
	"github.com/poolwright/poolwright/plan"
)

// The trailers of a commit. They are read back: the facts tell whether a person reverted a change,
// and whether the same change would be made again.
const (
	TrailerCluster = "Poolwright-Cluster"
	TrailerEpoch   = "Poolwright-Epoch"
	TrailerChange  = "Poolwright-Change"
	TrailerReason  = "Poolwright-Reason"
	TrailerFacts   = "Poolwright-Facts"
)

type messageView struct {
	Subject              string
	Evidence             []string
	Writer, Readers, Out string
	Trailers             []pair
}

// Message is the commit message of a decision on a declared state: what changed, the evidence, who
// serves now, and trailers for machines. spec identifies the declaration, as in plan.Rules.Spec.
func Message(c clusters.Cluster, decided plan.Plan, declared plan.State, spec string) (string, error) {
	want := decided.Want
	v := messageView{
		Subject: fmt.Sprintf("%s: %s (epoch %d)", c.Metadata.Name, subject(decided, declared), want.Epoch),
		Writer:  cmp.Or(want.Writer, "none, this is a global secondary"),
		Readers: cmp.Or(strings.Join(want.Readers(), ", "), "none"),
		Out:     whoIsOut(want),
	}
	for _, r := range decided.Reasons {
		v.Evidence = append(v.Evidence, "- "+line(r.String()))
	}
	if len(v.Evidence) == 0 {
		v.Evidence = []string{"- cluster.yaml gives another tree than the one in Git"}
	}
	v.Trailers = trailers(c, decided, spec)
	text, err := execute("commit.tmpl", v)
	return string(text), err
}

func whoIsOut(s plan.State) string {
	var list []string
	for _, m := range s.Members {
		if m.Name != s.Writer && m.Out != plan.In {
			list = append(list, fmt.Sprintf("%s (%s)", m.Name, m.Out))
		}
	}
	return strings.Join(list, ", ")
}

func trailers(c clusters.Cluster, decided plan.Plan, spec string) []pair {
	ours := []pair{
		{TrailerCluster, c.Metadata.Name},
		{TrailerEpoch, strconv.FormatUint(decided.Want.Epoch, 10)},
		{TrailerChange, decided.Class.String()},
		{TrailerReason, cmp.Or(reasonCodes(decided.Reasons), decided.Class.String())},
		{TrailerFacts, decided.Want.Facts(spec)},
	}
	for _, extra := range pairs(c.Spec.Publish.Trailers) {
		taken := slices.ContainsFunc(ours, func(p pair) bool { return strings.EqualFold(p.Key, extra.Key) })
		if !taken {
			ours = append(ours, pair{line(extra.Key), line(extra.Value)})
		}
	}
	return ours
}

// reasonCodes are for machines; only a person's consent carries its words.
func reasonCodes(reasons []plan.Reason) string {
	var list []string
	for _, r := range reasons {
		word := strings.TrimSpace(r.Code.String() + " " + r.Instance)
		if r.Code == plan.ShrinkAllowed {
			word += " (" + r.Detail + ")"
		}
		list = append(list, line(word))
	}
	return strings.Join(slices.Compact(list), ", ")
}

// subject says the change in a few words: the writer alone when it moved.
func subject(decided plan.Plan, declared plan.State) string {
	want := decided.Want
	switch {
	case declared.Epoch == 0:
		return fmt.Sprintf("first tree, writer %s, instances %s", cmp.Or(want.Writer, "none"), few(names(want)))
	case declared.Writer != want.Writer:
		return fmt.Sprintf("writer %s → %s", cmp.Or(declared.Writer, "none"), cmp.Or(want.Writer, "none"))
	}
	var said []string
	say := func(verb string, names []string) {
		if len(names) > 0 {
			said = append(said, verb+" "+few(names))
		}
	}
	added, removed := setChange(names(declared), names(want))
	in, out := setChange(declared.Readers(), want.Readers())
	say("add", added)
	say("remove", removed)
	say("readers gain", without(in, []string{want.Writer}))
	say("readers lose", without(out, append(removed, want.Writer)))
	switch {
	case want.Fallback && !declared.Fallback:
		said = append(said, "readers fall back to the writer")
	case !want.Fallback && declared.Fallback:
		said = append(said, "readers need the writer no more")
	}
	return cmp.Or(strings.Join(said, ", "), unsaid(decided.Class))
}

// unsaid is a change that moves nobody.
func unsaid(c plan.Class) string {
	if c == plan.ConfigChange {
		return "configuration"
	}
	return c.String() + ", nobody moves"
}

func names(s plan.State) []string {
	list := make([]string, len(s.Members))
	for i, m := range s.Members {
		list[i] = m.Name
	}
	return list
}

// setChange is what b has and a has not, and the other way round.
func setChange(a, b []string) (added, removed []string) { return without(b, a), without(a, b) }

func without(list, gone []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(gone, s) })
}

// few keeps a subject line short.
func few(names []string) string {
	if len(names) > 3 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:2], ", "), len(names)-2)
	}
	return strings.Join(names, ", ")
}

// line is s on one line: a line break in a message could forge a trailer.
func line(s string) string {
	return strings.Map(func(r rune) rune {
		if breaksText(r) {
			return ' '
		}
		return r
	}, s)
}
