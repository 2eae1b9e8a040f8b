package cmd

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/poolwright/poolwright/live"
	"github.com/poolwright/poolwright/live/pooler"
	prove "github.com/poolwright/poolwright/live/proof"
	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/render"
)

// statusView is one cluster for machines. Each column says for itself what could not be reached.
type statusView struct {
	Cluster   string       `json:"cluster"`
	Namespace string       `json:"namespace"`
	InOrder   bool         `json:"inOrder"`
	Declared  declaredView `json:"declared"`
	Observed  observedView `json:"observed"`
	Decided   decidedView  `json:"decided"`
	Live      liveView     `json:"live"`
	States    []stateView  `json:"states"`
	// PullRequest is nil where none is needed, or there never was one.
	PullRequest *pullView   `json:"pullRequest,omitempty"`
	Ahead       *aheadView  `json:"ahead,omitempty"`
	Order       *live.Order `json:"order,omitempty"`
	Pause       *live.Pause `json:"pause,omitempty"`
	// PauseUnknown is why it is not known whether somebody paused the cluster in Kubernetes, "" when it is.
	PauseUnknown string           `json:"pauseUnknown,omitempty"`
	Eviction     *live.Eviction   `json:"eviction,omitempty"`
	Proofs       []proofView      `json:"proofs,omitempty"`
	Holder       holderView       `json:"holder"`
	Conditions   []live.Condition `json:"conditions,omitempty"`
	BreakGlass   []string         `json:"breakGlass,omitempty"`
}

// declaredView is what Git says.
type declaredView struct {
	Epoch  uint64 `json:"epoch"`
	Writer string `json:"writer,omitempty"`
	// Source is git, or applied when only what is applied of it is known.
	Source string `json:"source,omitempty"`
	Head   string `json:"head,omitempty"`
	Error  string `json:"error,omitempty"`
}

// observedView is what the databases say.
type observedView struct {
	Asked   bool       `json:"asked"`
	Trusted bool       `json:"trusted"`
	Writer  string     `json:"writer,omitempty"`
	Doubts  []factView `json:"doubts,omitempty"`
	Error   string     `json:"error,omitempty"`
}

// decidedView is what follows.
type decidedView struct {
	Action  string       `json:"action,omitempty"`
	Epoch   uint64       `json:"epoch,omitempty"`
	Writer  string       `json:"writer,omitempty"`
	Reasons []reasonView `json:"reasons,omitempty"`
	Error   string       `json:"error,omitempty"`
}

// liveView is what Kubernetes does.
type liveView struct {
	Phase    string            `json:"phase,omitempty"`
	Receipt  uint64            `json:"receipt"`
	Services []liveServiceView `json:"services,omitempty"`
	Error    string            `json:"error,omitempty"`
}

type liveServiceView struct {
	Role     live.Role         `json:"role"`
	Name     string            `json:"name"`
	Exists   bool              `json:"exists"`
	Selector map[string]string `json:"selector,omitempty"`
	Selects  string            `json:"selects,omitempty"`
	Receipt  string            `json:"receipt,omitempty"`
	Owner    string            `json:"owner,omitempty"`
	Frozen   bool              `json:"frozen,omitempty"`
}

// stateView is one of the five states of a change.
type stateView struct {
	State string `json:"state"`
	// Reached is yes, no or unknown; Epoch is how far it got, 0 when not known.
	Reached string `json:"reached"`
	Epoch   uint64 `json:"epoch,omitempty"`
}

// proofView is what an application would meet at a Service, asked just now.
type proofView struct {
	Access  pooler.Access  `json:"access"`
	Address string         `json:"address"`
	Outcome pooler.Outcome `json:"outcome"`
	// Text is the whole in one line.
	Text string `json:"text"`
}

func (a answer) view() proofView {
	return proofView{a.access, a.address, a.Outcome, fmt.Sprintf("%s (asked %s just now)", prove.Say(a.access, a.Proof), a.address)}
}

// aheadView says that the Services are ahead of Git.
type aheadView struct {
	Since  time.Time `json:"since"`
	Epoch  uint64    `json:"epoch"`
	From   string    `json:"from,omitempty"`
	To     string    `json:"to"`
	Reason string    `json:"reason,omitempty"`
	By     string    `json:"by,omitempty"`
}

func (v *survey) view() statusView {
	s := statusView{
		Cluster: v.names.Cluster, Namespace: v.names.Namespace,
		Declared: v.declaredView(), Observed: v.observedView(), Decided: v.decidedView(), Live: v.liveView(), States: v.states(), PullRequest: v.pull,
		Holder: v.holder, Conditions: v.verdict.Conditions, BreakGlass: v.breakGlass(),
	}
	s.Holder.Neglects = s.Holder.Alive && neglected(s.Holder.Clusters, s.Namespace+"/"+s.Cluster)
	if r := v.verdict.Record; r != nil {
		s.Ahead = &aheadView{r.At, r.Epoch, r.From, r.To, r.Reason, r.By}
	}
	for _, a := range v.proofs {
		s.Proofs = append(s.Proofs, a.view())
	}
	if v.sight != nil {
		s.Order, s.Pause, s.Eviction = v.sight.Order(), v.sight.Control.Pause, v.sight.Control.Eviction
	}
	if s.Order != nil && !v.now.Before(s.Order.Until) {
		s.Order = nil
	}
	s.PauseUnknown = v.pauseUnknown()
	s.InOrder = v.inOrder(s)
	return s
}

// inOrder reports whether nothing waits for anybody. What was not asked for is no matter, nor is a Service that is out of reach from here.
func (v *survey) inOrder(s statusView) bool {
	quiet := len(s.Conditions) == 0 && s.Ahead == nil && s.Order == nil && s.Pause == nil && (s.Eviction == nil || !s.Eviction.Open())
	reached := s.Declared.Error == "" && s.Observed.Error == "" && s.Decided.Error == "" && s.Live.Error == ""
	trusted := !s.Observed.Asked || s.Observed.Trusted
	led := (s.Holder.Identity == "" || s.Holder.Alive) && !s.Holder.Neglects
	mismatch := slices.ContainsFunc(v.proofs, func(a answer) bool { return a.Outcome == pooler.RoleMismatch })
	held := v.decided != nil && (v.decided.Action == plan.Hold || slices.ContainsFunc(v.decided.Reasons, plan.Reason.NeedsPerson))
	return quiet && reached && trusted && led && !held && !mismatch && !slices.ContainsFunc(s.States, func(st stateView) bool { return st.Reached == reachedNo })
}

// pauseUnknown is "" too where nobody hears what is said in Kubernetes.
func (v *survey) pauseUnknown() string {
	switch {
	case v.site.declared != nil && !v.site.declared.PatchesServices():
		return ""
	case v.sight == nil:
		return "Kubernetes cannot be seen"
	case v.sight.ControlErr != nil && v.sight.Control.Pause == nil:
		return "the control ConfigMap cannot be read"
	}
	return ""
}

func (v *survey) declaredView() declaredView {
	d := declaredView{Epoch: v.declared.Epoch, Writer: v.declared.Writer, Head: headOf(v.base), Error: errorText(v.gitErr)}
	switch {
	case v.fromGit:
		d.Source = "git"
	case d.Epoch > 0:
		d.Source = "applied"
	}
	return d
}

func (v *survey) observedView() observedView {
	o := observedView{Asked: v.seen != nil, Error: errorText(v.dataErr)}
	if v.seen == nil {
		return o
	}
	w, _ := v.seen.Writer()
	o.Writer, o.Trusted, o.Doubts = w.Name, v.seen.Trusted(), viewOf(*v.seen).Doubts
	return o
}

func (v *survey) decidedView() decidedView {
	if v.decided == nil {
		return decidedView{Error: errorText(v.decideErr)}
	}
	step := stepOf(proposal{Plan: *v.decided})
	return decidedView{Action: strings.TrimSpace(step.Action + " " + step.Class), Epoch: step.Epoch, Writer: step.Writer, Reasons: step.Reasons}
}

func (v *survey) liveView() liveView {
	l := liveView{Error: errorText(v.kubeErr)}
	if v.sight == nil {
		return l
	}
	l.Phase, l.Receipt = v.verdict.Phase.String(), v.sight.Receipt
	for _, role := range []live.Role{live.Writer, live.Reader} {
		if name, ok := v.names.Services[role]; ok {
			l.Services = append(l.Services, v.serviceView(role, name, v.sight.Services[role]))
		}
	}
	return l
}

func (v *survey) serviceView(role live.Role, name string, svc *corev1.Service) liveServiceView {
	s := liveServiceView{Role: role, Name: name, Exists: svc != nil}
	if svc != nil {
		s.Selector, s.Selects = svc.Spec.Selector, whom(v.declared, svc.Spec.Selector)
		s.Receipt, s.Owner, s.Frozen = receiptOf(svc), ownerText(live.OwnerOf(svc)), svc.Annotations[freeze] == "disabled"
	}
	return s
}

// The words of a state.
const (
	reachedYes     = "yes"
	reachedNo      = "no"
	reachedUnknown = "unknown"
)

// states are how far the newest membership that is known has got.
func (v *survey) states() []stateView {
	newest := v.declared.Epoch
	if v.decided != nil {
		newest = max(newest, v.decided.Want.Epoch)
	}
	if v.verdict.Record != nil {
		newest = max(newest, v.verdict.Record.Epoch)
	}
	reached := func(state string, known bool, epoch uint64, all bool) stateView {
		s := stateView{State: state, Reached: reachedUnknown}
		if known && newest > 0 {
			s.Epoch, s.Reached = epoch, reachedNo
			if epoch >= newest && all {
				s.Reached = reachedYes
			}
		}
		return s
	}
	drawn := v.declared.Epoch
	if v.decided != nil {
		drawn = v.decided.Want.Epoch
	}
	receipt, selected := uint64(0), uint64(0)
	if v.sight != nil {
		receipt, selected = v.sight.Receipt, v.selected(newest)
	}
	return []stateView{
		reached("rendered", v.decided != nil, drawn, true),
		// Without a forge everything is committed directly: what is proposed is merged.
		v.proposed(reached("proposed", v.fromGit, v.declared.Epoch, !v.uncommitted)),
		reached("merged", v.fromGit, v.declared.Epoch, !v.uncommitted),
		reached("synced", v.sight != nil, receipt, true),
		reached("live", v.sight != nil, selected, true),
	}
}

// selected is the epoch that the Services select: newest when they are where they belong,
// else the oldest receipt on them.
func (v *survey) selected(newest uint64) uint64 {
	oldest, there := newest, true
	for _, t := range v.belongs() {
		svc := v.sight.Services[t.Role]
		if svc == nil {
			return 0
		}
		there = there && maps.Equal(live.OurKeys(svc.Spec.Selector), t.Select)
		if n, err := strconv.ParseUint(svc.Annotations[render.AnnotationEpoch], 10, 64); err == nil {
			oldest = min(oldest, n)
		}
	}
	switch {
	case there:
		return newest
	case oldest == newest:
		return newest - 1 // the receipts say more than the selectors do
	}
	return oldest
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
