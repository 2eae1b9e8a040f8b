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

// Draft is what a commit message is about.
type Draft struct {
	Decided plan.Plan
	// Declared is the state that it was decided on.
	Declared plan.State
	// Spec identifies the declaration, as in plan.Rules.Spec.
	Spec string
	// LastFacts is TrailerFacts of our newest commit, "" when it is not known. Equal facts mean the same declaration.
	LastFacts string
	// Files are what is written and deleted: of a change of class config they are all that there is to say.
	Files []string
}

// Message is the commit message of a drawn decision: what changed, the evidence, who serves now, and
// trailers for machines.
func Message(c clusters.Cluster, d Draft) (string, error) {
	want := d.Decided.Want
	if d.Decided.Class == plan.ConfigChange {
		d.Decided.Reasons = nil // they are why membership stays as it is
	}
	v := messageView{
		Subject: fmt.Sprintf("%s: %s (epoch %d)", c.Metadata.Name, d.subject(), want.Epoch),
		Writer:  cmp.Or(want.Writer, "none, this is a global secondary"),
		Readers: cmp.Or(strings.Join(want.Readers(), ", "), "none"),
		Out:     whoIsOut(want),
	}
	for _, r := range d.Decided.Reasons {
		v.Evidence = append(v.Evidence, "- "+line(r.String()))
	}
	if d.Decided.Class == plan.ConfigChange {
		v.Evidence = d.redrawn()
	}
	v.Trailers = trailers(c, d.Decided, d.Spec)
	text, err := execute("commit.tmpl", v)
	return string(text), err
}

// redrawn says which files were not as drawn, and no more about the cause than is known.
func (d Draft) redrawn() []string {
	files := "files"
	if len(d.Files) > 0 {
		files = first(8, d.Files)
	}
	said := []string{"- not what cluster.yaml and topology.yaml give: " + line(files)}
	if d.sameAsLast() {
		said = append(said, "- cluster.yaml is still that of poolwright's last commit: edited by hand, or drawn without custom/ or by another version")
	}
	return said
}

// sameAsLast reports whether declaration and membership are known to be those of our newest commit.
func (d Draft) sameAsLast() bool { return d.LastFacts == d.Decided.Want.Facts(d.Spec) }

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

// reasonCodes are for machines; only what a person allowed or ordered carries the person's words.
func reasonCodes(reasons []plan.Reason) string {
	var list []string
	for _, r := range reasons {
		word := strings.TrimSpace(r.Code.String() + " " + r.Instance)
		if (r.Code == plan.ShrinkAllowed || r.Code == plan.WriterOrdered) && r.Detail != "" {
			word += " (" + r.Detail + ")"
		}
		list = append(list, line(word))
	}
	return strings.Join(slices.Compact(list), ", ")
}

// subject says the change in a few words: the writer alone when it moved.
func (d Draft) subject() string {
	want, declared := d.Decided.Want, d.Declared
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
	return cmp.Or(strings.Join(said, ", "), d.unsaid())
}

// unsaid is a change that moves nobody.
func (d Draft) unsaid() string {
	switch {
	case d.Decided.Class != plan.ConfigChange:
		return d.Decided.Class.String() + ", nobody moves"
	case d.sameAsLast() && len(d.Files) > 0:
		return "puts right " + line(few(d.Files))
	}
	return "configuration"
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
		return first(2, names)
	}
	return strings.Join(names, ", ")
}

// first names n, and counts the others.
func first(n int, names []string) string {
	if len(names) > n {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:n], ", "), len(names)-n)
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
