package githubfake

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// call is one request on its way through the server.
type call struct {
	s     *Server
	r     *http.Request
	route route
	body  []byte
	who   caller
	now   time.Time
	// see is what a read is answered from.
	see view
	// header goes out with the answer.
	header http.Header
}

// register makes the routes known to the multiplexer.
func (s *Server) register() {
	for _, r := range routes() {
		s.mux.HandleFunc(r.method+" "+r.path, func(w http.ResponseWriter, req *http.Request) { s.serve(w, req, r) })
	}
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.t.Errorf("GitHub has no %s %s, as far as this stub knows", r.Method, r.URL.Path)
		write(w, http.Header{}, refuse(http.StatusNotFound, "Not Found"))
	})
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.o.Enterprise {
		below, ok := strings.CutPrefix(r.URL.EscapedPath(), "/api/v3/")
		if !ok {
			below, ok = strings.CutPrefix(r.URL.EscapedPath(), "/api/")
			ok = ok && below == "graphql"
		}
		if !ok {
			s.t.Errorf("%s %s is not below /api/v3/", r.Method, r.URL.Path)
		}
		r = at(r, "/"+below)
	}
	if rest, ok := strings.CutPrefix(r.URL.EscapedPath(), "/repositories/"+repositoryID); ok {
		r = at(r, "/repos/"+s.Name()+rest)
	}
	s.mux.ServeHTTP(w, r)
}

// at is the request at another path.
func at(r *http.Request, escaped string) *http.Request {
	u := *r.URL
	u.RawPath, u.Path = escaped, escaped
	if plain, err := r.URL.Parse(escaped); err == nil {
		u.Path = plain.Path
	}
	moved := r.Clone(r.Context())
	moved.URL = &u
	return moved
}

// serve takes a request of a known route from its first byte to its last.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, rt route) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	leave := s.enter(r, rt)
	defer leave()
	c := &call{s: s, r: r, route: rt, body: body, header: http.Header{}}
	s.protocol(c)
	f := s.fault(rt)
	if f.Before != nil {
		f.Before()
	}
	var a answer
	if f.inPlace() {
		a = f.answer()
		c.header.Set("Date", s.date())
	} else {
		a = s.turn(c)
	}
	s.record(c, a.status)
	s.send(w, c, a, f)
}

// turn is the part of a request during which no other is served.
func (s *Server) turn(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle(outside)
	c.now = s.clock()
	c.header.Set("Date", c.now.Format(http.TimeFormat))
	for _, rule := range []func(*call) (answer, bool){s.authenticate, s.limited, s.found, s.permitted} {
		if a, over := rule(c); over {
			return a
		}
	}
	was := s.now.clone()
	c.see = s.seen(c.route)
	a := tagged(c, c.route.handle(c))
	s.charge(c, a)
	if c.route.writes() {
		s.settle(c.who.login)
		if a.status < 300 {
			s.changed(was)
		}
	}
	return a
}

// enter counts the writes that are under way with one credential.
func (s *Server) enter(r *http.Request, rt route) (leave func()) {
	if !rt.content() {
		return func() {}
	}
	key := r.Header.Get("Authorization")
	s.gate.Lock()
	defer s.gate.Unlock()
	if s.writing[key]++; s.writing[key] > 1 && !s.o.Racing {
		s.t.Errorf("%s began while another write of the same credential was under way; GitHub asks to make them one after the other", rt.name)
	}
	return func() {
		s.gate.Lock()
		defer s.gate.Unlock()
		s.writing[key]--
	}
}

// protocol is what GitHub asks of every request.
func (s *Server) protocol(c *call) {
	h := c.r.Header
	if agent := h.Get("User-Agent"); agent == "" || strings.HasPrefix(agent, "Go-http-client") {
		s.t.Errorf("%s without a User-Agent that names its client", c.route.name)
	}
	if c.route.name != "POST graphql" {
		if !strings.HasPrefix(h.Get("Accept"), "application/vnd.github") {
			s.t.Errorf("%s: Accept is %q, GitHub's media type is application/vnd.github+json", c.route.name, h.Get("Accept"))
		}
		if v := h.Get("X-GitHub-Api-Version"); v != "2022-11-28" {
			s.t.Errorf("%s: X-GitHub-Api-Version is %q, want 2022-11-28", c.route.name, v)
		}
	}
	if len(c.body) > 0 && !strings.HasPrefix(h.Get("Content-Type"), "application/json") {
		s.t.Errorf("%s: a body of Content-Type %q", c.route.name, h.Get("Content-Type"))
	}
	for key := range c.r.URL.Query() {
		if !slices.Contains(c.route.query, key) {
			s.t.Errorf("%s has no parameter %q, as far as this stub knows", c.route.name, key)
		}
	}
}

// found answers for a repository that is not there (any more) under the name, or not for this credential.
func (s *Server) found(c *call) (answer, bool) {
	if c.route.self {
		return answer{}, false
	}
	name := c.r.PathValue("owner") + "/" + c.r.PathValue("repo")
	switch {
	case c.who.user.Access == Hidden:
		return refuse(http.StatusNotFound, "Not Found"), true
	case strings.EqualFold(name, s.name):
		return answer{}, false
	case slices.ContainsFunc(s.old, func(n string) bool { return strings.EqualFold(n, name) }):
		return s.movedTo(c), true
	}
	return refuse(http.StatusNotFound, "Not Found"), true
}

// repositoryID is the repository's number: it stays when the name changes.
const repositoryID = "1296269"

// movedTo points to where the repository is now.
func (s *Server) movedTo(c *call) answer {
	segments := strings.SplitN(strings.TrimPrefix(c.r.URL.EscapedPath(), "/"), "/", 4) // repos, owner, repo, rest
	to := s.URL() + "repositories/" + repositoryID
	if len(segments) == 4 {
		to += "/" + segments[3]
	}
	if c.r.URL.RawQuery != "" {
		to += "?" + c.r.URL.RawQuery
	}
	c.header.Set("Location", to)
	status := http.StatusMovedPermanently
	if c.route.writes() {
		status = http.StatusTemporaryRedirect
	}
	return answer{status: status, body: doc{"message": "Moved Permanently", "url": to, "documentation_url": documentation}}
}

// permitted answers for an archived repository, a permission that is not there, and an empty repository.
func (s *Server) permitted(c *call) (answer, bool) {
	switch {
	case c.route.self && c.route.scope == "", c.route.jwt:
		return answer{}, false
	case !c.who.may(c.route):
		return refuse(http.StatusForbidden, c.who.refusal()), true
	case s.archived && c.route.writes():
		return refuse(http.StatusForbidden, "Repository was archived so is read-only."), true
	case c.route.data && len(s.now.heads) == 0:
		return refuse(http.StatusConflict, "Git Repository is empty."), true
	}
	return answer{}, false
}

// read decodes the body, strictly.
func (c *call) read(into any) (answer, bool) {
	if err := json.Unmarshal(c.body, &map[string]any{}); err != nil {
		c.s.t.Errorf("%s: the body is no JSON object: %v", c.route.name, err)
		return refuse(http.StatusBadRequest, "Problems parsing JSON"), false
	}
	d := json.NewDecoder(bytes.NewReader(c.body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		c.s.t.Errorf("%s: %v", c.route.name, err)
		return refuse(http.StatusUnprocessableEntity, "Invalid request.\n\n"+err.Error()), false
	}
	return answer{}, true
}
