package hub

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// kind is what GitHub's limits tell apart.
type kind int

const (
	reading kind = iota
	writing
	graph // GraphQL has a budget of its own
	kinds
)

func kindOf(req *http.Request) kind {
	switch {
	case req.Method == http.MethodGet:
		return reading
	case strings.HasSuffix(req.URL.Path, "/graphql"):
		return graph
	}
	return writing
}

const (
	minRest = time.Minute // what GitHub asks for when it names no time
	maxRest = 15 * time.Minute
	capRest = 24 * time.Hour // a longer Retry-After is a mistake
)

// gate keeps calls from going out that GitHub has said it will not take.
type gate struct {
	mu      sync.Mutex
	until   [kinds]time.Time
	said    [kinds]string
	strikes int // limits without a time, one after the other
}

// check is ErrLimited while calls of this kind have to rest.
func (g *gate) check(k kind, now time.Time) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !now.Before(g.until[k]) {
		return nil
	}
	return &fault{kind: ErrLimited, text: g.said[k], again: g.until[k]}
}

// heed closes the gate when the answer is that of a limit, and returns it as an error.
func (g *gate) heed(k kind, a *answer, now time.Time) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !limited(k, a) {
		if a.StatusCode < http.StatusBadRequest {
			g.strikes = 0
		}
		return nil
	}
	again := now.Add(g.rest(a.Header, now))
	for _, closed := range closes(k, exhausted(a.Header)) {
		if again.After(g.until[closed]) {
			g.until[closed], g.said[closed] = again, complain(a.Response, a.body).text
		}
	}
	return &fault{kind: ErrLimited, text: complain(a.Response, a.body).text, again: again}
}

// closes names the kinds of calls that a limit is about. An exhausted budget is that of one API. A secondary limit on
// a read is about all requests; on a write it is about writes, and reads, most of which cost nothing, go on.
func closes(k kind, exhausted bool) []kind {
	switch {
	case exhausted && k == graph:
		return []kind{graph}
	case exhausted:
		return []kind{reading, writing}
	case k == reading:
		return []kind{reading, writing, graph}
	}
	return []kind{writing, graph}
}

func exhausted(h http.Header) bool {
	return h.Get("Retry-After") == "" && h.Get("X-Ratelimit-Remaining") == "0"
}

// limited tells whether an answer is that of a limit. A 403 is mostly one of permissions.
func limited(k kind, a *answer) bool {
	switch a.StatusCode {
	case http.StatusTooManyRequests:
		return true
	case http.StatusForbidden:
		return a.Header.Get("Retry-After") != "" || exhausted(a.Header) || says(a.body, "rate limit", "abuse detection")
	case http.StatusUnprocessableEntity:
		return says(a.body, "submitted too quickly")
	case http.StatusOK:
		return k == graph && says(a.body, `"rate_limited"`)
	}
	return false
}

func says(body []byte, words ...string) bool {
	low := bytes.ToLower(body)
	for _, w := range words {
		if bytes.Contains(low, []byte(w)) {
			return true
		}
	}
	return false
}

// rest is how long calls rest: as GitHub says, or a minute, twice as long each time. A reset in the past is that of
// a clock that goes wrong, and is not followed.
func (g *gate) rest(h http.Header, now time.Time) time.Duration {
	d, ok := retryAfter(h.Get("Retry-After"), now)
	if !ok && exhausted(h) {
		at, err := strconv.ParseInt(h.Get("X-Ratelimit-Reset"), 10, 64)
		d, ok = time.Unix(at, 0).Sub(now), err == nil
	}
	if ok && d > 0 {
		return min(d, capRest)
	}
	d = min(minRest<<g.strikes, maxRest)
	g.strikes = min(g.strikes+1, 4)
	return d
}

// retryAfter reads seconds or a date.
func retryAfter(s string, now time.Time) (time.Duration, bool) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return time.Duration(min(max(n, 0), int64(capRest/time.Second))) * time.Second, true
	}
	at, err := http.ParseTime(s)
	return at.Sub(now), err == nil
}
