package cmd

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/poolwright/poolwright/discovery"
	"github.com/poolwright/poolwright/gitsync"
	"github.com/poolwright/poolwright/live"
	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/render"
)

// evidence is everything a proposal rests on but the base.
type evidence struct {
	// Seen is what Topology was made of.
	Seen     discovery.Observation
	Topology discovery.Topology
	Memory   plan.Memory
	// Window is true while a failover window is open.
	Window bool
	Now    time.Time
	// Ready is the number of ready pods a member; nil while Kubernetes is not in reach.
	Ready map[string]int
	// Order is a person's word about the writer, nil when there is none.
	Order *plan.Order
	// PausedBy is who paused the cluster in Kubernetes and why, "" when nobody did.
	PausedBy string
	// Known are the records of overrides that were seen before the databases were asked.
	Known []live.Record
	// Applied is the epoch that the live Services have been brought to; 0 when that is not known.
	Applied uint64
	// Resumed is when a person last lifted what reverts hold.
	Resumed time.Time
	// Spent is the newest epoch that is live already, or was taken back: no decision has it again.
	Spent uint64
	// Wish is true for what a pull request is to say: nothing waits for a review, or for others to come along.
	Wish bool
}

// proposal is one decision and what it would change in Git.
type proposal struct {
	Plan plan.Plan
	// Change is empty when the decision writes nothing.
	Change gitsync.Change
}

// steps bounds how many commits one look at a cluster can come to: a failover,
// then overlays, then membership, then the configuration.
const steps = 4

// propose decides on base and draws what follows, step by step, until nothing
// differs. It is the one way from evidence to commits: the loop, each retry on
// a moved head and `diff` use it. It has no side effect.
func propose(d declaration, base gitsync.Base, e evidence) ([]proposal, error) {
	var all []proposal
	for range steps {
		next, err := proposeOne(d, base, e)
		if err != nil {
			return nil, err
		}
		if next.Plan.Action == plan.Hold || next.empty() {
			if len(all) == 0 {
				all = append(all, next)
			}
			return all, nil
		}
		all = append(all, next)
		base = advanced(d, base, next)
	}
	return all, nil
}

// advanced is base after a proposal: its files, and our commit at the top of the
// log, which stands, so that reverts before it are past.
func advanced(d declaration, base gitsync.Base, p proposal) gitsync.Base {
	if p.empty() {
		return base
	}
	base.Files = applied(base.Files, p.Change)
	base.Log = slices.Insert(slices.Clone(base.Log), 0, gitsync.Commit{Trailers: map[string]string{
		render.TrailerCluster: d.Metadata.Name,
		render.TrailerEpoch:   strconv.FormatUint(p.Plan.Want.Epoch, 10),
		render.TrailerFacts:   p.Plan.Want.Facts(d.Spec),
	}})
	return base
}

// proposeOne decides once.
func proposeOne(d declaration, base gitsync.Base, e evidence) (proposal, error) {
	saw, err := observationOn(d, base, e)
	if err != nil {
		return proposal{}, err
	}
	decided, _ := plan.Decide(e.Memory, saw, rulesOf(d, e), e.Now)
	if decided.Action == plan.Hold || decided.ByReview {
		return proposal{Plan: decided}, nil
	}
	return drawn(d, base, saw.Declared.State, decided, e)
}

// observationOn joins what was seen with what base declares.
func observationOn(d declaration, base gitsync.Base, e evidence) (plan.Observation, error) {
	declared, err := declaredIn(d, base, e.Resumed)
	declared.LastEpoch = max(declared.LastEpoch, e.Spent)
	return plan.Observation{
		Topology: e.Topology, Declared: declared, Ready: e.Ready, Order: e.Order, Window: e.Window,
		Pinned: render.Pinned(declared.State, base.Files),
	}, err
}

// drawing draws a decision on base: of a failover two files, and of anything else no change of the declaration that needs a review.
func drawing(d declaration, base gitsync.Base, declared plan.State, decided plan.Plan, e evidence) (render.Tree, error) {
	given := render.GivenIn(base.Files)
	if decided.Action == plan.Failover {
		return render.DrawSwitch(d.Cluster, decided.Want, given)
	}
	tree, err := render.Draw(d.Cluster, decided.Want, given)
	if err != nil || e.Wish || declared.Epoch == 0 || !reviewedIn(d)[plan.ConfigChange] {
		return tree, err
	}
	before, err := render.Draw(d.Cluster, declared, given)
	return withoutConfig(base.Files, tree, before), err
}

// drawn draws a decision on base.
func drawn(d declaration, base gitsync.Base, declared plan.State, decided plan.Plan, e evidence) (proposal, error) {
	tree, err := drawing(d, base, declared, decided, e)
	if err != nil {
		return proposal{}, fmt.Errorf("drawing %s: %w", d.Metadata.Name, err)
	}
	if foreign := inTheWay(base.Files, tree); len(foreign) > 0 {
		return proposal{}, exitf(ExitRefused, "", "drawing %s: %s is not poolwright's and stands in the way", d.Metadata.Name, strings.Join(foreign, ", "))
	}
	put, gone := render.Changes(base.Files, tree, decided.Action == plan.Failover)
	if len(put)+len(gone) == 0 {
		return proposal{Plan: decided}, nil
	}
	if decided.Action == plan.Keep {
		decided.Action, decided.Class = plan.Publish, plan.ConfigChange
	}
	message, err := render.Message(d.Cluster, render.Draft{
		Decided: decided, Declared: declared, Spec: d.Spec,
		LastFacts: lastFacts(ours(base.Log, d.Metadata.Name)), Files: append(sortedKeys(put), gone...),
	})
	if err != nil {
		return proposal{}, fmt.Errorf("writing the commit message of %s: %w", d.Metadata.Name, err)
	}
	change := gitsync.Change{Dir: d.Dir(), Put: put, Delete: gone, Message: message, When: e.Now}
	return proposal{Plan: decided, Change: change}, nil
}

// inTheWay are a person's files at places that a drawing writes to. One in an
// overlay that is no longer drawn is in nobody's way: it pins the overlay.
func inTheWay(files gitsync.Files, tree render.Tree) []string {
	return slices.DeleteFunc(render.Foreign(files, tree), func(name string) bool { return tree[name] == nil })
}

func (p proposal) empty() bool { return len(p.Change.Put)+len(p.Change.Delete) == 0 }

// declaredIn reads what Git says about a cluster. Reverts from before a person's
// `resume` are past.
func declaredIn(d declaration, base gitsync.Base, resumed time.Time) (plan.Declared, error) {
	state, err := render.ReadBack(d.Metadata.Name, base.Files)
	if err != nil {
		return plan.Declared{}, fmt.Errorf("reading %s back: %w", d.Dir(), err)
	}
	declared := plan.Declared{State: state, LastEpoch: lastEpoch(ours(base.Log, d.Metadata.Name))}
	for _, r := range gitsync.ReversalsOf(base.Log, render.TrailerCluster, d.Metadata.Name) {
		if resumed.IsZero() || r.By.When.After(resumed) {
			declared.Reverted = append(declared.Reverted, plan.Revert{By: r.By.Hash, Facts: r.Of.Trailers[render.TrailerFacts], At: r.By.When})
		}
	}
	return declared, nil
}

// applied is files after change; files itself stays as it is.
func applied(files gitsync.Files, change gitsync.Change) gitsync.Files {
	next := make(gitsync.Files, len(files)+len(change.Put))
	maps.Copy(next, files)
	maps.Copy(next, change.Put)
	for _, path := range change.Delete {
		delete(next, path)
	}
	return next
}

// ours are the commits of ours about a cluster, newest first, reverted or not.
func ours(log []gitsync.Commit, cluster string) (found []gitsync.Commit) {
	for _, c := range log {
		if c.Trailers[render.TrailerCluster] == cluster {
			found = append(found, c)
		}
	}
	return found
}

// lastEpoch is the newest epoch that a commit of ours carried.
func lastEpoch(ours []gitsync.Commit) (last uint64) {
	for _, c := range ours {
		if n, err := strconv.ParseUint(c.Trailers[render.TrailerEpoch], 10, 64); err == nil && n <= render.MaxEpoch {
			last = max(last, n)
		}
	}
	return last
}

// lastFacts is what our newest commit was made for, "" when there is none.
func lastFacts(ours []gitsync.Commit) string {
	if len(ours) == 0 {
		return ""
	}
	return ours[0].Trailers[render.TrailerFacts]
}
