//go:build e2e

package failover

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// peer is another operator's way, as its README says it: it looks every 3 s, and every 100 ms for 30 s after a change;
// pods are labelled into the Writer Service and out of it, and then the Deployments of the old and the new writer are restarted.
//
// It is a script of ours, and better than the other in this: a pod is in the Service as soon as it is ready; reads of the
// Services go nowhere, for they come from a watch; and each server is asked who it is, directly, at the same time.
type peer struct {
	r    *trial
	stop func()

	mu     sync.Mutex
	writer string
	until  time.Time            // it looks more often
	seen   map[string]time.Time // when a server was last found to have become the writer
}

// The peer's intervals, and the label of the pods behind its Writer Service.
const (
	peerInterval = 3 * time.Second
	peerFast     = 100 * time.Millisecond
	peerWindow   = 30 * time.Second
	peerLabel    = "example.com/member-" // and the role
)

// startPeer applies what was drawn, without poolwright, and gives the Writer Service the peer's selector.
func startPeer(r *trial) *peer {
	r.t.Helper()
	tree := r.t.TempDir()
	r.git.MustGit("--work-tree="+tree, "checkout", "main", "--", "clusters/story")
	r.kubectl(r.t, "apply", "-k", tree+"/clusters/story")
	for _, role := range []string{"writer", "reader"} {
		r.kubectl(r.t, "-n", r.ns, "patch", "service", "story-"+role, "--type=json", "--patch",
			`[{"op":"replace","path":"/spec/selector","value":{"poolwright.dev/cluster":"story","`+peerLabel+role+`":"true"}}]`)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	p := &peer{r: r, seen: map[string]time.Time{}}
	p.stop = func() { cancel(); <-ended }
	go func() { defer close(ended); p.run(ctx) }()
	r.t.Cleanup(p.stop)
	return p
}

// run looks and acts until the end.
func (p *peer) run(ctx context.Context) {
	for ctx.Err() == nil {
		if writer := p.look(ctx); writer != "" && writer != p.current() {
			old := p.become(writer)
			p.label(ctx)
			if old != "" {
				p.hurry()
				p.restart(ctx, old)
				p.restart(ctx, writer)
			}
		}
		p.label(ctx)
		interval := peerInterval
		if p.isFast() {
			interval = peerFast
		}
		wait(ctx, interval)
	}
}

// hurry opens its window.
func (p *peer) hurry() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.until = time.Now().Add(peerWindow)
}

// isFast reports whether its window is open.
func (p *peer) isFast() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Now().Before(p.until)
}

func (p *peer) current() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.writer
}

func (p *peer) become(writer string) (old string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	old, p.writer, p.seen[writer] = p.writer, writer, time.Now()
	return old
}

// firstSeen is when it found that a server is the writer, after a time.
func (p *peer) firstSeen(writer string, after time.Time) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at := p.seen[writer]; at.After(after) {
		return at
	}
	return time.Time{}
}

// look asks all servers at once and returns the one writer, "" when there is not exactly one.
func (p *peer) look(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	found := make(chan string)
	for _, n := range p.r.pg.Nodes() {
		go func() { found <- ifWriter(ctx, n.Name, n.DSN()) }()
	}
	writers := ""
	for range p.r.pg.Nodes() {
		writers += <-found
	}
	if len(writers) != 1 {
		return ""
	}
	return writers
}

// ifWriter is the name of a server that says that it is the writer.
func ifWriter(ctx context.Context, name, dsn string) string {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return ""
	}
	defer conn.Close(ctx)
	standby := true
	if conn.QueryRow(ctx, "SELECT pg_is_in_recovery()").Scan(&standby) != nil || standby {
		return ""
	}
	return name
}

// label puts ready pods into the Services of their roles, and then takes the others out.
func (p *peer) label(ctx context.Context) {
	writer := p.current()
	for _, in := range []bool{true, false} {
		for _, pod := range now(p.r.watch, p.r.pods) {
			isWriter := pod.Labels["poolwright.dev/instance"] == writer
			p.mark(ctx, pod, "writer", isWriter, in)
			p.mark(ctx, pod, "reader", !isWriter, in)
		}
	}
}

// mark sets or takes away the label of a role, whichever this pass is for.
func (p *peer) mark(ctx context.Context, pod *corev1.Pod, role string, member, in bool) {
	if member != in || in && !isReady(pod) || (pod.Labels[peerLabel+role] == "true") == in {
		return
	}
	value := "null"
	if in {
		value = `"true"`
	}
	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%s}}}`, peerLabel+role, value)
	// One that is gone meanwhile needs none.
	_, _ = p.r.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
}

// restart is kubectl rollout restart.
func (p *peer) restart(ctx context.Context, instance string) {
	patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"example.com/restarted-at":%q}}}}}`, time.Now().Format(time.RFC3339Nano))
	_, err := p.r.client.AppsV1().Deployments(p.r.ns).Patch(ctx, "story-"+instance, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil && ctx.Err() == nil {
		p.r.t.Errorf("restarting story-%s: %v", instance, err)
	}
}
