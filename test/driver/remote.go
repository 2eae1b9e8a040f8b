package driver

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/poolwright/poolwright/gitsync/gitserver"
)

// Remote is a bare repository on a real smart-HTTP server.
type Remote struct {
	*gitserver.Repo
	Server *gitserver.Server
	// URL is where the repository is reached.
	URL string

	t       testing.TB
	changed chan struct{}
}

// NewRemote starts the server of an empty repository; it ends with the test.
func NewRemote(t testing.TB) *Remote {
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
	r := &Remote{Repo: repo, Server: server, URL: server.HTTP(repo), t: t, changed: make(chan struct{}, 1)}
	r.After(nil)
	return r
}

// After sets what is called when a push has been carried out and before it is answered; nil is nothing.
func (r *Remote) After(f func()) {
	r.Server.After(func(q *http.Request) {
		if !IsPush(q) {
			return
		}
		signal(r.changed)
		if f != nil {
			f()
		}
	})
}

// Down cuts every connection off without an answer, until Up.
func (r *Remote) Down() {
	r.Server.Intercept(func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) })
}

// Up ends Down.
func (r *Remote) Up() { r.Server.Intercept(nil) }

// IsPush reports whether a request sends a pack.
func IsPush(q *http.Request) bool {
	return q.Method == http.MethodPost && strings.HasSuffix(q.URL.Path, "git-receive-pack")
}

// MustGit runs git in the repository.
func (r *Remote) MustGit(args ...string) string {
	r.t.Helper()
	out, err := r.Git(args...)
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}

// Subjects are the commits of main, oldest first.
func (r *Remote) Subjects() []string {
	out, err := r.Git("log", "--reverse", "--format=%s", "main", "--")
	if err != nil || out == "" {
		return nil // nothing there yet
	}
	return strings.Split(out, "\n")
}

// Await waits until the branch is as wanted, looking after each push.
func (r *Remote) Await(what string, until func() bool) {
	r.t.Helper()
	late := time.NewTimer(Patience)
	defer late.Stop()
	for !until() {
		select {
		case <-r.changed:
		case <-late.C:
			r.t.Fatalf("waiting for %s: got commits %q", what, r.Subjects())
		}
	}
}

// AwaitSubject waits for n commits, the last of which says part.
func (r *Remote) AwaitSubject(n int, part string) {
	r.t.Helper()
	r.Await(fmt.Sprintf("commit %d with %q", n, part), func() bool { return len(r.Subjects()) >= n })
	if got := r.Subjects(); len(got) != n || !strings.Contains(got[n-1], part) {
		r.t.Fatalf("got commits %q, want %d with %q in the last", got, n, part)
	}
}

// WantPassword lets nobody in without it.
func (r *Remote) WantPassword(password string) {
	r.Server.Allow(func(q *http.Request) bool {
		_, given, _ := q.BasicAuth()
		return given == password
	})
}

// File is a file of the directory of cluster story at a revision, "" when it is not there.
func (r *Remote) File(revision, path string) string { return r.At(revision, "clusters/story", path) }

// At is a file of any directory.
func (r *Remote) At(revision, dir, path string) string {
	out, err := r.Git("show", revision+":"+dir+"/"+path)
	if err != nil {
		return ""
	}
	return out
}

// ChangedFiles are the paths that a commit changes.
func (r *Remote) ChangedFiles(commit string) []string {
	r.t.Helper()
	return strings.Fields(r.MustGit("show", "--format=", "--name-only", commit))
}

// Commits of main, oldest first.
func (r *Remote) Commits() []string {
	r.t.Helper()
	return strings.Fields(r.MustGit("rev-list", "--reverse", "main"))
}

// WantSoundHistory wants no merge, no empty commit, no commit that undoes the
// one before it, epochs that rise by at most one, and an intact repository.
func (r *Remote) WantSoundHistory() {
	r.t.Helper()
	if merges := r.MustGit("rev-list", "--merges", "main"); merges != "" {
		r.t.Errorf("got merges %q, want a linear history", merges)
	}
	r.MustGit("fsck", "--strict", "--no-dangling")
	all := r.Commits()
	trees := make([]string, len(all))
	last := 0
	for i, c := range all {
		trees[i] = r.MustGit("rev-parse", c+"^{tree}")
		if i > 0 && trees[i] == trees[i-1] {
			r.t.Errorf("commit %s is empty", c)
		}
		if i > 1 && trees[i] == trees[i-2] {
			r.t.Errorf("commit %s undoes the one before it", c)
		}
		text := r.MustGit("show", "-s", "--format=%(trailers:key=Poolwright-Epoch,valueonly)", c)
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
