package pgcluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// User and Password are of the ordinary role that every node knows: LOGIN and
// pg_monitor, no superuser. Connections over TCP need the password.
const (
	User     = "poolwright"
	Password = "it's a secret"
)

// Options say what Start builds.
type Options struct {
	// Nodes are the names of the servers, the primary first. Default: one node "a".
	// A name is the node's cluster_name and its application_name as a standby.
	Nodes []string
	// Emulation loads discovery/aurora/testdata/aurora_emulation.sql into
	// database postgres, so that the cluster answers like Aurora.
	Emulation bool
	// TLS turns ssl on, with a certificate for each node's address that
	// Cluster.CAFile verifies. Plain connections stay possible.
	TLS bool
	// From are networks that clients come from besides 127.0.0.0/8, as pods do.
	From []string
	// Settings are further lines for the postgresql.conf of all nodes.
	Settings []string
}

// Cluster is a running set of servers.
type Cluster struct {
	// Port is the one port of all nodes.
	Port int
	// CAFile is a PEM file, "" without Options.TLS.
	CAFile string

	t       testing.TB
	dir     string
	install install
	options Options
	nodes   []*Node

	mu      sync.Mutex
	primary *Node
}

var nodeName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)

// Start runs the servers until the test ends. It fails the test when it cannot.
func Start(t testing.TB, options Options) *Cluster {
	t.Helper()
	if len(options.Nodes) == 0 {
		options.Nodes = []string{"a"}
	}
	c := &Cluster{t: t, options: options}
	c.check(c.open())
	c.check(c.startAll())
	c.check(c.populate())
	if options.Emulation {
		c.startTicking()
	}
	return c
}

// Nodes returns the nodes in the order of Options.Nodes.
func (c *Cluster) Nodes() []*Node { return c.nodes }

// Node returns the node of that name; an unknown name fails the test.
func (c *Cluster) Node(name string) *Node {
	c.t.Helper()
	for _, n := range c.nodes {
		if n.Name == name {
			return n
		}
	}
	c.t.Fatalf("pgcluster: no node %q", name)
	return nil
}

// Primary returns the node that was the primary at first or was promoted last,
// whether it runs or not.
func (c *Cluster) Primary() *Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.primary
}

func (c *Cluster) setPrimary(n *Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.primary = n
}

func (c *Cluster) check(err error) {
	if err != nil {
		c.t.Helper()
		c.t.Fatalf("pgcluster: %v", err)
	}
}

// open finds the binaries and lays out the directories of all nodes.
func (c *Cluster) open() (err error) {
	if c.install, err = findInstall(debian); err != nil {
		return err
	}
	// Not t.TempDir: the postgres user may not enter it, and the path of a
	// Unix socket must stay below 108 bytes.
	if c.dir, err = os.MkdirTemp("", "pgcluster-"); err != nil {
		return err
	}
	c.t.Cleanup(func() { _ = os.RemoveAll(c.dir) })
	if err := c.install.own(c.dir); err != nil {
		return err
	}
	if err := c.addNodes(); err != nil {
		return err
	}
	if c.options.TLS {
		if err := c.writeCertificates(); err != nil {
			return fmt.Errorf("making certificates: %w", err)
		}
	}
	template, err := c.install.template()
	if err != nil {
		return err
	}
	return each(c.nodes, func(n *Node) error { return c.layOut(n, template) })
}

func (c *Cluster) addNodes() error {
	hosts, port, err := addresses(len(c.options.Nodes))
	if err != nil {
		return err
	}
	c.Port = port
	for i, name := range c.options.Nodes {
		if !nodeName.MatchString(name) {
			return fmt.Errorf("node name %q: want %s", name, nodeName)
		}
		c.nodes = append(c.nodes, &Node{
			Name: name, Host: hosts[i], Port: port,
			cluster: c, dir: filepath.Join(c.dir, name),
		})
	}
	c.primary = c.nodes[0]
	return nil
}

// layOut makes the directory of a node: a copy of the template, its
// configuration, and for all but the first the mark of a standby.
func (c *Cluster) layOut(n *Node, template string) error {
	if err := os.Mkdir(n.dir, 0o700); err != nil {
		return err
	}
	if err := c.install.own(n.dir); err != nil {
		return err
	}
	if err := copyTree(template, n.data()); err != nil {
		return err
	}
	if n != c.primary {
		n.upstream = c.primary
		if err := n.markStandby(); err != nil {
			return err
		}
	}
	return n.writeConfig()
}

func (c *Cluster) startAll() error {
	return each(c.nodes, (*Node).start)
}

// populate writes what all nodes need to know and waits until they have it.
func (c *Cluster) populate() error {
	sql := []string{
		"CREATE ROLE " + User + " LOGIN PASSWORD " + quote(Password) + " IN ROLE pg_monitor",
		"CREATE ROLE replicator LOGIN REPLICATION",
	}
	if c.options.Emulation {
		text, err := emulation()
		if err != nil {
			return err
		}
		sql = append(sql, text)
		for _, n := range c.nodes {
			sql = append(sql, fmt.Sprintf("INSERT INTO aurora_emu.member VALUES (%s, %s, %d)", quote(n.Name), quote(n.Host), n.Port))
		}
	}
	if err := c.primary.exec(context.Background(), strings.Join(sql, ";\n")); err != nil {
		return fmt.Errorf("populating %s: %w", c.primary.Name, err)
	}
	return each(c.nodes[1:], (*Node).waitCaughtUp)
}

// emulation reads the SQL file from the source tree that the test runs in.
func emulation() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		text, err := os.ReadFile(filepath.Join(dir, "discovery", "aurora", "testdata", "aurora_emulation.sql"))
		if err == nil {
			return string(text), nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("reading the emulation: not in any parent of the working directory: %w", err)
		}
	}
}

// each runs do on all nodes at once and returns one of the errors.
func each(nodes []*Node, do func(*Node) error) error {
	errs := make(chan error, len(nodes))
	for _, n := range nodes {
		go func() { errs <- do(n) }()
	}
	var first error
	for range nodes {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
