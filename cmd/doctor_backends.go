package cmd

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/poolwright/poolwright/live/pooler"
	"github.com/poolwright/poolwright/render"
)

// backends compares where the poolers' connections go with what the names of the instances mean today. A pooler keeps the
// connections it has when a name moves: who reads notices nothing, and who writes is told 25006, for hours.
type backends struct {
	*exam
	right int
	stale bool
}

// compare looks at one pod's connections.
func (b *backends) compare(ctx context.Context, pod corev1.Pod, servers []pooler.Server) {
	for _, m := range b.state.Members {
		if render.LabelValue(m.Name) != pod.Labels[render.LabelInstance] || len(servers) == 0 {
			continue
		}
		today, err := b.lookup(ctx, m.Host)
		if err != nil {
			b.warn("backends", "run doctor where poolwright runs: kubectl exec", "pod %s: %s of instance %s means nothing here: %s", pod.Name, m.Host, m.Name, err)
			b.stale = true
			continue
		}
		b.judge(pod, m.Name, m.Host, today, servers)
	}
}

// judge tells of connections to another address than today's.
func (b *backends) judge(pod corev1.Pod, instance, host string, today []string, servers []pooler.Server) {
	var elsewhere []pooler.Server
	for _, s := range servers {
		if slices.Contains(today, s.Addr) {
			b.right++
		} else {
			elsewhere = append(elsewhere, s)
		}
	}
	if len(elsewhere) == 0 {
		return
	}
	b.stale = true
	oldest := slices.MinFunc(elsewhere, func(x, y pooler.Server) int { return x.Since.Compare(y.Since) })
	b.fail("backends", b.reconnect(pod, elsewhere), "pod %s: %d of %d connections go to %s, the oldest since %s; %s of instance %s is %s today",
		pod.Name, len(elsewhere), len(servers), addresses(elsewhere), oldest.Since.Format(time.RFC3339), host, instance, strings.Join(today, " "))
}

// reconnect is the command that lets a pooler ask for the name again.
func (b *backends) reconnect(pod corev1.Pod, servers []pooler.Server) string {
	command := `RECONNECT "` + strings.ReplaceAll(servers[0].Database, `"`, `""`) + `"`
	return fmt.Sprintf("psql -h %s -p %d -U %s -c %s pgbouncer", pod.Status.PodIP, b.declared.Cluster.Spec.PgBouncer.ListenPort(),
		b.declared.Cluster.Spec.Failover.Console.User, quoted(command))
}

func addresses(servers []pooler.Server) string {
	var all []string
	for _, s := range servers {
		all = append(all, s.Addr)
	}
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(all))), " ")
}

// tell says that nothing is wrong.
func (b *backends) tell() {
	if !b.stale && b.right > 0 {
		b.ok("backends", "%d connections of the poolers go to where the names of their instances are today", b.right)
	}
}

func (b *backends) lookup(ctx context.Context, host string) ([]string, error) {
	lookup := b.world.Lookup
	if lookup == nil {
		lookup = net.DefaultResolver.LookupHost
	}
	return lookup(ctx, host)
}
