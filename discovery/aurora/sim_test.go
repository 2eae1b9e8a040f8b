package aurora

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/poolwright/poolwright/discovery"
	"github.com/poolwright/poolwright/discovery/aurorasim"
	"github.com/poolwright/poolwright/discovery/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "pg.cluster-secret"

// simulate runs a cluster pg of instances a, b, c with a as the writer, unless config says otherwise, and an Observer of it.
func simulate(t *testing.T, config aurorasim.Config, changes ...func(*Config)) (*aurorasim.Cluster, *Observer) {
	t.Helper()
	config.Name, config.User, config.Password = "pg", "app", secret
	if config.Instances == nil {
		config.Instances = []string{"a", "b", "c"}
	}
	sim, err := aurorasim.Start(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sim.Close)
	c := Config{
		Cluster: "example-pg", Name: "pg", Domain: strings.TrimPrefix(sim.Host("a"), "a."),
		Session: session.Config{
			SSLMode: "disable", Dial: sim.Dial, Lookup: sim.Lookup,
			// Long, so that a busy machine is not taken for a fault; what hangs on purpose shortens it.
			Timeout:     20 * time.Second,
			Credentials: func(context.Context, string, int) (string, string, error) { return "app", secret, nil },
		},
	}
	for _, change := range changes {
		change(&c)
	}
	o := New(c)
	t.Cleanup(o.Close)
	return sim, o
}

// impatient is for tests in which somebody hangs. The others must answer within it on a busy machine too.
func impatient(c *Config) { c.Session.Timeout = 1500 * time.Millisecond }

// do fails the test when the simulator refuses.
func do(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// look observes once and tells what it comes to, and whom it asked.
func look(t *testing.T, o *Observer) (told string, seen discovery.Observation) {
	t.Helper()
	seen = o.Observe(t.Context())
	return sentence(discovery.Merge(seen)), seen
}

func expect(t *testing.T, o *Observer, want string) discovery.Observation {
	t.Helper()
	got, seen := look(t, o)
	if got != want {
		t.Errorf("\n got %s\nwant %s\n%s", got, want, written(t, seen))
	}
	return seen
}

// written is the observation as a snapshot, and checks that it reads back as the same.
func written(t *testing.T, seen discovery.Observation) string {
	t.Helper()
	text, err := discovery.WriteSnapshot(seen)
	if err != nil {
		t.Fatal(err)
	}
	back, err := discovery.ReadSnapshot(text)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := sentence(discovery.Merge(back)), sentence(discovery.Merge(seen)); got != want {
		t.Errorf("the snapshot comes to %s, not %s", got, want)
	}
	return string(text)
}

func sentence(t discovery.Topology) string {
	var parts []string
	for _, i := range t.Instances {
		word := i.Name + "=" + i.Role.String()
		if i.Probe != discovery.None {
			word += "(" + i.Probe.String() + ")"
		}
		if i.Deleting {
			word += "(deleting)"
		}
		parts = append(parts, word)
	}
	for _, d := range t.Doubts {
		parts = append(parts, "doubt:"+strings.TrimSpace(d.Code.String()+" "+d.Instance))
	}
	for _, n := range t.Notes {
		if n.Code != discovery.NoAnswer { // the fault beside the role says it
			parts = append(parts, "note:"+strings.TrimSpace(n.Code.String()+" "+n.Instance))
		}
	}
	return strings.Join(parts, " ")
}

// asked lists whom an observation asked, cluster endpoints by their role.
func asked(o discovery.Observation) string {
	var who []string
	for _, a := range o.Answers {
		name := a.Asked
		if name == "" {
			name = a.Via.String() + "-endpoint"
		}
		who = append(who, name)
	}
	return strings.Join(who, " ")
}

func caFile(t *testing.T, pem []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ca.pem")
	do(t, os.WriteFile(path, pem, 0o600))
	return path
}

// settled waits until the truth of the simulation is so.
func settled(t *testing.T, sim *aurorasim.Cluster, until func(aurorasim.State) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := sim.Wait(ctx, until); err != nil {
		t.Fatalf("%v; the state is %+v", err, sim.State())
	}
}

func sessions(s aurorasim.State, name string) int {
	for _, i := range s.Instances {
		if i.Name == name {
			return i.Sessions
		}
	}
	return 0
}
