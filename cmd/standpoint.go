package cmd

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"github.com/poolwright/poolwright/live"
)

// standpoint is Kubernetes as all clusters of a process share it.
type standpoint struct {
	kube   kube
	holder *live.Holder // nil: this process is alone
	events record.EventRecorder
	keeps  roster

	mu    sync.Mutex
	sides []*liveSide
}

// side is one cluster's part of it. tell is called from other goroutines than the Reconciler's.
func (s *standpoint) side(ctx context.Context, world outside, fast *atomic.Bool, tell func(cluster string) ears) *liveSide {
	side := &liveSide{
		point: s, world: world, ears: tell, fast: fast, ctx: context.WithoutCancel(ctx), changed: make(chan struct{}, 1), wanted: make(chan struct{}, 1),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sides = append(s.sides, side)
	return side
}

// follow tells every cluster when this process begins or ends to hold them, until ctx ends.
func (s *standpoint) follow(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.holder.Changed():
		}
		s.mu.Lock()
		for _, side := range s.sides {
			side.wake()
		}
		s.mu.Unlock()
	}
}

// LeaseFlags say how processes agree on one that acts.
type LeaseFlags struct {
	Lease          string `default:"poolwright" placeholder:"NAME" help:"The Lease by which replicas of one configuration agree on the one that acts: a run for other clusters needs another. Empty for a process that is alone."`
	LeaseNamespace string `placeholder:"NAMESPACE" help:"Its namespace; default the pod's own, or that of the kubeconfig."`
}

// view names the Lease. The namespace is the current one, for who holds it and for who looks at it.
func (f LeaseFlags) view(k kube) leaseView {
	return leaseView{cmp.Or(f.LeaseNamespace, k.Namespace), f.Lease}
}

// holder makes the holder of the Lease, nil when there is none to be. keeps are the clusters of this process.
func (f LeaseFlags) holder(k kube, keeps func() []string) *live.Holder {
	if f.Lease == "" {
		return nil
	}
	l := f.view(k)
	return live.NewHolder(live.HolderConfig{Client: k.Interface, Namespace: l.namespace, Name: l.name, Identity: identity(), Clusters: keeps})
}

// identity of this process among its rivals. A pod that says its name ($POD_NAME, by the downward API) goes by that: its container
// that died and starts again takes its own Lease over at once. Anybody else has to be told apart from others on the same host.
func identity() string {
	if pod := os.Getenv("POD_NAME"); pod != "" {
		return pod
	}
	host, err := os.Hostname()
	if err != nil {
		host = "poolwright"
	}
	return fmt.Sprintf("%s_%s", host, uuid.NewString()[:8])
}

// newStandpoint starts what the clusters share. end gives the Lease back, after the clusters have ended.
func newStandpoint(ctx context.Context, k kube, lease LeaseFlags) (point *standpoint, end func()) {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	point = &standpoint{kube: k}
	point.holder = lease.holder(k, point.keeps.names)
	events, endEvents := live.NewRecorder(ctx, k.Interface)
	point.events = events
	var done sync.WaitGroup
	if point.holder != nil {
		done.Go(func() { point.holder.Run(ctx) })
		done.Go(func() { point.follow(ctx) })
	}
	return point, func() {
		stop()
		done.Wait()
		endEvents()
	}
}

// inPod reports whether this process runs in a pod with a service account.
func inPod() bool {
	_, err := rest.InClusterConfig()
	return err == nil
}
