package cmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/poolwright/poolwright/discovery"
	"github.com/poolwright/poolwright/live"
	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/render"
)

// motion is one order: what is, what would be, and what speaks for it.
type motion struct {
	site
	now     time.Time
	sight   live.Sight
	state   plan.State
	decided plan.Plan
	proof   proof
	want    live.Want
	verdict live.Verdict
}

// motion works out what an order comes to. Nothing is written.
func (s site) motion(ctx context.Context, world outside, c PatchCmd) (motion, error) {
	m := motion{site: s, now: world.Now()}
	var err error
	if m.sight, err = s.look(ctx); err != nil {
		return m, err
	}
	for _, role := range []live.Role{live.Writer, live.Reader} {
		if _, err := s.service(m.sight, role); err != nil {
			return m, err
		}
	}
	if m.state, err = s.state(m.sight); err != nil {
		return m, err
	}
	member, ok := m.state.Member(c.To)
	if !ok {
		return m, exitf(ExitRefused, "", "moving the Services of %s: it has no pooler for %q; there are %s", s.names.Cluster, c.To, memberNames(m.state))
	}
	m.proof = s.prove(ctx, world, m.sight, member)
	by := s.whoami(ctx)
	m.decided = m.decide(c, by)
	m.want = m.wanted(c, by)
	m.verdict = live.Next(m.sight, m.want, m.now)
	return m, nil
}

// decide is the plan for the order, as a poolwright that runs will make it: the same selectors and the same epoch.
func (m motion) decide(c PatchCmd, by string) plan.Plan {
	if c.To == m.state.Writer {
		return plan.Plan{Want: m.state}
	}
	rules := plan.DefaultRules()
	if m.declared != nil {
		rules = rulesOf(*m.declared, evidence{})
	}
	rules.Paused, rules.BatchWindow = false, 0
	saw := plan.Observation{
		Topology: ordered(m.state, c.To), Declared: plan.Declared{State: m.state},
		Order: &plan.Order{Writer: c.To, Reason: c.Reason, By: by, Until: m.now.Add(c.For)},
	}
	if r := m.sight.Record(); r != nil {
		saw.Declared.LastEpoch = r.Epoch
	}
	decided, _ := plan.Decide(plan.Memory{}, saw, rules, m.now)
	if r := m.sight.Record(); r != nil && sameMembership(*r, render.Select(m.names.Cluster, decided.Want)) {
		decided.Want.Epoch = r.Epoch // the override that stands says it already
	}
	return decided
}

// sameMembership reports whether a record selects what sel does.
func sameMembership(r live.Record, sel render.Selectors) bool {
	return maps.Equal(r.Select[live.Writer], sel.Writer) && maps.Equal(r.Select[live.Reader], sel.Reader)
}

// ordered is the topology that a person states: everybody as declared, and another writer.
func ordered(s plan.State, writer string) discovery.Topology {
	var t discovery.Topology
	for _, m := range s.Members {
		if m.Out == plan.Missing && m.Name != writer {
			continue
		}
		i := discovery.Instance{Name: m.Name, Resource: m.Resource, Host: m.Host, Port: m.Port, Zone: m.Zone, Role: discovery.Reader, Deleting: m.Out == plan.Deleting}
		if m.Name == writer {
			i.Role = discovery.Writer
		}
		t.Instances = append(t.Instances, i)
	}
	return t
}

// wanted is the decision as live takes it.
func (m motion) wanted(c PatchCmd, by string) live.Want {
	to, from := render.Select(m.names.Cluster, m.decided.Want), render.Select(m.names.Cluster, m.state)
	return live.Want{
		Epoch: m.decided.Want.Epoch, Known: knownEpoch(m.sight, true), From: m.state.Writer, To: c.To, Reason: c.Reason, By: by, Begin: m.decided.Action == plan.Failover,
		Roles: []live.Target{
			{Role: live.Writer, Select: to.Writer, Declared: from.Writer},
			{Role: live.Reader, Select: to.Reader, Declared: from.Reader},
		},
	}
}

// writes are those that move and record; handing back is not for an order to do.
func (m motion) writes() []live.Write {
	return slices.DeleteFunc(slices.Clone(m.verdict.Writes), func(w live.Write) bool {
		return w.Kind != live.Override && w.Kind != live.Reassert && w.Kind != live.Mirror
	})
}

// refusal is the error about what speaks against the order, nil when nothing does.
func (m motion) refusal(c PatchCmd) error {
	against := m.proof.objections(c.To)
	if m.decided.Action == plan.Hold {
		return exitf(ExitRefused, "", "moving the Services of %s: %s", m.names.Cluster, reasonsText(m.decided.Reasons))
	}
	if len(against) == 0 || c.Force {
		return nil
	}
	return exitf(ExitRefused, m.command("patch", c.words("--force")...), "moving the Services of %s: %s", m.names.Cluster, strings.Join(against, "; "))
}

// show tells what is, what would be, and the evidence.
func (m motion) show(w io.Writer) error {
	fmt.Fprintf(w, "cluster  %s/%s, epoch %d as applied from Git, epoch %d by this order\n", m.names.Namespace, m.names.Cluster, m.state.Epoch, m.want.Epoch)
	rows := [][]string{{"SERVICE", "NOW", "SINCE", "WOULD BE", "OWNER"}}
	for _, t := range m.want.Roles {
		svc := m.sight.Services[t.Role]
		rows = append(rows, []string{
			svc.Name, whom(m.state, svc.Spec.Selector), m.since(svc), whom(m.decided.Want, t.Select), ownerText(live.OwnerOf(svc)),
		})
	}
	if err := table(w, rows); err != nil {
		return err
	}
	fmt.Fprintf(w, "evidence for %s:\n", m.want.To)
	if err := table(w, [][]string{{"  ready pods", m.proof.pods()}, {"  it says", m.proof.says()}}); err != nil {
		return err
	}
	for _, r := range m.decided.Reasons {
		fmt.Fprintf(w, "- %s\n", printable(r.String()))
	}
	if p := m.sight.Control.Pause; p != nil {
		fmt.Fprintf(w, "- %s is paused by %s (%s): nothing is carried into Git before `%s`\n", m.names.Cluster, printable(p.By), printable(p.Reason), m.command("resume"))
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

// after tells what to expect, and how to take it back.
func (m motion) after(w io.Writer, order live.Order, written bool) {
	owner := ownerText(live.OwnerOf(m.sight.Services[live.Writer]))
	if len(m.writes()) == 0 {
		fmt.Fprintf(w, "nothing to move: the Services select that already\n")
	}
	fmt.Fprintf(w, "expect   a poolwright that runs commits this as epoch %d, with your reason; when %s has applied it, it hands the Services back\n", m.want.Epoch, owner)
	file := "cluster.yaml"
	if m.declared != nil {
		file = m.address[1]
	}
	fmt.Fprintf(w, "without  in a checkout, once the databases agree: %s && git commit -am %s && git push\n",
		commandLine("render", "-f", file, "--out", "clusters/"+m.names.Cluster), quoted(m.want.Reason))
	fmt.Fprintf(w, "undo     %s (Git says %s until the commit is applied)\n", m.command("release", "--force"), cmp.Or(m.state.Writer, "no writer"))
	if written {
		fmt.Fprintf(w, "until    %s the order stands; then the databases are believed again, and nothing is undone by that\n", stamp(order.Until))
	}
	fmt.Fprintf(w, "watch    %s\n", m.command("status", "--watch"))
}
