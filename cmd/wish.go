package cmd

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/poolwright/poolwright/gitsync"
	"github.com/poolwright/poolwright/gitsync/forge"
	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/render"
	"github.com/poolwright/poolwright/render/build"
	"github.com/poolwright/poolwright/render/pulltext"
)

// wish is everything that a pull request of a cluster is to say: all that its databases and its declaration want of Git, whoever has to
// agree.
type wish struct {
	declaration
	evidence  evidence
	base      gitsync.Base
	after     gitsync.Files
	declared  plan.State
	proposals []proposal
}

// wishOn decides without waiting for a review, on a base to which nothing may be committed any more. ok is false where something else
// holds: then an open pull request stays as it is.
func wishOn(d declaration, base gitsync.Base, e evidence) (w wish, ok bool, err error) {
	e.Wish = true
	w = wish{declaration: d, evidence: e, base: base, after: base.Files}
	if w.proposals, err = propose(d, base, e); err != nil {
		return wish{}, false, err
	}
	if w.declared, err = render.ReadBack(d.Metadata.Name, base.Files); err != nil {
		return wish{}, false, fmt.Errorf("reading %s back: %w", d.Dir(), err)
	}
	for _, p := range w.proposals {
		w.after = applied(w.after, p.Change)
	}
	return w, w.proposals[0].Plan.Action != plan.Hold, nil
}

// empty reports whether Git is as wished.
func (w wish) empty() bool { return len(w.proposals) == 0 || w.proposals[0].empty() }

// last is the decision that the branch ends with.
func (w wish) last() plan.Plan { return w.proposals[len(w.proposals)-1].Plan }

// key stands for what is wished, whenever it was drawn: a no is one to a key.
func (w wish) key() string {
	if w.empty() {
		return ""
	}
	h := sha256.New()
	_, _ = io.WriteString(h, w.last().Want.Facts(w.Spec))
	for _, name := range sortedKeys(w.after) {
		if name != render.TopologyFile { // it has times; what else it says is in the facts
			fmt.Fprintf(h, "\n%q %x", name, sha256.Sum256(w.after[name]))
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// difference is what has to be written and deleted on the base, all steps at once.
func (w wish) difference() (put gitsync.Files, gone []string) {
	put = gitsync.Files{}
	for name, data := range w.after {
		if old, there := w.base.Files[name]; !there || string(old) != string(data) {
			put[name] = data
		}
	}
	for _, name := range sortedKeys(w.base.Files) {
		if _, stays := w.after[name]; !stays {
			gone = append(gone, name)
		}
	}
	return put, gone
}

// order is what the forge is asked to keep up. It has texts only where there is something to say.
func (w wish) order(builder *build.Builder, declined []int) (forge.Wish, error) {
	pull := w.Cluster.Spec.Publish.PullRequest
	o := forge.Wish{
		Cluster: w.Metadata.Name, Dir: w.Dir(), Branch: pull.Branch, Head: w.base.Head, Key: w.key(), Owned: render.Owned,
		Labels: pull.Labels, Reviewers: pull.Reviewers, Teams: pull.Teams, Assignees: pull.Assignees,
		Draft: pull.Draft, Merge: mergeOf[pull.Merge], Method: pull.Method,
	}
	if w.empty() {
		return o, nil
	}
	o.Put, o.Delete = w.difference()
	text, err := pulltext.Write(w.draft(builder, declined))
	if err != nil {
		return o, err
	}
	o.Title, o.Body, o.Message = text.Title, text.Body, w.message(text.Title)
	if a := w.ahead(); a != nil {
		o.Urgent = fmt.Sprintf("The live Services select %s as the writer already (epoch %d, since %s).", a.Writer, a.Epoch, stamp(a.Since))
	}
	return o, nil
}

var mergeOf = map[string]forge.Merge{"byPeople": forge.ByPeople, "auto": forge.Auto, "direct": forge.Direct}

// draft is what the description is about.
func (w wish) draft(builder *build.Builder, declined []int) pulltext.Draft {
	d := pulltext.Draft{
		Cluster: w.Cluster, Spec: w.Spec, LastFacts: lastFacts(ours(w.base.Log, w.Metadata.Name)), Declared: w.declared,
		Before: w.base.Files, After: w.after, Seen: w.evidence.Seen, Ahead: w.ahead(), Declined: declined,
		Branch: w.Cluster.Spec.Publish.PullRequest.Branch, RevertHold: time.Duration(w.Cluster.Spec.Publish.RevertHold), Version: readVersion().Version,
		Commands: []string{"poolwright check " + w.Dir()},
	}
	for _, p := range w.proposals {
		d.Steps = append(d.Steps, p.Plan)
	}
	d.BuiltBefore, d.BuiltAfter = built(builder, w.base.Files), built(builder, w.after)
	if d.BuiltAfter != nil {
		d.Checked = []string{"kustomize " + build.KustomizeVersion() + " builds the directory"}
	}
	return d
}

// built is nil when it does not build, and then the description says that it is not known.
func built(builder *build.Builder, files gitsync.Files) []byte {
	if len(files) == 0 {
		return nil
	}
	manifests, err := builder.Build(files)
	if err != nil {
		return nil
	}
	return manifests
}

// ahead is the newest override that Git does not say yet.
func (w wish) ahead() (newest *pulltext.Ahead) {
	for _, r := range w.evidence.Known {
		if r.Epoch > w.declared.Epoch && (newest == nil || r.Epoch > newest.Epoch) {
			newest = &pulltext.Ahead{Writer: r.To, Epoch: r.Epoch, Since: r.At}
		}
	}
	return newest
}

// message is the commit's: that of the only step, or a list of the steps with the trailers of the last.
func (w wish) message(title string) string {
	var steps []string
	for _, p := range w.proposals {
		subject, _, _ := strings.Cut(p.Change.Message, "\n")
		steps = append(steps, "- "+subject)
	}
	last := strings.TrimRight(w.proposals[len(w.proposals)-1].Change.Message, "\n")
	if len(steps) == 1 {
		return last + "\n"
	}
	return title + "\n\n" + strings.Join(steps, "\n") + last[strings.LastIndex(last, "\n\n"):] + "\n"
}

// byReview reports whether any change of the cluster needs a pull request.
func byReview(d declaration) bool {
	return slices.ContainsFunc(classes[:], func(c plan.Class) bool { return reviewedIn(d)[c] })
}

var classes = [...]plan.Class{plan.FailoverChange, plan.MembershipChange, plan.ScaleChange, plan.ConfigChange}

// reviewedIn are the classes of change that need a pull request.
func reviewedIn(d declaration) map[plan.Class]bool {
	p := d.Cluster.Spec.Publish.Policy
	by := map[plan.Class]bool{}
	for i, policy := range [...]string{p.Failover, p.Membership, p.Scale, p.Config} {
		if policy == "pullRequest" {
			by[classes[i]] = true
		}
	}
	return by
}
