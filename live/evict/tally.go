package evict

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/poolwright/poolwright/live/pooler"
)

// tally counts who was cut, and who of them has come back.
type tally struct {
	evicted, returned int
	gone              map[who]int
	// before are the connections that a pod had when it was seen first; back those that came since.
	before map[types.UID]map[link]bool
	back   map[types.UID]map[who]int
}

// who is what does not change when a client connects again; link is one connection.
type (
	who  struct{ addr, user, database string }
	link struct {
		who
		port int
	}
)

func newTally() *tally {
	return &tally{gone: map[who]int{}, before: map[types.UID]map[link]bool{}, back: map[types.UID]map[who]int{}}
}

func whoIs(c pooler.Client) who { return who{c.Addr, c.User, c.Database} }

// cut counts clients that were cut.
func (t *tally) cut(n int, clients []pooler.Client) {
	t.evicted += n
	for _, c := range clients {
		t.gone[whoIs(c)]++
	}
}

// saw counts who is on a pod of the new writer and was not there before. A pooler tells when a client connected in
// whole seconds, by its own clock: one of those seconds that began before is in doubt, and counts as new.
func (t *tally) saw(pod types.UID, began time.Time, clients []pooler.Client) {
	before, known := t.before[pod]
	if !known {
		before = map[link]bool{}
		t.before[pod] = before
	}
	t.back[pod] = map[who]int{}
	for _, c := range clients {
		l := link{whoIs(c), c.Port}
		if !known && c.Since.Before(began.Truncate(time.Second)) {
			before[l] = true
		}
		if !before[l] {
			t.back[pod][l.who]++
		}
	}
	t.returned = max(t.returned, t.match())
}

// match is how many of those who were cut are seen again.
func (t *tally) match() (n int) {
	for w, cut := range t.gone {
		seen := 0
		for _, back := range t.back {
			seen += back[w]
		}
		n += min(cut, seen)
	}
	return n
}
