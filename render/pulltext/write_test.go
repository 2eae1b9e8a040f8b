package pulltext_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/poolwright/poolwright/clusters"
	"github.com/poolwright/poolwright/discovery"
	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/render"
	"github.com/poolwright/poolwright/render/build"
	"github.com/poolwright/poolwright/render/pulltext"
)

var update = flag.Bool("update", false, "rewrite the golden descriptions")

const domain = "abc123.eu-central-1.rds.amazonaws.com"

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// load is a Cluster file with lines added below spec.pgbouncer.
func load(t testing.TB, lines string) clusters.Cluster {
	t.Helper()
	text := strings.Join([]string{
		"apiVersion: poolwright.dev/v1alpha1",
		"kind: Cluster",
		"metadata: {name: example-pg, namespace: db}",
		"spec:",
		"  discovery: {clusterName: example, domainName: " + domain + "}",
		"  publish: {repository: 'https://git.example.com/platform/gitops.git'}",
		"  pgbouncer:",
		"    image: registry.example.com/pgbouncer:1.25.2",
		"    authFileSecretRef: {name: example-pg-userlist}",
		lines, "",
	}, "\n")
	c, err := clusters.Load("cluster.yaml", []byte(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return c
}

// usual is what an ordinary cluster declares.
const usual = `    replicas: 2
    config:
      pgbouncer: {auth_type: scram-sha-256, default_pool_size: 40, max_db_connections: 120}
      databases: {"*": {}, reports: {dbname: orders, pool_size: 5, user: reports}}`

func member(n int, out plan.Out) plan.Member {
	name := fmt.Sprintf("example-pg-%d", n)
	return plan.Member{
		Name: name, Host: name + "." + domain, Port: 5432, Slot: n - 1, Out: out,
		Zone: "eu-central-1" + string(rune('a'+(n-1)%3)), Since: noon.Add(-time.Hour),
	}
}

// state has writer as its writer, and the members sorted.
func state(epoch uint64, writer int, members ...plan.Member) plan.State {
	slices.SortFunc(members, func(a, b plan.Member) int { return strings.Compare(a.Name, b.Name) })
	return plan.State{Epoch: epoch, Writer: fmt.Sprintf("example-pg-%d", writer), Members: members}
}

func three(epoch uint64) plan.State {
	return state(epoch, 1, member(1, plan.In), member(2, plan.In), member(3, plan.In))
}

func draw(t testing.TB, c clusters.Cluster, s plan.State) render.Tree {
	t.Helper()
	tree, err := render.Draw(c, s, render.Given{})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// builder is for all tests: it loads kustomize's schema once.
var builder build.Builder

func built(t testing.TB, files render.Tree) []byte {
	t.Helper()
	if len(files) == 0 {
		return nil
	}
	text, err := builder.Build(files)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// drawn fills in trees and builds: before of the declaration old, after of d.Cluster.
func drawn(t testing.TB, old clusters.Cluster, d pulltext.Draft) pulltext.Draft {
	t.Helper()
	if d.Declared.Epoch > 0 {
		d.Before = draw(t, old, d.Declared)
	}
	d.After = draw(t, d.Cluster, d.Steps[len(d.Steps)-1].Want)
	d.BuiltBefore, d.BuiltAfter = built(t, d.Before), built(t, d.After)
	d.Spec, d.Branch, d.Version = "spec-1", "poolwright/example-pg", "0.4.0"
	d.Checked = []string{
		"All files build with kustomize v0.21.2, and each Deployment mounts its own pgbouncer.ini.",
		"Each pgbouncer.ini names the endpoint of its own instance.",
		"No name of an object is claimed twice.",
	}
	d.Commands = []string{
		"poolwright check clusters/example-pg",
		"poolwright render -f clusters/example-pg/cluster.yaml --declared --out clusters/example-pg && git diff --exit-code",
	}
	return d
}

func reason(c plan.Code, n int, detail string) plan.Reason {
	r := plan.Reason{Code: c, Detail: detail}
	if n > 0 {
		r.Instance = fmt.Sprintf("example-pg-%d", n)
	}
	return r
}

func step(a plan.Action, c plan.Class, want plan.State, reasons ...plan.Reason) plan.Plan {
	return plan.Plan{Action: a, Class: c, Want: want, Reasons: reasons}
}

// seen is evidence in which writer says that it is, and everybody up to n agrees.
func seen(writer, n int, faults map[int]discovery.Fault) discovery.Observation {
	o := discovery.Observation{Cluster: "example-pg", Provider: discovery.Aurora, Domain: domain, Port: 5432, At: noon}
	zone := func(i int) string { return "eu-central-1" + string(rune('a'+(i-1)%3)) }
	o.Metadata = &discovery.Metadata{State: discovery.MetadataFresh, At: noon.Add(-20 * time.Second)}
	for i := 1; i <= n; i++ {
		name := fmt.Sprintf("example-pg-%d", i)
		o.Metadata.Instances = append(o.Metadata.Instances, discovery.MetaInstance{Name: name, Zone: zone(i), Status: "available"})
		a := discovery.Answer{Endpoint: name + "." + domain + ":5432", Asked: name, Name: name, InRecovery: i != writer, ReadOnly: i != writer, Fault: faults[i]}
		if a.Fault != discovery.None {
			a.Detail = "connect: connection refused"
			o.Answers = append(o.Answers, a)
			continue
		}
		for j := 1; j <= n; j++ {
			row := discovery.Row{ServerID: fmt.Sprintf("example-pg-%d", j), SessionID: "s"}
			if j == writer {
				row.SessionID = discovery.MasterSession
			}
			if age := int64(100 * j); j != i {
				row.AgeMillis = &age
			}
			a.Rows = append(a.Rows, row)
		}
		o.Answers = append(o.Answers, a)
	}
	return o
}

// cases are one pull request for each class of change, and for what makes them hard to read.
func cases() map[string]func(testing.TB) pulltext.Draft {
	return map[string]func(testing.TB) pulltext.Draft{
		"failover": failover, "failover-live": live, "membership": membership, "scale": scale, "config": config, "first-tree": first, "several": several,
		"too-long": tooLong, "not-built": unbuilt,
		"hostile": func(t testing.TB) pulltext.Draft { return strange(t, hostile) },
		"tame":    func(t testing.TB) pulltext.Draft { return strange(t, tame) },
	}
}

func failover(t testing.TB) pulltext.Draft {
	c := load(t, usual)
	switched := state(8, 2, member(1, plan.Unproven), member(2, plan.In), member(3, plan.In))
	return drawn(t, c, pulltext.Draft{
		Cluster: c, Declared: three(7), Seen: seen(2, 3, map[int]discovery.Fault{1: discovery.Unreachable}),
		Steps: []plan.Plan{step(plan.Failover, plan.FailoverChange, switched, reason(plan.WriterMoved, 2,
			"was example-pg-1"), reason(plan.WriterDemoted, 1, ""))},
	})
}

// live is a failover that the Services have made already.
func live(t testing.TB) pulltext.Draft {
	d := failover(t)
	d.Ahead = &pulltext.Ahead{Writer: "example-pg-2", Epoch: 8, Since: noon.Add(700 * time.Millisecond)}
	d.Limits = pulltext.Limits{Users: 3, Databases: 3, MaxConnections: map[string]int{"example-pg-1": 1700, "example-pg-2": 1700, "example-pg-3": 400}}
	return d
}

func membership(t testing.TB) pulltext.Draft {
	c := load(t, usual)
	return drawn(t, c, pulltext.Draft{
		Cluster: c, Declared: three(7), Seen: seen(1, 3, map[int]discovery.Fault{3: discovery.Timeout}),
		Steps: []plan.Plan{step(plan.Publish, plan.MembershipChange, state(8, 1, member(1, plan.In), member(2, plan.In), member(3, plan.Unhealthy)),
			reason(plan.Failed, 3, ""))},
	})
}

func scale(t testing.TB) pulltext.Draft {
	c := load(t, usual)
	before := state(7, 1, member(1, plan.In), member(2, plan.In), member(3, plan.Missing))
	return drawn(t, c, pulltext.Draft{
		Cluster: c, Declared: before, Seen: seen(1, 4, map[int]discovery.Fault{3: discovery.Unreachable}), Declined: []int{41, 37},
		Steps: []plan.Plan{step(plan.Publish, plan.ScaleChange, state(8, 1, member(1, plan.In), member(2, plan.In), member(4, plan.Unproven)),
			reason(plan.OverlayAdded, 4, ""), reason(plan.OverlayRemoved, 3, ""), reason(plan.Proving, 4, ""))},
	})
}

func config(t testing.TB) pulltext.Draft {
	old := load(t, usual)
	c := load(t, `    replicas: 3
    config:
      pgbouncer: {auth_type: scram-sha-256, default_pool_size: 80, max_db_connections: 240, query_wait_timeout: 600}
      databases: {"*": {}, reports: {dbname: orders, pool_size: 5, user: reports}}
    instanceOverrides: [{name: example-pg-3, replicas: 1, config: {pgbouncer: {default_pool_size: 20}}}]`)
	d := drawn(t, old, pulltext.Draft{
		Cluster: c, Declared: three(7), LastFacts: three(7).Facts("spec-0"),
		Limits: pulltext.Limits{Users: 3, Databases: 3, MaxConnections: map[string]int{"example-pg-1": 1000, "example-pg-2": 1000, "example-pg-3": 1000}},
		Steps:  []plan.Plan{step(plan.Publish, plan.ConfigChange, three(7), reason(plan.OverlayPinned, 3, ""))},
	})
	d.RevertHold = 24 * time.Hour
	return d
}

func first(t testing.TB) pulltext.Draft {
	c := load(t, usual)
	want := three(1)
	return drawn(t, c, pulltext.Draft{
		Cluster: c, Seen: seen(1, 3, nil),
		Steps: []plan.Plan{step(plan.Publish, plan.ScaleChange, want, reason(plan.FirstTree, 0, ""), reason(plan.OverlayAdded, 1, ""),
			reason(plan.OverlayAdded, 2, ""), reason(plan.OverlayAdded, 3, ""))},
	})
}

// several is one look that came to a failover, a removal and a changed default.
func several(t testing.TB) pulltext.Draft {
	old := load(t, usual)
	c := load(t, strings.Replace(usual, "max_db_connections: 120", "max_db_connections: 120, server_idle_timeout: 60", 1))
	before := state(7, 1, member(1, plan.In), member(2, plan.In), member(3, plan.Missing), member(4, plan.In))
	switched := state(8, 2, member(1, plan.Unproven), member(2, plan.In), member(3, plan.Missing), member(4, plan.In))
	fewer := state(9, 2, member(1, plan.Unproven), member(2, plan.In), member(4, plan.In))
	return drawn(t, old, pulltext.Draft{
		Cluster: c, Declared: before, Seen: seen(2, 4, map[int]discovery.Fault{3: discovery.Unreachable}),
		Steps: []plan.Plan{
			step(plan.Failover, plan.FailoverChange, switched, reason(plan.WriterMoved, 2, "was example-pg-1"), reason(plan.WriterDemoted, 1, "")),
			step(plan.Publish, plan.ScaleChange, fewer, reason(plan.OverlayRemoved, 3, ""), reason(plan.Proving, 1, "")),
			step(plan.Publish, plan.ConfigChange, fewer),
		},
	})
}

// tooLong is as large as a cluster can be, with an ini of many databases.
func tooLong(t testing.TB) pulltext.Draft {
	var databases strings.Builder
	for i := range 120 {
		fmt.Fprintf(&databases, "        tenant_%03d: {dbname: tenant_%03d, pool_size: %d}\n", i, i, 5+i%2)
	}
	c := load(t, "    config:\n      databases:\n"+databases.String())
	members := make([]plan.Member, plan.Slots)
	for i := range members {
		members[i] = member(i+1, plan.In)
	}
	return drawn(t, c, pulltext.Draft{
		Cluster: c, Seen: seen(1, plan.Slots, nil),
		Steps: []plan.Plan{step(plan.Publish, plan.ScaleChange, state(1, 1, members...), reason(plan.FirstTree, 0, ""))},
	})
}

// unbuilt is what there is to say when the files on the base branch do not build.
func unbuilt(t testing.TB) pulltext.Draft {
	c := load(t, usual)
	d := drawn(t, c, pulltext.Draft{
		Cluster: c, Declared: three(7), LastFacts: three(7).Facts("spec-1"),
		Steps: []plan.Plan{step(plan.Publish, plan.ConfigChange, three(7))},
	})
	d.Before[render.ServicesFile] = []byte(strings.Replace(string(d.Before[render.ServicesFile]), "example-pg-1", "example-pg-2", 1))
	d.BuiltBefore = nil
	d.Checked, d.Commands = nil, nil
	return d
}

func TestDescriptionsAsReviewersReadThem(t *testing.T) {
	for name, draft := range cases() {
		t.Run(name, func(t *testing.T) {
			text, err := pulltext.Write(draft(t))
			if err != nil {
				t.Fatal(err)
			}
			got := "# " + text.Title + "\n\n" + text.Body
			file := filepath.Join("testdata", name+".md")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("go test ./render/pulltext -update, and read the diff (-want +got):\n%s", diff)
			}
		})
	}
}
