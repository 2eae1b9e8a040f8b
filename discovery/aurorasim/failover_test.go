package aurorasim_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/poolwright/poolwright/discovery/aurorasim"
)

func TestRemovingTheWriterFailsOver(t *testing.T) {
	c := start(t, aurorasim.Config{})
	if err := c.RemoveInstance("a"); err != nil {
		t.Fatal(err)
	}
	if got := c.State().Writer; got != "b" {
		t.Errorf("the writer is %q, want b", got)
	}
}

func virtual(t *testing.T, cfg aurorasim.Config, f func(t *testing.T, c *aurorasim.Cluster)) {
	t.Helper()
	cfg.InMemory = true
	synctest.Test(t, func(t *testing.T) { f(t, start(t, cfg)) })
}

func writerAfter(c *aurorasim.Cluster, d time.Duration) string {
	time.Sleep(d) // on the virtual clock of the bubble
	synctest.Wait()
	return c.State().Writer
}

func TestDelaysOfAFailover(t *testing.T) {
	cfg := aurorasim.Config{FailoverDelay: 5 * time.Second, RestartDelay: 20 * time.Second}
	virtual(t, cfg, func(t *testing.T, c *aurorasim.Cluster) {
		if err := c.Kill("a"); err != nil {
			t.Fatal(err)
		}
		if got := writerAfter(c, 4999*time.Millisecond); got != "" {
			t.Errorf("before FailoverDelay the writer is %q", got)
		}
		conn := connect(t, c, "c")
		want := []row{{"a", "M", 4999, -1}, {"b", "R", 100, 20}, {"c", "R", -1, 20}}
		if diff := cmp.Diff(want, rowsOf(t, conn)); diff != "" {
			t.Errorf("until then a reader still names the old one (-want +got):\n%s", diff)
		}
		if got := writerAfter(c, time.Millisecond); got != "b" {
			t.Errorf("after FailoverDelay the writer is %q, want b", got)
		}
		if writerAfter(c, 14999*time.Millisecond); c.State().Instances[0].Up {
			t.Error("a is back before RestartDelay")
		}
		if got := writerAfter(c, time.Millisecond); got != "b" || !c.State().Instances[0].Up {
			t.Errorf("after RestartDelay: %+v", c.State())
		}
	})
}

func TestWriterThatIsBackBeforeTheFailoverStaysWriter(t *testing.T) {
	cfg := aurorasim.Config{FailoverDelay: 20 * time.Second, RestartDelay: 5 * time.Second}
	virtual(t, cfg, func(t *testing.T, c *aurorasim.Cluster) {
		if err := c.Kill("a"); err != nil {
			t.Fatal(err)
		}
		if got := writerAfter(c, 5*time.Second); got != "a" {
			t.Errorf("the writer is %q, want a", got)
		}
		if got := writerAfter(c, time.Hour); got != "a" {
			t.Errorf("later the writer is %q, want a", got)
		}
	})
}

func TestWithoutAnyReaderTheFirstThatComesUpIsTheWriter(t *testing.T) {
	virtual(t, aurorasim.Config{FailoverDelay: time.Second}, func(t *testing.T, c *aurorasim.Cluster) {
		if err := errors.Join(c.Kill("b"), c.Kill("c"), c.Kill("a")); err != nil {
			t.Fatal(err)
		}
		if got := writerAfter(c, time.Minute); got != "" {
			t.Errorf("nobody is up and the writer is %q", got)
		}
		if err := c.Restart("c"); err != nil {
			t.Fatal(err)
		}
		if got := writerAfter(c, 0); got != "c" {
			t.Errorf("the writer is %q, want c", got)
		}
	})
}

func TestNegativeFailoverDelayPromotesNobody(t *testing.T) {
	virtual(t, aurorasim.Config{FailoverDelay: -1}, func(t *testing.T, c *aurorasim.Cluster) {
		if err := c.Kill("a"); err != nil {
			t.Fatal(err)
		}
		if got := writerAfter(c, time.Hour); got != "" {
			t.Errorf("the writer is %q", got)
		}
		if err := c.Promote("c"); err != nil || c.State().Writer != "c" {
			t.Errorf("promoting c: %v, %+v", err, c.State())
		}
		if c.Promote("a") == nil {
			t.Error("a dead instance was promoted")
		}
	})
}

func TestPlannedFailoverRestartsBoth(t *testing.T) {
	cfg := aurorasim.Config{FailoverDelay: 2 * time.Second, RestartDelay: 3 * time.Second}
	virtual(t, cfg, func(t *testing.T, c *aurorasim.Cluster) {
		if err := c.Failover("c"); err != nil {
			t.Fatal(err)
		}
		for _, instance := range []string{"a", "c"} {
			if _, err := dial(t.Context(), c, c.Host(instance)); code(err) != "57P03" {
				t.Errorf("%s while it restarts: %v, want 57P03", instance, err)
			}
		}
		if got := writerAfter(c, 2*time.Second); got != "c" || c.State().Instances[0].Up {
			t.Errorf("after FailoverDelay: %+v", c.State())
		}
		if writerAfter(c, time.Second); !c.State().Instances[0].Up {
			t.Errorf("after RestartDelay: %+v", c.State())
		}
		if got, want := wordOf(t, connect(t, c, "a")), (word{"a", true, "on", "off"}); got != want {
			t.Errorf("the old writer says %+v, want %+v", got, want)
		}
	})
}

func TestRebootKeepsTheRole(t *testing.T) {
	virtual(t, aurorasim.Config{RestartDelay: 3 * time.Second}, func(t *testing.T, c *aurorasim.Cluster) {
		if err := c.Restart("a"); err != nil {
			t.Fatal(err)
		}
		if _, err := dial(t.Context(), c, c.Host("a")); code(err) != "57P03" {
			t.Errorf("while it restarts: %v, want 57P03", err)
		}
		if got := writerAfter(c, 3*time.Second); got != "a" {
			t.Errorf("the writer is %q, want a", got)
		}
	})
}

func TestDemotedClusterHasNoMasterUntilPromote(t *testing.T) {
	c := start(t, aurorasim.Config{Now: still})
	c.Demote()
	if err := errors.Join(c.Kill("b"), c.Restart("b")); err != nil {
		t.Fatal(err)
	}
	want := []row{{"a", "R", -1, 20}, {"b", "R", 100, 20}, {"c", "R", 100, 20}}
	if diff := cmp.Diff(want, rowsOf(t, connect(t, c, "a"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, want := wordOf(t, connect(t, c, "a")), (word{"a", true, "on", "off"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
