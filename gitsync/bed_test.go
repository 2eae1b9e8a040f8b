package gitsync_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/poolwright/poolwright/gitsync"
	"github.com/poolwright/poolwright/gitsync/githttp"
	"github.com/poolwright/poolwright/gitsync/gitserver"
	"github.com/poolwright/poolwright/gitsync/gitsynctest"
)

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// newRepo is an empty bare repository that counts the pushes which reach it, and where.
func newRepo(t testing.TB) (root string, repo *gitserver.Repo, pushes func() int) {
	t.Helper()
	root = t.TempDir()
	repo = must[*gitserver.Repo](t)(gitserver.CreateRepo(root, "team/example.git"))
	counter := filepath.Join(root, "pushes")
	if err := repo.Hook("pre-receive", "echo x >> '"+counter+"'"); err != nil {
		t.Fatal(err)
	}
	return root, repo, func() int {
		b, _ := os.ReadFile(counter)
		return bytes.Count(b, []byte("\n"))
	}
}

func open(t testing.TB, o gitsync.Options) *gitsync.Repo {
	t.Helper()
	o.Author = gitsynctest.Author
	r := must[*gitsync.Repo](t)(gitsync.Open(o))
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// bed makes the bed of one transport: serve returns the options that reach a repository.
func bed(serve func(t *testing.T, root string, repo *gitserver.Repo) gitsync.Options) func(*testing.T) gitsynctest.Bed {
	return func(t *testing.T) gitsynctest.Bed {
		root, repo, pushes := newRepo(t)
		o := serve(t, root, repo)
		return newBed(repo, pushes, o)
	}
}

func newBed(repo *gitserver.Repo, pushes func() int, o gitsync.Options) gitsynctest.Bed {
	return gitsynctest.Bed{
		Repo: repo, Pushes: pushes,
		New: func(t *testing.T) gitsync.Publisher { return open(t, o) },
		Signed: func(t *testing.T, s gitsync.Signer) gitsync.Publisher {
			o := o
			o.Sign = s
			return open(t, o)
		},
	}
}

func serveHTTP(t testing.TB, root string) *gitserver.Server {
	t.Helper()
	s := must[*gitserver.Server](t)(gitserver.New(root))
	t.Cleanup(s.Close)
	return s
}

func serveSSH(t testing.TB, root string) *gitserver.SSH {
	t.Helper()
	s := must[*gitserver.SSH](t)(gitserver.StartSSH(root))
	t.Cleanup(s.Close)
	return s
}

func sshOptions(t testing.TB, s *gitserver.SSH, repo *gitserver.Repo) gitsync.Options {
	t.Helper()
	known := filepath.Join(t.TempDir(), "known_hosts")
	if err := os.WriteFile(known, s.KnownHosts(), 0o600); err != nil {
		t.Fatal(err)
	}
	key := func(context.Context) ([]byte, []byte, error) { return s.ClientKey, nil, nil }
	return gitsync.Options{URL: s.URL(repo), Auth: gitsync.SSHKey{Key: key, KnownHosts: known}}
}

func basic(user, password string) gitsync.Basic {
	return func(context.Context) (string, string, error) { return user, password, nil }
}

// TestContractFile runs against a repository without filters, as old servers are: packs come whole.
func TestContractFile(t *testing.T) {
	t.Parallel()
	gitsynctest.Run(t, bed(func(t *testing.T, _ string, repo *gitserver.Repo) gitsync.Options {
		if err := repo.Config("uploadpack.allowFilter=false", "uploadpack.allowAnySHA1InWant=false"); err != nil {
			t.Fatal(err)
		}
		return gitsync.Options{URL: "file://" + repo.Dir}
	}))
}

func TestContractHTTP(t *testing.T) {
	t.Parallel()
	gitsynctest.Run(t, bed(func(t *testing.T, root string, repo *gitserver.Repo) gitsync.Options {
		s := serveHTTP(t, root)
		s.Allow(func(r *http.Request) bool {
			user, password, ok := r.BasicAuth()
			return ok && user == "x-access-token" && password == "s3cret"
		})
		return gitsync.Options{URL: s.HTTP(repo), Auth: basic("x-access-token", "s3cret")}
	}))
}

func TestContractSSH(t *testing.T) {
	t.Parallel()
	gitsynctest.Run(t, bed(func(t *testing.T, root string, repo *gitserver.Repo) gitsync.Options {
		return sshOptions(t, serveSSH(t, root), repo)
	}))
}

func writeFile(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func remove(t testing.TB, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

// TestContractGithttp runs against the server that needs no git.
func TestContractGithttp(t *testing.T) {
	t.Parallel()
	gitsynctest.Run(t, func(t *testing.T) gitsynctest.Bed {
		_, repo, _ := newRepo(t)
		var pushes atomic.Int64
		h := githttp.New(repo.Dir)
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/git-receive-pack") {
				pushes.Add(1)
			}
			h.ServeHTTP(w, r)
		}))
		t.Cleanup(s.Close)
		o := gitsync.Options{URL: s.URL}
		return newBed(repo, func() int { return int(pushes.Load()) }, o)
	})
}

// oddTree is a tree with a file of a mode that old tools wrote, 100664.
func oddTree(t testing.TB, repo *gitserver.Repo, blob string) string {
	t.Helper()
	raw := must[[]byte](t)(hex.DecodeString(blob))
	file := filepath.Join(t.TempDir(), "tree")
	writeFile(t, file, "100664 README.md\x00"+string(raw))
	return git(t, repo, "hash-object", "-t", "tree", "-w", "--literally", file)
}
