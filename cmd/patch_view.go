package cmd

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/poolwright/poolwright/live"
)

// patchView is an order for machines: what is, what would be, what speaks for it, and what became of it.
type patchView struct {
	Cluster   string `json:"cluster"`
	Namespace string `json:"namespace"`
	// Applied is the epoch that is applied from Git, Epoch that of the order.
	Applied    uint64           `json:"applied"`
	Epoch      uint64           `json:"epoch"`
	From       string           `json:"from,omitempty"`
	To         string           `json:"to"`
	Services   []movedView      `json:"services"`
	Evidence   evidenceView     `json:"evidence"`
	Reasons    []reasonView     `json:"reasons,omitempty"`
	Conditions []live.Condition `json:"conditions,omitempty"`
	Pause      *live.Pause      `json:"pause,omitempty"`
	// Writes are those that the order takes, Writer first.
	Writes []writeView `json:"writes,omitempty"`
	// Order is as it was written down, Moved the Services that were moved; neither before consent, nor in a dry run.
	Order *live.Order `json:"order,omitempty"`
	Moved []string    `json:"moved,omitempty"`
}

// movedView is one Service of an order.
type movedView struct {
	Role   live.Role `json:"role"`
	Name   string    `json:"name"`
	Exists bool      `json:"exists"`
	Now    string    `json:"now,omitempty"`
	Since  string    `json:"since,omitempty"`
	Would  string    `json:"wouldBe"`
	Owner  string    `json:"owner,omitempty"`
	// Selector is what it is to select.
	Selector map[string]string `json:"selector"`
}

// evidenceView is what is known of the instance that is to be the writer.
type evidenceView struct {
	Pods    string   `json:"readyPods"`
	Says    string   `json:"says"`
	Against []string `json:"against,omitempty"`
}

type writeView struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
}

func (m motion) view() patchView {
	v := patchView{
		Cluster: m.names.Cluster, Namespace: m.names.Namespace, Applied: m.state.Epoch, Epoch: m.want.Epoch, From: m.state.Writer, To: m.want.To,
		Evidence:   evidenceView{m.proof.pods(), m.proof.says(), m.proof.objections(m.want.To)},
		Conditions: m.verdict.Conditions, Pause: m.sight.Control.Pause, Order: m.order, Moved: m.moved,
	}
	for _, t := range m.want.Roles {
		v.Services = append(v.Services, m.serviceView(t, m.sight.Services[t.Role]))
	}
	for _, r := range m.decided.Reasons {
		v.Reasons = append(v.Reasons, reasonOf(r))
	}
	for _, w := range m.writes() {
		v.Writes = append(v.Writes, writeView{w.Name, w.Kind.String()})
	}
	return v
}

func (m motion) serviceView(t live.Target, svc *corev1.Service) movedView {
	v := movedView{Role: t.Role, Name: m.names.Services[t.Role], Exists: svc != nil, Would: whom(m.decided.Want, t.Select), Selector: t.Select}
	if svc != nil {
		v.Now, v.Since, v.Owner = whom(m.state, svc.Spec.Selector), m.since(svc), ownerText(live.OwnerOf(svc))
	}
	return v
}

// since is when the Service began to select what it does, and who set it.
func (m motion) since(svc *corev1.Service) string {
	if r := m.sight.Record(); r != nil {
		return stamp(r.At) + " by poolwright, ahead of Git"
	}
	manager, at := selectorOwner(svc)
	if at.IsZero() {
		return "-"
	}
	return stamp(at) + " by " + manager
}

// show tells what is, what would be, and the evidence.
func (m motion) show(w io.Writer) error {
	v := m.view()
	fmt.Fprintf(w, "cluster  %s/%s, epoch %d as applied from Git, epoch %d by this order\n", v.Namespace, v.Cluster, v.Applied, v.Epoch)
	rows := [][]string{{"SERVICE", "NOW", "SINCE", "WOULD BE", "OWNER"}}
	for _, s := range v.Services {
		if s.Exists {
			rows = append(rows, []string{s.Name, s.Now, s.Since, s.Would, s.Owner})
		} else {
			rows = append(rows, []string{s.Name, "does not exist", "-", s.Would, "-"})
		}
	}
	if err := table(w, rows); err != nil {
		return err
	}
	fmt.Fprintf(w, "evidence for %s:\n", v.To)
	if err := table(w, [][]string{{"  ready pods", v.Evidence.Pods}, {"  it says", v.Evidence.Says}}); err != nil {
		return err
	}
	for _, r := range v.Reasons {
		fmt.Fprintf(w, "- %s\n", printable(r.Text))
	}
	for _, c := range v.Conditions {
		fmt.Fprintf(w, "- %s\n", printable(conditionText(c)))
	}
	if p := v.Pause; p != nil {
		fmt.Fprintf(w, "- %s is paused by %s (%s): nothing is carried into Git before `%s`\n", v.Cluster, printable(p.By), printable(p.Reason), m.command("resume"))
	}
	return nil
}

// showWrites tells a dry run's end.
func (m motion) showWrites(w io.Writer) {
	for _, write := range m.writes() {
		fmt.Fprintf(w, "would write %s: %s\n", write.Name, write.Kind)
	}
	for _, t := range m.want.Roles {
		fmt.Fprintf(w, "%s would select %s\n", m.names.Services[t.Role], selectorText(t.Select))
	}
}

// after tells what to expect, and how to take it back.
func (m motion) after(w io.Writer) {
	if !slices.ContainsFunc(m.want.Roles, m.isElsewhere) {
		fmt.Fprintf(w, "nothing to move: the Services select that already\n")
	}
	fmt.Fprintf(w, "expect   %s\n", m.expectation())
	if m.want.To != m.state.Writer {
		file := "cluster.yaml"
		if m.declared != nil {
			file = m.address[1]
		}
		fmt.Fprintf(w, "without  in a checkout, once the databases agree: %s && git commit -am %s && git push\n",
			commandLine("render", "-f", file, "--out", "clusters/"+m.names.Cluster), quoted(m.want.Reason))
	}
	fmt.Fprintf(w, "undo     %s (Git says %s until the commit is applied)\n", m.command("release", "--force"), cmp.Or(m.state.Writer, "no writer"))
	if m.order != nil {
		fmt.Fprintf(w, "until    %s the order stands; then the databases are believed again, and if they say another writer, a failover to that one follows\n", stamp(m.order.Until))
	}
	fmt.Fprintf(w, "watch    %s\n", m.command("status", "--watch"))
}

// expectation is what happens next where a poolwright runs.
func (m motion) expectation() string {
	when := ""
	if m.sight.Control.Pause != nil {
		when = "after `" + m.command("resume") + "` "
	}
	if m.want.To == m.state.Writer && m.want.Epoch == m.state.Epoch {
		return fmt.Sprintf("%sa poolwright that runs hands the Services back: what is applied from Git says this already, as epoch %d", when, m.want.Epoch)
	}
	applied := "somebody has applied it (no GitOps tool says that it does)"
	if o := live.OwnerOf(m.sight.Services[live.Writer]); o.Tool != live.NoTool {
		applied = ownerText(o) + " has applied it"
	}
	return fmt.Sprintf("%sa poolwright that runs commits this as epoch %d, with your reason; when %s, it hands the Services back", when, m.want.Epoch, applied)
}
