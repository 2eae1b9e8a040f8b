//go:build e2e

package e2e

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestCorePromise1DeadMeansStaleNotEmpty: poolwright is dead and every pod is replaced, once in the middle of an override and
// once at rest. Both Services have the endpoints that they had.
func TestCorePromise1DeadMeansStaleNotEmpty(t *testing.T) {
	t.Parallel()
	c := bootstrap(t, hands{})
	c.failover("b")
	c.awaitOverride("b")
	c.git.AwaitSubject(2, "writer a → b (epoch 2)")
	c.p.Kill()
	c.replacePods()
	c.awaitBehind("b", "c")
	c.start()
	c.apply("main", "--server-side", "--force-conflicts")
	c.awaitHandedBack("b", 2)
	c.p.Kill()
	c.replacePods()
	c.awaitBehind("b", "c")
}

// TestCorePromise1IsNotKeptByLabelsOnPods: the means of the peer, labels that a controller puts on live pods and that its Services
// select by. Dead, it leaves the Service without anybody as soon as the pods are replaced.
func TestCorePromise1IsNotKeptByLabelsOnPods(t *testing.T) {
	t.Parallel()
	c := bootstrap(t, hands{})
	c.kubectl("create", "service", "clusterip", "story-labelled", "--tcp=6432")
	c.kubectl("patch", "service", "story-labelled", "--type=json", "-p", `[{"op":"replace","path":"/spec/selector","value":{"role":"writer"}}]`)
	c.kubectl("label", "pods", "-l", instanceKey+"=a", "role=writer")
	c.await(t, "a behind the labelled Service", func() bool { return c.behind("story-labelled") == "a" })
	c.p.Kill()
	c.replacePods()
	c.await(t, "nobody behind the labelled Service", func() bool { return c.behind("story-labelled") == "" })
	c.awaitBehind("a", "b c")
}

// replacePods deletes every pod, and waits until others are ready.
func (c *cluster) replacePods() {
	c.t.Helper()
	old := c.names("pod")
	check(c.t, c.client.CoreV1().Pods(c.ns).DeleteCollection(context.Background(), metav1.DeleteOptions{}, metav1.ListOptions{}))
	c.await(c.t, "other pods", func() bool {
		for key, o := range c.objects {
			if _, ok := o.(*corev1.Pod); ok && slices.Contains(old, strings.TrimPrefix(key, "pod/")) {
				return false
			}
		}
		return c.ready("a") > 0 && c.ready("b") > 0 && c.ready("c") > 0
	})
}

// awaitBehind waits until exactly these instances are behind the Services.
func (c *cluster) awaitBehind(writer, reader string) {
	c.t.Helper()
	c.await(c.t, writer+" behind the Writer and "+reader+" behind the Reader", func() bool {
		return c.behind("story-writer") == writer && c.behind("story-reader") == reader
	})
}

// TestCoreIdleCost: a cluster at rest for 20 s. By the API server's audit log nothing is written but the Lease, and nothing is listed.
func TestCoreIdleCost(t *testing.T) {
	t.Parallel()
	c := bootstrap(t, hands{})
	from := c.audited()
	const rest = 20 * time.Second
	<-time.After(rest)
	verbs := map[string]int{}
	for _, e := range c.auditSince(from) {
		verbs[e.Verb+" "+e.ObjectRef.Resource]++
	}
	if n := verbs["update leases"]; n < 10 || n > 30 {
		t.Errorf("the Lease was renewed %d times in %v", n, rest)
	}
	delete(verbs, "update leases")
	for _, kind := range []string{"services", "configmaps", "pods"} { // a watch ends, and is begun anew, every few minutes
		if verbs["watch "+kind] <= 2 {
			delete(verbs, "watch "+kind)
		}
	}
	if len(verbs) > 0 {
		t.Errorf("at rest it asked for %v", verbs)
	}
	if lists := c.gate.all(func(q question) bool {
		return q.method == http.MethodGet && q.query.Get("watch") == "" && !strings.Contains(q.path, "/leases/")
	}); len(lists) > 5 {
		t.Errorf("since its start it listed %d times, want at most once for each of five watches: %v", len(lists), lists)
	}
	c.wantCommits("first tree")
}

// TestCoreLeaseOneActs: of two processes with one Lease only the holder patches. When it ends on SIGTERM the other one
// takes over in less than 3 s; when it is killed, within the Lease's 15 s and 2 s more.
func TestCoreLeaseOneActs(t *testing.T) {
	t.Parallel()
	c := bootstrap(t, hands{})
	one, first := c.p, c.gate
	var second *gate
	second, c.kubeconfig = c.newWay()
	two := c.start()
	two.AwaitLine("standby")
	c.failover("b")
	c.awaitOverride("b")
	c.git.AwaitSubject(2, "writer a → b (epoch 2)")
	if asked := second.all(isWrite); len(asked) > 0 {
		t.Errorf("the one that does not hold the Lease wrote %v", asked)
	}
	if asked := first.all(isServicePatch); len(asked) != 2 {
		t.Errorf("the holder made %d patches, want one for each Service", len(asked))
	}

	since := time.Now()
	one.Stop()
	two.AwaitLine("leading")
	wantWithin(t, "takeover after SIGTERM", since, 3*time.Second)
	c.apply("main", "--server-side", "--force-conflicts")
	c.awaitHandedBack("b", 2)

	_, c.kubeconfig = c.newWay()
	three := c.start()
	three.AwaitLine("standby")
	since = time.Now()
	two.Kill()
	three.AwaitLine("leading")
	// A rival asks every 1 to 2.2 s: it may see the last renewal so late, and the end of the Lease so late again.
	wantWithin(t, "takeover after kill -9", since, 15*time.Second+2*2200*time.Millisecond)
	c.pg.Rejoin("a")
	c.failover("c")
	c.awaitWriter("c")
	c.wantNeverTwo()
}

func wantWithin(t *testing.T, what string, since time.Time, limit time.Duration) {
	t.Helper()
	took := time.Since(since)
	t.Logf("%s: %v", what, took.Round(10*time.Millisecond))
	if took > limit {
		t.Errorf("%s took %v, want at most %v", what, took, limit)
	}
}

// TestCore19C24TwoWithoutALease: two processes that know nothing of each other see the same changes. Each change is committed
// once, and the live Writer goes through the writers in order, never back.
func TestCore19C24TwoWithoutALease(t *testing.T) {
	t.Parallel()
	c := newCluster(t, hands{})
	one := c.start("--lease=")
	c.git.AwaitSubject(1, "first tree, writer a")
	_, c.kubeconfig = c.newWay()
	two := c.start("--lease=")
	c.tool.begin(c)
	c.awaitRest("a", 1)
	want := []string{"a by kubectl-client-side-apply"}
	for _, step := range [][2]string{{"a", "b"}, {"b", "c"}, {"c", "a"}, {"a", "b"}} {
		from, to := step[0], step[1]
		c.failover(to)
		c.awaitOverride(to)
		want = append(want, to+" by "+fieldManager)
		c.pg.Rejoin(from)
		c.git.Await(from+" serving readers", func() bool { return strings.Contains(last(c.git.Subjects()), "readers gain "+from) })
	}
	c.wantWriters(want...)
	c.apply("main", "--server-side", "--force-conflicts")
	c.awaitHandedBackAtHead("b")
	one.Stop()
	two.Stop()
	if got := c.git.Subjects(); len(got) > 9 {
		t.Errorf("got %d commits for the first tree and 8 changes:\n%s", len(got), strings.Join(got, "\n"))
	}
	c.git.WantSoundHistory()
	c.wantNeverTwo()
}

func last(all []string) string {
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}
