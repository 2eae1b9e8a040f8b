package cmd

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poolwright/poolwright/live"
	"github.com/poolwright/poolwright/live/evict"
	"github.com/poolwright/poolwright/render"
)

// escort takes the clients off the instance that was the writer, where no poolwright runs that would: to move a Service cuts nobody.
// What cannot be done is said, with the command that does it.
func (m *motion) escort(ctx context.Context, w io.Writer) {
	holder := m.lease.read(ctx, m.kube)
	if holder.Error != "" {
		fmt.Fprintf(w, "clients  whether a poolwright runs is not known: %s\n", holder.Error)
	}
	switch {
	case holder.Alive && !neglected(holder.Clusters, m.names.Namespace+"/"+m.names.Cluster):
		return // its own
	case m.declared == nil:
		fmt.Fprintf(w, "clients  no poolwright is known to run, and without -f nobody knows a way into the poolers: who is connected stays where he is\n")
	case m.declared.Cluster.Spec.Failover.Evict == evict.ModeNone.String():
		fmt.Fprintf(w, "clients  who is connected stays where he is: failover.evict is none\n")
	case m.evictAlone(ctx, w):
		return
	}
	fmt.Fprintf(w, "         this cuts them: %s\n", m.cut())
}

// cut is the command that ends the poolers of whom the Writer Service selected before. Their Deployment starts others.
func (m *motion) cut() string {
	return fmt.Sprintf("kubectl -n %s delete pods -l %s=%s,%s=%s --grace-period=1", m.names.Namespace,
		render.LabelCluster, render.LabelValue(m.names.Cluster), render.LabelInstance, m.sight.Services[live.Writer].Spec.Selector[render.LabelInstance])
}

// How long an eviction by a verb may take beyond the bounds of the Cluster file, and how often it looks.
const (
	escortGrace = 5 * time.Second
	escortLook  = 200 * time.Millisecond
)

// evictAlone runs an eviction until it is over, and reports whether it is. Its first entry cuts nobody, as ever.
func (m *motion) evictAlone(ctx context.Context, w io.Writer) bool {
	f := m.declared.Cluster.Spec.Failover
	ctx, cancel := context.WithTimeout(ctx, time.Duration(f.EvictWithin)+time.Duration(f.Propagation)+escortGrace)
	defer cancel()
	var pods atomic.Pointer[[]*corev1.Pod]
	runner, _ := m.world.evictor(*m.declared, evict.Config{
		Names: m.names, Client: m.kube, Holds: func() bool { return true }, Now: m.world.Now,
		Pods: func() []*corev1.Pod {
			if seen := pods.Load(); seen != nil {
				return *seen
			}
			return nil
		},
	})
	ended := make(chan struct{})
	defer func() { cancel(); <-ended }()
	started := false
	ticks := time.NewTicker(escortLook)
	defer ticks.Stop()
	for {
		sight, found, err := m.lookForClients(ctx)
		if err == nil {
			pods.Store(&found)
			runner.See(evict.Seen{Sight: sight, Wanted: m.want.To})
		}
		if !started {
			started = true
			runner.Wake()
			go func() { defer close(ended); runner.Run(ctx) }()
		}
		if s := runner.State(); s.Phase == evict.Complete && s.Eviction.To == render.LabelValue(m.want.To) {
			return m.tellEvicted(w, s)
		}
		select {
		case <-ctx.Done():
			s := runner.State()
			fmt.Fprintf(w, "clients  %d are known to be still there, %d poolers gave no answer: a poolwright that runs goes on\n", s.Left, s.Uncounted)
			return false
		case <-ticks.C:
		}
	}
}

func (m *motion) lookForClients(ctx context.Context) (live.Sight, []*corev1.Pod, error) {
	sight, err := m.look(ctx)
	if err != nil {
		return sight, nil, err
	}
	list, err := m.kube.CoreV1().Pods(m.names.Namespace).List(ctx, metav1.ListOptions{LabelSelector: m.names.PodSelector()})
	if err != nil {
		return sight, nil, err
	}
	pods := []*corev1.Pod{}
	for i := range list.Items {
		pods = append(pods, &list.Items[i])
	}
	return sight, pods, nil
}

// tellEvicted says what an eviction that is over came to, and whether somebody was to be cut.
func (m *motion) tellEvicted(w io.Writer, s evict.State) bool {
	if len(s.Eviction.From) == 0 {
		fmt.Fprintf(w, "clients  nobody was cut: no eviction says yet who was the writer before\n")
		return false
	}
	fmt.Fprintf(w, "clients  taken off %s: %d cut, %d seen again on %s\n", strings.Join(s.Eviction.From, ", "), s.Eviction.Evicted, s.Eviction.Returned, m.want.To)
	return true
}
