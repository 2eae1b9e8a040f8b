package pgbouncer

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Versions are the minor lines that there is a program of, oldest first. They
// differ in what a test may want to know: 1.24 is the first with KILL_CLIENT, and since 1.23 SIGTERM
// waits for the clients.
func Versions() []string { return []string{"1.18", "1.24", "1.26"} }

// A missing program is the fault of the machine, and curable.
const hint = "run `make deps` (fetches PgBouncer from Debian)"

// Binary is the program of a version, "1.24" or "1.24.1", where any user may
// run it until the test ends. It is a script beside a directory of libraries, which find
// each other wherever they are moved together.
func Binary(t testing.TB, version string) string {
	t.Helper()
	dir, err := find(cacheDir(), version)
	if err != nil {
		t.Fatalf("pgbouncer: %v", err)
	}
	if os.Getuid() == 0 {
		dir = publish(t, dir)
	}
	return filepath.Join(dir, "pgbouncer")
}

// cacheDir is where .ci/pgbouncers puts them.
func cacheDir() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	return filepath.Join(cache, "poolwright", "pgbouncer")
}

// find is the directory of a version, the newest when it is a minor line.
func find(cache, version string) (string, error) {
	entries, _ := os.ReadDir(cache) // a cache that is not there has none
	var found []string
	for _, e := range entries {
		if e.Name() == version || strings.HasPrefix(e.Name(), version+".") {
			found = append(found, e.Name())
		}
	}
	if len(found) == 0 {
		return "", fmt.Errorf("no PgBouncer %s in %s: %s", version, cache, hint)
	}
	return filepath.Join(cache, slices.MaxFunc(found, compare)), nil
}

// compare orders versions by their numbers.
func compare(a, b string) int { return slices.Compare(numbers(a), numbers(b)) }

func numbers(version string) (all []int) {
	for part := range strings.SplitSeq(version, ".") {
		n, _ := strconv.Atoi(part)
		all = append(all, n)
	}
	return all
}

// publish copies a directory to where other users may read it: a cache is its owner's.
func publish(t testing.TB, dir string) string {
	t.Helper()
	public, err := os.MkdirTemp("", "pgbouncer-")
	if err != nil {
		t.Fatalf("pgbouncer: %v", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(public) })
	if err := os.Chmod(public, 0o755); err != nil {
		t.Fatalf("pgbouncer: %v", err)
	}
	out, err := exec.Command("cp", "-a", "--reflink=auto", dir+"/.", public).CombinedOutput()
	if err != nil {
		t.Fatalf("pgbouncer: copying %s: %v: %s", dir, err, out)
	}
	return public
}
