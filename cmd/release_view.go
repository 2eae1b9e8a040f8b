package cmd

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"strings"

	"github.com/poolwright/poolwright/live"
	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/render"
)

// releaseView is what a release came to, for machines.
type releaseView struct {
	Cluster   string `json:"cluster"`
	Namespace string `json:"namespace"`
	// Order is the one that was taken back.
	Order *live.Order `json:"order,omitempty"`
	// Unsaid is why a poolwright that runs could not be told.
	Unsaid string `json:"unsaid,omitempty"`
	// Wrote are the objects that this command wrote; what else is gone a poolwright that runs took off.
	Wrote []string `json:"wrote"`
	// Behind is how the Services differ from Git now, "" when they do not.
	Behind   string         `json:"behind,omitempty"`
	Services []releasedView `json:"services"`
}

type releasedView struct {
	Role    live.Role `json:"role"`
	Name    string    `json:"name"`
	Selects string    `json:"selects"`
	Git     string    `json:"git"`
	// Frozen is true when somebody else has frozen it for Flux.
	Frozen bool `json:"frozen,omitempty"`
}

func (r *release) view() releaseView {
	v := releaseView{
		Cluster: r.names.Cluster, Namespace: r.names.Namespace, Order: r.before.Control.Order, Unsaid: errorText(r.unsaid),
		Wrote: []string{}, Behind: r.behind(r.after),
	}
	for _, w := range r.wrote {
		v.Wrote = append(v.Wrote, w.Name)
	}
	state, _ := r.state(r.after) // Behind tells
	for _, role := range []live.Role{live.Writer, live.Reader} {
		if svc := r.after.Services[role]; svc != nil {
			v.Services = append(v.Services, releasedView{
				Role: role, Name: svc.Name, Selects: whom(state, svc.Spec.Selector), Git: whom(state, selected(r.names, state, role)),
				Frozen: svc.Annotations[freeze] != "",
			})
		}
	}
	return v
}

// text is what people read of it.
func (r *release) text(w io.Writer) error {
	v := r.view()
	if v.Unsaid != "" {
		fmt.Fprintf(w, "a poolwright that runs could not be told, and may move the Services again: %s\n", printable(v.Unsaid))
	}
	if v.Order != nil {
		fmt.Fprintf(w, "taken back  the order for %s\n", printable(v.Order.Writer))
	}
	for _, write := range r.wrote {
		fmt.Fprintf(w, "%-11s %s\n", released[write.Kind], write.Name)
	}
	switch {
	case r.idle():
		fmt.Fprintf(w, "nothing of poolwright's is on the Services of %s: they are Git's\n", r.names.Cluster)
		if v.Behind == "" {
			return nil
		}
	case !r.done || r.isContested(): // the error tells
		return nil
	case r.again():
		record := r.after.Record()
		fmt.Fprintf(w, "moved on by the poolwright that runs, to %s (epoch %d): %s; it carries that into Git\n", printable(record.To), record.Epoch, printable(record.Reason))
		return nil
	case len(r.wrote) == 0:
		fmt.Fprintf(w, "handed back by the poolwright that runs\n")
	}
	fmt.Fprintf(w, "%s: %s\n", r.names.Cluster, cmp.Or(v.Behind, "Git has what the Services select, and owns them again"))
	for _, s := range v.Services {
		if s.Frozen {
			fmt.Fprintf(w, "%s is frozen for Flux, and not by poolwright: Git is not applied to it before kubectl -n %s annotate service %s %s-\n", s.Name, r.names.Namespace, s.Name, freeze)
		}
	}
	return nil
}

var released = map[live.WriteKind]string{live.Release: "released", live.Forget: "forgot"}

// selected is what a role should select by a state.
func selected(n live.Names, s plan.State, role live.Role) map[string]string {
	sel := render.Select(n.Cluster, s)
	if role == live.Writer {
		return sel.Writer
	}
	return sel.Reader
}

// behind says what happens when the Services are left to Git now, "" when what is
// applied from Git is what they select.
func (s site) behind(sight live.Sight) string {
	state, err := s.state(sight)
	if r := sight.Record(); r != nil {
		applied, owner := s.appliedTo(sight)
		if err == nil && applied >= r.Epoch && sameMembership(*r, render.Select(s.names.Cluster, state)) {
			return ""
		}
		return fmt.Sprintf("what is applied from Git is epoch %d, the override is epoch %d: %s", applied, r.Epoch, returns(owner, cmp.Or(state.Writer, "the writer that Git declares")))
	}
	if err != nil {
		return fmt.Sprintf("it is not known whether the Services are as Git says: %v", err)
	}
	for _, role := range []live.Role{live.Writer, live.Reader} {
		svc := sight.Services[role]
		if want := selected(s.names, state, role); svc != nil && want != nil && !maps.Equal(live.OurKeys(svc.Spec.Selector), want) {
			return fmt.Sprintf("%s selects %s, and Git says %s: %s", svc.Name, whom(state, svc.Spec.Selector), whom(state, want), returns(live.OwnerOf(svc), whom(state, want)))
		}
	}
	return ""
}

// appliedTo is the oldest epoch that is applied of what belongs to the Services, and who applies it.
func (s site) appliedTo(sight live.Sight) (applied uint64, owner live.Owner) {
	applied = sight.Receipt
	for _, role := range []live.Role{live.Writer, live.Reader} {
		if svc := sight.Services[role]; svc != nil {
			applied, owner = min(applied, live.ReceiptOf(svc)), live.OwnerOf(svc)
		}
	}
	return applied, owner
}

// returns says what an owner does to Services that are released before it has what they select.
func returns(o live.Owner, git string) string {
	switch o.Tool {
	case live.NoTool:
		return "they stay as they are until somebody applies Git, which goes back to " + git
	case live.ArgoCD:
		return strings.TrimSpace(ownerText(o)) + " puts them back to " + git + ", at once where self-heal is on"
	}
	return ownerText(o) + " puts them back to " + git + " when it reconciles next"
}
