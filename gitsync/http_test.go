package gitsync_test

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/poolwright/poolwright/gitsync"
	"github.com/poolwright/poolwright/gitsync/gitserver"
	"github.com/poolwright/poolwright/gitsync/gitsynctest"
)

// httpBed is a server, a repository with one commit, and a Repo for it.
type httpBed struct {
	*gitserver.Server
	repo *gitserver.Repo
	git  *gitsync.Repo
}

func newHTTPBed(t *testing.T, o gitsync.Options) *httpBed {
	t.Helper()
	root, repo, _ := newRepo(t)
	foreign(t, repo, map[string]*gitserver.File{"README.md": gitserver.Text("hello\n")})
	s := serveHTTP(t, root)
	o.URL = s.HTTP(repo)
	if o.Sleep == nil {
		o.Sleep = noSleep
	}
	return &httpBed{s, repo, open(t, o)}
}

func noSleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }

func foreign(t testing.TB, repo *gitserver.Repo, files map[string]*gitserver.File) string {
	t.Helper()
	return must[string](t)(repo.Commit("main", "somebody else's work", files))
}

func git(t testing.TB, repo *gitserver.Repo, args ...string) string {
	t.Helper()
	return must[string](t)(repo.Git(args...))
}

// write is an edit that puts one file.
func write(dir, name, content string) gitsync.Edit {
	return gitsync.Edit{Dir: dir, Draw: func(gitsync.Base) ([]gitsync.Change, error) {
		return []gitsync.Change{{Dir: dir, Put: gitsync.Files{name: []byte(content)}, Message: "write " + name, When: gitsynctest.When}}, nil
	}}
}

func publishOne(t testing.TB, p gitsync.Publisher, e gitsync.Edit) gitsync.Receipt {
	t.Helper()
	rs := must[[]gitsync.Receipt](t)(p.Publish(t.Context(), []gitsync.Edit{e}))
	if rs[0].Err != nil {
		t.Fatal(rs[0].Err)
	}
	return rs[0]
}

// TestRequestsPerPublish: 2 requests when nobody moved the branch, 3 when somebody did, on one connection (traps 8 and 7r), and
// few bytes.
func TestRequestsPerPublish(t *testing.T) {
	t.Parallel()
	b := newHTTPBed(t, gitsync.Options{})
	publishOne(t, b.git, write("a", "x", "0\n"))
	for n := range 5 {
		b.Reset()
		publishOne(t, b.git, write("a", "x", fmt.Sprintf("still %d\n", n)))
		if got := len(b.Requests()); got != 2 {
			t.Errorf("%d requests when nobody moved the branch, want 2: %v", got, b.Requests())
		}
		foreign(t, b.repo, map[string]*gitserver.File{"theirs": gitserver.Text(fmt.Sprint(n))})
		b.Reset()
		publishOne(t, b.git, write("a", "x", fmt.Sprintf("moved %d\n", n)))
		if got := len(b.Requests()); got != 3 {
			t.Errorf("%d requests when somebody moved it, want 3: %v", got, b.Requests())
		}
		if b.Connections() != 0 {
			t.Errorf("%d new connections, want none", b.Connections())
		}
		if b.Wire() > 6000 {
			t.Errorf("%d bytes on the wire", b.Wire())
		}
	}
}

// TestTrap8ConnectionIsKept with a proxy that sends its answers in chunks, the end of the last a moment later.
func TestTrap8ConnectionIsKept(t *testing.T) {
	t.Parallel()
	b := newHTTPBed(t, gitsync.Options{})
	connections := atomic.Int32{}
	proxy := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.ServeHTTP(w, r)
		_ = http.NewResponseController(w).Flush()
		runtime.Gosched()
	}))
	proxy.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	proxy.Start()
	t.Cleanup(proxy.Close)
	p := open(t, gitsync.Options{URL: proxy.URL + "/" + b.repo.Name})
	for n := range 10 {
		publishOne(t, p, write("a", "x", fmt.Sprintf("%d\n", n)))
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}

// TestTrap10StatusSaysWhatToDo: each status is the error a caller branches on.
func TestTrap10StatusSaysWhatToDo(t *testing.T) {
	t.Parallel()
	b, n := newHTTPBed(t, gitsync.Options{}), 0
	for _, c := range []struct {
		status int
		header string
		body   string
		want   error
		text   string
	}{
		{status: 401, want: gitsync.ErrAuth},
		{status: 403, body: "Resource not accessible by integration", want: gitsync.ErrAuth, text: "Resource not accessible"},
		{status: 403, header: "60", want: gitsync.ErrUnreachable, text: "retry after 60"},
		{status: 429, header: "30", want: gitsync.ErrUnreachable, text: "retry after 30"},
		{status: 404, want: gitsync.ErrNotFound},
		{status: 410, want: gitsync.ErrNotFound},
		{status: 500, want: gitsync.ErrUnreachable},
		{status: 503, body: "<html>down</html>", want: gitsync.ErrUnreachable, text: "503"},
		{status: 413, want: gitsync.ErrRefused},
		{status: 400, body: "TF401041: The request to a Git service is invalid", want: gitsync.ErrUnsupported, text: "multi_ack"},
		{status: 200, body: "<html>Sign in</html>", want: gitsync.ErrUnsupported, text: "no smart Git server"},
	} {
		for _, when := range []string{http.MethodGet, http.MethodPost} {
			t.Run(fmt.Sprintf("%d %s on %s", c.status, c.header, when), func(t *testing.T) {
				b.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
					if r.Method != when {
						return false
					}
					if c.header != "" {
						w.Header().Set("Retry-After", c.header)
					}
					w.WriteHeader(c.status)
					_, _ = w.Write([]byte(c.body))
					return true
				})
				p := open(t, gitsync.Options{URL: b.HTTP(b.repo), Tries: 2, Sleep: noSleep})
				n++
				edit := []gitsync.Edit{write("a", "x", fmt.Sprint(n))}
				_, read := p.Read(t.Context(), "a")
				_, publish := p.Publish(t.Context(), edit)
				for _, err := range []error{read, publish} {
					if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
						t.Errorf("the error is %v, want %v with %q", err, c.want, c.text)
					}
				}
				b.Intercept(nil)
				publishOne(t, p, edit[0]) // the next good moment continues
			})
		}
	}
}

// TestC20CredentialIsReadAnew: a token that has expired is an error about authority, the next one works, and no
// error ever shows either.
func TestC20CredentialIsReadAnew(t *testing.T) {
	t.Parallel()
	var token atomic.Value
	token.Store("first-t0ken")
	var good atomic.Value
	good.Store("first-t0ken")
	b := newHTTPBed(t, gitsync.Options{Auth: gitsync.Basic(func(context.Context) (string, string, error) {
		return "x-access-token", token.Load().(string), nil
	})})
	b.Allow(func(r *http.Request) bool {
		_, p, _ := r.BasicAuth()
		return p == good.Load().(string)
	})
	publishOne(t, b.git, write("a", "x", "1\n"))
	good.Store("second-t0ken")
	_, err := b.git.Publish(t.Context(), []gitsync.Edit{write("a", "x", "2\n")})
	if !errors.Is(err, gitsync.ErrAuth) || strings.Contains(err.Error(), "t0ken") {
		t.Errorf("the error is %v", err)
	}
	token.Store("second-t0ken")
	publishOne(t, b.git, write("a", "x", "2\n"))
	if out := git(t, b.repo, "log", "-p", "--format=fuller", "main"); strings.Contains(out, "t0ken") {
		t.Error("the token is in the history")
	}
}

func TestToken(t *testing.T) {
	t.Parallel()
	b := newHTTPBed(t, gitsync.Options{Auth: gitsync.Token(func(context.Context) (string, error) { return "s3cret", nil })})
	b.Allow(func(r *http.Request) bool { return r.Header.Get("Authorization") == "Bearer s3cret" })
	publishOne(t, b.git, write("a", "x", "1\n"))
	b.Allow(func(*http.Request) bool { return false })
	if _, err := b.git.Read(t.Context(), "a"); !errors.Is(err, gitsync.ErrAuth) || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("the error is %v", err)
	}
}

func TestCredentialThatCannotBeGot(t *testing.T) {
	t.Parallel()
	gone := errors.New("no such file")
	b := newHTTPBed(t, gitsync.Options{Auth: gitsync.Token(func(context.Context) (string, error) { return "", gone })})
	if _, err := b.git.Read(t.Context(), "a"); !errors.Is(err, gone) || !errors.Is(err, gitsync.ErrAuth) {
		t.Errorf("the error is %v", err)
	}
}

// TestTrap11ContextEndsARequest at each request of a publish.
func TestTrap11ContextEndsARequest(t *testing.T) {
	t.Parallel()
	for hang := range 4 {
		t.Run(fmt.Sprintf("request %d", hang), func(t *testing.T) {
			t.Parallel()
			b := newHTTPBed(t, gitsync.Options{})
			ctx, cancel := context.WithCancel(t.Context())
			n := atomic.Int32{}
			release := make(chan struct{})
			defer close(release)
			b.Intercept(func(http.ResponseWriter, *http.Request) bool {
				if int(n.Add(1)) != hang+1 {
					return false
				}
				cancel()
				<-release
				return true
			})
			_, err := b.git.Publish(ctx, []gitsync.Edit{write("a", "x", "1\n")})
			if !errors.Is(err, context.Canceled) || !errors.Is(err, gitsync.ErrUnreachable) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// TestTrap5AnswerIsLost: the push was carried out and its answer did not arrive. The commit is found, not made again.
func TestTrap5AnswerIsLost(t *testing.T) {
	t.Parallel()
	for _, later := range []string{"", "somebody else has committed since"} {
		t.Run(later, func(t *testing.T) {
			t.Parallel()
			b := newHTTPBed(t, gitsync.Options{})
			lost := atomic.Bool{}
			b.After(func(r *http.Request) {
				if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "receive-pack") && !lost.Swap(true) {
					if later != "" {
						foreign(t, b.repo, map[string]*gitserver.File{"theirs": gitserver.Text("1\n")})
					}
					panic(http.ErrAbortHandler)
				}
			})
			r := publishOne(t, b.git, write("a", "x", "1\n"))
			ours := git(t, b.repo, "rev-list", "main", "--", "a/x")
			if len(r.Commits) != 1 || r.Commits[0] != ours {
				t.Errorf("receipt is %+v, on the branch is %s", r, ours)
			}
			if r.Head != b.repo.Tip("main") {
				t.Errorf("head is %s", r.Head)
			}
		})
	}
}

// TestTrap5PushIsLost: the connection broke before the server did anything. It is pushed again.
func TestTrap5PushIsLost(t *testing.T) {
	t.Parallel()
	b := newHTTPBed(t, gitsync.Options{})
	lost := atomic.Bool{}
	b.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "receive-pack") && !lost.Swap(true) {
			panic(http.ErrAbortHandler)
		}
		return false
	})
	r := publishOne(t, b.git, write("a", "x", "1\n"))
	if len(r.Commits) != 1 || b.repo.Tip("main") != r.Commits[0] {
		t.Errorf("receipt is %+v", r)
	}
}

func TestServerIsAway(t *testing.T) {
	t.Parallel()
	b := newHTTPBed(t, gitsync.Options{})
	publishOne(t, b.git, write("a", "x", "1\n"))
	b.Close()
	if _, err := b.git.Publish(t.Context(), []gitsync.Edit{write("a", "x", "2\n")}); !errors.Is(err, gitsync.ErrUnreachable) {
		t.Errorf("the error is %v", err)
	}
}

func TestHTTPSWithOwnCA(t *testing.T) {
	t.Parallel()
	root, repo, _ := newRepo(t)
	foreign(t, repo, map[string]*gitserver.File{"README.md": gitserver.Text("hello\n")})
	s := must[*gitserver.Server](t)(gitserver.NewTLS(root))
	t.Cleanup(s.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.CA()})
	publishOne(t, open(t, gitsync.Options{URL: s.HTTP(repo), CA: ca}), write("a", "x", "1\n"))
	if _, err := open(t, gitsync.Options{URL: s.HTTP(repo)}).Read(t.Context(), ""); !errors.Is(err, gitsync.ErrUnreachable) || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("without the CA the error is %v", err)
	}
}

// TestRedirects: on the same host they are followed when reading, elsewhere never with a credential.
func TestRedirects(t *testing.T) {
	t.Parallel()
	b := newHTTPBed(t, gitsync.Options{Auth: basic("u", "s3cret")})
	b.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.URL.Path, "/old/") {
			http.Redirect(w, r, strings.Replace(r.URL.String(), "/old/", "/", 1), http.StatusMovedPermanently)
			return true
		}
		return false
	})
	moved := open(t, gitsync.Options{URL: strings.Replace(b.HTTP(b.repo), "/team/", "/old/team/", 1), Auth: basic("u", "s3cret")})
	publishOne(t, moved, write("a", "x", "1\n"))

	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, strings.Replace(b.HTTP(b.repo), "127.0.0.1", "localhost", 1)+r.URL.Path, http.StatusFound)
	}))
	t.Cleanup(elsewhere.Close)
	b.Reset()
	_, err := open(t, gitsync.Options{URL: elsewhere.URL + "/x", Auth: basic("u", "s3cret")}).Read(t.Context(), "")
	if !errors.Is(err, gitsync.ErrUnsupported) || !strings.Contains(err.Error(), "localhost") {
		t.Errorf("the error is %v", err)
	}
	if len(b.Requests()) > 0 {
		t.Error("the redirect was followed")
	}
}

func TestTrap3HookSaysWhy(t *testing.T) {
	t.Parallel()
	b := newHTTPBed(t, gitsync.Options{})
	if err := b.repo.Hook("update", `echo "GH006: Protected branch update failed." >&2; exit 1`); err != nil {
		t.Fatal(err)
	}
	b.Reset()
	_, err := b.git.Publish(t.Context(), []gitsync.Edit{write("a", "x", "1\n")})
	if !errors.Is(err, gitsync.ErrRefused) || !strings.Contains(err.Error(), "GH006: Protected branch update failed.") || !strings.Contains(err.Error(), "hook declined") {
		t.Errorf("the error is %v", err)
	}
	if b.Pushes() != 1 {
		t.Errorf("%d pushes, want 1", b.Pushes())
	}
}

// TestRemoteCannotNow: a locked reference and a full disk are for another time, and the remote's words are kept.
func TestRemoteCannotNow(t *testing.T) {
	t.Parallel()
	b := newHTTPBed(t, gitsync.Options{Tries: 3})
	publishOne(t, b.git, write("a", "x", "1\n"))
	lock := b.repo.Dir + "/refs/heads/main.lock"
	writeFile(t, lock, "")
	_, err := b.git.Publish(t.Context(), []gitsync.Edit{write("a", "x", "2\n")})
	if !errors.Is(err, gitsync.ErrUnreachable) || !strings.Contains(err.Error(), "failed to update ref") {
		t.Errorf("with a locked reference the error is %v", err)
	}
	remove(t, lock)
	if err := b.repo.Hook("pre-receive", `echo "error: file write error: No space left on device" >&2; exit 1`); err != nil {
		t.Fatal(err)
	}
	_, err = b.git.Publish(t.Context(), []gitsync.Edit{write("a", "x", "2\n")})
	if !errors.Is(err, gitsync.ErrUnreachable) || !strings.Contains(err.Error(), "No space left on device") {
		t.Errorf("with a full disk the error is %v", err)
	}
	remove(t, b.repo.Dir+"/hooks/pre-receive")
	if r := publishOne(t, b.git, write("a", "x", "2\n")); len(r.Commits) != 1 {
		t.Errorf("the next good moment made %+v", r)
	}
}
