package render_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/clusters"
	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/render"
)

const domain = "abc123.eu-central-1.rds.amazonaws.com"

// load is a Cluster file with lines added below spec.
func load(t testing.TB, spec string) clusters.Cluster {
	t.Helper()
	return loadImage(t, "registry.example.com/pgbouncer:1.24.1", spec)
}

func loadImage(t testing.TB, image, spec string) clusters.Cluster {
	t.Helper()
	text := strings.Join([]string{
		"apiVersion: poolwright.dev/v1alpha1",
		"kind: Cluster",
		"metadata: {name: example-pg, namespace: db}",
		"spec:",
		"  discovery: {clusterName: example, domainName: " + domain + "}",
		"  pgbouncer:",
		"    image: " + image,
		"    authFileSecretRef: {name: example-pg-userlist}",
		spec, "",
	}, "\n")
	c, err := clusters.Load("cluster.yaml", []byte(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return c
}

func at(name string, slot int, out plan.Out) plan.Member {
	return plan.Member{
		Name: name, Host: name + "." + domain, Port: 5432, Slot: slot, Out: out,
		Since: time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC),
	}
}

// state has the first member as its writer, sorted by name as plan keeps it.
func state(epoch uint64, members ...plan.Member) plan.State {
	s := plan.State{Epoch: epoch, Writer: members[0].Name, Members: members}
	slices.SortFunc(s.Members, func(a, b plan.Member) int { return strings.Compare(a.Name, b.Name) })
	return s
}

func draw(t testing.TB, c clusters.Cluster, s plan.State) render.Tree {
	t.Helper()
	tree, err := render.Draw(c, s, render.Given{})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// anyState draws states of any size, with ordinary names and odd ones.
func anyState(t *rapid.T) plan.State {
	name := rapid.OneOf(
		rapid.StringMatching(`[a-z][a-z0-9]{0,10}(-[a-z0-9]{1,8}){0,3}`),
		rapid.StringMatching(`[a-z]{60}(-[0-9]{1,2})?`),
		rapid.SampledFrom([]string{"true", "null", "1e3", "0x1f", "writer", "reader", "no", "12", "2026-01-01", "Mixed-Case", strings.Repeat("x", 63)}),
	)
	most := rapid.SampledFrom([]int{1, 2, 3, 4, 5, plan.Slots}).Draw(t, "most")
	names := rapid.SliceOfNDistinct(name, 1, most, func(s string) string { return strings.ToLower(render.OverlayName(s)) }).Draw(t, "names")
	slices.Sort(names)
	all := make([]int, plan.Slots)
	for i := range all {
		all[i] = i
	}
	slots := rapid.Permutation(all).Draw(t, "slots")
	s := plan.State{Epoch: rapid.Uint64Range(1, render.MaxEpoch).Draw(t, "epoch"), Fallback: rapid.Bool().Draw(t, "fallback"), Timeline: rapid.Uint32Range(0, 9).Draw(t, "timeline")}
	for i, n := range names {
		s.Members = append(s.Members, plan.Member{
			Name: n, Host: fmt.Sprintf("h%d.example", i), Port: rapid.IntRange(1, 65535).Draw(t, "port"), Slot: slots[i],
			Resource: rapid.SampledFrom([]string{"", "db-ABC", "true", "1"}).Draw(t, "resource"),
			Zone:     rapid.SampledFrom([]string{"", "eu-central-1a", "null"}).Draw(t, "zone"),
			Out:      plan.Out(rapid.IntRange(int(plan.In), int(plan.Disabled)).Draw(t, "out")),
			Since:    time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "since"), 0).UTC(),
		})
	}
	if rapid.IntRange(0, 9).Draw(t, "has a writer") > 0 {
		s.Writer = rapid.SampledFrom(names).Draw(t, "writer")
	}
	return s
}

// podLabels are the labels of an instance's pods: the base's, with the overlay's patch over them.
func podLabels(t interface{ Fatal(...any) }, tree render.Tree, instance string) map[string]string {
	type template struct {
		Spec struct {
			Template struct {
				Metadata struct {
					Labels map[string]*string
				}
			}
		}
	}
	var base, patch template
	var overlay struct {
		Patches []struct {
			Target struct{ Kind string }
			Patch  string
		}
	}
	read := func(data []byte, into any) {
		if err := yaml.Unmarshal(data, into); err != nil {
			t.Fatal(err)
		}
	}
	read(tree["base/deployment.yaml"], &base)
	read(tree[path.Join("instances", render.OverlayName(instance), "kustomization.yaml")], &overlay)
	for _, p := range overlay.Patches {
		if p.Target.Kind == "Deployment" {
			read([]byte(p.Patch), &patch)
		}
	}
	labels := map[string]string{}
	for _, layer := range []template{base, patch} {
		for k, v := range layer.Spec.Template.Metadata.Labels {
			if v == nil {
				delete(labels, k)
				continue
			}
			labels[k] = *v
		}
	}
	return labels
}

// selected are the members whose pods a selector matches.
func selected(t interface{ Fatal(...any) }, tree render.Tree, s plan.State, selector map[string]string) []string {
	var names []string
	for _, m := range s.Members {
		labels := podLabels(t, tree, m.Name)
		matches := selector != nil
		for k, v := range selector {
			matches = matches && labels[k] == v
		}
		if matches {
			names = append(names, m.Name)
		}
	}
	return names
}
