package render_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/render"
)

func TestReadBackOfADrawingIsTheState(t *testing.T) {
	c := load(t, "")
	rapid.Check(t, func(t *rapid.T) {
		want := anyState(t)
		tree, err := render.DrawSwitch(c, want, render.Given{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := render.ReadBack("example-pg", tree)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestReadBackOfNothingIsTheZeroState(t *testing.T) {
	s, err := render.ReadBack("example-pg", render.Tree{"cluster.yaml": nil})
	if err != nil || s.Epoch != 0 || s.Members != nil {
		t.Errorf("%v, %v", s, err)
	}
}

func TestReadBackIgnoresCommentsAndLayout(t *testing.T) {
	c := load(t, "")
	s := state(7, at("a", 0, plan.In), at("b", 1, plan.Unproven))
	text := string(draw(t, c, s)[render.TopologyFile])
	text = strings.ReplaceAll(text, "\n    - name", "\n\n    # a note\n    - name")
	text = "# another\n" + strings.ReplaceAll(text, "\n", "\r\n")
	got, err := render.ReadBack("example-pg", render.Tree{render.TopologyFile: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s, got); diff != "" {
		t.Error(diff)
	}
}

func TestReadBackRefusesWhatDrawWouldNotWrite(t *testing.T) {
	good := string(draw(t, load(t, ""), state(7, at("a", 0, plan.In), at("b", 1, plan.Unproven)))[render.TopologyFile])
	_, instances, _ := strings.Cut(good, "  instances:")
	instances = "  instances:" + instances
	for name, tc := range map[string]struct{ old, changed, says string }{
		"no YAML":                     {good, "\t{", "yaml"},
		"empty":                       {good, "", "empty"},
		"another kind":                {"kind: ConfigMap", "kind: Secret", "kind"},
		"two documents":               {"kind: ConfigMap", "kind: ConfigMap\n---\na: b", "more than one document"},
		"no epoch":                    {`epoch: "7"`, `era: "7"`, "epoch"},
		"epoch zero":                  {`epoch: "7"`, `epoch: "0"`, "epoch"},
		"timeline zero":               {"  fallback:", "  timeline: \"0\"\n  fallback:", "data.timeline"},
		"a timeline that is too high": {"  fallback:", "  timeline: \"4294967296\"\n  fallback:", "data.timeline"},
		"no fallback":                 {`fallback: "false"`, `fallback: "maybe"`, "fallback"},
		"a writer who is no member":   {"writer: a", "writer: z", "writer z is not a member"},
		"no members":                  {instances, "  instances: \"[]\"\n", "without members"},
		"a slot twice":                {"slot: 1", "slot: 0", "same slot"},
		"a slot too high":             {"slot: 1", "slot: 20", "slot 20"},
		"a negative slot":             {"slot: 1", "slot: -1", "slot -1"},
		"no slot":                     {"      slot: 1\n", "", "no slot"},
		"a name twice":                {"- name: b", "- name: a", "twice"},
		"no name":                     {"- name: b", `- name: ""`, "without a name"},
		"two hosts":                   {"host: b." + domain, "host: b,c", "not one host"},
		"no host":                     {"      host: b." + domain + "\n", "", "no host"},
		"a cluster endpoint":          {"host: b." + domain, "host: example.cluster-ro-" + domain, "moves between instances"},
		"no port":                     {"port: 5432", "port: 0", "port"},
		"a port that is no number":    {"port: 5432", "port: five", "cannot unmarshal"},
		"an unknown reason to be out": {"out: unproven", "out: tired", "tired"},
		"no time":                     {"since: \"2026", "since: \"then", "not a time"},
		"an unknown key":              {"      slot: 1\n", "      slot: 1\n      lag: 3\n", "lag"},
		"another cluster's name":      {"name: example-pg-topology", "name: other-topology", "not the topology of example-pg"},
		"another cluster's label":     {"poolwright.dev/cluster: \"example-pg\"", "poolwright.dev/cluster: \"other\"", "not the topology of example-pg"},
		"no cluster's label":          {"    poolwright.dev/cluster: \"example-pg\"\n", "", "not the topology of example-pg"},
		"a name that is none":         {"- name: b", "- name: b_c", "not the name of an instance"},
		"a name that climbs":          {"- name: b", "- name: ../b", "not the name of an instance"},
		"too much":                    {good, good + strings.Repeat("# padding\n", 30_000), "bytes are more"},
	} {
		t.Run(name, func(t *testing.T) {
			bad := strings.Replace(good, tc.old, tc.changed, 1)
			if bad == good {
				t.Fatalf("the fixture does not change %q", tc.old)
			}
			s, err := render.ReadBack("example-pg", render.Tree{render.TopologyFile: []byte(bad)})
			if err == nil {
				t.Fatalf("read %v", s)
			}
			if !strings.Contains(err.Error(), "topology.yaml") || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%q does not name the file and %q", err, tc.says)
			}
		})
	}
}

// A line separator in a name that somebody edited would end a comment of services.yaml, and what follows be a key of
// the selector: YAML 1.1 knows five of them.
func TestANameCannotPutAKeyIntoASelector(t *testing.T) {
	c := load(t, "")
	good := string(draw(t, c, state(7, at("a", 0, plan.In), at("b", 1, plan.Unproven)))[render.TopologyFile])
	for name, separator := range map[string]string{
		"line feed": "\n", "carriage return": "\r", "next line": "\u0085", "line separator": "\u2028", "paragraph separator": "\u2029",
		"a form feed": "\f", "byte order mark": "\ufeff", "no character": "\uffff",
	} {
		t.Run(name, func(t *testing.T) {
			evil := "b" + separator + "    evil: key"
			bad := strings.Replace(good, "- name: b\n", fmt.Sprintf("- name: %+q\n", evil), 1)
			if s, err := render.ReadBack("example-pg", render.Tree{render.TopologyFile: []byte(bad)}); err == nil || bad == good {
				t.Errorf("read back %+v", s.Members)
			} else if !strings.Contains(err.Error(), "topology.yaml") {
				t.Error(err)
			}
			m := at("b", 1, plan.Unproven)
			for field, set := range map[string]*string{"name": &m.Name, "host": &m.Host, "zone": &m.Zone, "resource": &m.Resource} {
				was := *set
				*set = evil
				if tree, err := render.DrawSwitch(c, state(7, at("a", 0, plan.In), m), render.Given{}); err == nil {
					t.Errorf("%s: drew\n%s", field, tree[render.ServicesFile])
				}
				*set = was
			}
		})
	}
}

// topology.yaml is the memory: without it nobody knows who is in which slot.
func TestReadBackWithoutTopologyBesideWhatItIsAbout(t *testing.T) {
	whole := draw(t, load(t, ""), state(7, at("a", 0, plan.In), at("b", 1, plan.Unproven)))
	delete(whole, render.TopologyFile)
	mine := "apiVersion: v1\n"
	for name, tc := range map[string]struct {
		files render.Tree
		lost  bool
	}{
		"the rest of the tree":     {whole, true},
		"the role Services":        {render.Tree{"services.yaml": whole["services.yaml"]}, true},
		"an overlay":               {render.Tree{"instances/a/pgbouncer.ini": whole["instances/a/pgbouncer.ini"]}, true},
		"a revert of the first":    {render.Tree{"cluster.yaml": nil, "custom/kustomization.yaml": []byte(mine)}, false},
		"a person's services.yaml": {render.Tree{"services.yaml": []byte(mine)}, false},
		"a person's file":          {render.Tree{"instances/a/patch.yaml": []byte(mine)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := render.ReadBack("example-pg", tc.files)
			if s.Epoch != 0 || s.Members != nil || (err != nil) != tc.lost {
				t.Fatalf("%v, %v", s, err)
			}
			if tc.lost && (!strings.Contains(err.Error(), "topology.yaml") || !strings.Contains(err.Error(), "git checkout")) {
				t.Errorf("%q does not say what to restore and how", err)
			}
		})
	}
}

// dataOf is the data of a drawn topology ConfigMap, as the API server holds it.
func dataOf(t interface{ Fatal(...any) }, topology []byte) map[string]string {
	var o struct{ Data map[string]string }
	if err := yaml.Unmarshal(topology, &o); err != nil {
		t.Fatal(err)
	}
	return o.Data
}

// The state that is applied reads like the state that is committed.
func TestReadLiveIsReadBackOfTheConfigMapsData(t *testing.T) {
	c := load(t, "")
	rapid.Check(t, func(t *rapid.T) {
		want := anyState(t)
		tree, err := render.DrawSwitch(c, want, render.Given{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := render.ReadLive("example-pg", dataOf(t, tree[render.TopologyFile]))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestReadLiveRefusesWhatDrawWouldNotWrite(t *testing.T) {
	good := dataOf(t, draw(t, load(t, ""), state(7, at("a", 0, plan.In), at("b", 1, plan.Unproven)))[render.TopologyFile])
	for name, tc := range map[string]struct{ key, value, says string }{
		"no epoch":                {"epoch", "", "data.epoch"},
		"an epoch that is none":   {"epoch", "0", "data.epoch"},
		"an epoch without a next": {"epoch", "18446744073709551615", "data.epoch"},
		"a timeline that is none": {"timeline", "x", "data.timeline"},
		"no fallback":             {"fallback", "", "data.fallback"},
		"a writer without a tree": {"writer", "c", "writer c is not a member"},
		"no instances":            {"instances", "", "data.instances: empty"},
		"instances of none":       {"instances", "[]", "without members"},
		"an unknown key":          {"instances", "- {name: a, lag: 3}", "lag"},
		"a slot twice":            {"instances", good["instances"] + good["instances"], "twice"},
		"too much":                {"instances", good["instances"] + strings.Repeat("# padding\n", 30_000), "bytes are more"},
	} {
		t.Run(name, func(t *testing.T) {
			data := maps.Clone(good)
			data[tc.key] = tc.value
			s, err := render.ReadLive("example-pg", data)
			if err == nil || !strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), "example-pg-topology") {
				t.Errorf("read %+v, %v: does not name the ConfigMap and %q", s, err, tc.says)
			}
		})
	}
	for _, none := range []map[string]string{nil, {}} {
		if s, err := render.ReadLive("example-pg", none); err == nil {
			t.Errorf("read %+v of nothing", s)
		}
	}
}

func FuzzReadBack(f *testing.F) {
	for _, g := range goldens(f) {
		f.Add(g.out[render.TopologyFile])
	}
	f.Add([]byte("kind: ConfigMap\ndata: {epoch: \"1\", fallback: \"false\", writer: &a [*a], instances: \"- *x\"}"))
	c := load(f, "")
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := render.ReadBack("example-pg", render.Tree{render.TopologyFile: data})
		if err != nil {
			return
		}
		tree, err := render.Draw(c, s, render.Given{})
		if err != nil {
			t.Fatalf("read back, but cannot be drawn: %v", err)
		}
		again, err := render.ReadBack("example-pg", tree)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s, again); diff != "" {
			t.Fatal(diff)
		}
	})
}

// C23: neither input order, nor the order of maps, nor time zone or language change a byte.
func TestC23SameFactsSameBytes(t *testing.T) {
	all := goldens(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 100 {
		zone := []string{"UTC", "Asia/Kolkata", "America/St_Johns"}[i%3]
		t.Setenv("TZ", zone)
		t.Setenv("LANG", []string{"C", "tr_TR.UTF-8"}[i%2])
		g := all[i%len(all)]
		members := slices.Clone(g.state.Members)
		rng.Shuffle(len(members), func(a, b int) { members[a], members[b] = members[b], members[a] })
		for j := range members {
			members[j].Since = members[j].Since.In(time.FixedZone(zone, 3600*(i%12)))
		}
		g.state.Members = members
		for name, data := range g.draw(t) {
			if !bytes.Equal(data, g.out[name]) {
				t.Fatalf("%s: %s differs at try %d", g.name, name, i)
			}
		}
	}
}

func TestDrawRefusesStatesThatNoTreeCanSay(t *testing.T) {
	c := load(t, "")
	for name, s := range map[string]plan.State{
		"D08 no members":       {Epoch: 1},
		"no epoch":             {Members: []plan.Member{at("a", 0, plan.In)}},
		"a slot twice":         state(1, at("a", 3, plan.In), at("b", 3, plan.In)),
		"an unknown out":       state(1, at("a", 0, plan.Out(99))),
		"one overlay for two":  state(1, at("abc", 0, plan.In), at("ABC", 1, plan.In)),
		"a line break in name": state(1, at("a\nb", 0, plan.In)),
	} {
		t.Run(name, func(t *testing.T) {
			if tree, err := render.Draw(c, s, render.Given{}); err == nil {
				t.Errorf("drew %d files", len(tree))
			}
			if tree, err := render.DrawSwitch(c, s, render.Given{}); err == nil {
				t.Errorf("drew %d files for a switch", len(tree))
			}
		})
	}
}

// The example of the README is drawn from a fixed state; its cluster.yaml is what people copy.
func TestExampleTree(t *testing.T) {
	const dir = "../clusters/example/"
	g := golden{name: "example"}
	g.cluster = loadFile(t, dir+"cluster.yaml")
	name := func(n string) string { return g.cluster.Metadata.Name + n }
	g.state = plan.State{Epoch: 3, Writer: name("-1")}
	for i, n := range []string{"-1", "-2", "-3"} {
		m := at(name(n), i, plan.In)
		m.Host = name(n) + "." + g.cluster.Spec.Discovery.DomainName
		g.state.Members = append(g.state.Members, m)
	}
	g.state.Members[2].Out = plan.Unproven
	for file, want := range g.draw(t) {
		if *update {
			writeTree(t, dir+file, want)
		}
		got, err := os.ReadFile(dir + file)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not as drawn (%v); go test ./render -run TestExampleTree -update", dir+file, err)
		}
	}
}
