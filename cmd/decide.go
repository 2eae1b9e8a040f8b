package cmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/discovery"
	"github.com/poolwright/poolwright/gitsync"
	"github.com/poolwright/poolwright/plan"
)

// PlanCmd says what would be decided.
type PlanCmd struct {
	ClusterFlag  `embed:""`
	SnapshotFlag `embed:""`
	TreeFlag     `embed:""`
	Output       `embed:""`
	ExitCode     bool `help:"Exit 1 when something would change."`
}

// Help is shown by --help.
func (PlanCmd) Help() string {
	return example("poolwright plan -f cluster.yaml --snapshot seen.yaml --tree clusters/example-pg")
}

// Run decides and tells.
func (c PlanCmd) Run(ctx context.Context, std *Stdio) error {
	o, err := outlook(ctx, c.File, c.SnapshotFlag, c.base)
	if err != nil {
		return err
	}
	v := o.view()
	if err := c.write(std.Out, v, func(w io.Writer) error { return writePlan(w, v) }); err != nil {
		return err
	}
	return o.verdict(c.ExitCode)
}

// prospect is everything that one look at a cluster comes to.
type prospect struct {
	declaration
	look      string // the command that shows the evidence
	topology  discovery.Topology
	base      gitsync.Base
	proposals []proposal
}

// baser reads what Git has for a cluster.
type baser func(context.Context, declaration) (gitsync.Base, error)

// outlook goes along the line up to the drawing, once, and writes nothing.
func outlook(ctx context.Context, file string, snapshot SnapshotFlag, read baser) (prospect, error) {
	d, err := declare(file)
	if err != nil {
		return prospect{}, err
	}
	d.Cluster.Spec.Publish.BatchWindow = 0 // the question is what is to come, not when
	seen, err := snapshot.observe(ctx, d)
	if err != nil {
		return prospect{}, err
	}
	base, err := read(ctx, d)
	if err != nil {
		return prospect{}, err
	}
	t := discovery.Merge(seen)
	proposals, err := propose(d, base, evidence{Topology: t, Now: seen.At})
	if err != nil {
		return prospect{}, err
	}
	return prospect{declaration: d, look: snapshot.command(file), topology: t, base: base, proposals: proposals}, nil
}

// after is the directory's files once all proposals are in.
func (o prospect) after() gitsync.Files {
	files := o.base.Files
	for _, p := range o.proposals {
		files = applied(files, p.Change)
	}
	return files
}

// verdict turns the outlook into an exit code.
func (o prospect) verdict(exitCode bool) error {
	if err := untrusted(o.topology, o.look); err != nil {
		return err
	}
	first := o.proposals[0]
	switch {
	case first.Plan.Action == plan.Hold || slices.ContainsFunc(first.Plan.Reasons, plan.Reason.NeedsPerson):
		return exitf(ExitRefused, "", "deciding: held for a person: %s", reasonsText(first.Plan.Reasons))
	case exitCode && !first.empty():
		return &ExitError{Code: ExitDiffers}
	}
	return nil
}

func reasonsText(reasons []plan.Reason) string {
	words := make([]string, len(reasons))
	for i, r := range reasons {
		words[i] = printable(r.String())
	}
	return strings.Join(words, "; ")
}

// planView is an outlook for machines.
type planView struct {
	Cluster string     `json:"cluster"`
	Trusted bool       `json:"trusted"`
	Doubts  []factView `json:"doubts,omitempty"`
	Steps   []stepView `json:"steps"`
}

// stepView is one decision: one commit when it changes files.
type stepView struct {
	Action   string       `json:"action"`
	Class    string       `json:"class,omitempty"`
	Epoch    uint64       `json:"epoch"`
	Writer   string       `json:"writer,omitempty"`
	Fallback bool         `json:"fallback,omitempty"`
	Members  []memberView `json:"members,omitempty"`
	Reasons  []reasonView `json:"reasons,omitempty"`
	Put      []string     `json:"put,omitempty"`
	Delete   []string     `json:"delete,omitempty"`
	Message  string       `json:"message,omitempty"`
}

type reasonView struct {
	factView `json:",inline"`
	// Text is the whole in one sentence.
	Text string `json:"text"`
}

type memberView struct {
	Name string `json:"name"`
	Slot int    `json:"slot"`
	Out  string `json:"out"`
	Host string `json:"host"`
}

func (o prospect) view() planView {
	v := planView{Cluster: o.Metadata.Name, Trusted: o.topology.Trusted(), Doubts: viewOf(o.topology).Doubts}
	for _, p := range o.proposals {
		v.Steps = append(v.Steps, stepOf(p))
	}
	return v
}

func stepOf(p proposal) stepView {
	s := stepView{
		Action: p.Plan.Action.String(), Class: p.Plan.Class.String(), Epoch: p.Plan.Want.Epoch, Writer: p.Plan.Want.Writer,
		Fallback: p.Plan.Want.Fallback, Put: sortedKeys(p.Change.Put), Delete: p.Change.Delete, Message: p.Change.Message,
	}
	for _, m := range p.Plan.Want.Members {
		s.Members = append(s.Members, memberView{m.Name, m.Slot, m.Out.String(), fmt.Sprintf("%s:%d", m.Host, m.Port)})
	}
	for _, r := range p.Plan.Reasons {
		s.Reasons = append(s.Reasons, reasonOf(r))
	}
	return s
}

func reasonOf(r plan.Reason) reasonView {
	return reasonView{factView{r.Code.String(), r.Instance, r.Detail}, r.String()}
}

// writePlan writes the decision for people.
func writePlan(w io.Writer, v planView) error {
	for i, s := range v.Steps {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := writeStep(w, v.Cluster, s); err != nil {
			return err
		}
	}
	return nil
}

func writeStep(w io.Writer, cluster string, s stepView) error {
	fmt.Fprintf(w, "%s: %s (epoch %d)\n", cluster, cmp.Or(s.Class, s.Action), s.Epoch)
	rows := [][]string{{"INSTANCE", "SLOT", "WRITER", "READER", "HOST"}}
	for _, m := range s.Members {
		rows = append(rows, []string{m.Name, fmt.Sprint(m.Slot), yes(m.Name == s.Writer), readerWord(s, m), m.Host})
	}
	if len(s.Members) > 0 {
		if err := table(w, rows); err != nil {
			return err
		}
	}
	for _, r := range s.Reasons {
		fmt.Fprintf(w, "- %s\n", printable(r.Text))
	}
	for _, name := range s.Put {
		fmt.Fprintf(w, "would write %s\n", name)
	}
	for _, name := range s.Delete {
		fmt.Fprintf(w, "would delete %s\n", printable(name))
	}
	return nil
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "-"
}

// readerWord says whether a member serves readers, and if not why.
func readerWord(s stepView, m memberView) string {
	switch {
	case m.Out != plan.In.String():
		return m.Out
	case m.Name != s.Writer:
		return "yes"
	case s.Fallback:
		return "fallback"
	}
	return "-"
}
