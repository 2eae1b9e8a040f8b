package pulltext

import (
	"slices"
	"strings"
	"time"

	"github.com/poolwright/poolwright/plan"
)

// verdict is what the pull request does, in two sentences, and whether it has happened already.
func (p *paper) verdict() []block {
	blocks := []block{paragraph("**" + p.headline() + "** " + p.epoch() + " " + p.extent())}
	if len(p.Declined) > 0 {
		blocks = append(blocks, paragraph(p.declined()))
	}
	if p.Ahead != nil {
		blocks = append(blocks, paragraph(say("> [!IMPORTANT]\n"+
			"> **Already serving.** The live Services have %s as the writer (epoch %d) since %s, ahead of Git. "+
			"This pull request makes Git match. If it is closed, the Services stay as they are, and Git stays behind.",
			span(p.Ahead.Writer), p.Ahead.Epoch, stamp(p.Ahead.Since))))
	}
	if over := p.overbooked(); len(over) > 0 {
		blocks = append(blocks, paragraph(say("> [!WARNING]\n"+
			"> %s can now get more connections than `max_connections` allows: see *Server connections*.", spans(4, over))))
	}
	return blocks
}

// declined names earlier pull requests. No word before a number may be one that closes an issue.
func (p *paper) declined() markdown {
	var numbers []markdown
	for _, n := range p.Declined[max(0, len(p.Declined)-5):] {
		numbers = append(numbers, say("#%d", n))
	}
	return say("Another proposal for this cluster was declined before: %s. The facts, or the Cluster file, have changed since.", enumerated(numbers))
}

func (p *paper) headline() markdown {
	name := span(p.Cluster.Metadata.Name)
	switch {
	case p.first():
		return say("First tree of %s: writer %s, %s.", name, orNone(p.want.Writer), counted(len(p.want.Members), "instance"))
	case p.writerMoves():
		said := say("The writer of %s moves from %s to %s", name, orNone(p.Declared.Writer), orNone(p.want.Writer))
		return joinedBy(append([]markdown{said}, p.moves()...), "; ") + "."
	}
	said := p.moves()
	switch {
	case len(said) > 0:
		return say("%s: %s.", name, joinedBy(said, "; "))
	case len(p.keyed.selectors) > 0:
		return say("%s: the selectors in Git are put right.", name)
	}
	return say("%s: the generated files change, and nobody's role does.", name)
}

// moves are the changes of membership but the writer's.
func (p *paper) moves() (said []markdown) {
	tell := func(names []string, one, many markdown) {
		if len(names) == 1 {
			said = append(said, spans(3, names)+" "+one)
		} else if len(names) > 1 {
			said = append(said, spans(3, names)+" "+many)
		}
	}
	before, after := names(p.Declared), names(p.want)
	in, out := without(p.want.Readers(), p.Declared.Readers()), without(p.Declared.Readers(), p.want.Readers())
	removed := without(before, after)
	tell(without(after, before), "gets an overlay", "get an overlay each")
	tell(removed, "is removed", "are removed")
	tell(without(in, []string{p.want.Writer}), "begins to serve readers", "begin to serve readers")
	tell(without(out, append(removed, p.want.Writer)), "serves readers no longer", "serve readers no longer")
	switch {
	case p.want.Fallback && !p.Declared.Fallback:
		said = append(said, "the writer serves readers too, for want of readers")
	case !p.want.Fallback && p.Declared.Fallback:
		said = append(said, "the writer serves readers no longer")
	}
	return said
}

// epoch says whether selectors change, by what is in the files: a person may have edited them.
func (p *paper) epoch() markdown {
	text := say("Epoch %d → %d", p.Declared.Epoch, p.want.Epoch)
	switch {
	case p.first():
		return say("Epoch %d.", p.want.Epoch)
	case p.Declared.Epoch == p.want.Epoch:
		text = say("The epoch stays %d", p.want.Epoch)
	}
	if len(p.keyed.selectors) == 0 {
		return text + ", and no selector changes."
	}
	return text + "; **selectors change**."
}

// extent counts what the change touches.
func (p *paper) extent() markdown {
	if !p.built() {
		return "What differs: " + counted(len(p.files), "file") + "; what that means for objects and pods is not known, because the trees were not built."
	}
	return say("%s. %s", tally(p.changes), p.restarts())
}

// restarts says whose pods are replaced.
func (p *paper) restarts() markdown {
	rolled := p.rolled()
	switch len(rolled) {
	case 0:
		return "No pod is replaced."
	case len(p.objects.instances()):
		if len(rolled) > 1 {
			return say("**The pods of all %d instances are replaced**, each instance's one after the other.", len(rolled))
		}
	}
	return say("**The pods of %s are replaced**, one after the other.", spans(4, rolled))
}

// rolled are the instances whose running pods the change replaces.
func (p *paper) rolled() (names []string) {
	for _, c := range p.changes {
		if c.replacesPods && !slices.Contains(names, c.instance) {
			names = append(names, c.instance)
		}
	}
	return names
}

// why is a list of reasons for each step.
func (p *paper) why() []block {
	blocks := []block{heading("Why")}
	for i, s := range p.Steps {
		if len(p.Steps) > 1 {
			blocks = append(blocks, paragraph(say("**%d. %s** (a commit of its own, epoch %d)", i+1, titled(s.Class.String()), s.Want.Epoch)))
		}
		blocks = append(blocks, list(3_000/len(p.Steps), "%d more reasons", p.reasons(s)))
	}
	if also := p.conditions(); len(also) > 0 {
		blocks = append(blocks, paragraph("Also known, and not changed by this:"), list(2_000, "%d more conditions", also))
	}
	return blocks
}

func (p *paper) reasons(s plan.Plan) (said []markdown) {
	if s.Class == plan.ConfigChange {
		return []markdown{p.redrawn(s)}
	}
	for _, r := range s.Reasons {
		if isAction(r) {
			said = append(said, sentence(r))
		}
	}
	if len(said) == 0 {
		return []markdown{"no reason is recorded"}
	}
	return said
}

// redrawn says why files are drawn anew, and no more than is known.
func (p *paper) redrawn(s plan.Plan) markdown {
	switch p.LastFacts {
	case "":
		return "The Cluster file and `topology.yaml` give other files than Git has."
	case s.Want.Facts(p.Spec):
		return "The Cluster file and the membership are those of poolwright's last commit, and yet the files are not what they give: " +
			"they were edited by hand, or drawn without `custom/` or by another version. This puts them right."
	}
	return "The Cluster file or `topology.yaml` has changed since poolwright's last commit, and the generated files follow."
}

// conditions are what is known besides, each once.
func (p *paper) conditions() (said []markdown) {
	for _, s := range p.Steps {
		for _, r := range s.Reasons {
			text := sentence(r)
			if r.NeedsPerson() {
				text += " **It waits for a person.**"
			}
			if !isAction(r) && !slices.Contains(said, text) {
				said = append(said, text)
			}
		}
	}
	return said
}

// isAction tells reasons of what is done from refusals and conditions, which follow them in the enum.
func isAction(r plan.Reason) bool { return r.Code < plan.Doubted }

// verbs begin those sentences of reasons that continue an instance's name.
var verbs = []string{"is", "has", "fails", "says", "was", "would"}

// sentence is a reason with its instance.
func sentence(r plan.Reason) markdown {
	text := plan.Reason{Code: r.Code}.String()
	verb, _, _ := strings.Cut(text, " ")
	said := markdown(text)
	switch {
	case r.Instance == "":
		said = markdown(titled(text))
	case slices.Contains(verbs, verb):
		said = span(r.Instance) + " " + said
	default:
		said = span(r.Instance) + ": " + said
	}
	if r.Detail != "" {
		said += say(" (%s)", r.Detail)
	}
	return said + "."
}

// titled begins with a capital letter.
func titled(text string) string {
	return strings.ToUpper(text[:min(1, len(text))]) + text[min(1, len(text)):]
}

func names(s plan.State) []string {
	list := make([]string, len(s.Members))
	for i, m := range s.Members {
		list[i] = m.Name
	}
	return list
}

func without(list, gone []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(gone, s) })
}

func orNone(instance string) markdown {
	if instance == "" {
		return "none"
	}
	return span(instance)
}

// stamp is a time as people compare it.
func stamp(t time.Time) markdown {
	if t.IsZero() {
		return "an unknown time"
	}
	return markdown(t.UTC().Format("2006-01-02 15:04:05 UTC"))
}

// duration is "10s", "5m" or "1h30m".
func duration(d time.Duration) markdown {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return markdown(text)
}
