package aurorasim_test

import (
	"context"
	"errors"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/poolwright/poolwright/discovery"
	"github.com/poolwright/poolwright/discovery/aurorasim"
)

func TestB23SameNameNewMachine(t *testing.T) {
	c := start(t, aurorasim.Config{})
	conn := connect(t, c, "b")
	inject(t, c, "b", aurorasim.DenyAuth)
	before := c.Metadata().Instances[1].Resource
	if err := c.Replace("b"); err != nil {
		t.Fatal(err)
	}
	if after := c.Metadata().Instances[1].Resource; after == before {
		t.Errorf("still %s", after)
	}
	if _, err := conn.Exec(within(t), "select 1"); err == nil {
		t.Error("a session outlived its machine")
	}
	if got, want := wordOf(t, connect(t, c, "b")), (word{"b", true, "on", "off"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if c.Replace("a") == nil {
		t.Error("the writer was replaced")
	}
}

func TestMetadataIsDeterministicAndSorted(t *testing.T) {
	make := func() discovery.Metadata {
		c := start(t, aurorasim.Config{Instances: []string{"w", "r2", "r1"}, Now: still})
		if err := errors.Join(c.SetDeleting("r2"), c.Kill("r1")); err != nil {
			t.Fatal(err)
		}
		return c.Metadata()
	}
	got := make()
	if diff := cmp.Diff(got, make()); diff != "" {
		t.Errorf("two like clusters differ:\n%s", diff)
	}
	want := discovery.Metadata{State: discovery.MetadataFresh, At: still(), Instances: []discovery.MetaInstance{
		{Name: "r1", Resource: got.Instances[0].Resource, Zone: "us-east-1c", Class: "db.r6g.large", Status: "failed"},
		{Name: "r2", Resource: got.Instances[1].Resource, Zone: "us-east-1b", Class: "db.r6g.large", Status: "deleting"},
		{Name: "w", Resource: got.Instances[2].Resource, Zone: "us-east-1a", Class: "db.r6g.large", Status: "available", Writer: true},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, i := range got.Instances {
		if len(i.Resource) != len("db-ABCDEFGHIJKLMNOPQRSTUVWXYZ") {
			t.Errorf("resource id %q", i.Resource)
		}
	}
}

func TestAddedAndRemovedInstances(t *testing.T) {
	c := start(t, aurorasim.Config{Now: still})
	conn := connect(t, c, "a")
	if err := errors.Join(c.AddInstance("d"), c.RemoveInstance("b")); err != nil {
		t.Fatal(err)
	}
	want := []row{{"a", "M", -1, -1}, {"c", "R", 100, 20}, {"d", "R", 100, 20}}
	if diff := cmp.Diff(want, rowsOf(t, conn)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var unknown *net.DNSError
	if _, err := dial(within(t), c, c.Host("b")); !errors.As(err, &unknown) || !unknown.IsNotFound {
		t.Errorf("the removed one: %v, want no such host", err)
	}
	for name, err := range map[string]error{
		"adding one twice": c.AddInstance("a"), "adding one without a name": c.AddInstance(""), "removing nobody": c.RemoveInstance("b"),
		"killing nobody": c.Kill("b"), "promoting nobody": c.Promote("b"), "failing over to the writer": c.Failover("a"),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// virtual runs a test of delays on a clock that jumps.
// writerAfter lets time pass and gives the writer then.
// leadsTo is the instance that a cluster endpoint leads to.
func leadsTo(t *testing.T, c *aurorasim.Cluster, e aurorasim.Endpoint) string {
	t.Helper()
	conn, err := dial(within(t), c, c.EndpointHost(e))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	return wordOf(t, conn).Name
}

func TestB21ClusterEndpointsLagAndCanBePinned(t *testing.T) {
	virtual(t, aurorasim.Config{DNSLag: 15 * time.Second}, func(t *testing.T, c *aurorasim.Cluster) {
		if err := c.Promote("b"); err != nil {
			t.Fatal(err)
		}
		if got := leadsTo(t, c, aurorasim.WriterEndpoint); got != "a" {
			t.Errorf("at once the writer's endpoint leads to %s, want the old writer", got)
		}
		writerAfter(c, 15*time.Second)
		if got := leadsTo(t, c, aurorasim.WriterEndpoint); got != "b" {
			t.Errorf("after DNSLag the writer's endpoint leads to %s, want b", got)
		}
		seen := map[string]bool{}
		for range 4 {
			seen[leadsTo(t, c, aurorasim.ReaderEndpoint)] = true
		}
		if diff := cmp.Diff(map[string]bool{"a": true, "c": true}, seen); diff != "" {
			t.Errorf("the reader endpoint (-want +got):\n%s", diff)
		}
		c.PinEndpoint(aurorasim.ReaderEndpoint, "b")
		c.PinEndpoint(aurorasim.WriterEndpoint, "c")
		if r, w := leadsTo(t, c, aurorasim.ReaderEndpoint), leadsTo(t, c, aurorasim.WriterEndpoint); r != "b" || w != "c" {
			t.Errorf("pinned: reader %s, writer %s, want b, c", r, w)
		}
		c.PinEndpoint(aurorasim.WriterEndpoint, "")
		if got := leadsTo(t, c, aurorasim.WriterEndpoint); got != "b" {
			t.Errorf("no longer pinned, the writer's endpoint leads to %s, want b", got)
		}
	})
}

func TestReaderEndpointLeadsToTheWriterWhenItIsAlone(t *testing.T) {
	c := start(t, aurorasim.Config{Instances: []string{"only"}})
	if got := leadsTo(t, c, aurorasim.ReaderEndpoint); got != "only" {
		t.Errorf("it leads to %s", got)
	}
}

func TestClusterEndpointsHaveListeners(t *testing.T) {
	c := start(t, aurorasim.Config{})
	connectTo := func(e aurorasim.Endpoint) (string, error) {
		conn, err := pgx.Connect(within(t), "postgres://app@"+c.EndpointAddr(e)+"/app?sslmode=disable")
		if err != nil {
			return "", err
		}
		defer func() { _ = conn.Close(context.Background()) }()
		return wordOf(t, conn).Name, nil
	}
	if got, err := connectTo(aurorasim.WriterEndpoint); got != "a" || err != nil {
		t.Errorf("the writer's leads to %s, %v", got, err)
	}
	c.PinEndpoint(aurorasim.WriterEndpoint, "a")
	if err := c.Kill("a"); err != nil {
		t.Fatal(err)
	}
	if got, err := connectTo(aurorasim.WriterEndpoint); err == nil {
		t.Errorf("it leads to %s, a dead instance", got)
	}
	if _, err := dial(within(t), c, c.EndpointHost(aurorasim.WriterEndpoint)); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("by name: %v, want connection refused", err)
	}
}

func TestDialKnowsItsOwnNamesOnly(t *testing.T) {
	c := start(t, aurorasim.Config{})
	for addr, want := range map[string]error{
		c.Host("a") + ":5433": syscall.ECONNREFUSED,
		"example.com:5432":    nil,
		"no-port":             nil,
	} {
		conn, err := c.Dial(within(t), "tcp", addr)
		if err == nil {
			_ = conn.Close()
			t.Errorf("%s: connected", addr)
		}
		if want != nil && !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", addr, err, want)
		}
	}
	for _, addr := range []string{c.Host("a") + ":5432", c.Host("a") + ".:5432", "A." + c.Host("a")[2:] + ":5432", c.Addr("a")} {
		conn, err := c.Dial(within(t), "tcp", addr)
		if err != nil {
			t.Errorf("%s: %v", addr, err)
			continue
		}
		_ = conn.Close()
	}
	if got := c.Addr("nobody"); got != "" {
		t.Errorf("nobody listens on %s", got)
	}
}

func TestPortStaysOverARestart(t *testing.T) {
	c := start(t, aurorasim.Config{})
	before := c.Addr("b")
	if err := errors.Join(c.Kill("b"), c.Restart("b")); err != nil {
		t.Fatal(err)
	}
	wordOf(t, connect(t, c, "b"))
	if after := c.Addr("b"); after != before {
		t.Errorf("it was %s and is %s", before, after)
	}
}

func TestPortThatWasTakenMeanwhile(t *testing.T) {
	c := start(t, aurorasim.Config{})
	if err := c.Kill("b"); err != nil {
		t.Fatal(err)
	}
	thief, err := net.Listen("tcp", c.Addr("b"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = thief.Close() }()
	if err := c.Restart("b"); err != nil {
		t.Fatal(err)
	}
	wordOf(t, connect(t, c, "b"))
}

func TestClosedClusterRefusesEverything(t *testing.T) {
	c := start(t, aurorasim.Config{RestartDelay: time.Hour, FailoverDelay: time.Hour})
	conn := connect(t, c, "b")
	if err := c.Kill("a"); err != nil {
		t.Fatal(err)
	}
	waited := make(chan error, 1)
	go func() { waited <- c.Wait(context.Background(), func(aurorasim.State) bool { return false }) }()
	c.Close()
	if err := <-waited; err == nil {
		t.Error("a wait ended well")
	}
	if _, err := conn.Exec(within(t), "select 1"); err == nil {
		t.Error("a session goes on")
	}
	for name, err := range map[string]error{
		"AddInstance": c.AddInstance("d"), "Kill": c.Kill("b"), "Restart": c.Restart("a"), "Inject": c.Inject("a", aurorasim.Hang),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	c.Close()
}

func TestStartRefusesWhatIsNoCluster(t *testing.T) {
	for name, cfg := range map[string]aurorasim.Config{
		"no name": {Instances: []string{"a"}}, "no instance": {Name: "demo"}, "two of a name": {Name: "demo", Instances: []string{"a", "a"}},
	} {
		if c, err := aurorasim.Start(cfg); err == nil {
			c.Close()
			t.Errorf("%s: it started", name)
		}
	}
}
