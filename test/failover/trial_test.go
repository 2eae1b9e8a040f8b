//go:build e2e

package failover

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/poolwright/poolwright/gitsync/gitserver"
	"github.com/poolwright/poolwright/test/driver"
	"github.com/poolwright/poolwright/test/pgbouncer"
	"github.com/poolwright/poolwright/test/pgcluster"
)

// trial is a cell that runs.
type trial struct {
	world
	*watch

	t       *testing.T
	cell    Cell
	ns      string
	pg      *pgcluster.Cluster
	git     *driver.Remote
	p       *driver.Process // poolwright; nil in the peer's way
	peer    *peer
	crowd   *crowd
	readers []*Diary
	pushed  []time.Time // guarded by the watch's mutex, as what follows
	// restarted is how often the PgBouncer of a pod was known to have ended by itself.
	restarted map[types.UID]int
}

// userlist is the poolers' auth_file. With the password itself each login costs PgBouncer before 1.26 3.0 ms of its one thread, with the
// secret that PostgreSQL keeps 0.2 ms. PgBouncer shows PostgreSQL what a client has shown it.
func (r *trial) userlist() string {
	shown := r.pg.Secret()
	switch r.cell.Secret {
	case Plain:
		shown = pgcluster.Password
	case Light:
		shown = r.pg.Lighten()
	}
	return fmt.Sprintf("%q %q\n", pgcluster.User, shown)
}

// newTrial makes everything and waits until all applications write.
func newTrial(t *testing.T, number int, c Cell) *trial {
	t.Helper()
	w, err := theWorld()
	check(t, err)
	r := &trial{world: w, t: t, cell: c, restarted: map[types.UID]int{}, ns: fmt.Sprintf("cell-%d", number)}
	binary := publish(t, c.Version)
	r.pg = pgcluster.Start(t, pgcluster.Options{
		Nodes: []string{"a", "b", "c"}[:c.Instances], From: []string{"10.244.0.0/16"}, Settings: []string{"max_connections = 400"},
	})
	r.namespace(t, r.ns, r.userlist())
	r.watch = newWatch(t, w, r.ns)
	r.pg.Exec("a", "CREATE TABLE written (application int, at timestamptz); GRANT INSERT ON written TO "+pgcluster.User)
	r.pg.Exec("a", "GRANT SELECT ON written TO "+pgcluster.User)
	r.git = driver.NewRemote(t)
	r.custom(binary)
	r.begin()
	r.crowd = newCrowd(t, c, r.addressOf("writer"))
	r.crowd.start()
	r.readers = startReaders(t, r.addressOf("reader"))
	return r
}

// custom is a user's component: the pods are real, run the cell's PgBouncer, and have no hook (see the package's comment).
func (r *trial) custom(binary string) {
	r.t.Helper()
	text := fmt.Sprintf(`apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
patches:
- target: {kind: Deployment}
  patch: |-
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: each}
    spec:
      template:
        metadata: {annotations: {bed.poolwright.dev/run: "true"}}
        spec:
          containers:
          - {name: pgbouncer, command: [%s, /etc/pgbouncer/pgbouncer.ini], lifecycle: null}
`, binary)
	_, err := r.git.Commit("main", "our PgBouncer", map[string]*gitserver.File{"clusters/story/custom/kustomization.yaml": gitserver.Text(text)})
	check(r.t, err)
}

// publish puts a version where the pods see it until the test ends: a pod runs as nobody, and has a /tmp of its own.
func publish(t testing.TB, version string) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "pgbouncer-")
	check(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	check(t, os.Chmod(dir, 0o755))
	check(t, os.CopyFS(dir, os.DirFS(filepath.Dir(pgbouncer.Binary(t, version)))))
	return filepath.Join(dir, "pgbouncer")
}

// begin goes from nothing to a cluster that rests.
func (r *trial) begin() {
	r.t.Helper()
	file := r.clusterFile()
	printed, said, code := driver.Once(r.t, "gitops-config", "--flux", "--service-account", r.ns+"/poolwright", "-f", file)
	if code != 0 {
		r.t.Fatalf("gitops-config: exit code %d: %s", code, said)
	}
	rights, nudge, _ := strings.Cut(printed, "\n# ---\n")
	r.grant(r.t, rights)
	// It may ask Flux to look, whose objects are in the cell's namespace.
	r.grant(r.t, strings.ReplaceAll(strings.ReplaceAll("\n"+nudge, "\n# ", "\n"), "namespace: flux-system", "namespace: "+r.ns))
	r.p = driver.Start(r.t, "run", "-f", file, "--kubeconfig", r.kubeconfig(r.t, r.ns), "--log-format", "json")
	r.git.AwaitSubject(2, "first tree, writer a")
	r.git.After(func() { now(r.watch, func() any { r.pushed = append(r.pushed, time.Now()); return nil }) })
	if r.cell.Way == Peer {
		r.p.Stop()
		r.p = nil
		r.peer = startPeer(r)
	} else {
		r.flux(r.t, r.ns, r.git.URL)
	}
	r.await(r.t, "the first rest", func() bool { return r.isApplied("a") })
	r.wantEvictions()
}

// wantEvictions fails a cell that would measure something else than its name says.
func (r *trial) wantEvictions() {
	r.t.Helper()
	if r.cell.evicts() && !r.awaitFor(10*time.Second, func() bool { return r.isEvicted("a") }) {
		r.t.Fatalf("this poolwright does not evict (failover.evict is %s): ConfigMap story-control has no entry `evictions` 10 s after the first tree was applied", r.cell.Way)
	}
}

// allReady is what ready says when all pods are.
func (r *trial) allReady() string {
	return strings.Join([]string{"a=2", "b=2", "c=2"}[:r.cell.Instances], " ")
}

// rests reports whether nothing is under way.
func (r *trial) rests(writer string) bool {
	if r.cell.IsTrial() { // what counts has been by then; what is handed back later is in the next round's way, as in life
		return r.is(behind, writer) && r.isEvicted(writer)
	}
	return r.isApplied(writer) && (!r.cell.evicts() || r.isEvicted(writer)) && !r.isFast()
}

// isFast reports whether poolwright looks more often than at other times, because of the failover before.
func (r *trial) isFast() bool {
	if r.p == nil {
		return r.peer.isFast()
	}
	log := r.p.Text()
	return strings.LastIndex(log, `"msg":"window-opened"`) > strings.LastIndex(log, `"msg":"window-closed"`)
}

// isApplied reports whether everything is as Git says, and Git says that all instances serve.
func (r *trial) isApplied(writer string) bool {
	if !r.is(behind, writer) || !r.is(ready, r.allReady()) || len(r.uids()) != 2*r.cell.Instances {
		return false // the last: one that ends still serves whom it has
	}
	return r.peer != nil || r.is(clean, "true") && r.is(selects, writer) && r.is(serving, fmt.Sprint(r.cell.Instances)) &&
		r.is(epoch, driver.YAMLValue(r.git.File("main", "topology.yaml"), "epoch"))
}

// isEvicted reports whether nobody is left on another instance, as poolwright says.
func (r *trial) isEvicted(writer string) bool {
	to, done, _ := strings.Cut(now(r.watch, func() string { return r.facts[eviction] }), " ")
	return to == writer && done != "open"
}

// clusterFile is a Cluster file with the defaults, but for the way to evict, and a window that does not keep the next round waiting.
func (r *trial) clusterFile() string {
	r.t.Helper()
	pool := 20
	if r.cell.Pooling == "session" {
		pool = r.cell.Clients + 10
	}
	text := fmt.Sprintf(`apiVersion: poolwright.dev/v1alpha1
kind: Cluster
metadata: {name: story, namespace: %s}
spec:
  discovery:
%s
  pgbouncer:
    image: registry.example.com/pgbouncer:%s.1
    replicas: 2
    authFileSecretRef: {name: userlist}
    config:
      pgbouncer: {auth_type: scram-sha-256, pool_mode: %s, default_pool_size: %d, max_client_conn: 2000}
  failover:
    window: 5s
    proof: {interval: 1s, sslMode: disable, credentials: {env: {userVar: PGUSER, passwordVar: PGPASSWORD}}}
%s
  publish:
    repository: %s
`, r.ns, indent(driver.Postgres(r.pg), 4), r.cell.Version, r.cell.Pooling, pool, indent(evictWay[r.cell.Way], 4), r.git.URL)
	path := filepath.Join(r.t.TempDir(), "cluster.yaml")
	check(r.t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// evictWay is what the Cluster file says about a failover.
var evictWay = map[Way]string{
	Console:     "evict: console\nconsole: {sslMode: disable, credentials: {env: {passwordVar: PGPASSWORD}}}",
	DeletePods:  "evict: deletePods",
	ServiceOnly: "evict: none",
	Peer:        "evict: none",
}

func indent(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Repeat(" ", n) + strings.Join(lines, "\n"+strings.Repeat(" ", n))
}

// addressOf is the cluster IP of a role's Service.
func (r *trial) addressOf(role string) string {
	r.t.Helper()
	return now(r.watch, func() string { return r.service(role).Spec.ClusterIP })
}
