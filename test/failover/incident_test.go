//go:build e2e

package failover

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poolwright/poolwright/live/pooler"
	"github.com/poolwright/poolwright/test/driver"
	"github.com/poolwright/poolwright/test/pgcluster"
)

// The namespaces of the incidents; cells have the numbers before.
const (
	readonlyHealth = 901 + iota
	readonlyHealthAlone
	nobodyRuns
	dnsCache
)

// incident is a failover after which the old writer is there, and answers whoever only reads.
func incident(way Way, version string) Cell {
	c := base
	c.Way, c.Version, c.Provoked = way, version, Early
	return c
}

// TestIncidentA01A08A09S01ReadonlyHealth: for 55 minutes a pool kept its connections to the demoted node; SELECT 1 was answered all the time, and every
// write was told 25006. Here everybody is cut and comes back on the new writer; and when the Service itself leads to
// a node that cannot write, that is said, whatever SELECT 1 says.
func TestIncidentA01A08A09S01ReadonlyHealth(t *testing.T) {
	r := newTrial(t, readonlyHealth, incident(Console, "1.24"))
	round, _ := r.round(1)
	r.wantRest(round)
	if round.Stuck > 0 {
		t.Errorf("%d of %d applications are not back", round.Stuck, round.Clients)
	}
	r.p.AwaitLine(`"msg":"proven"`, "writes")
	known := r.p.Text()
	r.person("pause", "--reason", "drill")
	r.kubectl(t, "-n", r.ns, "patch", "service", "story-writer", "--type=merge", "-p", fmt.Sprintf(`{"spec":{"selector":{"poolwright.dev/instance":%q}}}`, round.From))
	r.p.AwaitLineAfter(known, `"msg":"unproven"`, "writes", "25006")
	if err := askOnce(t.Context(), net.JoinHostPort(r.addressOf("writer"), "6432")); err != nil {
		t.Errorf("SELECT 1 says %v, and it is well all the time", err)
	}
	for verb, want := range map[string]string{"status": "writes reach the writer: no, role mismatch", "doctor": "who answers cannot write"} {
		if said := r.said(verb); !strings.Contains(said, want) {
			t.Errorf("%s says nothing of it:\n%s", verb, said)
		}
	}
	r.await(t, "the Event RoleMismatch", func() bool { return r.hasEvent("RoleMismatch") })
	known = r.p.Text()
	r.person("resume")
	r.p.AwaitLineAfter(known, `"msg":"proven"`, "writes") // the tool puts its Service right
}

// TestIncidentA01ReadonlyHealthWithoutTheEviction: the Service alone cuts nobody.
func TestIncidentA01ReadonlyHealthWithoutTheEviction(t *testing.T) {
	r := newTrial(t, readonlyHealthAlone, incident(ServiceOnly, "1.24"))
	round, clients := r.round(1)
	r.wantRest(round)
	if round.Stuck != round.Clients {
		t.Errorf("%d of %d applications are not back: who cut the others?", round.Stuck, round.Clients)
	}
	for _, c := range clients {
		if !strings.Contains(c.Codes, "25006") {
			t.Errorf("application %d was told %q, want 25006", c.Client, c.Codes)
		}
	}
}

// TestIncidentA01PatchWhileNoPoolwrightRuns: a person moves the Services, and everybody who is connected goes with them.
func TestIncidentA01PatchWhileNoPoolwrightRuns(t *testing.T) {
	r := newTrial(t, nobodyRuns, incident(Console, "1.24"))
	r.settle()
	r.p.Stop()
	p, mend := r.provoke()
	out, said, code := driver.Once(t, "patch", "-f", r.clusterFile(), "--kubeconfig", filepath.Join(r.dir, "admin.kubeconfig"), "--lease-namespace", r.ns,
		"--to", p.to, "--reason", "nobody runs", "--yes")
	if code != 0 || !strings.Contains(out, "clients  taken off "+p.from+": ") {
		t.Errorf("patch: exit code %d:\n%s%s", code, out, said)
	}
	r.await(t, "all applications on "+p.to, func() bool { return r.crowd.done(p.to, p.zero) == r.cell.Clients })
	mend()
	if hung, refusing := r.ask(); hung+refusing > 0 {
		t.Errorf("%d poolers hang, %d refuse", hung, refusing)
	}
}

// TestIncidentA06DNSCache: for six minutes a PgBouncer kept its connections to the address that a name had before the failover. Here
// the poolers keep theirs as well, before and after, in a version that has no dns_max_ttl of use; and nobody needs them to notice.
func TestIncidentA06DNSCache(t *testing.T) {
	r := newTrial(t, dnsCache, incident(Console, "1.18"))
	round, _ := r.round(1)
	r.wantRest(round)
	if round.Stuck > 0 {
		t.Errorf("%d of %d applications are not back", round.Stuck, round.Clients)
	}
	for _, pod := range now(r.watch, r.pods) {
		instance := pod.Labels["poolwright.dev/instance"]
		for _, addr := range r.servers(net.JoinHostPort(pod.Status.PodIP, "6432")) {
			if want := r.pg.Node(instance).Host; addr != want {
				t.Errorf("pod %s has a connection to %s; %s is at %s", pod.Name, addr, instance, want)
			}
		}
	}
	if said := r.said("doctor"); !strings.Contains(said, "ok    backends") {
		t.Errorf("doctor says nothing of where the connections go:\n%s", said)
	}
}

// servers are the addresses that a pooler is connected to.
func (r *trial) servers(address string) (all []string) {
	r.t.Helper()
	c, err := pooler.Open(r.t.Context(), address, pooler.Config{SSLMode: "disable", Credentials: func(context.Context) (string, string, error) {
		return pgcluster.User, pgcluster.Password, nil
	}})
	check(r.t, err)
	defer c.Close()
	servers, err := c.Servers(r.t.Context())
	check(r.t, err)
	for _, s := range servers {
		all = append(all, s.Addr)
	}
	return all
}

// person gives a command as an administrator of Kubernetes.
func (r *trial) person(verb string, args ...string) {
	r.t.Helper()
	out, said, code := driver.Once(r.t, append([]string{verb, "--cluster", "story", "-n", r.ns, "--kubeconfig", filepath.Join(r.dir, "admin.kubeconfig")}, args...)...)
	if code != 0 {
		r.t.Fatalf("%s: exit code %d: %s%s", verb, code, out, said)
	}
}

// said is what a verb tells of the Cluster file.
func (r *trial) said(verb string) string {
	out, said, _ := driver.Once(r.t, verb, "-f", r.clusterFile(), "--kubeconfig", filepath.Join(r.dir, "admin.kubeconfig"))
	return out + said
}

func (r *trial) hasEvent(reason string) bool {
	list, err := r.client.CoreV1().Events(r.ns).List(r.t.Context(), metav1.ListOptions{FieldSelector: "reason=" + reason})
	return err == nil && len(list.Items) > 0
}
