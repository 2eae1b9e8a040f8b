package gitsync_test

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/poolwright/poolwright/gitsync"
	"github.com/poolwright/poolwright/gitsync/gitserver"
	"github.com/poolwright/poolwright/gitsync/gitsynctest"
)

// BenchmarkCommitAndPush commits and pushes 4 changed files to a repository of 50,000 over smart HTTP, warm, with
// one foreign commit since the last time, and beside it the same by git's best way: a blobless depth-1 bare clone,
// fetch, fast-import, push, on a branch of its own. Each round does both. Metrics: milliseconds of either (p50 and p99), the ratio of the medians, bytes on the wire (ours), peak
// resident memory of this process (server included) and live heap.
func BenchmarkCommitAndPush(b *testing.B) {
	root, repo := bigRepo(b)
	s := must[*gitserver.Server](b)(gitserver.New(root))
	b.Cleanup(s.Close)
	must[string](b)(repo.Git("update-ref", "refs/heads/cli", "main"))
	resetPeak()
	ours := open(b, gitsync.Options{URL: s.HTTP(repo)})
	publishFour(b, ours, 0)
	cli := cloneBare(b, s.HTTP(repo))

	var took, theirs []time.Duration
	var wire int64
	n := 0
	for b.Loop() {
		n++
		foreignCommit(b, repo, "main", n)
		foreignCommit(b, repo, "cli", n)
		s.Reset()
		start := time.Now()
		publishFour(b, ours, n)
		took = append(took, time.Since(start))
		wire += s.Wire()

		start = time.Now()
		cli.commit(b, n)
		theirs = append(theirs, time.Since(start))
	}
	for _, part := range []float64{50, 99} {
		b.ReportMetric(millis(took, part), fmt.Sprintf("ours-p%.0f-ms", part))
		b.ReportMetric(millis(theirs, part), fmt.Sprintf("git-p%.0f-ms", part))
	}
	b.ReportMetric(millis(took, 50)/millis(theirs, 50), "ours/git")
	b.ReportMetric(float64(wire)/float64(n), "wire-B")
	b.ReportMetric(peakMB(), "peak-MB")
	b.ReportMetric(heapMB(), "heap-MB")
	b.ReportMetric(0, "ns/op")
	runtime.KeepAlive(ours)
}

// millis is a percentile in milliseconds.
func millis(all []time.Duration, part float64) float64 {
	slices.Sort(all)
	return float64(all[int(part/100*float64(len(all)-1)+0.5)].Microseconds()) / 1000
}

// BenchmarkColdStart reads a directory of the same repository for the first time.
func BenchmarkColdStart(b *testing.B) {
	root, repo := bigRepo(b)
	s := must[*gitserver.Server](b)(gitserver.New(root))
	b.Cleanup(s.Close)
	var wire int64
	n := 0
	for b.Loop() {
		n++
		s.Reset()
		must[gitsync.Base](b)(open(b, gitsync.Options{URL: s.HTTP(repo)}).Read(b.Context(), benchDir))
		wire += s.Wire()
	}
	b.ReportMetric(float64(wire)/float64(n), "wire-B")
}

const benchDir = "clusters/prod-eu/team-042/failover"

// fourFiles is the change: 4 files of 0.5 KB, which makes 4 blobs, 8 trees and a commit.
func fourFiles(n int) gitsync.Files {
	files := gitsync.Files{}
	for _, f := range []string{"services.yaml", "topology.yaml", "instances/pg-1/pgbouncer.ini", "instances/pg-2/pgbouncer.ini"} {
		files[f] = fmt.Appendf(nil, "# %s, generation %d\n%s", f, n, strings.Repeat("# a line of forty characters, to be long\n", 12))
	}
	return files
}

func fourEdit(n int) []gitsync.Edit {
	return []gitsync.Edit{{Dir: benchDir, Draw: func(gitsync.Base) ([]gitsync.Change, error) {
		return []gitsync.Change{{Dir: benchDir, Put: fourFiles(n), Message: "four files", When: gitsynctest.When}}, nil
	}}}
}

func publishFour(b *testing.B, r *gitsync.Repo, n int) {
	b.Helper()
	rs := must[[]gitsync.Receipt](b)(r.Publish(b.Context(), fourEdit(n)))
	if rs[0].Err != nil || len(rs[0].Commits) != 1 {
		b.Fatalf("%+v", rs[0])
	}
}

// bigRepo makes the repository once per machine, in the temporary directory.
func bigRepo(b *testing.B) (string, *gitserver.Repo) {
	b.Helper()
	root := filepath.Join(os.TempDir(), "poolwright-bench-50k")
	repo := &gitserver.Repo{Dir: filepath.Join(root, "mono.git"), Name: "mono.git"}
	if _, err := os.Stat(filepath.Join(root, "done")); err == nil {
		return root, repo
	}
	_ = os.RemoveAll(root)
	repo = must[*gitserver.Repo](b)(gitserver.CreateRepo(root, "mono.git"))
	r, w := io.Pipe()
	go func() { _ = w.CloseWithError(generate(w)) }()
	if err := repo.Import(r); err != nil {
		b.Fatal(err)
	}
	for _, args := range [][]string{{"repack", "-adbq"}, {"commit-graph", "write", "--reachable"}} {
		must[string](b)(repo.Git(args...))
	}
	if err := os.WriteFile(filepath.Join(root, "done"), nil, 0o600); err != nil {
		b.Fatal(err)
	}
	return root, repo
}

// generate writes a monorepo of 5 environments, 100 teams, 20 applications, 5 files of 1 to 4 KB each, and 1,000 commits.
func generate(w io.Writer) error {
	out := bufio.NewWriterSize(w, 1<<20)
	rnd := rand.New(rand.NewPCG(1, 2))
	var paths []string
	for _, env := range []string{"prod-eu", "prod-us", "staging", "dev", "lab"} {
		for team := range 100 {
			for app := range 20 {
				for _, f := range []string{"deployment", "service", "configmap", "kustomization", "values"} {
					paths = append(paths, fmt.Sprintf("clusters/%s/team-%03d/app-%02d/%s.yaml", env, team, app, f))
				}
			}
		}
	}
	header := func(n int, message string) {
		fmt.Fprintf(out, "commit refs/heads/main\ncommitter Gen <gen@example.com> %d +0000\ndata %d\n%s\n", 1_600_000_000+3600*n, len(message), message)
	}
	put := func(path string) {
		text := yamlText(rnd, path)
		fmt.Fprintf(out, "M 100644 inline %s\ndata %d\n%s\n", path, len(text), text)
	}
	header(0, "import")
	fmt.Fprintf(out, "M 100644 inline .gitattributes\ndata 12\n* text=auto\n\n")
	for _, p := range paths {
		put(p)
	}
	for n := 1; n < 1000; n++ {
		header(n, fmt.Sprintf("bump %d", n))
		for range 1 + rnd.IntN(4) {
			put(paths[rnd.IntN(len(paths))])
		}
	}
	return out.Flush()
}

func yamlText(rnd *rand.Rand, path string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\ndata:\n", path, filepath.Base(filepath.Dir(path)))
	for i := 0; b.Len() < 1024+rnd.IntN(3072); i++ {
		fmt.Fprintf(&b, "  key-%03d: \"%016x\"\n", i, rnd.Uint64())
	}
	return b.String()
}

func foreignCommit(b *testing.B, repo *gitserver.Repo, branch string, n int) {
	b.Helper()
	must[string](b)(repo.Commit(branch, "somebody else's", map[string]*gitserver.File{
		fmt.Sprintf("clusters/dev/team-%03d/app-00/values.yaml", n%100): gitserver.Text(fmt.Sprintf("n: %d\n", n)),
	}))
}

// cliClone is git's best way.
type cliClone string

func cloneBare(b *testing.B, url string) cliClone {
	b.Helper()
	c := cliClone(filepath.Join(b.TempDir(), "clone.git"))
	c.git(b, "", "clone", "-q", "--bare", "--depth=1", "--filter=blob:none", "--branch=cli", "--no-tags", url, string(c))
	c.git(b, "", "config", "gc.auto", "0")
	return c
}

// commit does on a fetched head what Publish does.
func (c cliClone) commit(b *testing.B, n int) {
	b.Helper()
	c.git(b, "", "fetch", "-q", "--no-tags", "origin", "+refs/heads/cli:refs/remotes/origin/cli")
	var in strings.Builder
	in.WriteString("commit refs/heads/work\ncommitter Poolwright <poolwright@example.com> 1700000000 +0000\ndata 10\nfour files\nfrom refs/remotes/origin/cli^0\n")
	for path, text := range fourFiles(n) {
		fmt.Fprintf(&in, "M 100644 inline %s/%s\ndata %d\n%s\n", benchDir, path, len(text), text)
	}
	c.git(b, in.String(), "fast-import", "--quiet", "--force")
	c.git(b, "", "push", "-q", "origin", "refs/heads/work:refs/heads/cli")
}

func (c cliClone) git(b *testing.B, stdin string, args ...string) {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), "git", args...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_DIR="+string(c))
	cmd.Stdin = strings.NewReader(stdin)
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("git %v: %v: %s", args, err, out)
	}
}

// resetPeak makes the kernel forget the peak so far.
func resetPeak() {
	runtime.GC()
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}

// peakMB is the peak resident memory of this process, 0 where /proc does not tell.
func peakMB() float64 {
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if kb, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, _ := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(kb), "kB")))
			return float64(n) / 1024
		}
	}
	return 0
}

func heapMB() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}
