package aurora

import (
	"context"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/poolwright/poolwright/discovery"
	"github.com/poolwright/poolwright/discovery/aurorasim"
	"github.com/poolwright/poolwright/discovery/session"
)

func TestTheFirstObservationHasEverybodysOwnWord(t *testing.T) {
	_, o := simulate(t, aurorasim.Config{})
	seen := expect(t, o, "a=writer b=reader c=reader")
	if got := asked(seen); got != "a b c reader-endpoint writer-endpoint" && got != "a b c writer-endpoint reader-endpoint" {
		t.Errorf("asked %s", got)
	}
	if got := asked(expect(t, o, "a=writer b=reader c=reader")); got != "a b c" {
		t.Errorf("then asked %s: cluster endpoints are only for finding instances", got)
	}
}

func TestAddressesByNameNeedNoClusterEndpoint(t *testing.T) {
	sim, err := aurorasim.Start(aurorasim.Config{Name: "pg", Instances: []string{"a", "b"}})
	do(t, err)
	defer sim.Close()
	hosts := map[string]session.Address{}
	for _, name := range []string{"a", "b"} {
		hosts[name] = address(t, sim.Addr(name))
	}
	o := New(Config{Cluster: "pg", Domain: "nowhere.invalid", Hosts: hosts, Session: session.Config{SSLMode: "disable"}})
	defer o.Close()
	seen := expect(t, o, "a=writer b=reader")
	if got := asked(seen); got != "a b" && got != "b a" {
		t.Errorf("asked %s", got)
	}
	if i, _ := discovery.Merge(seen).Instance("a"); (session.Address{Host: i.Host, Port: i.Port}) != hosts["a"] {
		t.Errorf("a is at %s:%d", i.Host, i.Port)
	}
}

func TestConnectionsAreKept(t *testing.T) {
	sim, o := simulate(t, aurorasim.Config{})
	for range 3 {
		expect(t, o, "a=writer b=reader c=reader")
	}
	settled(t, sim, func(s aurorasim.State) bool { // the second one of the writer is the watch
		return sessions(s, "a") == 2 && sessions(s, "b") == 1 && sessions(s, "c") == 1
	})
}

func TestInstancesComeAndGo(t *testing.T) {
	sim, o := simulate(t, aurorasim.Config{Instances: []string{"a", "b"}})
	expect(t, o, "a=writer b=reader")
	do(t, sim.AddInstance("c"))
	expect(t, o, "a=writer b=reader c=reader")
	do(t, sim.RemoveInstance("b"))
	if got := asked(expect(t, o, "a=writer c=reader")); got != "a b c" {
		t.Errorf("asked %s", got)
	}
	if got := asked(expect(t, o, "a=writer c=reader")); got != "a c" {
		t.Errorf("asked %s: b is to be forgotten", got)
	}
}

func TestFailover(t *testing.T) {
	sim, o := simulate(t, aurorasim.Config{})
	expect(t, o, "a=writer b=reader c=reader")
	do(t, sim.Kill("a"))
	expect(t, o, "a=reader(unreachable) b=writer c=reader")
	do(t, sim.Restart("a"))
	expect(t, o, "a=reader b=writer c=reader")
	do(t, sim.Promote("c"))
	expect(t, o, "a=reader b=reader c=writer")
}

// F05: any outage just waits; nobody is forgotten, and nothing has to be restarted.
func TestF05EverybodyIsAway(t *testing.T) {
	sim, o := simulate(t, aurorasim.Config{FailoverDelay: -1})
	expect(t, o, "a=writer b=reader c=reader")
	for _, name := range []string{"a", "b", "c"} {
		do(t, sim.Kill(name))
	}
	for range 3 {
		if got := asked(expect(t, o, "doubt:blind")); strings.Count(got, "endpoint") != 2 || !strings.HasPrefix(got, "a b c") {
			t.Errorf("asked %s", got)
		}
	}
	for _, name := range []string{"a", "b", "c"} {
		do(t, sim.Restart(name))
	}
	expect(t, o, "a=writer b=reader c=reader")
}

func TestAllNamesAreNewAndOnlyTheClusterEndpointsLeadThere(t *testing.T) {
	sim, o := simulate(t, aurorasim.Config{Instances: []string{"a", "b"}, FailoverDelay: -1})
	expect(t, o, "a=writer b=reader")
	do(t, sim.AddInstance("x"))
	do(t, sim.Promote("x"))
	for _, name := range []string{"a", "b"} {
		do(t, sim.RemoveInstance(name))
	}
	expect(t, o, "x=writer")
}

// B21: the answer through a cluster endpoint is never the writer's own word.
func TestB21DNSIsBehind(t *testing.T) {
	sim, o := simulate(t, aurorasim.Config{})
	sim.PinEndpoint(aurorasim.WriterEndpoint, "b")
	expect(t, o, "a=writer b=reader c=reader note:endpoint-lag b")
	expect(t, o, "a=writer b=reader c=reader")
}

func TestB05ADeletedReaderAndItsLagSentinel(t *testing.T) {
	sim, o := simulate(t, aurorasim.Config{})
	do(t, sim.SetDeleting("c"))
	do(t, sim.Inject("c", aurorasim.LagSentinel))
	seen := o.Observe(t.Context())
	meta := sim.Metadata()
	seen.Metadata = &meta
	if got, want := sentence(discovery.Merge(seen)), "a=writer b=reader c=reader(deleting) note:lag-sentinel c"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestB23TheSameNameOnANewMachine(t *testing.T) {
	sim, o := simulate(t, aurorasim.Config{})
	resource := func() string {
		seen := expect(t, o, "a=writer b=reader c=reader")
		meta := sim.Metadata()
		seen.Metadata = &meta
		b, _ := discovery.Merge(seen).Instance("b")
		return b.Resource
	}
	before := resource()
	do(t, sim.Replace("b"))
	if after := resource(); before == "" || after == "" || before == after {
		t.Errorf("was %q, is %q", before, after)
	}
}

func TestFaultsOfOneInstance(t *testing.T) {
	for _, c := range []struct {
		name, who string
		fault     aurorasim.Fault
		options   []aurorasim.Option
		want      string
	}{
		{"B01 NULL timestamps everywhere", "a", aurorasim.NullTimestamps, nil, "a=writer b=reader c=reader"},
		{"B03 two masters in a reader's view", "c", aurorasim.TwoMasters, []aurorasim.Option{aurorasim.About("b")}, "a=writer b=reader c=reader"},
		{"B06 a row is left over", "a", aurorasim.LingeringRow, []aurorasim.Option{aurorasim.About("old")}, "a=writer b=reader c=reader note:stale-row old"},
		{"B08 no rows at the writer", "a", aurorasim.NoRows, nil, "a=unknown(broken) b=reader c=reader doubt:no-rows a"},
		{"B08 one id twice at the writer", "a", aurorasim.DuplicateID, nil, "a=unknown(broken) b=reader c=reader doubt:duplicate-id a"},
		{"B08 an empty id at the writer", "a", aurorasim.EmptyID, nil, "a=unknown(broken) b=reader c=reader doubt:empty-id a"},
		{"B08 the writer's view names no writer", "a", aurorasim.NoMaster, nil, "a=unknown b=reader c=reader doubt:mixed-answer a"},
		{"B08 one reader has no rows", "c", aurorasim.NoRows, nil, "a=writer b=reader c=reader(broken) note:unusable-view c"},
		{"one reader's view is incomplete", "c", aurorasim.MissingRows, nil, "a=writer b=reader c=reader"},
		{"one reader's view is old", "c", aurorasim.OldTimestamps, nil, "a=writer b=reader c=reader"},
		{"a reader's view names no writer", "c", aurorasim.NoMaster, nil, "a=writer b=reader c=reader"},
		{"the writer is read-only", "a", aurorasim.ReadOnlyWriter, nil, "a=unknown b=reader c=reader doubt:mixed-answer a"},
		{"a reader refuses", "c", aurorasim.Refuse, nil, "a=writer b=reader c=reader(unreachable)"},
		{"a reader starts up", "c", aurorasim.StartingUp, nil, "a=writer b=reader c=reader(starting-up)"},
		{"a reader denies", "c", aurorasim.DenyAuth, nil, "a=writer b=reader c=reader(denied)"},
		{"a reader is full", "c", aurorasim.TooManyConnections, nil, "a=writer b=reader c=reader(broken)"},
		{"a reader talks nonsense", "c", aurorasim.Garbage, nil, "a=writer b=reader c=reader(broken)"},
		{"the writer refuses", "a", aurorasim.Refuse, nil, "a=unknown(unreachable) b=reader c=reader doubt:writer-unproven a"},
		{"the writer denies", "a", aurorasim.DenyAuth, nil, "a=unknown(denied) b=reader c=reader doubt:writer-unproven a"},
		{"somebody else at a reader's endpoint", "c", aurorasim.WrongNode, []aurorasim.Option{aurorasim.About("b")}, "a=writer b=reader c=reader(wrong-node)"},
		{"the writer at a reader's endpoint", "c", aurorasim.WrongNode, nil, "a=writer b=reader c=reader(wrong-node)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			sim, o := simulate(t, aurorasim.Config{})
			do(t, sim.Inject(c.who, c.fault, c.options...))
			seen := expect(t, o, c.want)
			if text := written(t, seen); strings.Contains(text, secret) {
				t.Errorf("the password is in\n%s", text)
			}
			do(t, sim.Clear(c.who))
			if want := "a=writer b=reader c=reader"; c.fault != aurorasim.LingeringRow {
				expect(t, o, want)
			}
		})
	}
}

func TestB03TwoInstancesClaimIt(t *testing.T) {
	sim, o := simulate(t, aurorasim.Config{})
	do(t, sim.Inject("a", aurorasim.StaleWriter))
	do(t, sim.Promote("b"))
	expect(t, o, "a=unknown b=writer c=reader note:stale-claim a")
	do(t, sim.Inject("c", aurorasim.TwoMasters, aurorasim.About("a")))
	expect(t, o, "a=unknown b=unknown c=reader doubt:two-writers a doubt:two-writers b")
}

func TestB03TwoInstancesClaimItAndNobodyElseIsThere(t *testing.T) {
	sim, o := simulate(t, aurorasim.Config{Instances: []string{"a", "b"}})
	do(t, sim.Inject("a", aurorasim.StaleWriter))
	do(t, sim.Promote("b"))
	expect(t, o, "a=unknown b=unknown doubt:two-writers a doubt:two-writers b")
}

func TestB08NobodyIsTheWriter(t *testing.T) {
	sim, o := simulate(t, aurorasim.Config{})
	sim.Demote()
	expect(t, o, "a=reader b=reader c=reader doubt:no-writer")
	do(t, sim.Promote("b"))
	expect(t, o, "a=reader b=writer c=reader")
}

func TestB19GlobalSecondary(t *testing.T) {
	sim, o := simulate(t, aurorasim.Config{}, func(c *Config) { c.Mode = discovery.GlobalSecondary })
	sim.Demote()
	expect(t, o, "a=reader b=reader c=reader")
}

// One that hangs is a timeout, and the others' answers are in the same observation.
func TestOneHangs(t *testing.T) {
	for _, fault := range []aurorasim.Fault{aurorasim.Hang, aurorasim.HalfOpen} {
		for _, c := range []struct{ who, want string }{
			{"c", "a=writer b=reader c=reader(timeout)"},
			{"a", "a=unknown(timeout) b=reader c=reader doubt:writer-unproven a"},
		} {
			t.Run(fault.String()+" "+c.who, func(t *testing.T) {
				t.Parallel()
				sim, o := simulate(t, aurorasim.Config{FailoverDelay: -1}, impatient)
				expect(t, o, "a=writer b=reader c=reader")
				do(t, sim.Inject(c.who, fault))
				expect(t, o, c.want)
				do(t, sim.Clear(c.who))
				expect(t, o, "a=writer b=reader c=reader")
			})
		}
	}
}

// In the failover window the caller's deadline is the shorter one.
func TestAnObservationEndsWithItsContext(t *testing.T) {
	sim, o := simulate(t, aurorasim.Config{})
	expect(t, o, "a=writer b=reader c=reader")
	do(t, sim.Inject("a", aurorasim.HalfOpen))
	do(t, sim.Promote("b"))
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	seen := o.Observe(ctx)
	if got, want := sentence(discovery.Merge(seen)), "a=reader(timeout) b=writer c=reader"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestACancelledObservationIsNoAnswer(t *testing.T) {
	_, o := simulate(t, aurorasim.Config{})
	expect(t, o, "a=writer b=reader c=reader")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := sentence(discovery.Merge(o.Observe(ctx))); got != "doubt:blind" {
		t.Errorf("got %s", got)
	}
	expect(t, o, "a=writer b=reader c=reader")
}

func TestTLS(t *testing.T) {
	other, err := aurorasim.Start(aurorasim.Config{Name: "other", Instances: []string{"x"}, TLS: true})
	do(t, err)
	defer other.Close()
	for _, c := range []struct {
		mode, trust string
		tls         bool
		want        string
	}{
		{"verify-full", "own", true, "a=writer b=reader c=reader"},
		{"verify-ca", "own", true, "a=writer b=reader c=reader"},
		{"require", "", true, "a=writer b=reader c=reader"},
		{"disable", "", true, "a=writer b=reader c=reader"},
		{"verify-full", "other", true, "doubt:blind"},
		{"verify-ca", "other", true, "doubt:blind"},
		{"require", "", false, "doubt:blind"},
	} {
		t.Run(c.mode+" "+c.trust, func(t *testing.T) {
			sim, o := simulate(t, aurorasim.Config{TLS: c.tls})
			o.Close()
			config := o.config
			config.Session.SSLMode = c.mode
			switch c.trust {
			case "own":
				config.Session.RootCert = caFile(t, sim.CA())
			case "other":
				config.Session.RootCert = caFile(t, other.CA())
			}
			o = New(config)
			defer o.Close()
			seen := expect(t, o, c.want)
			for _, a := range seen.Answers {
				if c.trust == "other" && a.Fault != discovery.Denied {
					t.Errorf("%s: %v %s", a.Asked, a.Fault, a.Detail)
				}
			}
		})
	}
}

func TestVerifyFullChecksTheName(t *testing.T) {
	sim, o := simulate(t, aurorasim.Config{TLS: true})
	o.Close()
	config := o.config
	config.Session.SSLMode, config.Session.RootCert = "verify-full", caFile(t, sim.CA())
	config.Hosts = map[string]session.Address{"a": address(t, sim.Addr("a"))}
	config.Name = ""
	config.Session.Lookup = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil }
	o = New(config)
	defer o.Close()
	if a := o.Observe(t.Context()).Answers[0]; a.Fault != discovery.Denied || !strings.Contains(a.Detail, "certificate") {
		t.Errorf("got %v: %s", a.Fault, a.Detail)
	}
}

func TestTheWrongPassword(t *testing.T) {
	_, o := simulate(t, aurorasim.Config{}, func(c *Config) {
		c.Session.Credentials = func(context.Context, string, int) (string, string, error) { return "app", "wrong-" + secret, nil }
	})
	seen := expect(t, o, "doubt:blind")
	for _, a := range seen.Answers {
		if a.Fault != discovery.Denied || strings.Contains(a.Detail, secret) || !strings.Contains(a.Detail, "28P01") {
			t.Errorf("%s: %v %s", a.Asked, a.Fault, a.Detail)
		}
	}
}

func TestB15EndpointsAreWhatTheNamesAndTheDomainSay(t *testing.T) {
	c := Config{Name: "pg", Domain: "xyz.rds.cn-north-1.amazonaws.com.cn", Hosts: map[string]session.Address{"h": {Host: "10.0.0.1"}, "p": {Host: "10.0.0.1", Port: 6000}}, Port: 5433}
	for name, want := range map[string]string{"w1": "w1.xyz.rds.cn-north-1.amazonaws.com.cn:5433", "h": "10.0.0.1:5433", "p": "10.0.0.1:6000"} {
		if got := c.instance(name).String(); got != want {
			t.Errorf("%s is at %s, want %s", name, got, want)
		}
	}
	c.Reader = session.Address{Host: "custom", Port: 7000}
	for role, want := range map[discovery.Role]string{discovery.Writer: "pg.cluster-xyz.rds.cn-north-1.amazonaws.com.cn:5433", discovery.Reader: "custom:7000"} {
		if at, ok := c.endpoint(role); !ok || at.String() != want {
			t.Errorf("%s endpoint is %s, want %s", role, at, want)
		}
	}
	if _, ok := (Config{Domain: "d"}).endpoint(discovery.Writer); ok {
		t.Error("an endpoint without a name")
	}
}

// A nonsensical view does not make us ask without end.
func TestManyNames(t *testing.T) {
	sim, o := simulate(t, aurorasim.Config{})
	var names []string
	for i := range 200 {
		names = append(names, "x"+strconv.Itoa(i))
	}
	do(t, sim.Inject("a", aurorasim.LingeringRow, aurorasim.About(names...), aurorasim.For(0)))
	if got := len(o.Observe(t.Context()).Answers); got != maxAsked+2 {
		t.Errorf("asked %d times", got)
	}
}

func address(t *testing.T, hostport string) session.Address {
	t.Helper()
	host, port, err := net.SplitHostPort(hostport)
	do(t, err)
	number, err := strconv.Atoi(port)
	do(t, err)
	return session.Address{Host: host, Port: number}
}
