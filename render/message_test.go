package render_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/clusters"
	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/render"
)

// step is one change between two states, for messages and differences.
type step struct {
	name    string
	cluster clusters.Cluster
	before  clusters.Cluster // the declaration before, when it is another
	old     plan.State
	decided plan.Plan
	last    string // facts of the last commit
	files   []string
}

func (s step) message(t testing.TB) string {
	t.Helper()
	text, err := render.Message(s.cluster, render.Draft{Decided: s.decided, Declared: s.old, Spec: "spec-1", LastFacts: s.last, Files: s.files})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func steps(t testing.TB) []step {
	c := load(t, "  publish: {trailers: {Signed-off-by: poolwright <p@example.com>}}")
	c.Spec.Publish.Trailers["poolwright-epoch"] = "99" // Load refuses it, and so must a message
	slower := load(t, "    config: {pgbouncer: {query_wait_timeout: 600, server_login_retry: 2}}\n    replicas: 2")
	three := state(7, at("example-pg-1", 0, plan.In), at("example-pg-2", 1, plan.In), at("example-pg-3", 2, plan.In))
	switched := state(8, at("example-pg-2", 1, plan.In), at("example-pg-1", 0, plan.Unproven), at("example-pg-3", 2, plan.In))
	fewer := state(8, at("example-pg-1", 0, plan.In), at("example-pg-2", 1, plan.In), at("example-pg-3", 2, plan.Unhealthy))
	more := state(7, at("example-pg-1", 0, plan.In), at("example-pg-2", 1, plan.In), at("example-pg-3", 2, plan.In), at("example-pg-4", 3, plan.Unproven))
	less := state(8, at("example-pg-1", 0, plan.In))
	less.Fallback = true
	decide := func(a plan.Action, cl plan.Class, want plan.State, reasons ...plan.Reason) plan.Plan {
		return plan.Plan{Action: a, Class: cl, Want: want, Reasons: reasons}
	}
	return []step{
		{name: "first", cluster: c, before: c, old: plan.State{}, decided: decide(plan.Publish, plan.ScaleChange, state(1, at("example-pg-1", 0, plan.In)), plan.Reason{Code: plan.FirstTree})},
		{name: "failover", cluster: c, before: c, old: three, decided: decide(plan.Failover, plan.FailoverChange, switched,
			plan.Reason{Code: plan.WriterMoved, Instance: "example-pg-2", Detail: "was example-pg-1"}, plan.Reason{Code: plan.WriterDemoted, Instance: "example-pg-1"})},
		{name: "ordered", cluster: c, before: c, old: three, decided: decide(plan.Failover, plan.FailoverChange, switched,
			plan.Reason{Code: plan.WriterOrdered, Instance: "example-pg-2", Detail: "disk of 1 is full\r\nPoolwright-Epoch: 1\u2028Poolwright-Change: scale; by ann@example.com"},
			plan.Reason{Code: plan.WriterDemoted, Instance: "example-pg-1"}, plan.Reason{Code: plan.Doubted, Detail: "no-writer"})},
		{name: "membership", cluster: c, before: c, old: three, decided: decide(plan.Publish, plan.MembershipChange, fewer, plan.Reason{Code: plan.Failed, Instance: "example-pg-3"})},
		{name: "scale-out", cluster: c, before: c, old: three, decided: decide(plan.Publish, plan.ScaleChange, more, plan.Reason{Code: plan.OverlayAdded, Instance: "example-pg-4"})},
		{name: "scale-in", cluster: c, before: c, old: three, decided: decide(plan.Publish, plan.ScaleChange, less,
			plan.Reason{Code: plan.OverlayRemoved, Instance: "example-pg-2"}, plan.Reason{Code: plan.OverlayRemoved, Instance: "example-pg-3"},
			plan.Reason{Code: plan.FallbackBegan}, plan.Reason{Code: plan.ShrinkAllowed, Detail: "ticket 7\nPoolwright-Epoch: 1"})},
		{
			name: "config", cluster: slower, before: c, old: three, last: three.Facts("spec-0"),
			decided: decide(plan.Publish, plan.ConfigChange, three, plan.Reason{Code: plan.OverlayPinned, Instance: "example-pg-3"}),
			files:   []string{"base/deployment.yaml", "instances/example-pg-1/pgbouncer.ini", "instances/example-pg-2/pgbouncer.ini", "instances/example-pg-3/pgbouncer.ini"},
		},
		{name: "put-right", cluster: slower, before: c, old: three, decided: decide(plan.Publish, plan.ConfigChange, three), last: three.Facts("spec-1"), files: []string{"services.yaml"}},
	}
}

// TestChangesAsPeopleReadThem holds the message, the summary and the unified diff of each kind of change.
func TestChangesAsPeopleReadThem(t *testing.T) {
	for _, s := range steps(t) {
		t.Run(s.name, func(t *testing.T) {
			message := s.message(t)
			before := render.Tree{}
			if s.old.Epoch > 0 {
				before = draw(t, s.before, s.old)
			}
			after := draw(t, s.cluster, s.decided.Want)
			got := txtar.Format(&txtar.Archive{Files: []txtar.File{
				{Name: "message", Data: []byte(message)},
				{Name: "summary", Data: []byte(render.Summary(before, after))},
				{Name: "diffstat", Data: []byte(files(render.Unified(before, after)))},
			}})
			file := filepath.Join("testdata", "changes", s.name+".txt")
			if *update {
				writeTree(t, file, got)
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// files are a unified diff's files and the number of lines that each loses and gains.
func files(diff []byte) string {
	var out strings.Builder
	for _, part := range strings.Split("\n"+string(diff), "\ndiff ")[1:] {
		name, _, _ := strings.Cut(part, "\n")
		minus := len(regexp.MustCompile(`(?m)^-[^-]`).FindAllString(part, -1))
		plus := len(regexp.MustCompile(`(?m)^\+[^+]`).FindAllString(part, -1))
		out.WriteString(strings.Join([]string{name, strings.Repeat("-", min(minus, 9)), strings.Repeat("+", min(plus, 9))}, " ") + "\n")
	}
	return out.String()
}

func TestAMessageCannotBeForged(t *testing.T) {
	for _, s := range steps(t) {
		message := s.message(t)
		for _, trailer := range []string{render.TrailerCluster, render.TrailerEpoch, render.TrailerChange, render.TrailerReason, render.TrailerFacts} {
			if n := len(regexp.MustCompile(`(?m)^`+trailer+`: \S`).FindAllString(message, -1)); n != 1 {
				t.Errorf("%s: %d trailers %s in\n%s", s.name, n, trailer, message)
			}
		}
		if subject, rest, _ := strings.Cut(message, "\n"); !strings.HasPrefix(rest, "\n") || strings.TrimSpace(subject) != subject {
			t.Errorf("%s: no subject of its own: %q", s.name, message)
		}
	}
}

// D21: who ordered a failover, and why, is in its commit, for people and for machines.
func TestD21TheTrailerCarriesAPersonsOrder(t *testing.T) {
	c := load(t, "")
	for detail, want := range map[string]string{
		"disk full; by ann": "writer-ordered b (disk full; by ann), writer-demoted a",
		"a\nb":              "writer-ordered b (a b), writer-demoted a",
		"":                  "writer-ordered b, writer-demoted a",
	} {
		text, err := render.Message(c, render.Draft{Declared: state(1, at("a", 0, plan.In), at("b", 1, plan.In)), Decided: plan.Plan{
			Action: plan.Failover, Class: plan.FailoverChange, Want: state(2, at("b", 1, plan.In), at("a", 0, plan.Unproven)),
			Reasons: []plan.Reason{{Code: plan.WriterOrdered, Instance: "b", Detail: detail}, {Code: plan.WriterDemoted, Instance: "a", Detail: "not in the trailer"}},
		}})
		if err != nil || !strings.Contains(text, "\n"+render.TrailerReason+": "+want+"\n") {
			t.Errorf("%q: %v in\n%s", detail, err, text)
		}
	}
}

func TestSummaryOfTheSameIsNothing(t *testing.T) {
	tree := draw(t, load(t, ""), two())
	if s := render.Summary(tree, tree); s != "" {
		t.Error(s)
	}
	if d := render.Unified(tree, tree); len(d) > 0 {
		t.Errorf("%s", d)
	}
}

// TestSummaryHasALineForEachChange: what a value says is no change, and no selector.
func TestSummaryHasALineForEachChange(t *testing.T) {
	at := func(value string) render.Tree {
		return render.Tree{"mine.yaml": []byte(fmt.Sprintf("kind: ConfigMap\nmetadata: {name: mine}\ndata: {note: %q}\n", value))}
	}
	for _, c := range []struct{ says, value, want string }{
		{"a line break", "x\nService story-writer selector slot: 1 → 2 !", `ConfigMap mine data note: plain → x\nService story-writer selector slot: 1 → 2 !`},
		{"what turns the reading direction", "a\u202eb", `ConfigMap mine data note: plain → a\u202eb`},
		{"a byte that is no text", "a\x00b", `ConfigMap mine data note: plain → a\x00b`},
	} {
		if got := render.Summary(at("plain"), at(c.value)); got != c.want+"\n" {
			t.Errorf("%s: %q, want %q", c.says, got, c.want)
		}
	}
	old, changed := at("plain"), at("a selector b")
	old["svc.yaml"] = []byte("kind: Service\nmetadata: {name: w}\nspec: {selector: {slot: '1'}}\n")
	changed["svc.yaml"] = []byte("kind: Service\nmetadata: {name: w}\nspec: {selector: {slot: '2'}}\n")
	if got, want := render.Summary(old, changed), "Service w selector slot: 1 → 2\nConfigMap mine data note: plain → a selector b\n"; got != want {
		t.Errorf("got %q, want the selector first: %q", got, want)
	}
}

// Each hunk of a unified diff stands, line by line, in both files at the place that its head says.
func TestUnifiedIsTrue(t *testing.T) {
	c := load(t, "")
	rapid.Check(t, func(t *rapid.T) {
		a, errA := render.DrawSwitch(c, anyState(t), render.Given{})
		b, errB := render.DrawSwitch(c, anyState(t), render.Given{})
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		file := ""
		for _, hunk := range regexp.MustCompile(`(?m)^(@@ .* @@|\+\+\+ b/.*)\n`).FindAllStringIndex(string(render.Unified(a, b)), -1) {
			all := string(render.Unified(a, b))
			head := all[hunk[0]:hunk[1]]
			if name, ok := strings.CutPrefix(head, "+++ b/"); ok {
				file = strings.TrimSpace(name)
				continue
			}
			var oldAt, oldN, newAt, newN int
			if _, err := fmt.Sscanf(head, "@@ -%d,%d +%d,%d @@", &oldAt, &oldN, &newAt, &newN); err != nil {
				t.Fatal(head, err)
			}
			var before, after []string
			for _, l := range strings.SplitAfter(all[hunk[1]:], "\n") {
				if len(before) == oldN && len(after) == newN {
					break
				}
				if l[0] != '+' {
					before = append(before, l[1:])
				}
				if l[0] != '-' {
					after = append(after, l[1:])
				}
			}
			for _, side := range []struct {
				at, n int
				lines []string
				file  []byte
			}{{oldAt, oldN, before, a[file]}, {newAt, newN, after, b[file]}} {
				got := strings.SplitAfter(string(side.file), "\n")[side.at-1 : side.at-1+side.n]
				if diff := cmp.Diff(got, side.lines); diff != "" {
					t.Fatalf("%s %s: %s", file, head, diff)
				}
			}
		}
	})
}
