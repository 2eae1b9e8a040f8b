package evict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/poolwright/poolwright/live"
)

// survey is how it stands. It is called with the Runner locked.
func (r *Runner) survey(now time.Time) State {
	if r.entry == nil {
		return State{}
	}
	s := State{Phase: phaseOf(*r.entry), Eviction: *r.entry, Conditions: r.unrecorded()}
	if !r.entry.Open() {
		return s
	}
	s.Eviction.Evicted, s.Eviction.Returned, s.Moved = r.cuts.evicted, r.cuts.returned, r.situation.moved
	for _, w := range r.workers {
		p := w.report
		s.Pods = append(s.Pods, p)
		switch {
		case p.Side != Demoted || p.Done:
		case p.Clients < 0:
			s.Uncounted++
		default:
			s.Left += p.Clients
		}
	}
	slices.SortFunc(s.Pods, func(a, b Pod) int { return cmp.Compare(a.Name, b.Name) })
	s.Conditions = append(s.Conditions, r.conditions(s, now)...)
	live.SortConditions(s.Conditions)
	return s
}

func (r *Runner) object(kind, name string) string {
	return kind + " " + r.config.Names.Namespace + "/" + name
}

// unrecorded tells that the entry cannot be written.
func (r *Runner) unrecorded() []Condition {
	if r.record.err == nil {
		return nil
	}
	c := live.ControlTrouble(r.config.Names, r.record.err)
	return []Condition{{Code: Unrecorded, Object: r.object("configmap", live.ControlName(r.config.Names.Cluster)), Detail: c.Detail + "; nothing is disabled that a crash could leave behind", Hint: c.Hint}}
}

// conditions are what people should know of an open eviction.
func (r *Runner) conditions(s State, now time.Time) (found []Condition) {
	n := r.config.Names
	cluster := r.object("cluster", n.Cluster)
	say := func(code Code, object, detail, hint string) {
		found = append(found, Condition{Code: code, Object: object, Detail: detail, Hint: hint})
	}
	if r.config.Pods() == nil {
		say(PodsUnseen, cluster, "the pods cannot be seen, so nobody is cut", `add to the Role: {apiGroups: [""], resources: [pods], verbs: [list, watch]}`)
	}
	if r.seen.Paused {
		say(Paused, cluster, "nobody is cut while it is paused; what was disabled is enabled", "poolwright resume --cluster "+n.Cluster)
	}
	if r.slices.denied != nil {
		say(SlicesUnseen, r.object("endpointslices of service", n.Services[live.Writer]), live.ReasonOf(r.slices.denied)+"; time alone tells that the move has reached the nodes",
			"add to the Role: {apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [list]}")
	}
	for _, p := range s.Pods {
		switch object := r.object("pod", p.Name); {
		case p.Done && p.Side == Demoted:
		case p.refused != "":
			say(Stuck, object, strings.TrimPrefix(p.Detail+"; ", "; ")+p.refused, r.stuckHint(p))
		case p.failing:
			say(ConsoleFails, object, p.Detail, "poolwright doctor --cluster "+n.Cluster)
		}
	}
	if now.Sub(r.began) >= r.config.Within {
		say(Late, cluster, r.lateText(s), "poolwright status --cluster "+n.Cluster)
	}
	return found
}

func (r *Runner) stuckHint(p Pod) string {
	return fmt.Sprintf("kubectl -n %s delete pod %s --grace-period=0 --force; to let poolwright, add to the Role: {apiGroups: [\"\"], resources: [pods], verbs: [delete]}", r.config.Names.Namespace, p.Name)
}

// lateText says what it waits for.
func (r *Runner) lateText(s State) string {
	var waiting []string
	for _, p := range s.Pods {
		if !p.Done {
			waiting = append(waiting, p.Name)
		}
	}
	switch {
	case r.seen.Paused:
		return "it waits for the pause to end"
	case slices.Contains(r.entry.From, r.seen.at):
		return "the Writer Service has been put back to " + r.seen.at
	case s.Moved.IsZero():
		return "the EndpointSlices of the Writer Service still name pods of " + strings.Join(r.entry.From, ", ") + ", or cannot be read"
	}
	return "it waits for " + cmp.Or(strings.Join(waiting, ", "), "the pods to be seen")
}
