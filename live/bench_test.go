package live

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/poolwright/poolwright/render"
)

// BenchmarkWantToPatch is our own time between Want and the first patch on the
// wire: waking, looking, deciding with Next, encoding.
func BenchmarkWantToPatch(b *testing.B) {
	bed := newBed(b)
	for i := range 100 { // a large cluster's pods are counted on the way
		bed.add("pods", pod(fmt.Sprint("p", i), "a", true))
	}
	var clock atomic.Int64 // each round is a minute after the one before, so that none waits for its pace
	bed.keeper.config.Now = func() time.Time { return time.Unix(clock.Load(), 0) }
	bed.keeper.next = Next
	sent, done := make(chan time.Time, 1), make(chan bool, 100)
	bed.obey(func(q request) error {
		if q.Verb == "patch" && q.Name == "pg-writer" {
			sent <- time.Now()
		}
		return nil
	})
	bed.keeper.teller.to = func(e Event) {
		if e.Wrote != nil && e.Wrote.Kind == Mirror {
			done <- true
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { bed.keeper.Run(ctx) })
	<-bed.keeper.Changed()
	var took []time.Duration
	for b.Loop() {
		clock.Add(60)
		n := len(took)
		to := string("ab"[(n+1)%2])
		selected := map[string]string{render.LabelCluster: "pg", render.LabelInstance: to}
		sight, _ := bed.keeper.Sight()
		w := Want{Epoch: uint64(8 + n), Known: sight.Records(), From: "x", To: to, By: "bench", Begin: true, Roles: []Target{{Writer, selected, nil}, {Reader, selected, nil}}}
		begun := time.Now()
		bed.keeper.Want(w)
		took = append(took, (<-sent).Sub(begun))
		<-done
	}
	cancel()
	running.Wait()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
	b.ReportMetric(0, "ns/op")
}
