package githubfake_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-github/v66/github"

	"github.com/poolwright/poolwright/gitsync/githubfake"
	"github.com/poolwright/poolwright/gitsync/gitserver"
)

// clock stands still until it is moved.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// complaints is a test that collects what is wrong instead of failing.
type complaints struct {
	testing.TB
	mu  sync.Mutex
	all []string
}

func (c *complaints) Helper() {}

func (c *complaints) Errorf(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, fmt.Sprintf(format, args...))
}

func (c *complaints) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.all, "\n")
}

// bed is a server with one commit on main, and a clock.
type bed struct {
	*githubfake.Server
	*clock
	t *testing.T
}

func start(t *testing.T, o githubfake.Options) bed {
	t.Helper()
	b := bed{clock: newClock(), t: t}
	o.Now = b.Now
	b.Server = githubfake.New(t, o)
	b.PushAsPerson("main", "begin", map[string]*gitserver.File{
		"README.md": gitserver.Text("hello\n"), "deep/er/file": gitserver.Text("1\n"), "deep/other": gitserver.Text("2\n"),
		"run.sh": {Mode: "100755", Content: "#!/bin/sh\n"}, "link": {Mode: "120000", Content: "README.md"},
		"module": {Mode: "160000", Content: "1111111111111111111111111111111111111111"},
	})
	return b
}

// reply is an answer as it came.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// ask makes one request as a good client does. Path is below the repository, or from the API's root with a slash.
func (b bed) ask(method, path string, body any, more ...string) reply {
	b.t.Helper()
	r, err := b.try(method, path, body, more...)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

// try is ask for a request that may find no answer; more are headers, name and value in turn.
func (b bed) try(method, path string, body any, more ...string) (reply, error) {
	b.t.Helper()
	var data io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			b.t.Fatal(err)
		}
		data = bytes.NewReader(raw)
	}
	url := b.URL() + "repos/" + b.Name() + "/" + path
	if below, ok := strings.CutPrefix(path, "/"); ok {
		url = b.URL() + below
	}
	req, err := http.NewRequestWithContext(b.t.Context(), method, strings.TrimSuffix(url, "/"), data)
	if err != nil {
		b.t.Fatal(err)
	}
	headers := append([]string{
		"Accept", "application/vnd.github+json", "X-GitHub-Api-Version", "2022-11-28", "User-Agent", "test", "Content-Type", "application/json",
		"Authorization", "Bearer " + b.Token(),
	}, more...)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
		if headers[i+1] == "" {
			req.Header.Del(headers[i])
		}
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, got}, err
}

// want checks the status and that the body has a text.
func (r reply) want(t *testing.T, status int, text string) reply {
	t.Helper()
	if r.status != status || !strings.Contains(string(r.body), text) {
		t.Fatalf("got %d %s\nwant %d with %q in it", r.status, r.body, status, text)
	}
	return r
}

// at is a value in the JSON answer by its path: "object.sha", "0.number".
func (r reply) at(t *testing.T, path string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(r.body, &v); err != nil {
		t.Fatalf("%v: %s", err, r.body)
	}
	for key := range strings.SplitSeq(path, ".") {
		if key == "" {
			break // the whole
		}
		switch in := v.(type) {
		case map[string]any:
			v = in[key]
		case []any:
			i := 0
			if _, err := fmt.Sscan(key, &i); err != nil || i >= len(in) {
				t.Fatalf("no %s in %s", path, r.body)
			}
			v = in[i]
		default:
			t.Fatalf("no %s in %s", path, r.body)
		}
	}
	return v
}

func (b bed) client() *github.Client {
	b.t.Helper()
	c := github.NewClient(nil).WithAuthToken(b.Token())
	base, err := c.BaseURL.Parse(b.URL())
	if err != nil {
		b.t.Fatal(err)
	}
	c.BaseURL = base
	return c
}

func (b bed) git(args ...string) string {
	b.t.Helper()
	out, err := b.Repo().Git(args...)
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

// branch puts a commit on a new branch that begins at main.
func (b bed) branch(name, path, content string) string {
	b.t.Helper()
	if b.Repo().Tip(name) == "" {
		b.ForcePush(name, b.Repo().Tip("main"))
	}
	return b.PushAsPerson(name, "change "+path, map[string]*gitserver.File{path: gitserver.Text(content)})
}

// pull opens a pull request of a new branch.
func (b bed) pull(name string) int {
	b.t.Helper()
	b.branch(name, name+".txt", "proposed\n")
	r := b.ask("POST", "pulls", map[string]any{"title": "Change " + name, "head": name, "base": "main", "body": "why"})
	return int(r.want(b.t, 201, "").at(b.t, "number").(float64))
}
