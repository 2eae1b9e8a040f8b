package cmd

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poolwright/poolwright/clusters"
	"github.com/poolwright/poolwright/discovery"
	"github.com/poolwright/poolwright/gitsync"
	"github.com/poolwright/poolwright/live"
	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/render"
)

// survey is all that can be seen of a cluster at one time. What is out of reach
// is an error of its own, and stops nothing else.
type survey struct {
	site
	now time.Time

	base    *gitsync.Base // nil without
	gitErr  error
	pull    *pullView           // nil without
	seen    *discovery.Topology // nil without
	dataErr error
	sight   *live.Sight // nil without
	kubeErr error
	holder  holderView
	proofs  []answer // nil without

	// declared is the state at the Git head, else the one that is applied; epoch 0 when neither is known.
	declared plan.State
	fromGit  bool
	// decided is nil when nothing can be.
	decided   *plan.Plan
	decideErr error
	// uncommitted is true when Git lacks something of what is decided.
	uncommitted bool
	want        live.Want
	verdict     live.Verdict
}

// What each column waits for at most.
const (
	surveyGit  = 10 * time.Second
	surveyData = 6 * time.Second
)

// surveyOf looks at everything at once. kubeErr is why Kubernetes is not in reach, nil when it is.
func surveyOf(ctx context.Context, s site, world outside, lease leaseView, kubeErr error) survey {
	v := survey{site: s, now: world.Now(), kubeErr: kubeErr}
	var all sync.WaitGroup
	if s.declared != nil {
		all.Go(func() { v.readGit(ctx) })
		all.Go(func() { v.readPull(ctx) })
		all.Go(func() { v.askDatabases(ctx) })
	}
	if kubeErr == nil {
		all.Go(func() { v.readLive(ctx) })
		all.Go(func() { v.holder = lease.read(ctx, s.kube) })
	}
	all.Wait()
	v.now = world.Now()
	v.readDeclared()
	v.decide()
	if v.sight != nil {
		v.verdict = live.Next(*v.sight, v.want, v.now)
		v.proofs = world.proofs(ctx, v.declaration(), v.sight.Services)
	}
	return v
}

func (v *survey) readGit(ctx context.Context) {
	if v.site.declared.Cluster.Spec.Publish.Repository == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, surveyGit)
	defer cancel()
	base, err := readRemote(ctx, *v.site.declared)
	if v.gitErr = err; err == nil {
		v.base = &base
	}
}

func (v *survey) askDatabases(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, surveyData)
	defer cancel()
	seen, err := observeOnce(ctx, *v.site.declared)
	if v.dataErr = err; err == nil {
		t := discovery.Merge(seen)
		v.seen = &t
	}
}

func (v *survey) readLive(ctx context.Context) {
	sight, err := v.look(ctx)
	if v.kubeErr = err; err == nil {
		v.sight = &sight
	}
}

// declaration is the Cluster file, or what a name alone can stand for.
func (v *survey) declaration() declaration {
	if v.site.declared != nil {
		return *v.site.declared
	}
	return declaration{Cluster: clusters.Cluster{Metadata: clusters.Metadata{Name: v.names.Cluster, Namespace: v.names.Namespace}}}
}

// readDeclared reads what Git says, or what is applied of it.
func (v *survey) readDeclared() {
	if v.base != nil {
		said, err := declaredIn(v.declaration(), *v.base, time.Time{})
		if v.gitErr = err; err == nil && said.State.Epoch > 0 {
			v.declared, v.fromGit = said.State, true
			return
		}
	}
	if v.sight == nil || v.sight.Topology == nil {
		return
	}
	state, err := render.ReadLive(v.names.Cluster, v.sight.Topology)
	if err != nil {
		v.kubeErr = fmt.Errorf("reading configmap %s/%s: %w", v.names.Namespace, v.names.Topology, err)
		return
	}
	v.declared = state
}

// evidence is what a decision rests on.
func (v *survey) evidence() evidence {
	e := evidence{Now: v.now}
	if v.seen != nil {
		e.Topology = *v.seen
	}
	if v.sight != nil {
		e = e.fromKubernetes(*v.sight)
		e.Known = v.sight.Records()
	}
	return e
}

// decide decides as a poolwright that starts now would, and says where the Services belong by that.
func (v *survey) decide() {
	d, e := v.declaration(), v.evidence()
	if v.seen != nil && (v.declared.Epoch > 0 || v.base != nil) {
		v.decided, v.decideErr = v.planOn(d, e)
	}
	decided := plan.Plan{Want: v.declared}
	switch {
	case v.decided != nil:
		decided = *v.decided
	case v.sight != nil && v.sight.Record() != nil:
		decided.Action = plan.Hold // nothing is known that would be better
	}
	v.want = wantOf(d, v.declared, headOf(v.base), decided, e)
	v.want.Applied, v.want.Read = e.Applied, e.reach().override
	if !v.fromGit {
		v.want.Declared = 0
	}
}

func (v *survey) planOn(d declaration, e evidence) (*plan.Plan, error) {
	if v.base != nil && v.gitErr == nil {
		d.Cluster.Spec.Publish.BatchWindow = 0
		proposals, err := propose(d, *v.base, e)
		if err != nil {
			return nil, err
		}
		e.Wish = true // what awaits review is not in Git either
		wished, err := propose(d, *v.base, e)
		if err != nil {
			return nil, err
		}
		v.uncommitted = !wished[0].empty()
		return &proposals[0].Plan, nil
	}
	saw := plan.Observation{Topology: e.Topology, Declared: plan.Declared{State: v.declared}, Ready: e.Ready, Order: e.Order}
	decided, _ := plan.Decide(e.Memory, saw, rulesOf(d, e), e.Now)
	v.uncommitted = decided.Action == plan.Failover || decided.Action == plan.Publish
	return &decided, nil
}

// leaseView names the Lease of the processes that act.
type leaseView struct{ namespace, name string }

func (l leaseView) String() string { return l.namespace + "/" + l.name }

// holderView is who acts.
type holderView struct {
	// Lease is what was looked at, "namespace/name"; "" when nothing was.
	Lease    string `json:"lease,omitempty"`
	Identity string `json:"identity,omitempty"`
	// Renewed is when it said so last; Alive whether that is recent enough.
	Renewed time.Time `json:"renewed,omitzero"`
	Alive   bool      `json:"alive"`
	// Clusters are those that it says it keeps; Neglects is true when this one is not among them.
	Clusters []string `json:"clusters,omitempty"`
	Neglects bool     `json:"neglects,omitempty"`
	Error    string   `json:"error,omitempty"`
}

// defaultLease is how long a Lease without a duration is taken to stand.
const defaultLease = 15 * time.Second

func (l leaseView) read(ctx context.Context, k kube) holderView {
	if l.name == "" {
		return holderView{}
	}
	ctx, cancel := context.WithTimeout(ctx, siteTimeout)
	defer cancel()
	lease, err := k.CoordinationV1().Leases(l.namespace).Get(ctx, l.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return holderView{Lease: l.String()}
	}
	if err != nil {
		return holderView{Lease: l.String(), Error: fmt.Sprintf("reading lease %s: %s", l, err)}
	}
	v := holderView{Lease: l.String(), Clusters: live.ClustersOn(lease)}
	if lease.Spec.HolderIdentity != nil {
		v.Identity = *lease.Spec.HolderIdentity
	}
	if lease.Spec.RenewTime != nil {
		v.Renewed = lease.Spec.RenewTime.Time
	}
	lasts := defaultLease
	if s := lease.Spec.LeaseDurationSeconds; s != nil {
		lasts = time.Duration(*s) * time.Second
	}
	v.Alive = v.Identity != "" && time.Since(v.Renewed) < lasts
	return v
}
