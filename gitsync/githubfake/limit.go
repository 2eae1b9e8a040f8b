package githubfake

import (
	"net/http"
	"strconv"
	"time"
)

// Limit is one of GitHub's answers to too many requests.
type Limit struct {
	// Status is 403 (default) or 429; GitHub documents both.
	Status int
	// After is for how long nothing of the kind may be asked, from the request on that hits the limit. 60 s by default.
	After time.Duration
	// Primary is the limit of the hour: told by x-ratelimit-remaining 0 and x-ratelimit-reset. Otherwise
	// it is a secondary one, told by Retry-After.
	Primary bool
}

// limit is one that the test asked for.
type limit struct {
	Limit
	kind  string
	until time.Time // zero until it is hit
}

// hour is what a credential used of its hour.
type hour struct {
	used  int
	reset time.Time
}

// Limit lets the next request of a kind run into a limit. Kind is a route's name ("POST pulls"), "read", "write"
// or "*". A request of the kind that comes before its time is an error of the test, and is refused again.
func (s *Server) Limit(kind string, l Limit) {
	s.t.Helper()
	s.known(kind)
	if l.Status == 0 {
		l.Status = http.StatusForbidden
	}
	if l.After == 0 {
		l.After = time.Minute
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limits = append(s.limits, &limit{Limit: l, kind: kind})
}

// limited applies the limits that the test asked for, then the hour's.
func (s *Server) limited(c *call) (answer, bool) {
	for i, l := range s.limits {
		switch {
		case !matches(l.kind, c.route):
			continue
		case l.until.IsZero():
			l.until = c.now.Add(l.After)
		case !c.now.Before(l.until):
			s.limits = append(s.limits[:i:i], s.limits[i+1:]...)
			return s.limited(c)
		default:
			s.t.Errorf("%s came %s before the limit allows it", c.route.name, l.until.Sub(c.now))
		}
		return l.refuse(c), true
	}
	h := s.hour(c)
	if h.used < s.o.Hourly {
		return answer{}, false
	}
	return (&limit{Limit: Limit{Status: http.StatusForbidden, Primary: true}, until: h.reset}).refuse(c), true
}

// refuse is the answer while a limit lasts.
func (l *limit) refuse(c *call) answer {
	if l.Primary {
		rate(c, c.s.o.Hourly, c.s.o.Hourly, l.until)
		return refuse(l.Status, "API rate limit exceeded for user ID "+strconv.Itoa(c.s.id(c.who.login))+".")
	}
	seconds := int((l.until.Sub(c.now) + time.Second - 1) / time.Second)
	c.header.Set("Retry-After", strconv.Itoa(seconds))
	h := c.s.hour(c)
	rate(c, c.s.o.Hourly, h.used, h.reset)
	return refuse(l.Status, "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.")
}

// hour is the caller's, a new one when the last is over.
func (s *Server) hour(c *call) *hour {
	h := s.used[c.who.login]
	if h == nil || !c.now.Before(h.reset) {
		h = &hour{reset: c.now.Add(time.Hour).Truncate(time.Second)}
		s.used[c.who.login] = h
	}
	return h
}

// charge counts a request. What was not modified costs nothing.
func (s *Server) charge(c *call, a answer) {
	h := s.hour(c)
	if a.status != http.StatusNotModified {
		h.used++
	}
	rate(c, s.o.Hourly, h.used, h.reset)
}

func rate(c *call, all, used int, reset time.Time) {
	for name, value := range map[string]string{
		"X-Ratelimit-Limit": strconv.Itoa(all), "X-Ratelimit-Used": strconv.Itoa(used), "X-Ratelimit-Remaining": strconv.Itoa(all - used),
		"X-Ratelimit-Reset": strconv.FormatInt(reset.Unix(), 10), "X-Ratelimit-Resource": "core",
	} {
		c.header.Set(name, value)
	}
}

// known fails the test for a kind of request that there is not.
func (s *Server) known(kind string) {
	s.t.Helper()
	for _, r := range routes() {
		if matches(kind, r) {
			return
		}
	}
	s.t.Fatalf("there is no route %q", kind)
}

func matches(kind string, r route) bool {
	switch kind {
	case "*":
		return true
	case "read":
		return !r.writes()
	case "write":
		return r.content()
	}
	return kind == r.name
}
