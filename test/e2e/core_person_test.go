//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/poolwright/poolwright/test/driver"
	"github.com/poolwright/poolwright/test/pgcluster"
)

// person is a kubeconfig with the rights of poolwright's Role, and the right to say so.
func (c *cluster) person(name string) (kubeconfig string) {
	c.t.Helper()
	_, err := c.client.CoreV1().ServiceAccounts(c.ns).Create(context.Background(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	check(c.t, err)
	_, err = c.client.RbacV1().RoleBindings(c.ns).Create(context.Background(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "poolwright-story"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: name, Namespace: c.ns}},
	}, metav1.CreateOptions{})
	check(c.t, err)
	return c.kubeconfigFor(name, &clientcmdapi.Cluster{Server: c.config.Host, CertificateAuthorityData: c.config.CAData, CertificateAuthority: c.config.CAFile})
}

// verb runs a verb about the cluster with a kubeconfig.
func (c *cluster) verb(kubeconfig, verb string, args ...string) (out string, code int) {
	c.t.Helper()
	stdout, stderr, code := driver.Once(c.t, append([]string{verb, "--kubeconfig", kubeconfig, "--cluster", "story", "-n", c.ns}, args...)...)
	return stdout + stderr, code
}

// TestCoreD21PatchByAPerson: poolwright is dead and so is the writer. A person with poolwright's Role and nothing else moves the
// Services; poolwright, when it is back, carries it into Git with the reason and the person in the trailers.
func TestCoreD21PatchByAPerson(t *testing.T) {
	t.Parallel()
	c := bootstrap(t, hands{})
	person := c.person("anna")
	c.p.Kill()
	const reason = "a hangs; ticket 4711"

	// b is a standby: refused, and nothing is written.
	before := now(c.stage, func() string { return c.service("writer").version })
	out, code := c.verb(person, "patch", "--to", "b", "--reason", reason, "--yes")
	if code != 4 || !strings.Contains(out, "b is in recovery, so it is no writer") || !strings.Contains(out, "--force") {
		t.Errorf("patch to a standby: exit code %d\n%s", code, out)
	}
	// c has no ready pod.
	c.kubectl("annotate", "pods", "-l", instanceKey+"=c", "bed.poolwright.dev/ready=false")
	c.await(t, "c to have no ready pod", func() bool { return c.ready("c") == 0 })
	if out, code := c.verb(person, "patch", "--to", "c", "--reason", reason, "--yes"); code != 4 || !strings.Contains(out, "c has no ready pod") {
		t.Errorf("patch to an instance without a ready pod: exit code %d\n%s", code, out)
	}
	if after := now(c.stage, func() string { return c.service("writer").version }); after != before {
		t.Error("a refused patch wrote the Writer")
	}

	c.failover("b")
	out, code = c.verb(person, "patch", "--to", "b", "--reason", reason, "--yes")
	if code != 0 || !strings.Contains(out, "not in recovery, writable") {
		t.Fatalf("patch: exit code %d\n%s", code, out)
	}
	c.awaitOverride("b")
	c.awaitServing("b")
	if r := now(c.stage, func() record { return c.service("writer").record() }); r.Reason != reason || !strings.Contains(r.By, "anna") {
		t.Errorf("the record says %+v", r)
	}
	c.wantCommits("first tree")

	c.start()
	c.git.AwaitSubject(2, "writer a → b (epoch 2)")
	if message := c.git.MustGit("log", "-1", "--format=%B", "main"); !strings.Contains(message, reason) || !strings.Contains(message, "anna") {
		t.Errorf("the commit says\n%s", message)
	}
	c.wantAsInGit()
	c.apply("main", "--server-side", "--force-conflicts")
	c.awaitHandedBack("b", 2)
	c.wantWriters("a by kubectl-client-side-apply", "b by "+fieldManager)
	c.wantNeverTwo()
}

// TestCoreD21OrderEnds: a person forces the Services onto a standby, against what the databases say. Git follows; when the order
// is over, the databases are believed again, and the way back is a failover like any other.
func TestCoreD21OrderEnds(t *testing.T) {
	t.Parallel()
	c := bootstrap(t, hands{})
	out, code := c.asPerson("patch", "--to", "b", "--reason", "a is slow", "--for", "1m", "--force", "--yes")
	if code != 0 {
		t.Fatalf("patch: exit code %d\n%s", code, out)
	}
	c.awaitOverride("b")
	c.git.AwaitSubject(2, "writer a → b (epoch 2)")
	c.apply("main", "--server-side", "--force-conflicts")
	c.awaitHandedBack("b", 2)
	c.awaitWriter("a") // after the minute
	c.git.Await("the way back", func() bool { return strings.Contains(strings.Join(c.git.Subjects(), "\n"), "writer b → a") })
	c.wantNeverTwo()
}

// TestCorePauseAndResume: a person pauses the cluster, and the writer fails over. Nothing is committed and nothing patched, and it
// is said; after the resume both are.
func TestCorePauseAndResume(t *testing.T) {
	t.Parallel()
	c := bootstrap(t, hands{})
	if out, code := c.asPerson("pause", "--reason", "maintenance"); code != 0 {
		t.Fatalf("pause: exit code %d\n%s", code, out)
	}
	c.p.AwaitLine("paused", "maintenance")
	from := c.audited()
	c.failover("b")
	c.p.AwaitLine("window-closed") // the writer is known, and was stable for long
	for _, e := range c.auditSince(from) {
		if e.Verb != "watch" && e.Verb != "get" && e.Verb != "list" && !slices.Contains([]string{"leases", "events"}, e.ObjectRef.Resource) {
			t.Errorf("while paused: %s %s %s", e.Verb, e.ObjectRef.Resource, e.ObjectRef.Name)
		}
	}
	c.wantCommits("first tree")
	c.wantWriters("a by kubectl-client-side-apply")

	if out, code := c.asPerson("resume"); code != 0 {
		t.Fatalf("resume: exit code %d\n%s", code, out)
	}
	c.awaitOverride("b")
	c.git.AwaitSubject(2, "writer a → b (epoch 2)")
	c.apply("main", "--server-side", "--force-conflicts")
	c.awaitHandedBack("b", 2)
}

// TestCore18Release: poolwright is gone for good in the middle of an override. The Services stay right; `release` refuses while
// Git is behind, and with --force takes off everything of poolwright's; kubectl's own lines do the same.
func TestCore18Release(t *testing.T) {
	t.Parallel()
	c := bootstrap(t, hands{})
	person := c.person("anna")
	c.failover("b")
	c.awaitOverride("b")
	c.p.Kill()
	out, code := c.verb(person, "release")
	if code != 4 || !strings.Contains(out, "the override is epoch 2") || !strings.Contains(out, "--force") {
		t.Errorf("release: exit code %d\n%s", code, out)
	}
	c.wantWriters("a by kubectl-client-side-apply", "b by "+fieldManager)
	if out, code := c.verb(person, "release", "--force"); code != 0 {
		t.Errorf("release --force: exit code %d\n%s", code, out)
	}
	c.await(t, "no trace of poolwright", func() bool {
		return c.service("writer").isClean() && c.service("reader").isClean() && c.data("story-control")["override"] == ""
	})
	c.awaitServing("b") // releasing moves nothing
	if out, code := c.verb(person, "release"); code != 0 || !strings.Contains(out, "they are Git's") {
		t.Errorf("release of nothing: exit code %d\n%s", code, out)
	}
}

// TestCore20NoReadyPod: the new writer has no ready pod, and the old one has. Nothing moves; with a pod that is ready it does.
func TestCore20NoReadyPod(t *testing.T) {
	t.Parallel()
	c := bootstrap(t, hands{})
	c.kubectl("annotate", "pods", "-l", instanceKey+"=b", "bed.poolwright.dev/ready=false")
	c.await(t, "b to have no ready pod", func() bool { return c.ready("b") == 0 })
	c.failover("b")
	c.p.AwaitLine("decided", "b", "ready pod")
	c.wantWriters("a by kubectl-client-side-apply")
	c.wantCommits("first tree")
	c.kubectl("annotate", "pods", "-l", instanceKey+"=b", "bed.poolwright.dev/ready-", "--overwrite")
	c.awaitOverride("b")
	c.git.AwaitSubject(2, "writer a → b (epoch 2)")
	c.wantNeverTwo()
}

// TestCore25NoAnnotations: somebody took every annotation off the Service. It is moved all the same.
func TestCore25NoAnnotations(t *testing.T) {
	t.Parallel()
	c := bootstrap(t, hands{})
	for _, role := range []string{"writer", "reader"} {
		c.kubectl("patch", "service", "story-"+role, "--type=json", "-p", `[{"op":"remove","path":"/metadata/annotations"}]`)
	}
	c.failover("b")
	c.awaitOverride("b")
	c.git.AwaitSubject(2, "writer a → b (epoch 2)")
	c.apply("main", "--server-side", "--force-conflicts")
	c.awaitHandedBack("b", 2)
}

// TestCore26ServiceReplaced: the Writer is deleted and made anew from what Git said before, as a Replace or Force would. The
// override is put on it again from what is remembered, also by a poolwright that has just started.
func TestCore26ServiceReplaced(t *testing.T) {
	t.Parallel()
	c := bootstrap(t, hands{})
	c.failover("b")
	c.awaitOverride("b")
	c.git.AwaitSubject(2, "writer a → b (epoch 2)")
	first := c.git.Commits()[0]
	for _, alive := range []bool{true, false} {
		if !alive {
			c.p.Kill()
		}
		uid := now(c.stage, func() string { return c.service("writer").uid })
		c.kubectl("delete", "service", "story-writer")
		c.recreate("writer", first)
		if !alive {
			c.start()
		}
		c.await(t, fmt.Sprintf("another Writer Service at b (alive: %v)", alive), func() bool {
			svc := c.service("writer")
			return svc.uid != uid && svc.instance() == "b" && svc.isOverridden()
		})
	}
	c.apply("main", "--server-side", "--force-conflicts")
	c.awaitHandedBack("b", 2)
}

// TestCore34FalseAlarm: the writer restarts, which ends every connection to it, and is the writer again. Nothing is patched and
// nothing committed.
func TestCore34FalseAlarm(t *testing.T) {
	t.Parallel()
	c := bootstrap(t, hands{})
	c.pg.Stop("a", pgcluster.Fast)
	c.p.AwaitLine("window-opened")
	c.pg.StartNode("a")
	c.p.AwaitLine("window-closed")
	c.wantWriters("a by kubectl-client-side-apply")
	if asked := c.gate.all(isServicePatch); len(asked) > 0 {
		t.Errorf("patched %v", asked)
	}
	c.wantCommits("first tree")
}
