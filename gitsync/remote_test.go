package gitsync_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/poolwright/poolwright/gitsync"
	"github.com/poolwright/poolwright/gitsync/gitserver"
)

// maker makes a repository and a Repo for it over one transport, after change has had its say.
type maker func(t *testing.T, change func(*gitserver.Repo, *gitsync.Options)) (*gitserver.Repo, *gitsync.Repo)

func over(serve func(*testing.T, string, *gitserver.Repo) gitsync.Options) maker {
	return func(t *testing.T, change func(*gitserver.Repo, *gitsync.Options)) (*gitserver.Repo, *gitsync.Repo) {
		t.Helper()
		root, repo, _ := newRepo(t)
		o := serve(t, root, repo)
		change(repo, &o)
		return repo, open(t, o)
	}
}

// onEach runs a test over each transport.
func onEach(t *testing.T, test func(*testing.T, maker)) {
	t.Helper()
	for name, m := range map[string]maker{
		"file": over(func(_ *testing.T, _ string, repo *gitserver.Repo) gitsync.Options {
			return gitsync.Options{URL: repo.Dir}
		}),
		"http": over(func(t *testing.T, root string, repo *gitserver.Repo) gitsync.Options {
			return gitsync.Options{URL: serveHTTP(t, root).HTTP(repo)}
		}),
		"ssh": over(func(t *testing.T, root string, repo *gitserver.Repo) gitsync.Options {
			return sshOptions(t, serveSSH(t, root), repo)
		}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, m)
		})
	}
}

func TestRepositoryNotFound(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, prepare maker) {
		_, p := prepare(t, func(_ *gitserver.Repo, o *gitsync.Options) {
			o.URL = strings.Replace(o.URL, "example.git", "nothing.git", 1)
		})
		_, read := p.Read(t.Context(), "a")
		_, publish := p.Publish(t.Context(), []gitsync.Edit{write("a", "x", "1\n")})
		for _, err := range []error{read, publish} {
			if !errors.Is(err, gitsync.ErrNotFound) {
				t.Errorf("the error is %v", err)
			}
		}
	})
}

func TestBranchNotFound(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, prepare maker) {
		repo, p := prepare(t, func(_ *gitserver.Repo, o *gitsync.Options) { o.Branch = "mian" })
		foreign(t, repo, map[string]*gitserver.File{"README.md": gitserver.Text("hello\n")})
		_, err := p.Publish(t.Context(), []gitsync.Edit{write("a", "x", "1\n")})
		if !errors.Is(err, gitsync.ErrNotFound) || !strings.Contains(err.Error(), `branch "mian"; the repository has main`) {
			t.Errorf("the error is %v", err)
		}
	})
}

func TestTrap16SHA256(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, prepare maker) {
		repo, p := prepare(t, func(*gitserver.Repo, *gitsync.Options) {})
		check := func(state string) {
			if _, err := p.Publish(t.Context(), []gitsync.Edit{write("a", "x", "1\n")}); !errors.Is(err, gitsync.ErrUnsupported) || !strings.Contains(err.Error(), "SHA-256") {
				t.Errorf("%s: the error is %v", state, err)
			}
		}
		if err := os.RemoveAll(repo.Dir); err != nil {
			t.Fatal(err)
		}
		git(t, &gitserver.Repo{Dir: filepath.Dir(repo.Dir)}, "init", "-q", "--bare", "-b", "main", "--object-format=sha256", repo.Dir)
		if err := repo.Config("http.receivepack=true"); err != nil {
			t.Fatal(err)
		}
		check("empty")
		foreign(t, repo, map[string]*gitserver.File{"README.md": gitserver.Text("hello\n")})
		check("with a commit")
	})
}

// TestContextEndsAPushInAHook: over file:// and ssh the hook is a child of ours or of the server's, and holds
// everything up. It says when it has started, on a pipe, which ends with it. A child of ours is ended with the push:
// it must not carry it out when nobody waits for it any more.
func TestContextEndsAPushInAHook(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, prepare maker) {
		dir := t.TempDir()
		alive, never := filepath.Join(dir, "alive"), filepath.Join(dir, "never")
		for _, f := range []string{alive, never} {
			if err := syscall.Mkfifo(f, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		repo, p := prepare(t, func(*gitserver.Repo, *gitsync.Options) {})
		foreign(t, repo, map[string]*gitserver.File{"README.md": gitserver.Text("hello\n")})
		if err := repo.Hook("pre-receive", fmt.Sprintf("exec 3> %s; echo started >&3; cat %s; exit 1", alive, never)); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			pipe, err := os.Open(alive)
			if err != nil {
				t.Error(err)
				return
			}
			defer pipe.Close()
			lines := bufio.NewReader(pipe)
			_, _ = lines.ReadString('\n')
			cancel()
			_, _ = io.Copy(io.Discard, lines) // until the hook is gone
		}()
		_, err := p.Publish(ctx, []gitsync.Edit{write("a", "x", "1\n")})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the error is %v", err)
		}
		if !strings.HasSuffix(t.Name(), "/file") {
			writeFile(t, never, "") // lets the hook of somebody else's server go
		}
		<-ended
	})
}

// TestTrapBitmapRevert: on a server with bitmaps a client which does not say that it is shallow gets too little when
// a file goes back to what it was before.
func TestTrapBitmapRevert(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, prepare maker) {
		repo, p := prepare(t, func(*gitserver.Repo, *gitsync.Options) {})
		old := map[string]*gitserver.File{"a/f": gitserver.Text("old\n"), "b/c/g": gitserver.Text("old\n")}
		foreign(t, repo, old)
		foreign(t, repo, map[string]*gitserver.File{"a/f": gitserver.Text("new\n"), "b/c/g": gitserver.Text("new\n")})
		git(t, repo, "repack", "-adbq")
		publishOne(t, p, write("a", "x", "1\n"))
		foreign(t, repo, old)
		base := must[gitsync.Base](t)(p.Read(t.Context(), "a"))
		if got := string(base.Files["f"]); got != "old\n" {
			t.Errorf("f is %q", got)
		}
		publishOne(t, p, write("b", "x", "1\n"))
		if got := git(t, repo, "show", "main:b/c/g"); got != "old" {
			t.Errorf("g is %q", got)
		}
		git(t, repo, "fsck", "--strict")
	})
}

// TestRewrittenHistory: a person force-pushed the branch, also to where it was long before, and the server has
// forgotten what we know.
func TestRewrittenHistory(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, prepare maker) {
		repo, p := prepare(t, func(*gitserver.Repo, *gitsync.Options) {})
		first := foreign(t, repo, map[string]*gitserver.File{"a/f": gitserver.Text("first\n")})
		for n := range 5 {
			publishOne(t, p, write("a", "x", fmt.Sprintf("%d\n", n)))
		}
		git(t, repo, "update-ref", "refs/heads/main", first)
		second := foreign(t, repo, map[string]*gitserver.File{"a/f": gitserver.Text("second\n")})
		git(t, repo, "reflog", "expire", "--expire=now", "--all")
		git(t, repo, "gc", "-q", "--prune=now")
		base := must[gitsync.Base](t)(p.Read(t.Context(), "a"))
		if base.Head != second || len(base.Files) != 1 || string(base.Files["f"]) != "second\n" || len(base.Log) != 2 {
			t.Errorf("reads as %+v", base)
		}
		publishOne(t, p, write("a", "x", "again\n"))
		git(t, repo, "fsck", "--strict")
	})
}

// TestLogDepth: the newest messages are known after a cold start and after each commit, also from a server that allows no
// filter but blob:none, and from one without any.
func TestLogDepth(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string][]string{
		"all filters": nil,
		"blob:none":   {"uploadpackfilter.allow=false", "uploadpackfilter.blob:none.allow=true"},
		"no filter":   {"uploadpack.allowFilter=false"},
		"no objects":  {"uploadpack.allowAnySHA1InWant=false", "uploadpack.allowTipSHA1InWant=true", "uploadpack.allowReachableSHA1InWant=true"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newHTTPBed(t, gitsync.Options{LogDepth: 4})
			if err := b.repo.Config(settings...); err != nil {
				t.Fatal(err)
			}
			for n := range 6 {
				foreign(t, b.repo, map[string]*gitserver.File{"a/x": gitserver.Text(fmt.Sprint(n)), "b/y": gitserver.Text(fmt.Sprint(n))})
			}
			check := func(when string) {
				t.Helper()
				base := must[gitsync.Base](t)(b.git.Read(t.Context(), "a"))
				var got []string
				for _, c := range base.Log {
					got = append(got, c.Hash)
				}
				if want := strings.Fields(git(t, b.repo, "rev-list", "-4", "main")); !slices.Equal(got, want) {
					t.Errorf("%s: the log is\n%v, want\n%v", when, got, want)
				}
				if string(base.Files["x"]) != git(t, b.repo, "show", "main:a/x") {
					t.Errorf("%s: x is %q", when, base.Files["x"])
				}
			}
			check("cold")
			foreign(t, b.repo, map[string]*gitserver.File{"a/x": gitserver.Text("newer")})
			check("warm")
			publishOne(t, b.git, write("a", "z", "1\n"))
			check("after our own")
			git(t, b.repo, "fsck", "--strict")
		})
	}
}

// TestMergesInTheLog: a person's merge puts commits of a side branch into the log, by date.
func TestMergesInTheLog(t *testing.T) {
	t.Parallel()
	b := newHTTPBed(t, gitsync.Options{})
	publishOne(t, b.git, write("a", "x", "1\n"))
	base := b.repo.Tip("main")
	tree := git(t, b.repo, "rev-parse", "main^{tree}")
	side := git(t, b.repo, "commit-tree", tree, "-p", base, "-m", "Revert \"write x\"\n\nThis reverts commit "+base+".")
	merge := git(t, b.repo, "commit-tree", tree, "-p", base, "-p", side, "-m", "Merge pull request #1")
	git(t, b.repo, "update-ref", "refs/heads/main", merge)
	log := must[gitsync.Base](t)(b.git.Read(t.Context(), "a")).Log
	if len(log) != 4 || log[0].Hash != merge || log[1].Hash != side || log[2].Hash != base {
		t.Errorf("the log is %+v", log)
	}
}

// TestCacheDoesNotGrowWithHistory: what the head no longer leads to goes.
func TestCacheDoesNotGrowWithHistory(t *testing.T) {
	t.Parallel()
	b := newHTTPBed(t, gitsync.Options{LogDepth: 3})
	for n := range 14 {
		publishOne(t, b.git, write("a", "x", fmt.Sprint(n)))
	}
	if _, _, commits := gitsync.Cached(b.git); commits > 12 {
		t.Errorf("%d commits are kept after 14 of ours", commits)
	}
	for n := range 14 {
		foreign(t, b.repo, map[string]*gitserver.File{fmt.Sprintf("d/%d", n): gitserver.Text(fmt.Sprint(n))})
	}
	must[gitsync.Base](t)(b.git.Read(t.Context(), "a"))
	if trees, _, commits := gitsync.Cached(b.git); commits != 3 || trees != 3 {
		t.Errorf("%d commits and %d trees are kept after 14 of somebody else, want 3 and 3", commits, trees)
	}
}

// TestWarmFetchIsEnough: also a return to what was before the head takes one small fetch, no cold start.
func TestWarmFetchIsEnough(t *testing.T) {
	t.Parallel()
	b := newHTTPBed(t, gitsync.Options{})
	old := map[string]*gitserver.File{"b/c/g": gitserver.Text("old\n")}
	foreign(t, b.repo, old)
	foreign(t, b.repo, map[string]*gitserver.File{"b/c/g": gitserver.Text("new\n")})
	git(t, b.repo, "repack", "-adbq")
	must[gitsync.Base](t)(b.git.Read(t.Context(), "b"))
	foreign(t, b.repo, old)
	b.Reset()
	base := must[gitsync.Base](t)(b.git.Read(t.Context(), "b"))
	if got := len(b.Requests()); string(base.Files["c/g"]) != "old\n" || got != 3 { // where is it, what differs, the file
		t.Errorf("%d requests, files %v", got, base.Files)
	}
}

// TestServerSendsTooLittle: it takes us for a full clone, because the word that we are shallow was lost. The hole is
// noticed, and filled by a cold start.
func TestServerSendsTooLittle(t *testing.T) {
	t.Parallel()
	b := newHTTPBed(t, gitsync.Options{})
	old := map[string]*gitserver.File{"b/c/g": gitserver.Text("old\n")}
	foreign(t, b.repo, old)
	foreign(t, b.repo, map[string]*gitserver.File{"b/c/g": gitserver.Text("new\n")})
	git(t, b.repo, "repack", "-adbq")
	must[gitsync.Base](t)(b.git.Read(t.Context(), "a"))
	foreign(t, b.repo, old)
	line := regexp.MustCompile(`0035shallow [0-9a-f]{40}\n`)
	b.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(line.ReplaceAll(body, nil)))
		return false
	})
	publishOne(t, b.git, write("a", "x", "1\n")) // elsewhere: does not need what is missing
	publishOne(t, b.git, write("b/c", "h", "1\n"))
	if base := must[gitsync.Base](t)(b.git.Read(t.Context(), "b")); string(base.Files["c/g"]) != "old\n" || len(base.Files) != 2 {
		t.Errorf("files are %v", base.Files)
	}
	git(t, b.repo, "fsck", "--strict")
}

// TestServerHandsOutNoFiles: it says that it gives any object, and gives commits only.
func TestServerHandsOutNoFiles(t *testing.T) {
	t.Parallel()
	b := newHTTPBed(t, gitsync.Options{})
	foreign(t, b.repo, map[string]*gitserver.File{"a/x": gitserver.Text("1\n"), "b/y": gitserver.Text("2\n")})
	b.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if !strings.HasSuffix(r.URL.Path, "upload-pack") || bytes.Contains(body, []byte("shallow")) {
			return false
		}
		w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
		_, _ = io.WriteString(w, "002eERR upload-pack: not our ref 1234567890123")
		return true
	})
	for range 2 {
		base := must[gitsync.Base](t)(b.git.Read(t.Context(), "a"))
		if string(base.Files["x"]) != "1\n" {
			t.Errorf("files are %v", base.Files)
		}
		foreign(t, b.repo, map[string]*gitserver.File{"theirs": gitserver.Text("3\n")})
	}
	publishOne(t, b.git, write("b", "z", "1\n"))
	if base := must[gitsync.Base](t)(b.git.Read(t.Context(), "b")); len(base.Files) != 2 {
		t.Errorf("files are %v", base.Files)
	}
}

// TestReadIsACopy: what a caller does to what it was given changes nothing here.
func TestReadIsACopy(t *testing.T) {
	t.Parallel()
	b := newHTTPBed(t, gitsync.Options{})
	foreign(t, b.repo, map[string]*gitserver.File{"a/x": gitserver.Text("1\n")})
	base := must[gitsync.Base](t)(b.git.Read(t.Context(), "a"))
	base.Files["x"][0] = '9'
	delete(base.Files, "x")
	if base := must[gitsync.Base](t)(b.git.Read(t.Context(), "a")); string(base.Files["x"]) != "1\n" {
		t.Errorf("files are %v", base.Files)
	}
}
