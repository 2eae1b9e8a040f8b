package hub

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// TestGateNeverOpensEarly: whatever GitHub answers, no call goes out before a time that an answer named, and a limit
// always names one that is later than now and not for ever.
func TestGateNeverOpensEarly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, now := &gate{}, time.Unix(1e9, 0)
		var named [kinds]time.Time
		for range rapid.IntRange(1, 20).Draw(t, "calls") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(2*time.Hour)).Draw(t, "later")))
			k := kind(rapid.IntRange(0, int(kinds)-1).Draw(t, "kind"))
			if err := g.check(k, now); (err == nil) == now.Before(named[k]) {
				t.Fatalf("at %s, with %s named: %v", now, named[k], err)
			} else if err != nil {
				continue
			}
			again, limited := RetryAt(g.heed(k, drawAnswer(t, now), now))
			if !limited {
				continue
			}
			if !again.After(now) || again.Sub(now) > capRest {
				t.Fatalf("a rest until %s at %s", again, now)
			}
			if g.check(k, again.Add(-1)) == nil {
				t.Fatal("open before its time")
			}
			for other := range named {
				if g.check(kind(other), again.Add(-1)) != nil && again.After(named[other]) {
					named[other] = again
				}
			}
		}
	})
}

func drawAnswer(t *rapid.T, now time.Time) *answer {
	h := http.Header{}
	some := func(name string, values ...string) {
		if v := rapid.SampledFrom(append(values, "")).Draw(t, name); v != "" {
			h.Set(name, v)
		}
	}
	some("Retry-After", "0", "1", "60", "-5", "99999999999999", "soon", now.Add(time.Minute).UTC().Format(http.TimeFormat))
	some("X-Ratelimit-Remaining", "0", "1")
	some("X-Ratelimit-Reset", "0", "x", fmt.Sprint(now.Unix()+90), fmt.Sprint(now.Unix()-90), "9223372036854775807", "-9223372036854775808")
	status := rapid.SampledFrom([]int{200, 201, 304, 403, 404, 422, 429, 500}).Draw(t, "status")
	body := rapid.SampledFrom([]string{"", "{}", `{"message":"secondary rate limit"}`, `"RATE_LIMITED"`}).Draw(t, "body")
	return &answer{Response: &http.Response{StatusCode: status, Header: h}, body: []byte(body)}
}

// TestCacheIsBoundedAndNeverAnswersWithSomethingElse holds the cache against a server that always knows best.
func TestCacheIsBoundedAndNeverAnswersWithSomethingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCache(8 << 10)
		pages := map[string]string{}
		for range rapid.IntRange(1, 60).Draw(t, "requests") {
			url := rapid.SampledFrom([]string{"http://x/1", "http://x/2", "http://x/3", "http://x/4"}).Draw(t, "url")
			if _, known := pages[url]; !known || rapid.Bool().Draw(t, "changed") {
				pages[url] = strings.Repeat(rapid.StringMatching(`[a-z]`).Draw(t, "text"), rapid.IntRange(1, 4<<10).Draw(t, "size"))
			}
			req := httptest.NewRequest(http.MethodGet, url, nil)
			tag := fmt.Sprintf("%.1s%d", pages[url], len(pages[url]))
			a := &answer{Response: &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Etag": {tag}}}, body: []byte(pages[url])}
			if c.tag(req) == tag {
				a = &answer{Response: &http.Response{StatusCode: http.StatusNotModified, Header: http.Header{"Etag": {tag}}}}
			}
			if got := c.exchange(req, a); got.StatusCode != http.StatusOK || string(got.body) != pages[url] {
				t.Fatalf("%s: %d with %d bytes", url, got.StatusCode, len(got.body))
			}
			size := 0
			for e := range c.byURL {
				at, _ := c.known(e)
				size += at.weight()
			}
			if size != c.size || size > c.limit || c.order.Len() != len(c.byURL) {
				t.Fatalf("%d bytes are %d, of at most %d", size, c.size, c.limit)
			}
		}
	})
}

func TestCacheKeepsNoLargeAnswer(t *testing.T) {
	c := newCache(cacheLimit)
	req := httptest.NewRequest(http.MethodGet, "http://x/", nil)
	for size, kept := range map[int]bool{entryLimit: true, entryLimit + 1: false} {
		c.exchange(req, &answer{
			Response: &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Etag": {fmt.Sprint(size)}}}, body: make([]byte, size),
		})
		if got := c.tag(req) == fmt.Sprint(size); got != kept {
			t.Errorf("%d bytes: kept is %v", size, got)
		}
	}
}

func TestAnswersAreBounded(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.URL.Path[1:])
		_, _ = w.Write(bytes.Repeat([]byte("["), n))
	}))
	defer s.Close()
	auth := Fixed(func(context.Context) (string, error) { return "token", nil })
	w := newWire(Options{Auth: auth}.withDefaults(), nil)
	defer w.base.CloseIdleConnections()
	w.most = 1000
	for n, want := range map[int]error{1000: nil, 1001: ErrRefused, 1 << 20: ErrRefused} {
		resp, err := w.client().Get(fmt.Sprintf("%s/%d", s.URL, n))
		if !errors.Is(err, want) {
			t.Errorf("%d bytes: %v", n, err)
		}
		if err == nil {
			_ = resp.Body.Close()
		}
	}
}

// FuzzComplain: whatever stands in an error's answer, the text fits on one line, and every status has a kind.
func FuzzComplain(f *testing.F) {
	for _, s := range []string{
		"", "{", `{"message":"Not Found"}`, `{"message":"x","errors":["a",{"resource":"PullRequest","field":"head","code":"invalid"}]}`,
		`{"message":"x","errors":"words"}`, `{"message":5}`, `{"errors":[null,5,{"message":"\u0000\u202e"}]}`, "\xff\xfe",
	} {
		f.Add(422, s)
	}
	f.Fuzz(func(t *testing.T, status int, body string) {
		resp := &http.Response{StatusCode: status, Header: http.Header{"Location": {body}}, Body: io.NopCloser(bytes.NewReader(nil))}
		said := complain(resp, []byte(body))
		if !utf8.ValidString(said.text) || len(said.text) > textLimit+len("…") ||
			strings.ContainsFunc(said.text, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%q", said.text)
		}
		if said.kind(status, verdicts) == nil {
			t.Error("an answer without a kind")
		}
	})
}

// FuzzRetryAfter: a rest is neither negative for a number nor longer than a day.
func FuzzRetryAfter(f *testing.F) {
	for _, s := range []string{"60", "-1", "99999999999999999999", "Tue, 04 Mar 2031 05:06:07 GMT", "soon", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		g := &gate{}
		d := g.rest(http.Header{"Retry-After": {s}}, time.Unix(1e9, 0))
		if d <= 0 || d > capRest {
			t.Errorf("%q: %s", s, d)
		}
	})
}
