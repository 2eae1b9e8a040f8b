//go:build e2e

package e2e

import (
	"context"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/poolwright/poolwright/gitsync/gitserver"
	"github.com/poolwright/poolwright/test/driver"
	"github.com/poolwright/poolwright/test/pgcluster"
)

// cluster is one story's everything.
type cluster struct {
	world
	*stage

	t    *testing.T
	ns   string
	pg   *pgcluster.Cluster
	git  *driver.Remote
	file string // the Cluster file
	gate *gate
	// kubeconfig leads through the gate, as the ServiceAccount.
	kubeconfig string
	// p is the poolwright that was started last.
	p *driver.Process
	// tool brings commits to the API server.
	tool tool
}

// tool is who applies what is in Git.
type tool interface {
	// begin starts to apply the directory on main.
	begin(c *cluster)
	// look is what a webhook would do: something was pushed.
	look(c *cluster)
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// newCluster starts the servers and prepares everything, but starts neither poolwright nor the tool.
// more is for the Cluster file.
func newCluster(t *testing.T, tool tool, more ...string) *cluster {
	t.Helper()
	w, err := theWorld()
	check(t, err)
	name := notInNames.ReplaceAllString(strings.ToLower(t.Name()), "-")
	c := &cluster{world: w, t: t, ns: strings.Trim(name[:min(len(name), 60)], "-"), tool: tool}
	c.create()
	c.pg = pgcluster.Start(t, pgcluster.Options{Nodes: []string{"a", "b", "c"}})
	c.git = driver.NewRemote(t)
	c.file = driver.ClusterFileIn(t, c.ns, driver.Postgres(c.pg), c.git.URL, more...)
	c.edit("    authFileSecretRef", "    replicas: 1\n    authFileSecretRef")
	c.grant(c.gitopsConfig("-f", c.file))
	c.gate, c.kubeconfig = c.newWay()
	return c
}

// create makes the namespace with poolwright's ServiceAccount in it.
func (c *cluster) create() {
	c.t.Helper()
	_, err := c.client.CoreV1().Namespaces().Create(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.ns}}, metav1.CreateOptions{})
	check(c.t, err)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "poolwright"}}
	_, err = c.client.CoreV1().ServiceAccounts(c.ns).Create(context.Background(), account, metav1.CreateOptions{})
	check(c.t, err)
	c.stage = watchAll(c.t, c.world, c.ns)
}

// edit changes the Cluster file.
func (c *cluster) edit(old, new string) {
	c.t.Helper()
	text, err := os.ReadFile(c.file)
	check(c.t, err)
	if !strings.Contains(string(text), old) {
		c.t.Fatalf("the Cluster file has no %q", old)
	}
	check(c.t, os.WriteFile(c.file, []byte(strings.Replace(string(text), old, new, 1)), 0o600))
}

// gitopsConfig is what poolwright prints for Flux users.
func (c *cluster) gitopsConfig(args ...string) string {
	c.t.Helper()
	out, said, code := driver.Once(c.t, append([]string{"gitops-config", "--flux", "--service-account", c.ns + "/poolwright"}, args...)...)
	if code != 0 {
		c.t.Fatalf("gitops-config: exit code %d: %s", code, said)
	}
	return out
}

// grant creates the Roles and RoleBindings among the documents of a text.
func (c *cluster) grant(text string) {
	c.t.Helper()
	for doc := range strings.SplitSeq(text, "\n---\n") {
		var role rbacv1.Role
		check(c.t, yaml.Unmarshal([]byte(doc), &role))
		var err error
		switch role.Kind {
		case "Role":
			_, err = c.client.RbacV1().Roles(role.Namespace).Create(context.Background(), &role, metav1.CreateOptions{})
		case "RoleBinding":
			var binding rbacv1.RoleBinding
			check(c.t, yaml.Unmarshal([]byte(doc), &binding))
			_, err = c.client.RbacV1().RoleBindings(binding.Namespace).Create(context.Background(), &binding, metav1.CreateOptions{})
		}
		check(c.t, err)
	}
}

// newWay is another gate, and a kubeconfig that leads through it as poolwright's ServiceAccount.
func (c *cluster) newWay() (*gate, string) {
	c.t.Helper()
	g := newGate(c.t, c.world)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: g.Certificate().Raw})
	return g, c.kubeconfigFor("poolwright", &clientcmdapi.Cluster{Server: g.URL, CertificateAuthorityData: ca})
}

// kubeconfigFor is a kubeconfig of a ServiceAccount.
func (c *cluster) kubeconfigFor(account string, to *clientcmdapi.Cluster) string {
	c.t.Helper()
	token, err := c.client.CoreV1().ServiceAccounts(c.ns).CreateToken(context.Background(), account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	check(c.t, err)
	config := clientcmdapi.NewConfig()
	config.Clusters["bed"] = to
	config.AuthInfos[account] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	config.Contexts["bed"] = &clientcmdapi.Context{Cluster: "bed", AuthInfo: account, Namespace: c.ns}
	config.CurrentContext = "bed"
	path := filepath.Join(c.t.TempDir(), "kubeconfig")
	check(c.t, clientcmd.WriteToFile(*config, path))
	return path
}

// start runs poolwright.
func (c *cluster) start(args ...string) *driver.Process {
	c.t.Helper()
	c.p = driver.Start(c.t, append([]string{"run", "-f", c.file, "--kubeconfig", c.kubeconfig}, args...)...)
	return c.p
}

// restart starts it again after its end.
func (c *cluster) restart() { c.t.Helper(); c.start() }

// once runs a verb as the ServiceAccount, through the gate.
func (c *cluster) once(verb string, args ...string) (stdout, stderr string, code int) {
	c.t.Helper()
	return driver.Once(c.t, append([]string{verb, "--kubeconfig", c.kubeconfig}, args...)...)
}

// asPerson runs a verb with a person's kubeconfig, the admin's, which does not go through the gate.
func (c *cluster) asPerson(verb string, args ...string) (out string, code int) {
	c.t.Helper()
	stdout, stderr, code := driver.Once(c.t, append([]string{verb, "--kubeconfig", filepath.Join(c.dir, "admin.kubeconfig"), "--cluster", "story", "-n", c.ns}, args...)...)
	return stdout + stderr, code
}

// bootstrap goes from nothing to a cluster that rests: poolwright runs, a is the writer, all is applied and ready.
func bootstrap(t *testing.T, tool tool, more ...string) *cluster {
	t.Helper()
	c := newCluster(t, tool, more...)
	c.start()
	c.git.AwaitSubject(1, "first tree, writer a")
	c.tool.begin(c)
	c.awaitRest("a", 1)
	return c
}

// failover makes another server the primary; the old one goes down.
func (c *cluster) failover(to string) {
	c.t.Helper()
	from := c.pg.Primary().Name
	c.pg.Promote(to)
	c.pg.Stop(from, pgcluster.Fast)
}

// apply is kubectl apply of the cluster's directory at a revision.
func (c *cluster) apply(revision string, args ...string) {
	c.t.Helper()
	c.kubectl(append([]string{"apply", "-k", c.checkout(revision)}, args...)...)
}

// checkout is the cluster's directory at a revision.
func (c *cluster) checkout(revision string) string {
	c.t.Helper()
	tree := c.t.TempDir()
	c.git.MustGit("--work-tree="+tree, "checkout", revision, "--", "clusters/story")
	return filepath.Join(tree, "clusters", "story")
}

// kubectl is kubectl in the namespace, as admin.
func (c *cluster) kubectl(args ...string) string {
	c.t.Helper()
	return c.run(c.t, "", "kubectl", append([]string{"-n", c.ns}, args...)...)
}

// object is how poolwright's messages name a role's Service.
func (c *cluster) object(role string) string { return fmt.Sprintf("service %s/story-%s", c.ns, role) }

// as is a client that is taken for a user.
func (c *cluster) as(user string) kubernetes.Interface {
	c.t.Helper()
	config := rest.CopyConfig(c.config)
	config.Impersonate.UserName = user
	client, err := kubernetes.NewForConfig(config)
	check(c.t, err)
	return client
}

// foreign is a commit of somebody else's on main.
func (c *cluster) foreign(message, path, text string) {
	c.t.Helper()
	c.commitOn("main", message, path, text)
}

func (c *cluster) commitOn(branch, message, path, text string) {
	c.t.Helper()
	// What is in the repository already ends in a newline, which git show as it is used here drops.
	_, err := c.git.Commit(branch, message, map[string]*gitserver.File{path: gitserver.Text(strings.TrimRight(text, "\n") + "\n")})
	check(c.t, err)
}

// eventually asks until something is so that no watch tells.
func (c *cluster) eventually(what string, so func() bool) {
	c.t.Helper()
	late, again := time.NewTimer(driver.Patience), time.NewTicker(50*time.Millisecond)
	defer late.Stop()
	defer again.Stop()
	for !so() {
		select {
		case <-again.C:
		case <-late.C:
			c.t.Fatalf("waiting for %s\n%s", what, c.describe())
		}
	}
}
