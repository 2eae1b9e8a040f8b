package evict

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/live/pooler"
)

// notes are the failures of one history, for rapid to shrink.
type notes struct {
	testing.TB
	mu   sync.Mutex
	list []string
}

func (n *notes) Errorf(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, fmt.Sprintf(format, args...))
}

func (n *notes) Error(args ...any) { n.Errorf("%s", fmt.Sprint(args...)) }

// TestWhateverHappensNobodyIsLeftAndNothingIsBlocked runs random histories; the world checks each command on its way.
func TestWhateverHappensNobodyIsLeftAndNothingIsBlocked(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		version := rapid.SampledFrom([]pooler.Version{old, current}).Draw(rt, "version")
		acts := rapid.SliceOfN(rapid.SampledFrom([]string{
			"move a", "move b", "move c", "crash", "end", "die soon", "die after", "die gently", "put back", "pod restarts", "pod leaves", "pod comes", "pause", "resume", "lose", "hold", "hang", "heal", "hide",
		}), 1, 12).Draw(rt, "acts")
		waits := rapid.SliceOfN(rapid.SampledFrom([]int{0, 1, 11, 25, 60, 130, 310, 1100, 2500}), len(acts), len(acts)).Draw(rt, "waits, ms")
		lag := rapid.SampledFrom([]int{0, 50, 300, 1500}).Draw(rt, "propagation, ms")
		failures := &notes{TB: t}
		synctest.Test(t, func(*testing.T) { history(failures, version, acts, waits, time.Duration(lag)*time.Millisecond) })
		if len(failures.list) > 0 {
			rt.Fatal(strings.Join(failures.list, "\n"))
		}
	})
}

func history(n *notes, version pooler.Version, acts []string, waits []int, lag time.Duration) {
	w := newWorld(n, version)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	w.populate(ctx, 20)
	p := w.begin(asIs)
	after(time.Second)
	w.change(func() { w.pods["c-1"].databases["theirs"] = &fakeDatabase{disabled: true} }) // no entry is open
	touched := false
	for i, act := range acts {
		touched = touched || act == "move c"
		p = w.happen(p, act, lag)
		after(time.Duration(waits[i]) * time.Millisecond)
	}
	w.change(func() {
		w.paused, w.service, w.routed = false, w.wanted, w.wanted
		for _, pod := range w.pods {
			pod.fault = nil
		}
	})
	p.stop()
	final := w.begin(asIs)
	after(20 * time.Second)
	blocked := w.blocked()
	if !touched && !slices.Equal(blocked, []string{"c-1 theirs (paused false, disabled true)"}) {
		if w.pods["c-1"] != nil && w.pods["c-1"].databases["theirs"] != nil {
			n.Errorf("c took no part, and it has blocked: %v", blocked)
		}
	}
	for _, b := range blocked {
		if !strings.Contains(b, "theirs") {
			n.Errorf("blocked: %s", b)
		}
	}
	for _, i := range []string{"a", "b", "c"} {
		if k := w.on(i); i != w.wanted && k > 0 && w.entry().Number > 1 {
			n.Errorf("%d clients are left on %s; %s is the writer; %v\n%s", k, i, w.wanted, w.entry(), strings.Join(w.log, "\n"))
		}
	}
	if e := w.entry(); e.Open() {
		n.Errorf("still open: %v; %+v", e, final.runner.State())
	}
	final.stop()
}

// happen lets one thing happen. It returns the process that is there then.
func (w *world) happen(p *process, act string, lag time.Duration) *process {
	verb, arg, _ := strings.Cut(act, " ")
	switch {
	case verb == "move":
		if w.isMovable(p) {
			w.move(arg, lag)
		}
	case act == "crash":
		w.change(func() { p.dead = true })
		p.stop()
		return w.begin(asIs)
	case act == "end":
		p.stop()
		return w.begin(asIs)
	case verb == "die":
		w.doom(p, 3, map[string]fate{"soon": killed, "after": killedAfter, "gently": ended}[arg])
	case act == "put back":
		w.change(func() { w.service = "a" })
		time.AfterFunc(70*time.Millisecond, func() { w.change(func() { w.service = w.wanted }) })
	case act == "lose":
		w.change(func() { p.holds = false })
	case act == "hold":
		w.change(func() { p.holds = true })
	case act == "pause", act == "resume":
		w.change(func() { w.paused = act == "pause" })
	default:
		w.change(func() { w.podHappens(act) })
	}
	return p
}

// isMovable reports whether a process would move the Service now: it may, and not within a request.
func (w *world) isMovable(p *process) bool {
	to := w.entry().To
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.paused && !p.dead && p.holds && to == w.service
}

func (w *world) podHappens(act string) {
	for _, i := range []string{"a", "b"} {
		pods := w.of(i)
		if len(pods) == 0 {
			w.birth(fmt.Sprint(i, "-", w.births), i)
			continue
		}
		switch act {
		case "pod restarts":
			pods[0].restart()
		case "pod leaves":
			pods[0].stop()
			delete(w.pods, pods[0].name)
		case "pod comes":
			w.birth(fmt.Sprint(i, "-", w.births), i)
		case "hang":
			pods[0].fault = errHangs
		case "hide":
			pods[0].hide()
		case "heal":
			pods[0].fault = nil
		}
	}
}
