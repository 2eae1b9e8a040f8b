package render_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/render"
)

func TestSelectSaysWhoIsIn(t *testing.T) {
	for _, tc := range []struct {
		name   string
		state  plan.State
		reader map[string]string
	}{
		{
			"a ready reader serves, the writer does not", state(1, at("a", 0, plan.In), at("b", 1, plan.In)),
			map[string]string{"poolwright.dev/cluster": "pg", "slot.poolwright.dev/0": "out"},
		},
		{
			"who is out is named by its slot", state(1, at("a", 4, plan.In), at("b", 17, plan.Missing), at("c", 2, plan.In)),
			map[string]string{"poolwright.dev/cluster": "pg", "slot.poolwright.dev/4": "out", "slot.poolwright.dev/17": "out"},
		},
		{
			"nobody serves when all are out", state(1, at("a", 0, plan.In), at("b", 1, plan.Unhealthy)),
			map[string]string{"poolwright.dev/cluster": "pg", "slot.poolwright.dev/0": "out", "slot.poolwright.dev/1": "out"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := render.Select("pg", tc.state)
			if diff := cmp.Diff(tc.reader, got.Reader); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(map[string]string{"poolwright.dev/cluster": "pg", "poolwright.dev/instance": "a"}, got.Writer); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSelectFallbackIncludesTheWriter(t *testing.T) {
	s := state(1, at("a", 0, plan.In), at("b", 1, plan.Unhealthy))
	s.Fallback = true
	want := map[string]string{"poolwright.dev/cluster": "pg", "slot.poolwright.dev/1": "out"}
	if diff := cmp.Diff(want, render.Select("pg", s).Reader); diff != "" {
		t.Error(diff)
	}
}

func TestSelectHasNoWriterServiceWithoutAWriter(t *testing.T) {
	s := state(1, at("a", 0, plan.In))
	s.Writer = ""
	if sel := render.Select("pg", s); sel.Writer != nil {
		t.Errorf("selects %v", sel.Writer)
	}
}

// On the pods that the drawn tree makes, the Writer selects the writer's and the Reader exactly those
// who serve readers: for any state, and as services.yaml says it.
func TestSelectorsMatchExactlyTheRightPods(t *testing.T) {
	c := load(t, "")
	rapid.Check(t, func(t *rapid.T) {
		s := anyState(t)
		tree, err := render.Draw(c, s, render.Given{})
		if err != nil {
			t.Fatal(err)
		}
		sel := render.Select(c.Metadata.Name, s)
		var writer []string
		if s.Writer != "" {
			writer = []string{s.Writer}
		}
		if got := selected(t, tree, s, sel.Writer); !slices.Equal(got, writer) {
			t.Errorf("the Writer selects %v, not %v", got, writer)
		}
		if got := selected(t, tree, s, sel.Reader); !slices.Equal(got, s.Readers()) {
			t.Errorf("the Reader selects %v, not %v", got, s.Readers())
		}
		drawn := drawnSelectors(t, tree)
		if diff := cmp.Diff(sel.Writer, drawn[c.WriterServiceName()]); diff != "" {
			t.Errorf("services.yaml is not Select: %s", diff)
		}
		if diff := cmp.Diff(sel.Reader, drawn[c.ReaderServiceName()]); diff != "" {
			t.Errorf("services.yaml is not Select: %s", diff)
		}
	})
}

func drawnSelectors(t interface{ Fatal(...any) }, tree render.Tree) map[string]map[string]string {
	all := map[string]map[string]string{}
	dec := yaml.NewDecoder(strings.NewReader(string(tree[render.ServicesFile])))
	for {
		var service struct {
			Metadata struct{ Name string }
			Spec     struct{ Selector map[string]string }
		}
		if err := dec.Decode(&service); err != nil {
			return all
		}
		all[service.Metadata.Name] = service.Spec.Selector
	}
}

// A failover touches two files, and nothing else that is drawn depends on roles.
func TestAFailoverChangesOnlyServicesAndTopology(t *testing.T) {
	c := load(t, "")
	failover := rapid.Custom(func(t *rapid.T) [2]plan.State {
		before := anyState(t)
		after := before
		after.Epoch++
		after.Writer = rapid.SampledFrom(before.Members).Draw(t, "new writer").Name
		after.Members = slices.Clone(before.Members)
		for i := range after.Members {
			after.Members[i].Out = plan.Out(rapid.IntRange(0, 5).Draw(t, "out"))
		}
		return [2]plan.State{before, after}
	})
	for seed := range 25 {
		states := failover.Example(seed)
		a, b := draw(t, c, states[0]), draw(t, c, states[1])
		sw, err := render.DrawSwitch(c, states[1], render.Given{})
		if err != nil || len(sw) != 2 {
			t.Fatalf("a switch draws %d files, %v", len(sw), err)
		}
		for name := range sw {
			if string(sw[name]) != string(b[name]) {
				t.Errorf("a switch draws another %s than Draw", name)
			}
			delete(a, name)
			delete(b, name)
		}
		if diff := cmp.Diff(a, b); diff != "" {
			t.Errorf("seed %d: a failover changed more: %s", seed, diff)
		}
	}
}
