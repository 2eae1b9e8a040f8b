package pulltext_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/poolwright/poolwright/clusters"
	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/render"
	"github.com/poolwright/poolwright/render/pulltext"
)

func write(t testing.TB, d pulltext.Draft) pulltext.Text {
	t.Helper()
	text, err := pulltext.Write(d)
	if err != nil {
		t.Fatal(err)
	}
	checkInert(t, d, text)
	return text
}

// wantAll wants each of texts in the body.
func wantAll(t *testing.T, body string, texts ...string) {
	t.Helper()
	for _, s := range texts {
		if !strings.Contains(body, s) {
			t.Errorf("%q is not in\n%s", s, body)
		}
	}
}

// section is what stands below a heading.
func section(t *testing.T, body, heading string) string {
	t.Helper()
	_, rest, ok := strings.Cut(body, "### "+heading+"\n")
	if !ok {
		t.Fatalf("no heading %q in\n%s", heading, body)
	}
	text, _, _ := strings.Cut(rest, "\n### ")
	return text
}

// differing counts built objects that come, go and differ, by a reader of its own. The hash that ends a ConfigMap's name is not part of it.
func differing(t *testing.T, before, after []byte) (counts [3]int, names []string) {
	t.Helper()
	read := func(stream []byte) map[string]map[string]any {
		found := map[string]map[string]any{}
		for dec := yaml.NewDecoder(bytes.NewReader(stream)); ; {
			var o map[string]any
			if err := dec.Decode(&o); errors.Is(err, io.EOF) {
				return found
			} else if err != nil {
				t.Fatal(err)
			}
			meta := o["metadata"].(map[string]any)
			name := meta["name"].(string)
			data, _ := o["data"].(map[string]any)
			if _, ini := data["pgbouncer.ini"]; ini {
				name = name[:strings.LastIndex(name, "-")]
				meta["name"] = name
			}
			found[fmt.Sprint(o["kind"], " ", name)] = o
		}
	}
	old, now := read(before), read(after)
	for key, o := range now {
		was, had := old[key]
		switch {
		case !had:
			counts[0]++
		case !reflect.DeepEqual(was, o):
			counts[1]++
		default:
			continue
		}
		names = append(names, key)
	}
	for key := range old {
		if now[key] == nil {
			counts[2]++
			names = append(names, key)
		}
	}
	return counts, names
}

// TestE01TheTableOfObjectsCountsWhatReallyDiffers compares with the objects that kustomize built.
func TestE01TheTableOfObjectsCountsWhatReallyDiffers(t *testing.T) {
	for name, want := range map[string]string{
		"failover": "3 objects change", "membership": "3 objects change", "scale": "4 objects are added, 3 change, 4 are removed",
		"config": "6 objects change", "first-tree": "15 objects are added", "several": "9 objects change, 4 are removed",
		"too-long": "83 objects are added",
	} {
		t.Run(name, func(t *testing.T) {
			d := cases()[name](t)
			body := write(t, d).Body
			counts, names := differing(t, d.BuiltBefore, d.BuiltAfter)
			total := 0
			for i, n := range counts {
				total += n
				if word := []string{"added", "change", "removed"}[i]; (n > 0) != strings.Contains(want, word) || n > 0 && !strings.Contains(want, fmt.Sprint(n)) {
					t.Errorf("%d are %s, and the case says %q", n, word, want)
				}
			}
			verdict, _, _ := strings.Cut(body, "\n")
			if !strings.Contains(verdict, want+".") {
				t.Errorf("the verdict is %q, want %q in it", verdict, want)
			}
			table := section(t, body, "Objects")
			if n := len(regexp.MustCompile(`\b(ConfigMap|Deployment|PodDisruptionBudget|Service)\b`).FindAllString(table, -1)) - 1; n != total {
				t.Errorf("%d objects in the table, want %d (%v):\n%s", n, total, names, table)
			}
		})
	}
}

func TestE01ALargeChangeStaysBelowTheLimitAndSaysWhatIsCut(t *testing.T) {
	d := tooLong(t)
	text := write(t, d)
	if n := len(text.Body); n > pulltext.MaxBody || n < pulltext.MaxBody-2_000 {
		t.Errorf("the body has %d bytes, want it nearly full", n)
	}
	wantAll(t, text.Body, "more lines of the difference.", "git diff origin/main...origin/poolwright/example-pg -- clusters/example-pg", "`example-pg-20`")
	if !strings.HasSuffix(text.Body, "Poolwright-Facts: "+d.Steps[0].Want.Facts("spec-1")+"\n") {
		t.Error("the trailers are cut")
	}
	_, fold, _ := strings.Cut(text.Body, "```diff\n")
	if !strings.HasPrefix(fold, "diff /dev/null b/"+render.ServicesFile+"\n") {
		t.Errorf("the selectors are not what comes first in a diff that is cut: %.80q", fold)
	}
}

// TestE02OneSettingIsOneLine: a generated ConfigMap with another hash hides nothing.
func TestE02OneSettingIsOneLine(t *testing.T) {
	waits := func(seconds int) clusters.Cluster {
		return load(t, fmt.Sprintf("    config: {pgbouncer: {query_wait_timeout: %d}}", seconds))
	}
	d := drawn(t, waits(0), pulltext.Draft{
		Cluster: waits(600), Declared: three(7), Steps: []plan.Plan{step(plan.Publish, plan.ConfigChange, three(7))},
	})
	body := write(t, d).Body
	wantAll(t, body, "[pgbouncer] query_wait_timeout: \"0\" → \"600\" (example-pg-1, example-pg-2, example-pg-3)\n", "3 files, +3 −3 lines",
		"**The pods of all 3 instances are replaced**")
	for _, instance := range []string{"example-pg-1", "example-pg-2", "example-pg-3"} {
		wantAll(t, body, "| `"+instance+"` | – | ConfigMap, Deployment (pods replaced) | – |")
	}
}

// TestE03WhatCannotBeSeenIsShown: a carriage return and a blank at the end of a line, in a file that a person edited.
func TestE03WhatCannotBeSeenIsShown(t *testing.T) {
	c := load(t, usual)
	d := drawn(t, c, pulltext.Draft{
		Cluster: c, Declared: three(7), LastFacts: three(7).Facts("spec-1"),
		Steps: []plan.Plan{step(plan.Publish, plan.ConfigChange, three(7))},
	})
	ini := "instances/example-pg-2/pgbouncer.ini"
	edited := strings.Replace(string(d.Before[ini]), "tcp_keepidle = 10\n", "tcp_keepidle = 10  \n", 1)
	d.Before[ini] = []byte(strings.Replace(edited, "tcp_keepcnt = 3\n", "tcp_keepcnt = 3\r\n", 1))
	d.BuiltBefore = built(t, d.Before)
	body := write(t, d).Body
	wantAll(t, body, "\n-tcp_keepidle = 10␠␠\n", "\n-tcp_keepcnt = 3\\r\n", "No key: comments, or the layout of a file.",
		"they were edited by hand", "**The pods of `example-pg-2` are replaced**")
}

// TestE04TheDescriptionSaysHowToDrawItAgain: version, format, digest of the facts and commands; and the same facts are the same bytes.
func TestE04TheDescriptionSaysHowToDrawItAgain(t *testing.T) {
	d := live(t)
	first := write(t, d)
	wantAll(t, first.Body, "poolwright 0.4.0", clusters.APIVersion, render.TrailerFacts+": "+d.Steps[0].Want.Facts(d.Spec),
		d.Commands[0], d.Commands[1], "2026-03-01 12:00:00 UTC")
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		d.Seen.Answers, d.Seen.Metadata.Instances = shuffled(r, d.Seen.Answers), shuffled(r, d.Seen.Metadata.Instances)
		d.Declared.Members, d.Declined = shuffled(r, d.Declared.Members), shuffled(r, d.Declined)
		if diff := cmp.Diff(first, write(t, d)); diff != "" {
			t.Fatalf("another order is another text:\n%s", diff)
		}
	}
}

func shuffled[T any](r *rand.Rand, list []T) []T {
	list = slices.Clone(list)
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// TestE05AHandEditIsCalledOne: the reviewer hears that Git was edited, in which file, and with which command to see it.
func TestE05AHandEditIsCalledOne(t *testing.T) {
	d := unbuilt(t)
	d.Commands = []string{"poolwright check clusters/example-pg"}
	text := write(t, d)
	if want := "example-pg: puts right services.yaml (epoch 7)"; text.Title != want {
		t.Errorf("the title is %q, want %q", text.Title, want)
	}
	wantAll(t, text.Body, "they were edited by hand", "the selectors in Git are put right", "; **selectors change**.",
		"Service example-pg-writer selector poolwright.dev/instance: example-pg-2 → example-pg-1", "poolwright check clusters/example-pg")
}

// TestE06TheRiskyLineComesFirst: of a failover, a removal and a changed default in one pull request.
func TestE06TheRiskyLineComesFirst(t *testing.T) {
	d := several(t)
	text := write(t, d)
	last := -1
	for _, s := range []string{
		"**The writer of `example-pg` moves from `example-pg-1` to `example-pg-2`",
		"**1. Failover** (a commit of its own, epoch 8)", "**2. Scale** ", "**3. Config** ",
		"Service example-pg-writer selector poolwright.dev/instance: example-pg-1 → example-pg-2", "[pgbouncer] server_idle_timeout: added",
		"overlay example-pg-3: removed", "annotations poolwright.dev/epoch: 7 → 9", "diff a/services.yaml", "diff a/instances/", "diff a/topology.yaml",
	} {
		at := strings.Index(text.Body, s)
		if at <= last {
			t.Errorf("%q is at %d, what comes before it at %d", s, at, last)
		}
		last = at
	}
}

// TestA19TheArithmeticOfConnectionsIsShown: pools are per user and database, times pods.
func TestA19TheArithmeticOfConnectionsIsShown(t *testing.T) {
	for name, tt := range map[string]struct {
		pgbouncer, databases string
		limits               pulltext.Limits
		want                 string
		warns                bool
	}{
		"40 a user in two databases is too much for 200": {
			pgbouncer: "default_pool_size: 40", databases: "{app: {}, rep: {}}", limits: limits(3, 2, 200),
			want: "| 2 | `app`: 40 × 3 users = 120; `rep`: 40 × 3 users = 120 | 2 × 240 = 480 | 200: **280 too few (480 > 200)** |", warns: true,
		},
		"a bound of the database makes it fit": {
			pgbouncer: "default_pool_size: 40, max_db_connections: 40", databases: "{app: {}, rep: {}}", limits: limits(3, 2, 200),
			want: "| 2 | `app`: 40 × 3 users, at most 40 = 40; `rep`: 40 × 3 users, at most 40 = 40 | 2 × 80 = 160 | 200: enough |",
		},
		"a pool without a bound is too much for any server": {
			pgbouncer: "default_pool_size: 0", databases: "{app: {}}", limits: limits(3, 1, 200),
			want: "| 2 | `app`: unlimited × 3 users | without a bound | 200: **too few for pools without a bound** |", warns: true,
		},
		"users that are not known are a unit": {
			pgbouncer: "default_pool_size: 40", databases: "{app: {}}", limits: limits(0, 1, 200),
			want: "| 2 | `app`: 40 a user | 2 × 40 = 80 a user and database | 200 |",
		},
		"any database is a unit too": {
			pgbouncer: "default_pool_size: 40", databases: `{"*": {}}`, limits: limits(3, 0, 200),
			want: "| 2 | `*`: 40 × 3 users a database | 2 × 120 = 240 a database | 200 |",
		},
		"what is known is too much already, whatever comes on top": {
			pgbouncer: "default_pool_size: 40", databases: "{app: {}}", limits: limits(3, 0, 200),
			want: "| 2 | `*`: 40 × 3 users a database; `app`: 40 × 3 users = 120 | 2 × 120 = 240, plus 2 × 120 = 240 a database | " +
				"200: **40 too few (240 > 200)** |",
			warns: true,
		},
		"any database of which there are four": {
			pgbouncer: "default_pool_size: 5", databases: `{"*": {}}`, limits: limits(3, 4, 200),
			want: "| 2 | `*`: 5 × 3 users, × 4 databases = 60 | 2 × 60 = 120 | 200: enough |",
		},
		"a database with one user for everybody, and a reserve": {
			pgbouncer: "default_pool_size: 40, reserve_pool_size: 2", databases: "{app: {user: app, pool_size: 10}}", limits: limits(3, 1, 0),
			want: "| 2 | `app`: 12 × 1 user = 12 | 2 × 12 = 24 | not known |",
		},
	} {
		t.Run("A19 "+name, func(t *testing.T) {
			c := load(t, "    replicas: 2\n    config: {pgbouncer: {"+tt.pgbouncer+"}, databases: "+tt.databases+"}")
			body := write(t, drawn(t, c, pulltext.Draft{Cluster: c, Limits: tt.limits, Steps: []plan.Plan{
				step(plan.Publish, plan.ScaleChange, state(1, 1, member(1, plan.In)), reason(plan.FirstTree, 0, "")),
			}})).Body
			wantAll(t, section(t, body, "Server connections"), tt.want)
			if strings.Contains(body, "[!WARNING]") != tt.warns {
				t.Errorf("a warning on top is %t, want %t:\n%s", !tt.warns, tt.warns, body)
			}
		})
	}
}

func limits(users, databases, most int) pulltext.Limits {
	l := pulltext.Limits{Users: users, Databases: databases}
	if most > 0 {
		l.MaxConnections = map[string]int{"example-pg-1": most}
	}
	return l
}

// A user's own pool size counts for everybody: the number is a bound.
func TestAUsersOwnPoolIsInTheBound(t *testing.T) {
	c := load(t, "    config: {pgbouncer: {default_pool_size: 10}, databases: {app: {}}, users: {batch: {pool_size: 30}}}")
	body := write(t, drawn(t, c, pulltext.Draft{Cluster: c, Limits: limits(2, 1, 100), Steps: []plan.Plan{
		step(plan.Publish, plan.ScaleChange, state(1, 1, member(1, plan.In)), reason(plan.FirstTree, 0, "")),
	}})).Body
	wantAll(t, body, "`app`: 30 × 2 users = 60 | 1 × 60 = 60 | 100: enough |")
}

func TestC15ADeclinedProposalIsNamed(t *testing.T) {
	wantAll(t, write(t, scale(t)).Body, "declined before: #37 and #41.")
}

// What happens with and without something live ahead of Git is said, and the two are not the same.
func TestC22LiveAheadOfGitIsSaid(t *testing.T) {
	ahead, behind := write(t, live(t)).Body, write(t, failover(t)).Body
	for _, s := range []string{
		"**Already serving.**", "This pull request makes Git match. If it is closed,", "poolwright hands the Services back",
		"the Services stay with `example-pg-2`, ahead of Git", "no longer defended",
	} {
		wantAll(t, ahead, s)
		if strings.Contains(behind, s) {
			t.Errorf("%q is said although nothing is ahead of Git", s)
		}
	}
}

func TestC08TheWayBackSaysHowLongItHolds(t *testing.T) {
	d := failover(t)
	wantAll(t, write(t, d).Body, "does not make this change again, for as long as the facts stay as they are.",
		"`example-pg-1` refuses every write", "`spec.paused: true`")
	d.RevertHold = 90 * 60e9
	wantAll(t, write(t, d).Body, "does not make this change again, for 1h30m.")
}

func TestADraftThatCannotBeWritten(t *testing.T) {
	if _, err := pulltext.Write(pulltext.Draft{}); err == nil || err.Error() != "writing a pull request: there is no step to write about" {
		t.Errorf("a draft without a step: %v", err)
	}
	d := failover(t)
	d.BuiltAfter = []byte("a: [")
	if _, err := pulltext.Write(d); err == nil || !strings.HasPrefix(err.Error(), "writing a pull request: reading what was built: ") {
		t.Errorf("a build that is no YAML: %v", err)
	}
}

func TestTheTitleIsTheCommitsSubject(t *testing.T) {
	for name, want := range map[string]string{
		"failover":   "example-pg: writer example-pg-1 → example-pg-2 (epoch 8)",
		"membership": "example-pg: readers lose example-pg-3 (epoch 8)",
		"scale":      "example-pg: add example-pg-4, remove example-pg-3 (epoch 8)",
		"config":     "example-pg: configuration (epoch 7)",
		"several":    "example-pg: writer example-pg-1 → example-pg-2, then scale and config (epoch 9)",
		"first-tree": "example-pg: first tree, writer example-pg-1, instances example-pg-1, example-pg-2… (epoch 1)",
	} {
		if got := write(t, cases()[name](t)).Title; got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
