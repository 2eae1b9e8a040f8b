package pulltext

import (
	"github.com/poolwright/poolwright/plan"
)

// checks are what was checked, and how to do it again.
func (p *paper) checks() []block {
	blocks := []block{heading("Checked")}
	var items []markdown
	for _, c := range p.Checked {
		items = append(items, opening(c))
	}
	if len(items) == 0 {
		items = append(items, "Nothing was checked.")
	}
	blocks = append(blocks, list(3_000, "%d more checks", items))
	if len(p.Commands) > 0 {
		blocks = append(blocks, paragraph("To see for yourself, on a checkout of this branch:"), fenced(2_000, "%d more commands", "sh", p.Commands))
	}
	return blocks
}

// outcomes say what happens when it is merged, left open and closed.
func (p *paper) outcomes() []block {
	return []block{heading("Merge it, leave it, or close it"), list(3_000, "%d more", []markdown{
		"**Merged**: " + p.merged(),
		"**Left open**: " + p.meanwhile() + "poolwright updates it in place as the facts change, never by force, " +
			"and closes it with a reason when Git needs it no more. " +
			"Commits of yours on its branch stay; if you edit a generated file there, poolwright stops and says so. Yours are the Cluster file and `custom/`.",
		"**Closed without a merge**: " + p.closed(),
	})}
}

func (p *paper) meanwhile() markdown {
	if p.Ahead == nil {
		return ""
	}
	return "the Services are held where they are, against the GitOps tool. "
}

func (p *paper) merged() markdown {
	switch {
	case p.Ahead != nil:
		return "Git says what serves already. When the GitOps tool has applied it, poolwright hands the Services back to it. No client moves."
	case p.writerMoves():
		return say("the GitOps tool moves the two Services. Until then clients stay with %s.", orNone(p.Declared.Writer))
	case p.first():
		return "the GitOps tool creates the objects. Applications use them when they are pointed at the two Services."
	case p.Declared.Epoch != p.want.Epoch:
		return "the GitOps tool applies it; new connections of readers go by the new selector. The writer stays."
	case len(p.keyed.selectors) > 0:
		return "the GitOps tool applies it, and the Services select again what `topology.yaml` says."
	}
	return "the GitOps tool applies it. Whom the Services select does not change."
}

func (p *paper) closed() markdown {
	no := markdown("that is a no to exactly this change, and it is not proposed again. " +
		"When the facts or the Cluster file differ, another pull request names this one.")
	if p.Ahead == nil {
		return no
	}
	return say("the Services stay with %s, ahead of Git: poolwright takes nothing back that serves, defends it against the GitOps tool, "+
		"and reports the age of the debt. As for Git, ",
		span(p.Ahead.Writer)) + no
}

// rollback is the ways back, the one that fits this change first.
func (p *paper) rollback() []block {
	items := append(p.caution(),
		say("After the merge: revert it (`git revert`, or the button *Revert*). poolwright then holds %s and does not make this change again%s. "+
			"`poolwright resume`, another fact from the databases or an edited Cluster file ends the hold.", span(p.Cluster.Metadata.Name), p.holdTime()),
		"To stop everything: `spec.paused: true` in the Cluster file. From the next look on there is no commit "+
			"and no live change for this cluster; alerts go on."+p.unprotected(),
	)
	return []block{heading("Roll back"), list(3_000, "%d more ways", items)}
}

func (p *paper) holdTime() markdown {
	if p.RevertHold > 0 {
		return ", for " + duration(p.RevertHold)
	}
	return ", for as long as the facts stay as they are"
}

func (p *paper) unprotected() markdown {
	if p.Ahead == nil {
		return ""
	}
	return " What serves ahead of Git is then no longer defended: the GitOps tool can put the old writer back."
}

// caution is what a revert of this change does not do.
func (p *paper) caution() []markdown {
	switch {
	case p.writerMoves() && p.want.Writer != "" && p.Declared.Writer != "":
		return []markdown{say("A revert moves the Services, not the database: while %s is the writer, %s refuses every write that a revert sends there. "+
			"To move the writer back, fail over in the database; poolwright follows.", span(p.want.Writer), span(p.Declared.Writer))}
	case p.class() == plan.ConfigChange && p.LastFacts == p.want.Facts(p.Spec):
		return []markdown{"If the edit by hand was meant: generated files do not keep it. The Cluster file and `custom/` do."}
	case p.class() == plan.ConfigChange:
		return []markdown{"If a setting is wrong, change it in the Cluster file: the generated files follow. " +
			"A revert of these files alone leaves the Cluster file ahead of them."}
	case p.first():
		return []markdown{"A revert takes the poolers away, and with them whoever is connected by then. " +
			"The role Services are marked so that neither tool prunes them."}
	case len(without(names(p.Declared), names(p.want))) > 0:
		return []markdown{"A revert draws the removed overlays again. " +
			"Their poolers have something to connect to only if the instances still exist."}
	}
	return nil
}
