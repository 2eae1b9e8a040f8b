package build_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/render"
	"github.com/poolwright/poolwright/render/build"
)

// sized is a committed directory of n instances, otherwise like g.
func sized(b *testing.B, g bed, cluster string, n int) bed {
	g.cluster.Metadata.Name = cluster
	g.state.Members = nil
	for i := range n {
		name := fmt.Sprintf("%s-%02d", cluster, i)
		g.state.Members = append(g.state.Members, plan.Member{Name: name, Host: name + ".example.com", Port: 5432, Slot: i})
	}
	g.state.Writer = g.state.Members[0].Name
	tree, err := render.Draw(g.cluster, g.state, render.Given{})
	if err != nil {
		b.Fatal(err)
	}
	g.files, g.built = maps.Clone(tree), nil
	return g
}

// BenchmarkCheck100x4 checks 100 clusters of 4 instances. Goal: < 5 s.
func BenchmarkCheck100x4(b *testing.B) {
	var all []bed
	like := golden(b, "three-instances")
	for i := range 100 {
		all = append(all, sized(b, like, fmt.Sprintf("orders-%03d", i), 4))
	}
	builder := new(build.Builder)
	for b.Loop() {
		for _, g := range all {
			if found := builder.Check(g.cluster, g.files); len(found) > 0 {
				b.Fatal(lines(found))
			}
		}
	}
}

func BenchmarkBuild16(b *testing.B) {
	g := sized(b, golden(b, "three-instances"), "orders", 16)
	builder := new(build.Builder)
	for b.Loop() {
		if _, err := builder.Build(g.files); err != nil {
			b.Fatal(err)
		}
	}
}
