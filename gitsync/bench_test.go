package gitsync_test

import (
	"fmt"
	"os"
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

// BenchmarkCommitAndPush commits and pushes 4 changed files to a repository of 50,000 and of 200,000 files with 5,000 commits, warm, with
// one foreign commit since the last time, and beside it the same by git's best way: a blobless depth-1 bare clone,
// fetch, fast-import, push, on a branch of its own. Over SSH git also has its own kept connection (ControlMaster). Each
// round does all of them. Everybody speaks through one proxy, which counts bytes and, where it says so, makes a round
// trip take 30 ms.
//
// Metrics: milliseconds of either (p50 and p99), the ratio of the medians, bytes on the wire per commit, peak resident memory: of
// this process, server and benchmark included, and of git's largest process; live heap. Afterwards git fsck has
// nothing to say, and all that nobody meant to change is bit by bit what it was.
func BenchmarkCommitAndPush(b *testing.B) {
	for _, files := range []int{50_000, 200_000} {
		for _, way := range []struct {
			name  string
			delay time.Duration
			serve func(b *testing.B, root string, repo *gitserver.Repo) service
		}{
			{"http", 0, httpService},
			{"ssh", 0, sshService},
			{"ssh-30ms", 15 * time.Millisecond, sshService},
		} {
			b.Run(fmt.Sprintf("%d/%s", files, way.name), func(b *testing.B) {
				root, repo := bigRepo(b, files)
				sideBySide(b, repo, way.serve(b, root, repo), way.delay)
			})
		}
	}
}

// service is one server, as it is reached at another address.
type service struct {
	address string
	options func(b *testing.B, address string) gitsync.Options
	// rivals are git's ways: settings of its environment by name.
	rivals func(b *testing.B, address string) map[string][]string
}

func sideBySide(b *testing.B, repo *gitserver.Repo, s service, delay time.Duration) {
	pristine(b, repo)
	p := startProxy(b, s.address, delay)
	o := s.options(b, p.address())
	var others []*rival
	for name, env := range s.rivals(b, p.address()) {
		others = append(others, cloneBare(b, name, o.URL, env))
	}
	slices.SortFunc(others, func(x, y *rival) int { return strings.Compare(x.name, y.name) })
	resetPeak()
	ours := open(b, o)
	publishFour(b, ours, 0)

	var took []time.Duration
	var wire int64
	n := 0
	for b.Loop() {
		n++
		foreignCommit(b, repo, "main", n)
		p.reset()
		start := time.Now()
		publishFour(b, ours, n)
		took = append(took, time.Since(start))
		wire += p.bytes()
		for _, r := range others {
			foreignCommit(b, repo, r.name, n)
			r.round(b, p, n)
		}
	}
	peak := peakMB()
	report(b, "ours", took, wire, peak)
	for _, r := range others {
		report(b, r.name, r.took, r.wire, r.peakMB(b, n+1))
		b.ReportMetric(millis(took, 50)/millis(r.took, 50), "ours/"+r.name)
	}
	b.ReportMetric(heapMB(), "heap-MB")
	b.ReportMetric(0, "ns/op")
	intact(b, repo)
	runtime.KeepAlive(ours)
}

// report gives the figures of one of those who were side by side.
func report(b *testing.B, name string, took []time.Duration, wire int64, peak float64) {
	for _, part := range []float64{50, 99} {
		b.ReportMetric(millis(took, part), fmt.Sprintf("%s-p%.0f-ms", name, part))
	}
	b.ReportMetric(float64(wire)/float64(len(took)), name+"-wire-B")
	b.ReportMetric(peak, name+"-peak-MB")
}

// pristine sets the branches back to where the repository begins.
func pristine(b *testing.B, repo *gitserver.Repo) {
	b.Helper()
	for _, branch := range []string{"main", "git", "git-mux"} {
		must[string](b)(repo.Git("update-ref", "refs/heads/"+branch, "refs/heads/seed"))
	}
}

// intact checks that the repository is whole and that nothing is changed but what was meant to be.
func intact(b *testing.B, repo *gitserver.Repo) {
	b.Helper()
	if out := must[string](b)(repo.Git("fsck", "--no-dangling", "--no-progress")); out != "" {
		b.Errorf("git fsck says:\n%s", out)
	}
	before := entriesOf(b, repo, "seed")
	after := entriesOf(b, repo, "main")
	for path, was := range before {
		if is := after[path]; is != was && !strings.HasPrefix(path, "clusters/dev/") {
			b.Errorf("%s was %s and is %s", path, was, is)
		}
		delete(after, path)
	}
	for path := range after {
		if !strings.HasPrefix(path, benchDir+"/") {
			b.Errorf("%s is new", path)
		}
	}
}

// entriesOf maps the paths of a branch to mode, type and name.
func entriesOf(b *testing.B, repo *gitserver.Repo, branch string) map[string]string {
	b.Helper()
	out := map[string]string{}
	for line := range strings.SplitSeq(must[string](b)(repo.Git("ls-tree", "-r", "-z", branch)), "\x00") {
		if what, path, ok := strings.Cut(line, "\t"); ok {
			out[path] = what
		}
	}
	return out
}

// millis is a percentile in milliseconds.
func millis(all []time.Duration, part float64) float64 {
	all = slices.Sorted(slices.Values(all))
	return float64(all[int(part/100*float64(len(all)-1)+0.5)].Microseconds()) / 1000
}

// BenchmarkColdStart reads a directory of the same repository for the first time.
func BenchmarkColdStart(b *testing.B) {
	root, repo := bigRepo(b, 50_000)
	pristine(b, repo)
	s := serveHTTP(b, root)
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

func publishFour(b *testing.B, r *gitsync.Repo, n int) {
	b.Helper()
	edit := gitsync.Edit{Dir: benchDir, Draw: func(gitsync.Base) ([]gitsync.Change, error) {
		return []gitsync.Change{{Dir: benchDir, Put: fourFiles(n), Message: "four files", When: gitsynctest.When}}, nil
	}}
	if made := publishOne(b, r, edit); len(made.Commits) != 1 {
		b.Fatalf("%+v", made)
	}
}

func foreignCommit(b *testing.B, repo *gitserver.Repo, branch string, n int) {
	b.Helper()
	must[string](b)(repo.Commit(branch, "somebody else's", map[string]*gitserver.File{
		fmt.Sprintf("clusters/dev/team-%03d/app-00/values.yaml", n%100): gitserver.Text(fmt.Sprintf("n: %d\n", n)),
	}))
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
