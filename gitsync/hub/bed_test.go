package hub_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/poolwright/poolwright/gitsync/hub"
)

const (
	token = "ghp_0123456789abcdef"
	sha1a = "1111111111111111111111111111111111111111"
	sha1b = "2222222222222222222222222222222222222222"
)

// desk answers what a test wrote down and nothing else.
type desk struct {
	*httptest.Server
	mu   sync.Mutex
	seen []*http.Request
}

// answers are the routes of a desk, as "GET /repos/acme/platform".
type answers map[string]http.HandlerFunc

func serve(t *testing.T, routes answers) *desk {
	t.Helper()
	d := &desk{}
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.mu.Lock()
		d.seen = append(d.seen, r.Clone(context.Background()))
		d.mu.Unlock()
		answer, known := routes[r.Method+" "+r.URL.Path]
		if !known {
			t.Errorf("unexpected %s %s", r.Method, r.URL)
			http.NotFound(w, r)
			return
		}
		answer(w, r)
	}))
	t.Cleanup(d.Close)
	return d
}

// calls are the requests so far, as "GET /user".
func (d *desk) calls() (all []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.seen {
		all = append(all, r.Method+" "+r.URL.Path)
	}
	return all
}

func (d *desk) last() *http.Request {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.seen[len(d.seen)-1]
}

// says answers with a status and a body, as GitHub does.
func says(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// inTurn gives one answer after the other; the last one stays.
func inTurn(all ...http.HandlerFunc) http.HandlerFunc {
	var mu sync.Mutex
	return func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		now := all[0]
		if len(all) > 1 {
			all = all[1:]
		}
		mu.Unlock()
		now(w, r)
	}
}

func message(s string) string {
	return `{"message":"` + s + `","documentation_url":"https://docs.github.com/rest"}`
}

const refPath = "/repos/acme/platform/git/ref/heads/main"

func refTo(sha string) string {
	return `{"ref":"refs/heads/main","object":{"type":"commit","sha":"` + sha + `"}}`
}

// clock is one that only sleeping moves.
type clock struct {
	mu    sync.Mutex
	at    time.Time
	slept []time.Duration
}

func newClock() *clock { return &clock{at: time.Date(2031, 3, 4, 5, 6, 7, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func (c *clock) sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
	c.slept = append(c.slept, d)
	return ctx.Err()
}

func fixed(s string) hub.Auth {
	return hub.Fixed(func(context.Context) (string, error) { return s, nil })
}

// open is a client of acme/platform at this address.
func open(t *testing.T, url string, change func(*hub.Options)) *hub.Client {
	t.Helper()
	c := newClock()
	o := hub.Options{API: url, Repository: "acme/platform", Auth: fixed(token), Now: c.now, Sleep: c.sleep}
	if change != nil {
		change(&o)
	}
	client, err := hub.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// plain fails the test when an error is not one line that can be printed, or has the token in it.
func plain(t *testing.T, err error) {
	t.Helper()
	s := err.Error()
	if strings.Contains(s, token) {
		t.Errorf("the token is in %q", s)
	}
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\u202e' }) {
		t.Errorf("control characters in %q", s)
	}
	if len(s) > 1500 {
		t.Errorf("an error of %d bytes", len(s))
	}
}
