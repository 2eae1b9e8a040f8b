//go:build e2e

package failover

import (
	"time"

	"github.com/poolwright/poolwright/test/driver"
	"github.com/poolwright/poolwright/test/pgcluster"
)

// provoked is how a round began.
type provoked struct {
	from, to string    // the last of it
	broken   time.Time // the first server was taken away
	zero     time.Time // the last new writer was last known to be a standby
}

// later is how long an old writer is away that comes back by itself.
const later = 2 * time.Second

// provoke takes the writer away in the cell's way, and returns when the new one answers. What has to be done while
// applications come back goes on in the background; mend waits for it, and brings everybody back.
func (r *trial) provoke() (p provoked, mend func()) {
	r.t.Helper()
	from := r.pg.Primary().Name
	to := r.next(from, "")
	p = provoked{from: from, to: to}
	switch r.cell.Provoked {
	case Crash:
		p.broken, p.zero = r.lose(from, to, func() { r.pg.Stop(from, pgcluster.Immediate) })
		return p, r.background(func() { r.pg.Rejoin(from) })
	case Freeze:
		p.broken, p.zero = r.lose(from, to, func() { r.pg.Freeze(from) })
		return p, func() { r.pg.Kill(from); r.pg.Rejoin(from) }
	case Planned:
		p.broken, p.zero = r.lose(from, to, func() { r.pg.Stop(from, pgcluster.Fast) })
		return p, r.background(func() { <-time.After(later); r.pg.Follow(from, to) })
	case Early:
		p.broken, p.zero = r.lose(from, to, func() { r.pg.Follow(from, to) })
		return p, func() {}
	case Double:
		return r.double(from, to)
	}
	return r.flap(from, to)
}

// double loses the writer that was promoted half a second ago.
func (r *trial) double(first, second string) (p provoked, mend func()) {
	third := r.next(second, first)
	p = provoked{from: second, to: third}
	p.broken, _ = r.lose(first, second, func() { r.pg.Stop(first, pgcluster.Immediate) })
	<-time.After(500 * time.Millisecond)
	_, p.zero = r.lose(second, third, func() { r.pg.Stop(second, pgcluster.Immediate) })
	return p, r.background(func() { r.pg.Rejoin(first); r.pg.Rejoin(second) })
}

// flap goes there, back, and there again.
func (r *trial) flap(from, to string) (p provoked, mend func()) {
	p = provoked{from: from, to: to}
	p.broken, _ = r.lose(from, to, func() { r.pg.Follow(from, to) })
	r.lose(to, from, func() { r.pg.Follow(to, from) })
	_, p.zero = r.lose(from, to, func() { r.pg.Follow(from, to) })
	return p, func() {}
}

// next is another server than these.
func (r *trial) next(not, nor string) string {
	for i, n := range r.pg.Nodes() {
		if n.Name == not {
			for j := range r.pg.Nodes() {
				if name := r.pg.Nodes()[(i+1+j)%len(r.pg.Nodes())].Name; name != not && name != nor {
					return name
				}
			}
		}
	}
	r.t.Fatalf("there is no server but %s and %s", not, nor)
	return ""
}

// lose takes one server away and promotes another.
func (r *trial) lose(from, to string, take func()) (broken, zero time.Time) {
	r.t.Helper()
	visible := driver.WhenPromoted(r.t, r.pg.Node(to))
	broken = time.Now()
	take()
	r.pg.Promote(to)
	return broken, <-visible
}

// background does something on another goroutine, and returns who waits for its end. The test ends after that.
func (r *trial) background(do func()) (wait func()) {
	ended := make(chan struct{})
	go func() { defer close(ended); do() }()
	return func() { <-ended }
}
