package render_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/render"
)

func TestNames(t *testing.T) {
	c := load(t, "")
	long := "application-autoscaling-0d9f7b1c-5b3f-4a0e-9a65-1c2d3e4f5a6b"
	for instance, want := range map[string]struct{ object, label string }{
		"pg-1": {"example-pg-pg-1", "pg-1"},
		// A label's value takes 63 characters; the Service's name has the cluster's before it.
		long: {"example-pg-application-autoscaling-0d9f7b1c-5b3f-4a0e-3b06f6ae", long},
		// The hash is of the whole name, so that names which only look alike stay apart.
		"PG_1": {"example-pg-pg-1-82cabdf2", "PG_1"},
		"a/b":  {"example-pg-a-b-bc31747f", "a-b-c14cddc0"},
		// The name of a role Service is taken.
		"writer": {"example-pg-writer-208aaea9", "writer"},
		"reader": {"example-pg-reader-c67dcbb7", "reader"},
	} {
		got := [2]string{render.ObjectName(c, instance), render.LabelValue(instance)}
		if diff := cmp.Diff([2]string{want.object, want.label}, got); diff != "" {
			t.Errorf("%s: %s", instance, diff)
		}
	}
}

func TestB15NamesAreValidWhateverAnInstanceIsCalled(t *testing.T) {
	c := load(t, "")
	service := regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)
	label := regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.StringN(1, 80, 200).Draw(t, "a"), rapid.StringN(1, 80, 200).Draw(t, "b")
		for _, name := range []string{render.ObjectName(c, a), render.ObjectName(c, b)} {
			if len(name) > 63 || !service.MatchString(name) {
				t.Errorf("%q is no name of a Service", name)
			}
		}
		if v := render.LabelValue(a); len(v) > 63 || !label.MatchString(v) {
			t.Errorf("%q is no value of a label", v)
		}
		if a != b && (render.ObjectName(c, a) == render.ObjectName(c, b) || render.LabelValue(a) == render.LabelValue(b)) {
			t.Errorf("%q and %q have the same name", a, b)
		}
	})
}

func TestCollisionsOfClustersInANamespace(t *testing.T) {
	one, other := load(t, ""), load(t, "")
	one.Metadata.Name, other.Metadata.Name = "a", "a-b"
	all := []render.Drawn{
		{Cluster: one, State: state(1, at("b-c", 0, plan.In))},
		{Cluster: other, State: state(1, at("c", 0, plan.In))},
	}
	want := []string{"Service a-b-c in namespace db is claimed by clusters a and a-b"}
	if diff := cmp.Diff(want, render.Collisions(all)); diff != "" {
		t.Error(diff)
	}
	all[1].Cluster.Metadata.Namespace = "other"
	if found := render.Collisions(all); found != nil {
		t.Errorf("in two namespaces: %v", found)
	}
}

func TestAnInstanceMayBeCalledAsARoleService(t *testing.T) {
	c := load(t, "")
	s := state(1, at("writer", 0, plan.In), at("reader", 1, plan.In))
	if found := render.Collisions([]render.Drawn{{Cluster: c, State: s}}); found != nil {
		t.Error(found)
	}
	for file, data := range draw(t, c, s) {
		if strings.HasPrefix(file, "instances/") && strings.Contains(string(data), "name: example-pg-writer\n") {
			t.Errorf("%s has the Writer Service's name", file)
		}
	}
}
