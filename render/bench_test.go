package render_test

import (
	"fmt"
	"testing"

	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/render"
)

func sixteen() plan.State {
	var members []plan.Member
	for i := range 16 {
		members = append(members, at(fmt.Sprintf("example-pg-%02d", i), i, plan.In))
	}
	return state(8, members...)
}

// BenchmarkSelectFailover is what stands between a decision and the live patch. Goal: < 50 µs.
func BenchmarkSelectFailover(b *testing.B) {
	s := sixteen()
	for b.Loop() {
		s.Writer = s.Members[1].Name
		render.Select("example-pg", s)
	}
}

// BenchmarkDrawSwitch draws the two files of a failover commit.
func BenchmarkDrawSwitch(b *testing.B) {
	c, s := load(b, ""), sixteen()
	for b.Loop() {
		if _, err := render.DrawSwitch(c, s, render.Given{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDraw16 draws a whole tree of 16 instances. Goal: < 15 ms, without the build.
func BenchmarkDraw16(b *testing.B) {
	c, s := load(b, ""), sixteen()
	for b.Loop() {
		if _, err := render.Draw(c, s, render.Given{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadBack16(b *testing.B) {
	tree := draw(b, load(b, ""), sixteen())
	for b.Loop() {
		if _, err := render.ReadBack("example-pg", tree); err != nil {
			b.Fatal(err)
		}
	}
}
