package test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/poolwright/poolwright/cmd"
	"github.com/poolwright/poolwright/gitsync/gitserver"
	"github.com/poolwright/poolwright/test/pgcluster"
)

// asBinary makes this test binary be poolwright: what is driven here is the
// whole command, with the race detector in it when the tests have it.
const asBinary = "POOLWRIGHT_TEST_AS_BINARY"

func TestMain(m *testing.M) {
	if os.Getenv(asBinary) != "" {
		os.Exit(cmd.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// patience bounds every wait, so that a failure ends. No test passes by it.
const patience = 90 * time.Second

// process is a running poolwright.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	done chan struct{}

	mu    sync.Mutex
	log   strings.Builder
	lines chan struct{} // has a value after a new line
}

// start runs poolwright until the test ends, or stop or kill.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: poolwright(args...), done: make(chan struct{}), lines: make(chan struct{}, 1)}
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.done)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			p.mu.Lock()
			p.log.WriteString(lines.Text() + "\n")
			p.mu.Unlock()
			signal(p.lines)
		}
		_ = p.cmd.Wait()
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("log of poolwright:\n%s", p.text())
		}
	})
	return p
}

func poolwright(args ...string) *exec.Cmd {
	c := exec.CommandContext(context.Background(), os.Args[0], args...)
	c.Env = append(os.Environ(), asBinary+"=1", "GORACE=halt_on_error=1 atexit_sleep_ms=0",
		"PGUSER="+pgcluster.User, "PGPASSWORD="+pgcluster.Password)
	return c
}

// kill is kill -9.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// stop asks it to end, and wants it to end well.
func (p *process) stop() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Error(err)
	}
	select {
	case <-p.done:
	case <-time.After(patience):
		p.t.Error("poolwright does not end when it is asked to")
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		p.t.Errorf("got exit code %d after SIGTERM, want 0", code)
	}
}

func (p *process) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// awaitLine waits for a line of the log with all of these parts.
func (p *process) awaitLine(parts ...string) {
	p.t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		for line := range strings.Lines(p.text()) {
			if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
				return
			}
		}
		select {
		case <-p.lines:
		case <-late.C:
			p.t.Fatalf("waiting for a line of the log with %q", parts)
		}
	}
}

// signal leaves one value in c.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// once runs poolwright to its end.
func once(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	c := poolwright(args...)
	var out, errs strings.Builder
	c.Stdout, c.Stderr = &out, &errs
	_ = c.Run()
	return out.String(), errs.String(), c.ProcessState.ExitCode()
}

// remote is a bare repository on a real smart-HTTP server.
type remote struct {
	*gitserver.Repo
	t       *testing.T
	server  *gitserver.Server
	url     string
	changed chan struct{}
}

func newRemote(t *testing.T) *remote {
	t.Helper()
	root := t.TempDir()
	repo, err := gitserver.CreateRepo(root, "fleet.git")
	if err != nil {
		t.Fatal(err)
	}
	server, err := gitserver.New(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	r := &remote{Repo: repo, t: t, server: server, url: server.HTTP(repo), changed: make(chan struct{}, 1)}
	server.After(func(q *http.Request) {
		if strings.HasSuffix(q.URL.Path, "git-receive-pack") {
			signal(r.changed)
		}
	})
	return r
}

// git runs git in the repository.
func (r *remote) git(args ...string) string {
	r.t.Helper()
	out, err := r.Git(args...)
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}

// subjects are the commits of main, oldest first.
func (r *remote) subjects() []string {
	out, err := r.Git("log", "--reverse", "--format=%s", "main", "--")
	if err != nil || out == "" {
		return nil // nothing there yet
	}
	return strings.Split(out, "\n")
}

// await waits until the branch is as wanted, looking after each push.
func (r *remote) await(what string, until func() bool) {
	r.t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	for !until() {
		select {
		case <-r.changed:
		case <-late.C:
			r.t.Fatalf("waiting for %s: got commits %q", what, r.subjects())
		}
	}
}

// awaitSubject waits for n commits, the last of which says part.
func (r *remote) awaitSubject(n int, part string) {
	r.t.Helper()
	r.await(fmt.Sprintf("commit %d with %q", n, part), func() bool { return len(r.subjects()) >= n })
	if got := r.subjects(); len(got) != n || !strings.Contains(got[n-1], part) {
		r.t.Fatalf("got commits %q, want %d with %q in the last", got, n, part)
	}
}

// wantPassword lets nobody in without it.
func (r *remote) wantPassword(password string) {
	r.server.Allow(func(q *http.Request) bool {
		_, given, _ := q.BasicAuth()
		return given == password
	})
}

// file is a file of the cluster's directory at a revision, "" when it is not there.
func (r *remote) file(revision, path string) string { return r.at(revision, "clusters/story", path) }

// at is a file of any directory.
func (r *remote) at(revision, dir, path string) string {
	out, err := r.Git("show", revision+":"+dir+"/"+path)
	if err != nil {
		return ""
	}
	return out
}

// changedFiles are the paths that a commit changes.
func (r *remote) changedFiles(commit string) []string {
	r.t.Helper()
	return strings.Fields(r.git("show", "--format=", "--name-only", commit))
}

// commits of main, oldest first.
func (r *remote) commits() []string {
	r.t.Helper()
	return strings.Fields(r.git("rev-list", "--reverse", "main"))
}

// wantSoundHistory wants no merge, no empty commit, no commit that undoes the
// one before it, epochs that rise by at most one, and an intact repository.
func (r *remote) wantSoundHistory() {
	r.t.Helper()
	if merges := r.git("rev-list", "--merges", "main"); merges != "" {
		r.t.Errorf("got merges %q, want a linear history", merges)
	}
	r.git("fsck", "--strict", "--no-dangling")
	all := r.commits()
	trees := make([]string, len(all))
	last := 0
	for i, c := range all {
		trees[i] = r.git("rev-parse", c+"^{tree}")
		if i > 0 && trees[i] == trees[i-1] {
			r.t.Errorf("commit %s is empty", c)
		}
		if i > 1 && trees[i] == trees[i-2] {
			r.t.Errorf("commit %s undoes the one before it", c)
		}
		text := r.git("show", "-s", "--format=%(trailers:key=Poolwright-Epoch,valueonly)", c)
		if text == "" {
			continue // somebody else's
		}
		epoch, err := strconv.Atoi(text)
		if err != nil || epoch < last || epoch > last+1 {
			r.t.Errorf("commit %s has epoch %q after %d", c, text, last)
		}
		last = epoch
	}
}

// clusterFile writes a Cluster file for a test and returns its path.
func clusterFile(t *testing.T, discovery, repository string, more ...string) string {
	t.Helper()
	text := fmt.Sprintf(`apiVersion: poolwright.dev/v1alpha1
kind: Cluster
metadata: {name: story, namespace: db}
spec:
  discovery:
%s
    interval: 1s
    timeout: 3s
  monitor: {interval: 1s, timeout: 3s}
  pgbouncer:
    image: registry.example.com/pgbouncer:1.24.1
    authFileSecretRef: {name: userlist}
  publish:
    repository: %s
%s
`, indent(discovery), repository, strings.Join(more, "\n"))
	path := filepath.Join(t.TempDir(), "cluster.yaml")
	write(t, path, text)
	return path
}

func indent(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	for i, l := range lines {
		lines[i] = "    " + l
	}
	return strings.Join(lines, "\n")
}

// yamlValue is the value of a key on a line of its own, "" when it is not there.
func yamlValue(text, key string) string {
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && k == key {
			return strings.Trim(v, `"`)
		}
	}
	return ""
}

// selector is the part of services.yaml that selects for one of the two Services, sorted.
func selector(services, role string) []string {
	for doc := range strings.SplitSeq(services, "\n---\n") {
		if yamlValue(doc, "name") != "story-"+role {
			continue
		}
		_, after, _ := strings.Cut(doc, "  selector:\n")
		var keys []string
		for line := range strings.Lines(after) {
			switch trimmed := strings.TrimSpace(line); {
			case !strings.HasPrefix(line, "    "):
				slices.Sort(keys)
				return keys
			case !strings.HasPrefix(trimmed, "#"):
				key, _, _ := strings.Cut(trimmed, " #")
				keys = append(keys, key)
			}
		}
		slices.Sort(keys)
		return keys
	}
	return nil
}
