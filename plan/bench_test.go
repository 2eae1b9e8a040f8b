package plan

import (
	"fmt"
	"testing"
	"time"

	"github.com/poolwright/poolwright/discovery"
)

func BenchmarkDecide16(b *testing.B) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	top := discovery.Topology{Cluster: "example-pg", At: start}
	for i := range 16 {
		role := discovery.Reader
		if i == 3 {
			role = discovery.Writer
		}
		name := fmt.Sprintf("example-pg-%02d", i)
		top.Instances = append(top.Instances, discovery.Instance{Name: name, Host: name + ".example", Port: 5432, Role: role, Resource: "db-" + name})
	}
	rules := DefaultRules()
	first, mem := Decide(Memory{}, Observation{Topology: top}, rules, start)
	b.Run("keep", func(b *testing.B) {
		b.ReportAllocs()
		saw := Observation{Topology: top, Declared: Declared{State: first.Want}}
		for b.Loop() {
			saw.Topology.At = saw.Topology.At.Add(3 * time.Second)
			_, mem = Decide(mem, saw, rules, saw.Topology.At)
		}
	})
	b.Run("failover", func(b *testing.B) {
		b.ReportAllocs()
		saw := Observation{Topology: top, Declared: Declared{State: first.Want}}
		saw.Topology.Instances = append([]discovery.Instance(nil), top.Instances...)
		saw.Topology.Instances[3].Role = discovery.Reader
		saw.Topology.Instances[4].Role = discovery.Writer
		for b.Loop() {
			saw.Topology.At = saw.Topology.At.Add(3 * time.Second)
			p, _ := Decide(mem, saw, rules, saw.Topology.At)
			if p.Action != Failover {
				b.Fatal(p)
			}
		}
	})
}
