package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	pushed = `{"ref":"refs/heads/main","before":"1","after":"2","repository":{"full_name":"acme/gitops","private":true},"commits":[]}`
	tagged = `{"ref":"refs/tags/v1","repository":{"full_name":"acme/gitops"}}`
	closed = `{"action":"closed","number":7,"pull_request":{"merged":true,"base":{"ref":"main"},"head":{"ref":"poolwright/pg"}},"repository":{"full_name":"acme/gitops"}}`
	pinged = `{"zen":"Keep it logically awesome.","hook_id":30,"repository":{"full_name":"acme/gitops"}}`
	org    = `{"zen":"Speak like a human.","hook_id":31,"organization":{"login":"acme"}}`
	secret = "hunter2"
)

// request is a delivery as GitHub makes it, unless it is changed.
type request struct {
	method, contentType, id, event, body, signature string
}

func delivery(event, body string) request {
	return request{http.MethodPost, "application/json", "72d3162e", event, body, sign(secret, body)}
}

func sign(secret, body string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

func (r request) with(change func(*request)) request {
	change(&r)
	return r
}

// send hands a request to a handler.
func (r request) send(h http.Handler) *httptest.ResponseRecorder {
	req := httptest.NewRequest(r.method, "/hooks/github", strings.NewReader(r.body))
	for name, value := range map[string]string{
		"Content-Type": r.contentType, "X-GitHub-Delivery": r.id, "X-GitHub-Event": r.event, "X-Hub-Signature-256": r.signature,
	} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	return w
}

// ear is a handler, what it heard and what it refused.
type ear struct {
	http.Handler
	heard   []Event
	refused []string
}

func listen(change ...func(*Options)) *ear {
	e := &ear{}
	o := Options{
		Secrets: holds(secret),
		Notify:  func(v Event) { e.heard = append(e.heard, v) },
		Refused: func(why string) { e.refused = append(e.refused, why) },
		Now:     func() time.Time { return time.Unix(0, 0) },
	}
	for _, c := range change {
		c(&o)
	}
	e.Handler = Handler(o)
	return e
}

func holds(secrets ...string) func(context.Context) ([][]byte, error) {
	return func(context.Context) (all [][]byte, _ error) {
		for _, s := range secrets {
			all = append(all, []byte(s))
		}
		return all, nil
	}
}

func TestWhatIsHeard(t *testing.T) {
	form := url.Values{"payload": {pushed}}.Encode()
	main := Event{Kind: Push, Repository: "acme/gitops", Ref: "refs/heads/main", Branch: "main"}
	for name, c := range map[string]struct {
		request request
		want    Event
	}{
		"a push to a branch":          {delivery("push", pushed), main},
		"a push of a tag":             {delivery("push", tagged), Event{Kind: Push, Repository: "acme/gitops", Ref: "refs/tags/v1"}},
		"a push in a form":            {delivery("push", form).with(func(r *request) { r.contentType = "application/x-www-form-urlencoded" }), main},
		"a push with a character set": {delivery("push", pushed).with(func(r *request) { r.contentType = "application/json; charset=utf-8" }), main},
		"a pull request":              {delivery("pull_request", closed), Event{Kind: PullRequest, Repository: "acme/gitops", Branch: "main", Head: "poolwright/pg", Number: 7}},
		"a ping":                      {delivery("ping", pinged), Event{Kind: Ping, Repository: "acme/gitops"}},
		"a ping of an organisation":   {delivery("ping", org), Event{Kind: Ping}},
	} {
		t.Run(name, func(t *testing.T) {
			e := listen()
			if w := c.request.send(e); w.Code != http.StatusOK || e.refused != nil {
				t.Errorf("the answer is %d %s", w.Code, w.Body)
			}
			if diff := cmp.Diff([]Event{c.want}, e.heard); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatIsNotHeard(t *testing.T) {
	change := func(event, body string, c func(*request)) request { return delivery(event, body).with(c) }
	large := `{"ref":"` + strings.Repeat("x", defaultLimit) + `"}`
	fits := `{"a":"` + strings.Repeat("x", defaultLimit-8) + `"}`
	twice := url.Values{"payload": {pushed, pushed}}.Encode()
	form := func(r *request) { r.contentType = "application/x-www-form-urlencoded" }
	for name, c := range map[string]struct {
		request request
		status  int
		says    string
	}{
		"a GET":                               {change("push", pushed, func(r *request) { r.method = http.MethodGet }), 405, "only POST"},
		"XML":                                 {change("push", pushed, func(r *request) { r.contentType = "text/xml" }), 415, "content type"},
		"no content type":                     {change("push", pushed, func(r *request) { r.contentType = "" }), 415, "content type"},
		"a body over 1 MiB":                   {delivery("push", large), 413, "over 1048576 bytes"},
		"a body of 1 MiB that says nothing":   {delivery("push", fits), 400, "names no repository"},
		"no signature":                        {change("push", pushed, func(r *request) { r.signature = "" }), 401, "there is no X-Hub-Signature-256"},
		"a signature of SHA-1":                {change("push", pushed, func(r *request) { r.signature = "sha1=00" }), 401, "there is no X-Hub-Signature-256"},
		"a signature that is no hexadecimal":  {change("push", pushed, func(r *request) { r.signature = "sha256=zz" }), 401, "there is no X-Hub-Signature-256"},
		"a signature cut off":                 {change("push", pushed, func(r *request) { r.signature = r.signature[:21] }), 401, "not of the secret"},
		"a signature with another secret":     {change("push", pushed, func(r *request) { r.signature = sign("hunter3", r.body) }), 401, "not of the secret"},
		"a signature with no secret":          {change("push", pushed, func(r *request) { r.signature = sign("", r.body) }), 401, "not of the secret"},
		"a signature of another body":         {change("push", pushed, func(r *request) { r.signature = sign(secret, r.body+" ") }), 401, "not of the secret"},
		"no delivery id":                      {change("push", pushed, func(r *request) { r.id = "" }), 400, "X-GitHub-Delivery"},
		"no event":                            {change("push", pushed, func(r *request) { r.event = "" }), 400, "X-GitHub-Event"},
		"a push that is no JSON":              {delivery("push", `{"ref":`), 400, "not the JSON"},
		"a push with something after":         {delivery("push", pushed+"{}"), 400, "not the JSON"},
		"a push with a number for a ref":      {delivery("push", `{"ref":1,"repository":{"full_name":"a/b"}}`), 400, "not the JSON"},
		"a push without a ref":                {delivery("push", `{"repository":{"full_name":"a/b"}}`), 400, "names no ref"},
		"a push of a branch without refs":     {delivery("push", `{"ref":"main","repository":{"full_name":"a/b"}}`), 400, "names no ref"},
		"a push without a repository":         {delivery("push", `{"ref":"refs/heads/main"}`), 400, "names no repository"},
		"a push to a name that is none":       {delivery("push", `{"ref":"refs/heads/main","repository":{"full_name":"../x"}}`), 400, "names no repository"},
		"a pull request sent as a push":       {delivery("push", closed), 400, "names no ref"},
		"a push sent as a pull request":       {delivery("pull_request", pushed), 400, "names no pull request"},
		"a pull request below one":            {delivery("pull_request", strings.Replace(closed, ":7", ":-7", 1)), 400, "names no pull request"},
		"a pull request from nowhere":         {delivery("pull_request", strings.Replace(closed, "poolwright/pg", "", 1)), 400, "names no pull request"},
		"a ping without a hook":               {delivery("ping", `{"zen":"x"}`), 400, "names no hook"},
		"a form without a payload":            {delivery("push", "payloads={}").with(form), 400, "not one payload"},
		"a form with two payloads":            {delivery("push", twice).with(form), 400, "not one payload"},
		"a form that is none":                 {delivery("push", "payload=%zz").with(form), 400, "not one payload"},
		"an event that nobody needs":          {delivery("star", `{}`), 202, "not needed"},
		"an event that nobody needs, no JSON": {delivery("star", `}`), 202, "not needed"},
	} {
		t.Run(name, func(t *testing.T) {
			e := listen()
			w := c.request.send(e)
			if w.Code != c.status || !strings.Contains(w.Body.String(), c.says) || e.heard != nil {
				t.Errorf("the answer is %d %s, and %v is heard; want %d %s", w.Code, w.Body, e.heard, c.status, c.says)
			}
			if told := len(e.refused) == 1; told != (c.status >= 400) {
				t.Errorf("the log has %q", e.refused)
			}
			if strings.Contains(w.Body.String(), secret) {
				t.Errorf("the answer gives it away: %s", w.Body)
			}
			if allow := w.Header().Get("Allow"); (allow == "POST") != (c.status == 405) {
				t.Errorf("Allow is %q", allow)
			}
		})
	}
}

func TestTwoSecretsHoldWhileOneTakesTheOthersPlace(t *testing.T) {
	held := []string{secret}
	e := listen(func(o *Options) {
		o.Secrets = func(ctx context.Context) ([][]byte, error) { return holds(held...)(ctx) }
	})
	for i, c := range []struct {
		held   []string
		with   string
		status int
	}{
		{[]string{"old"}, "old", 200},
		{[]string{"old"}, "new", 401},
		{[]string{"old", "new"}, "old", 200},
		{[]string{"old", "new"}, "new", 200},
		{[]string{"new"}, "old", 401},
		{[]string{"", "new"}, "new", 200},
		{[]string{"", "new"}, "", 401},
		{[]string{""}, "", 503},
		{nil, "", 503},
	} {
		held = c.held
		body := strings.Replace(pushed, `"2"`, `"`+strings.Repeat("2", i+2)+`"`, 1)
		r := delivery("push", body)
		r.id, r.signature = strings.Repeat("a", i+1), sign(c.with, body)
		if w := r.send(e); w.Code != c.status {
			t.Errorf("%q with %q held: the answer is %d %s, want %d", c.with, c.held, w.Code, w.Body, c.status)
		}
	}
}

func TestWithoutASecretNobodyIsBelieved(t *testing.T) {
	for name, secrets := range map[string]func(context.Context) ([][]byte, error){
		"none": nil,
		"unreadable": func(context.Context) ([][]byte, error) {
			return [][]byte{[]byte(secret)}, errors.New("no file /secret/" + secret)
		},
	} {
		e := listen(func(o *Options) { o.Secrets = secrets })
		w := delivery("push", pushed).send(e)
		if w.Code != 503 || e.heard != nil || strings.Contains(w.Body.String(), secret) {
			t.Errorf("%s: the answer is %d %s", name, w.Code, w.Body)
		}
	}
}

func TestAReplayDoesNothing(t *testing.T) {
	for name, again := range map[string]func(*request){
		"as it was":                      func(*request) {},
		"under another id":               func(r *request) { r.id = "made-up" },
		"under the same id":              func(r *request) { r.body = tagged; r.signature = sign(secret, tagged) },
		"with its signature in capitals": func(r *request) { r.id = "x"; r.signature = "sha256=" + strings.ToUpper(r.signature[7:]) },
	} {
		t.Run(name, func(t *testing.T) {
			e := listen()
			delivery("push", pushed).send(e)
			w := delivery("push", pushed).with(again).send(e)
			if w.Code != 202 || len(e.heard) != 1 || !strings.Contains(w.Body.String(), "before") {
				t.Errorf("the answer is %d %s, heard %v", w.Code, w.Body, e.heard)
			}
		})
	}
}

// What was refused is not remembered: once the secret is right, the same delivery is heard.
func TestARefusalIsNotRemembered(t *testing.T) {
	held := "old"
	e := listen(func(o *Options) { o.Secrets = func(ctx context.Context) ([][]byte, error) { return holds(held)(ctx) } })
	delivery("push", pushed).send(e)
	held = secret
	if w := delivery("push", pushed).send(e); w.Code != 200 || len(e.heard) != 1 {
		t.Errorf("the answer is %d %s", w.Code, w.Body)
	}
}

func TestWhatIsRememberedIsBounded(t *testing.T) {
	e := listen(func(o *Options) { o.Burst = 3 * remembered })
	for i := range remembered + 100 {
		body := strings.Replace(pushed, "main", "b"+strings.Repeat("1", i%64)+strings.Repeat("2", i/64), 1)
		delivery("push", body).with(func(r *request) { r.id = body }).send(e)
	}
	if kept := e.Handler.(*handler).seen.Len(); kept != 2*remembered || len(e.heard) != remembered+100 {
		t.Errorf("%d are kept of %d", kept, len(e.heard))
	}
}

func TestTheRateHolds(t *testing.T) {
	now := time.Unix(1000, 0)
	e := listen(func(o *Options) { o.Rate, o.Burst, o.Now = 0.5, 2, func() time.Time { return now } })
	bad := delivery("push", pushed).with(func(r *request) { r.signature = "" }) // strangers count
	for i, c := range []struct {
		later  time.Duration
		status int
		retry  string
	}{{0, 401, ""}, {0, 401, ""}, {0, 429, "2"}, {500 * time.Millisecond, 429, "2"}, {time.Second, 429, "1"}, {500 * time.Millisecond, 401, ""}, {0, 429, "2"}} {
		now = now.Add(c.later)
		if w := bad.send(e); w.Code != c.status || w.Header().Get("Retry-After") != c.retry {
			t.Errorf("request %d: the answer is %d, Retry-After %q; want %d, %q", i, w.Code, w.Header().Get("Retry-After"), c.status, c.retry)
		}
	}
	if len(e.refused) != 3 {
		t.Errorf("the log is told of the rate: %q", e.refused)
	}
}

// broken is a body that ends early.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestABodyThatDoesNotArriveWhole(t *testing.T) {
	req := httptest.NewRequest(http.MethodPost, "/", broken{})
	req.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	listen().ServeHTTP(w, req)
	if w.Code != 400 || !strings.Contains(w.Body.String(), "whole") {
		t.Errorf("the answer is %d %s", w.Code, w.Body)
	}
}

func TestOneOfManyAtOnceIsHeard(t *testing.T) {
	var heard sync.Map
	h := Handler(Options{Secrets: holds(secret), Notify: func(e Event) {
		if _, twice := heard.LoadOrStore(e, true); twice {
			t.Error("heard twice")
		}
	}})
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { delivery("push", pushed).send(h) })
	}
	all.Wait()
	if _, ok := heard.Load(Event{Kind: Push, Repository: "acme/gitops", Ref: "refs/heads/main", Branch: "main"}); !ok {
		t.Error("not heard")
	}
}

// FuzzParse: any payload is read or refused, and what is read is whole.
func FuzzParse(f *testing.F) {
	for _, text := range []string{pushed, tagged, closed, pinged, org, `{"repository":null}`, `[]`, ``} {
		for kind := Ping; kind <= PullRequest; kind++ {
			f.Add(uint8(kind), []byte(text))
		}
	}
	f.Fuzz(func(t *testing.T, kind uint8, text []byte) {
		k := Kind(kind%3) + Ping
		e, err := parse(k, text)
		switch {
		case err != nil && e != Event{}:
			t.Errorf("got %+v and %v", e, err)
		case err == nil && (e.Kind != k || k != Ping && strings.Count(e.Repository, "/") != 1):
			t.Errorf("got %+v", e)
		case err == nil && k == Push && (!strings.HasPrefix(e.Ref, "refs/") || e.Branch != "" && e.Ref != "refs/heads/"+e.Branch):
			t.Errorf("got %+v", e)
		case err == nil && k == PullRequest && (e.Number < 1 || e.Branch == "" || e.Head == ""):
			t.Errorf("got %+v", e)
		}
	})
}

// FuzzHandler: a body with a right signature never makes it panic, and one with a wrong one is never heard.
func FuzzHandler(f *testing.F) {
	f.Add("push", "application/json", []byte(pushed))
	f.Add("push", "application/x-www-form-urlencoded", []byte("payload="+url.QueryEscape(pushed)))
	f.Fuzz(func(t *testing.T, event, contentType string, body []byte) {
		e := listen()
		r := request{http.MethodPost, contentType, "id", event, string(body), sign("wrong", string(body))}
		if r.send(e); e.heard != nil {
			t.Errorf("heard %v", e.heard)
		}
		r.signature = sign(secret, string(bytes.Clone(body)))
		if w := r.send(e); (w.Code == 200) != (len(e.heard) == 1) {
			t.Errorf("the answer is %d, heard %v", w.Code, e.heard)
		}
	})
}
