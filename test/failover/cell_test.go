package failover

import (
	"strings"
	"testing"
	"time"
)

func TestCellsHaveNamesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range names() {
		if seen[name] {
			t.Errorf("there are two cells %s", name)
		}
		seen[name] = true
	}
}

// TestEveryDimensionIsInTheMatrix: each way, version, driver, count, style, provocation and size has a cell.
func TestEveryDimensionIsInTheMatrix(t *testing.T) {
	all := strings.Join(names(), "\n") + "\n"
	for _, word := range []string{
		"console-", "delete-pods-", "service-only-", "peer-", "-1.18-", "-1.24-", "-1.26-", "-pgx-20-", "-pgx-200-", "-libpq-20-", "-libpq-200-", "-node-20-", "-node-200-",
		"-transaction-", "-session-", "-steady-", "-churn-", "-idle-", "-crash-", "-freeze-", "-planned-", "-early-", "-double-", "-flap-", "-2\n", "-3\n", "-3-plain\n", "-3-light\n",
	} {
		if !strings.Contains(all, word) {
			t.Errorf("no cell has %q", word)
		}
	}
}

func TestCellsAreSelectedByTheirNames(t *testing.T) {
	for pattern, want := range map[string]int{"": len(Cells()), "^peer-": 1, "^console-1.18-pgx-12-": 1, "-pgx-12-": len(versions)} {
		if got, err := Select(pattern); err != nil || len(got) != want {
			t.Errorf("%q selects %v, %v; want %d cells", pattern, got, err, want)
		}
	}
	if _, err := Select("nothing"); err == nil || !strings.Contains(err.Error(), base.Name()) {
		t.Errorf("the error is %v, want one that names the cells", err)
	}
	if _, err := Select("("); err == nil {
		t.Error("what is no regular expression selects cells")
	}
}

func TestTrialsAreNoCells(t *testing.T) {
	for _, c := range Cells() {
		if c.IsTrial() {
			t.Errorf("%s is a trial", c.Name())
		}
	}
	for _, c := range trials() {
		if !c.IsTrial() {
			t.Errorf("%s is no trial", c.Name())
		}
	}
}

// TestWaysDifferInWhatARoundWaitsFor: a restart takes a grace period, and only poolwright says when it has evicted.
func TestWaysDifferInWhatARoundWaitsFor(t *testing.T) {
	for way, want := range map[Way]struct {
		bound  time.Duration
		evicts bool
	}{
		Console: {Bound, true}, DeletePods: {Bound, true}, ServiceOnly: {Bound, false}, Peer: {peerBound, false},
	} {
		c := base
		c.Way = way
		if c.Bound() != want.bound || c.evicts() != want.evicts {
			t.Errorf("%s waits %v, evicts %v; want %v", way, c.Bound(), c.evicts(), want)
		}
	}
}
