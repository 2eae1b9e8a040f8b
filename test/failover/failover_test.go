//go:build e2e

package failover

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// results is where raw data and page are kept.
const results = "../../docs/performance"

// TestFailover measures the cells that match CELL, all when it is empty, ROUNDS times each: 20, and [TrialRounds] for a trial. What is in the
// cell's files already counts.
func TestFailover(t *testing.T) {
	cells, err := Select(os.Getenv("CELL"))
	check(t, err)
	dir := os.Getenv("RESULTS")
	if dir == "" {
		dir = filepath.Join(results, "failover")
	}
	check(t, os.MkdirAll(dir, 0o755))
	check(t, os.WriteFile(filepath.Join(dir, "machine.txt"), []byte(machine()+"\n"), 0o644))
	for i, c := range cells {
		t.Run(c.Name(), func(t *testing.T) {
			if c.IsTrial() {
				t.Parallel() // no time of it counts
			}
			measure(t, i, c, FilesOf(dir, c))
		})
	}
}

func rounds(t *testing.T, c Cell) int {
	t.Helper()
	text := os.Getenv("ROUNDS")
	if text == "" && c.IsTrial() {
		return TrialRounds
	}
	if text == "" {
		return 20
	}
	n, err := strconv.Atoi(text)
	check(t, err)
	return n
}

// measure makes the rounds of a cell that are missing.
func measure(t *testing.T, number int, c Cell, files Files) {
	have, _, err := files.Read()
	check(t, err)
	want := rounds(t, c)
	if len(have) >= want {
		t.Logf("%d rounds are there", len(have))
		return
	}
	r := newTrial(t, number, c)
	for i := len(have) + 1; i <= want; i++ {
		round, clients := r.round(i)
		if t.Failed() {
			t.FailNow() // a round in which the benchmark itself failed is none
		}
		check(t, files.Append(round, clients))
		r.wantRest(round)
		t.Logf("round %d, %s to %s: first back %s, all %s, %d of %d stuck, %d errors (%d after the answer) and %d refused logins, at most %d (%d) and %d each, reads' gap %s (%s), %d restarts, %d replaced, %d hung, %d refusing", i, round.From, round.To,
			said(round.First), said(round.All), round.Stuck, round.Clients, round.Errors, round.Late, round.Refused, round.MostErrors, round.MostLate, round.MostRefused, short(round.ReadsGap), round.ReadsTold, round.Restarts, round.Replaced, round.Hung, round.Refusing)
		if t.Failed() {
			t.FailNow()
		}
	}
}

func said(m Moment) string {
	if m == nil {
		return "never"
	}
	return short(*m)
}

// machine is the computer in one line.
func machine() string {
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	cpu, _ := os.ReadFile("/proc/cpuinfo")
	model := "unknown CPU"
	for line := range strings.Lines(string(cpu)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			model = strings.TrimSpace(value)
			break
		}
	}
	return fmt.Sprintf("%d × %s, Linux %s, %s", runtime.NumCPU(), model, strings.TrimSpace(string(kernel)), runtime.Version())
}
