//go:build e2e

package e2e

import (
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// figure is one thing that was measured often.
type figure struct {
	what   string
	values []time.Duration
	// target is what the 99th of a hundred must stay below, 0 for none.
	target time.Duration
}

func (f *figure) add(d time.Duration) { f.values = append(f.values, d) }

// at is the value that a share of all does not pass: nearest rank, so that it is one that was measured.
func (f *figure) at(share float64) time.Duration {
	if len(f.values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(f.values))
	return sorted[max(0, int(math.Ceil(share*float64(len(sorted))))-1)]
}

// missed reports whether there is a target, and it is not met.
func (f *figure) missed() bool { return f.target > 0 && (len(f.values) == 0 || f.at(0.99) >= f.target) }

// measured is how many values a figure takes before its 99th of a hundred says anything.
const measured = 20

// Bounds of a figure that is wrong by its kind, and not by a slow machine.
const (
	wrongBy    = 10          // times the target, for half of all values
	wrongOrder = time.Second // that something came before its cause
)

// fault is what is wrong with a figure, "" when nothing is. A smoke runs on a machine that does other things meanwhile, so of few values only
// what no load explains counts: that there are none, that half of them are far off the target, or that a time was never taken.
func (f *figure) fault() string {
	switch {
	case len(f.values) == 0:
		return "was never measured"
	case slices.Min(f.values) < -wrongOrder:
		return fmt.Sprintf("is %v: it ends before it begins", slices.Min(f.values))
	case len(f.values) >= measured && f.missed():
		return fmt.Sprintf("misses its target of %s: p99 %s", f.target, short(f.at(0.99)))
	case f.target > 0 && f.at(0.5) >= wrongBy*f.target:
		return fmt.Sprintf("is %s in the middle, more than %d times its target of %s", short(f.at(0.5)), wrongBy, f.target)
	}
	return ""
}

// row is a row of the README's table.
func (f *figure) row() string {
	text := fmt.Sprintf("| %s | p50 %s, p99 %s, max %s | %d |", f.what, short(f.at(0.5)), short(f.at(0.99)), short(f.at(1)), len(f.values))
	switch {
	case f.missed():
		text += fmt.Sprintf(" **p99 < %s: missed** |", f.target)
	case f.target > 0:
		text += fmt.Sprintf(" p99 < %s |", f.target)
	default:
		text += " |"
	}
	return text
}

// short has as many digits as people read.
func short(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d >= time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d >= 10*time.Millisecond:
		return fmt.Sprintf("%d ms", d.Round(time.Millisecond).Milliseconds())
	}
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}

// report is what the benchmark prints.
type report struct {
	began   time.Time
	machine string
	rows    []string
	faults  []string
}

func newReport() *report { return &report{began: time.Now(), machine: machine()} }

func (r *report) add(figures ...*figure) {
	for _, f := range figures {
		r.rows = append(r.rows, f.row())
		if fault := f.fault(); fault != "" {
			r.faults = append(r.faults, f.what+": "+fault)
		}
	}
}

// count adds a row of something that is counted.
func (r *report) count(what, result string, n int, target string) {
	r.rows = append(r.rows, fmt.Sprintf("| %s | %s | %d | %s |", what, result, n, target))
}

func (r *report) write(w io.Writer) {
	fmt.Fprintf(w, "\n%s; %s in all\n\n| what | result | n | target |\n|---|---|---|---|\n%s\n\n", r.machine, time.Since(r.began).Round(time.Second), strings.Join(r.rows, "\n"))
}

// machine is the computer in one line, with its load when this began.
func machine() string {
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	load, _ := os.ReadFile("/proc/loadavg")
	cpu, _ := os.ReadFile("/proc/cpuinfo")
	model := "unknown CPU"
	for line := range strings.Lines(string(cpu)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			model = strings.TrimSpace(value)
			break
		}
	}
	return fmt.Sprintf("%d × %s, Linux %s, %s, load %s", runtime.NumCPU(), model, strings.TrimSpace(string(kernel)), runtime.Version(), strings.Join(strings.Fields(string(load))[:1], ""))
}
