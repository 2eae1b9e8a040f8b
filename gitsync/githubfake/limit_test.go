package githubfake_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/poolwright/poolwright/gitsync/githubfake"
	"github.com/poolwright/poolwright/gitsync/gitserver"
)

// strict is a bed whose complaints are collected.
func strict(t *testing.T, o githubfake.Options) (bed, *complaints) {
	t.Helper()
	tb := &complaints{TB: t}
	b := bed{clock: newClock(), t: t}
	o.Now = b.Now
	b.Server = githubfake.New(tb, o)
	b.PushAsPerson("main", "begin", map[string]*gitserver.File{"a": gitserver.Text("1\n")})
	return b, tb
}

func TestC11ASecondaryLimitLastsAsLongAsItSays(t *testing.T) {
	b, tb := strict(t, githubfake.Options{})
	b.branch("side", "s", "1\n")
	b.Limit("POST pulls", githubfake.Limit{})
	open := func() reply { return b.ask("POST", "pulls", m{"title": "x", "head": "side", "base": "main"}) }
	if got := open().want(t, 403, "secondary rate limit").header.Get("Retry-After"); got != "60" {
		t.Errorf("Retry-After is %q", got)
	}
	b.ask("GET", "pulls", nil).want(t, 200, "[]") // another kind
	if tb.text() != "" {
		t.Errorf("it complains: %s", tb.text())
	}
	b.Advance(59 * time.Second)
	open().want(t, 403, "secondary")
	if want := "POST pulls came 1s before the limit allows it"; tb.text() != want {
		t.Errorf("it says %q, want %q", tb.text(), want)
	}
	b.Advance(time.Second)
	open().want(t, 201, "")
	if n := b.Count("POST pulls"); n != 3 {
		t.Errorf("%d were counted", n)
	}
}

func TestAPrimaryLimitTellsItsEnd(t *testing.T) {
	b := start(t, githubfake.Options{})
	b.Limit("*", githubfake.Limit{Status: http.StatusTooManyRequests, After: 5 * time.Minute, Primary: true})
	h := b.ask("GET", "pulls", nil).want(t, 429, "API rate limit exceeded").header
	want := strconv.FormatInt(b.Now().Add(5*time.Minute).Unix(), 10)
	if h.Get("X-Ratelimit-Remaining") != "0" || h.Get("X-Ratelimit-Reset") != want || h.Get("Retry-After") != "" {
		t.Errorf("headers are %v", h)
	}
}

func TestAnHourHasSoManyRequestsAndWhatIsKnownIsFree(t *testing.T) {
	b := start(t, githubfake.Options{Hourly: 3})
	first := b.ask("GET", "git/ref/heads/main", nil).want(t, 200, "")
	tag := first.header.Get("Etag")
	for range 4 {
		r := b.ask("GET", "git/ref/heads/main", nil, "If-None-Match", tag).want(t, 304, "")
		if got := r.header.Get("X-Ratelimit-Remaining"); got != "2" || len(r.body) > 0 {
			t.Errorf("%s are left, body %q", got, r.body)
		}
	}
	b.branch("main", "x", "1\n")
	if r := b.ask("GET", "git/ref/heads/main", nil, "If-None-Match", tag).want(t, 200, ""); r.header.Get("Etag") == tag {
		t.Error("another head has the same ETag")
	}
	b.ask("GET", "pulls", nil).want(t, 200, "")
	b.ask("GET", "pulls", nil).want(t, 403, "API rate limit exceeded")
	b.Advance(time.Hour)
	b.ask("GET", "pulls", nil).want(t, 200, "")
}

// TestFaults has one fault of the next POST pulls: what the client sees, and what is there afterwards.
func TestFaults(t *testing.T) {
	for name, c := range map[string]struct {
		fault githubfake.Fault
		want  string // status, Retry-After, body; or the error
		pulls int
	}{
		"a bad gateway":                   {githubfake.Fault{Status: 502, Body: "<html>unicorn"}, "502  <html>unicorn", 0},
		"a bad gateway, after it is done": {githubfake.Fault{Status: 500, Body: "Server Error", Carried: true}, "500  Server Error", 1},
		"a connection that breaks":        {githubfake.Fault{Cut: true}, "EOF", 0},
		"an answer that is lost":          {githubfake.Fault{Cut: true, Carried: true}, "EOF", 1},
		"half of an answer":               {githubfake.Fault{Half: true}, "unexpected EOF", 1},
		"a header more":                   {githubfake.Fault{Header: http.Header{"retry-after": {"7"}}, Status: 503}, "503 7 {", 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, githubfake.Options{})
			b.branch("side", "s", "1\n")
			b.Fault("POST pulls", 1, c.fault)
			body := m{"title": "x", "head": "side", "base": "main"}
			r, err := b.try("POST", "pulls", body)
			got := strconv.Itoa(r.status) + " " + r.header.Get("Retry-After") + " " + string(r.body)
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q in it", got, c.want)
			}
			if n := len(b.AllPulls()); n != c.pulls {
				t.Errorf("there are %d pull requests, want %d", n, c.pulls)
			}
			if r, err := b.try("POST", "pulls", body); err != nil || r.status >= 500 {
				t.Errorf("the next one is %d, %v", r.status, err)
			}
		})
	}
}

func TestAPersonComesInBetween(t *testing.T) {
	b := start(t, githubfake.Options{})
	ours := b.branch("ours", "o", "1\n")
	b.Fault("PATCH git/refs/{ref}", 1, githubfake.Fault{Before: func() { b.branch("main", "theirs", "1\n") }})
	b.ask("PATCH", "git/refs/heads/main", m{"sha": ours}).want(t, 422, "Update is not a fast forward")
}

func TestReadsLagBehindAWrite(t *testing.T) {
	b := start(t, githubfake.Options{})
	old := b.Repo().Tip("main")
	b.Lag(githubfake.Refs, 2)
	b.Lag(githubfake.Pulls, 1)
	b.pull("side")
	b.ask("GET", "pulls", nil).want(t, 200, "[]")
	b.ask("GET", "pulls", nil).want(t, 200, `"number":1`)
	next := b.branch("main", "m", "1\n")
	var seen []string
	for range 3 {
		seen = append(seen, b.ask("GET", "git/ref/heads/main", nil).at(t, "object.sha").(string))
	}
	if diff := cmp.Diff([]string{old, old, next}, seen); diff != "" {
		t.Errorf("main (-want +got):\n%s", diff)
	}
	// What is written is written to what is.
	b.ask("PATCH", "git/refs/heads/main", m{"sha": old}).want(t, 422, "Update is not a fast forward")
}

func TestTwoWritesAtOnce(t *testing.T) {
	for name, racing := range map[string]bool{"are an error": false, "are allowed to racing clients": true} {
		t.Run(name, func(t *testing.T) {
			b, tb := strict(t, githubfake.Options{Racing: racing})
			b.Fault("POST git/blobs", 1, githubfake.Fault{Before: func() { b.ask("POST", "git/blobs", m{"content": "inner"}) }})
			b.ask("POST", "git/blobs", m{"content": "outer"}).want(t, 201, "")
			if got := strings.Contains(tb.text(), "while another write"); got == racing {
				t.Errorf("it says %q", tb.text())
			}
		})
	}
}

func TestARenamedAndAnArchivedRepository(t *testing.T) {
	b := start(t, githubfake.Options{})
	b.Rename("acme/elsewhere")
	r := b.ask("GET", "/repos/acme/platform/git/ref/heads/main", nil).want(t, 301, "Moved Permanently")
	to := strings.TrimPrefix(r.header.Get("Location"), b.URL())
	b.ask("GET", "/"+to, nil).want(t, 200, "refs/heads/main")
	b.ask("POST", "/repos/acme/platform/git/blobs", m{"content": "x"}).want(t, 307, "Moved Permanently")
	repo := b.ask("GET", "", nil).want(t, 200, "")
	if repo.at(t, "full_name") != "acme/elsewhere" || repo.at(t, "archived") != false {
		t.Errorf("the repository is %s", repo.body)
	}
	b.Archive(true)
	b.ask("POST", "git/blobs", m{"content": "x"}).want(t, 403, "Repository was archived so is read-only.")
	b.ask("GET", "", nil).want(t, 200, `"archived":true`)
	b.Archive(false)
	b.ask("POST", "git/blobs", m{"content": "x"}).want(t, 201, "")
}

func TestTheDateIsAheadByTheSkew(t *testing.T) {
	b := start(t, githubfake.Options{})
	b.SetSkew(7 * time.Minute)
	b.Fault("GET pulls", 1, githubfake.Fault{Status: 500})
	for range 2 {
		at, err := http.ParseTime(b.ask("GET", "pulls", nil).header.Get("Date"))
		if err != nil || at.Sub(b.Now()) != 7*time.Minute {
			t.Errorf("Date is %s, %v", at, err)
		}
	}
}

func TestEnterpriseOverTLS(t *testing.T) {
	b := start(t, githubfake.Options{Enterprise: true, TLS: true})
	if !strings.HasPrefix(b.URL(), "https://") || !strings.HasSuffix(b.URL(), "/api/v3/") || !strings.Contains(string(b.CA()), "CERTIFICATE") {
		t.Errorf("URL is %s", b.URL())
	}
	e := start(t, githubfake.Options{Enterprise: true})
	e.ask("GET", "git/ref/heads/main", nil).want(t, 200, "/api/v3/repos/acme/platform/git/refs/heads/main")
	e.pull("a/b")
	e.ask("GET", "branches/a%2Fb", nil).want(t, 200, `"name":"a/b"`)
}
