package cmd

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/poolwright/poolwright/discovery"
	"github.com/poolwright/poolwright/live"
	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/render"
)

// motion is one order: what is, what would be, and what speaks for it.
type motion struct {
	site
	by      caller
	world   outside
	lease   leaseView
	now     time.Time // by the clock that counts
	sight   live.Sight
	state   plan.State
	decided plan.Plan
	proof   proof
	want    live.Want
	verdict live.Verdict

	// order is what was written down, moved the Services that were moved: for those who look at what became of it.
	order *live.Order
	moved []string
}

// motion works out what an order comes to. Nothing is written.
func (s site) motion(ctx context.Context, world outside, c PatchCmd) (m motion, err error) {
	m.site, m.world, m.lease = s, world, c.view(s.kube)
	if m.sight, err = s.look(ctx); err != nil {
		return m, err
	}
	if err := s.movable(m.sight); err != nil {
		return m, err
	}
	if m.state, err = s.state(m.sight); err != nil {
		return m, err
	}
	member, ok := m.state.Member(c.To)
	if !ok {
		return m, exitf(ExitRefused, "", "moving the Services of %s: it has no pooler for %q; there are %s", s.names.Cluster, c.To, memberNames(m.state))
	}
	m.proof = s.prove(ctx, world, m.sight, member)
	m.by = s.caller(ctx, world.Now())
	m.now = m.by.now
	m.decided = m.decide(c, m.by.name)
	m.want = m.wanted(c)
	m.verdict = live.Next(m.sight, m.want, m.now)
	return m, nil
}

// movable refuses an order where there is no Writer Service to move, or where a Service is somebody else's. A Reader that does not
// exist is said, and keeps the Writer from nothing.
func (s site) movable(sight live.Sight) error {
	if s.names.Services[live.Writer] == "" {
		return exitf(ExitRefused, "", "moving the Services of %s: it has no writer: it is a global secondary, and has a Reader Service only", s.names.Cluster)
	}
	if err := s.unusable(sight, live.Writer); err != nil {
		return err
	}
	if r := sight.Services[live.Reader]; r == nil || r.DeletionTimestamp != nil {
		return nil
	}
	return s.unusable(sight, live.Reader)
}

// decide is the plan for the order, as a poolwright that runs will make it: the same selectors and the same epoch.
func (m motion) decide(c PatchCmd, by string) plan.Plan {
	if c.To == m.state.Writer {
		return m.back()
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
	saw.Declared.LastEpoch = m.newestEpoch()
	decided, _ := plan.Decide(plan.Memory{}, saw, rules, m.now)
	if r := m.sight.Record(); r != nil && sameMembership(*r, render.Select(m.names.Cluster, decided.Want)) {
		decided.Want.Epoch = r.Epoch // the override that stands says it already
	}
	return decided
}

// back is the plan for the writer that is applied. Where an override stands, its epoch is beyond that: Git may have gone on since.
func (m motion) back() plan.Plan {
	want := m.state
	if r := m.sight.Record(); r != nil && !sameMembership(*r, render.Select(m.names.Cluster, want)) {
		want.Epoch = m.newestEpoch() + 1
	}
	return plan.Plan{Want: want}
}

// newestEpoch is the newest that anything live has, or had.
func (m motion) newestEpoch() uint64 { return max(m.sight.LastEpoch(), m.sight.SpentEpoch()) }

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

// wanted is the decision as live takes it. An order begins wherever a Service is elsewhere, also when Git says the same already.
func (m motion) wanted(c PatchCmd) live.Want {
	to, from := render.Select(m.names.Cluster, m.decided.Want), render.Select(m.names.Cluster, m.state)
	w := live.Want{
		Epoch: m.decided.Want.Epoch, Known: m.sight.Records(), From: m.state.Writer, To: c.To, Reason: c.Reason,
		By: m.by.name, Until: whole(m.now.Add(c.For)),
		Roles: []live.Target{
			{Role: live.Writer, Select: to.Writer, Declared: from.Writer},
			{Role: live.Reader, Select: to.Reader, Declared: from.Reader},
		},
	}
	w.Begin = m.decided.Action == plan.Failover || slices.ContainsFunc(w.Roles, m.isElsewhere)
	return w
}

// isElsewhere reports whether a Service that exists does not select what it is to.
func (m motion) isElsewhere(t live.Target) bool {
	svc := m.sight.Services[t.Role]
	if svc == nil {
		return false
	}
	return !maps.Equal(live.OurKeys(svc.Spec.Selector), t.Select)
}

// writes are those of the order.
func (m motion) writes() []live.Write { return moving(m.verdict.Writes) }

// moving are the writes that move and record; handing back is not for an order to do.
func moving(writes []live.Write) []live.Write {
	return slices.DeleteFunc(slices.Clone(writes), func(w live.Write) bool {
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
