package cmd

import (
	"time"

	"github.com/poolwright/poolwright/clusters"
	"github.com/poolwright/poolwright/discovery"
)

// window is the failover window: the time in which a cluster is looked at every
// FastInterval. An event opens it; while the writer is unknown it is prolonged,
// up to MaxWindow after it was opened. The zero value is closed.
type window struct {
	opened, until time.Time
	writer        string // the last writer that was trusted, "" when not known
	known         bool   // whether the last look knew a writer, or is the first
	looked        bool
}

// open opens the window, or prolongs an open one.
func (w *window) open(now time.Time, f clusters.Failover) {
	if !w.isOpen(now) {
		w.opened = now
	}
	w.prolong(now, f)
}

// prolong moves the end of an open window, at most to MaxWindow after its opening.
func (w *window) prolong(now time.Time, f clusters.Failover) {
	end := now.Add(time.Duration(f.Window))
	if last := w.opened.Add(time.Duration(f.MaxWindow)); end.After(last) {
		end = last
	}
	w.until = end
}

func (w *window) isOpen(now time.Time) bool { return now.Before(w.until) }

// see opens the window when the writer changed or went out of sight, and
// prolongs it while the writer is unknown.
func (w *window) see(t discovery.Topology, now time.Time, f clusters.Failover) {
	writer, ok := t.Writer()
	known := t.Trusted() && ok
	changed := known && w.writer != "" && writer.Name != w.writer
	lost := w.looked && w.known && !known
	switch {
	case changed || lost:
		w.open(now, f)
	case !known && w.isOpen(now):
		w.prolong(now, f)
	}
	w.looked, w.known = true, known
	if known {
		w.writer = writer.Name
	}
}
