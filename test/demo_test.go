package test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/test/driver"
)

// TestTheDemoLeavesThreeCommitsThatKubectlBuilds: first tree, reader, failover; the
// last one touches two files.
func TestTheDemoLeavesThreeCommitsThatKubectlBuilds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if out, errs, code := driver.Once(t, "demo", "--dir", filepath.Join(dir, "demo")); code != 0 {
		t.Fatalf("got exit code %d:\n%s%s", code, out, errs)
	}
	checkout := filepath.Join(dir, "checkout")
	run(t, dir, "git", "clone", "-q", filepath.Join(dir, "demo", "repo.git"), checkout)
	commits := strings.Fields(run(t, checkout, "git", "rev-list", "--reverse", "HEAD"))
	if len(commits) != 3 {
		t.Fatalf("got commits %q, want three", commits)
	}
	for _, c := range commits {
		run(t, checkout, "git", "checkout", "-q", c)
		built := run(t, checkout, "kubectl", "kustomize", "clusters/example-pg")
		if !strings.Contains(built, "name: example-pg-writer") {
			t.Errorf("commit %s builds to\n%s", c, built)
		}
	}
	changed := strings.Fields(run(t, checkout, "git", "show", "--format=", "--name-only", commits[2]))
	want := []string{"clusters/example-pg/services.yaml", "clusters/example-pg/topology.yaml"}
	if !slices.Equal(changed, want) {
		t.Errorf("the failover changes %q, want %q", changed, want)
	}
}

// run runs a command and returns what it prints.
func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, args...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}
