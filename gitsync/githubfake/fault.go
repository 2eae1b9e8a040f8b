package githubfake

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Fault is what goes wrong with a request. The zero value is a request that goes well.
type Fault struct {
	// Before is called first, while nothing is locked: a person pushes in between.
	Before func()
	// Status is the answer in place of the real one, with Message in GitHub's form or with Body as it is.
	Status        int
	Message, Body string
	// Carried carries the request out although its answer is another one (Status) or lost (Cut).
	Carried bool
	// Cut ends the connection before an answer.
	Cut bool
	// Half carries the request out and ends the connection in the middle of the answer's body.
	Half bool
	// Header is added to the answer.
	Header http.Header
}

type fault struct {
	Fault
	kind string
	left int
}

// Fault lets the next n requests of a kind go wrong. Kind is as with [Server.Limit]. Faults of one kind come one after
// the other.
func (s *Server) Fault(kind string, n int, f Fault) {
	s.t.Helper()
	s.known(kind)
	s.gate.Lock()
	defer s.gate.Unlock()
	s.faults = append(s.faults, &fault{f, kind, n})
}

// fault takes the fault of a request.
func (s *Server) fault(r route) Fault {
	s.gate.Lock()
	defer s.gate.Unlock()
	for _, f := range s.faults {
		if f.left > 0 && matches(f.kind, r) {
			f.left--
			return f.Fault
		}
	}
	return Fault{}
}

// inPlace tells whether the request is not carried out.
func (f Fault) inPlace() bool { return (f.Status != 0 || f.Cut) && !f.Carried }

func (f Fault) answer() answer {
	if f.Body != "" {
		return answer{f.Status, []byte(f.Body)}
	}
	return refuse(f.Status, cmp.Or(f.Message, http.StatusText(f.Status)))
}

// Lagging is a kind of read that may be late.
type Lagging int

// Refs are a branch's head read by its name. Pulls are the list of pull requests, and one that was there before.
const (
	never Lagging = iota
	Refs
	Pulls
)

func (l Lagging) String() string { return [...]string{"never", "refs", "pulls"}[l] }

type lag struct{ n, left int }

// Lag lets the n reads of a kind that follow a change see what was before it. 0 ends that.
func (s *Server) Lag(kind Lagging, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lags[kind] = &lag{n: n}
}

// seen is what a request is answered from.
func (s *Server) seen(r route) view {
	l := s.lags[r.lag]
	if r.lag == never || l == nil || l.left == 0 {
		return s.now
	}
	l.left--
	return s.before
}

// Request is one request as the server saw it.
type Request struct {
	// Route is its name, such as "POST pulls".
	Route string
	// Path is what follows the repository, or the server when it is not about the repository, with the query.
	Path string
	// Status is the answer's; 0 when none was written.
	Status int
	// Login is who asked, as far as it is known.
	Login string
	// Time is the server's, at its end.
	Time time.Time
	// Write tells that it creates, changes or deletes. A token that is minted is not meant.
	Write bool
}

func (r Request) String() string {
	method, _, _ := strings.Cut(r.Route, " ")
	return method + " " + r.Path
}

// record writes a request down.
func (s *Server) record(c *call, status int) {
	path := strings.TrimPrefix(c.r.URL.EscapedPath(), "/")
	if !c.route.self {
		if segments := strings.SplitN(path, "/", 4); len(segments) == 4 {
			path = segments[3]
		} else {
			path = ""
		}
	}
	if c.r.URL.RawQuery != "" {
		path += "?" + c.r.URL.RawQuery
	}
	s.gate.Lock()
	defer s.gate.Unlock()
	s.log = append(s.log, Request{
		Route: c.route.name, Path: path, Status: status, Login: c.who.login, Time: s.o.Now(), Write: c.route.content(),
	})
}

// Log is what was asked since the last Reset, in the order of the answers.
func (s *Server) Log() []Request {
	s.gate.Lock()
	defer s.gate.Unlock()
	return slices.Clone(s.log)
}

// Requests is the log as texts: "GET pulls?state=all", "PATCH git/refs/heads/main".
func (s *Server) Requests() []string { return texts(s.Log()) }

// Writes are the requests that create, change or delete, or tried to. A token that is minted is none.
func (s *Server) Writes() []string {
	return texts(slices.DeleteFunc(s.Log(), func(r Request) bool { return !r.Write }))
}

// Count is how many requests of a kind there were since the last Reset, whatever became of them.
func (s *Server) Count(kind string) (n int) {
	s.t.Helper()
	s.known(kind)
	for _, r := range s.Log() {
		if r.Route == kind || kind == "*" || kind == "write" && r.Write || kind == "read" && strings.HasPrefix(r.Route, "GET ") {
			n++
		}
	}
	return n
}

// Reset forgets the log.
func (s *Server) Reset() {
	s.gate.Lock()
	defer s.gate.Unlock()
	s.log = nil
}

func texts(all []Request) (out []string) {
	for _, r := range all {
		out = append(out, r.String())
	}
	return out
}
