package githubfake

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// caller is who a request comes from.
type caller struct {
	login string
	user  User
	// grants are an installation's permissions; nil for a user.
	grants map[string]string
	// app is the App itself, which has no access to a repository.
	app bool
}

// bot tells that it is an installation of the App.
func (w caller) bot() bool { return w.grants != nil }

// may tells whether the caller has the permission of a route.
func (w caller) may(r route) bool {
	if w.bot() {
		got := w.grants[r.scope]
		if r.scope == "pull_requests" && strings.Contains(r.name, " issues/") && got == "" {
			got = w.grants["issues"] // either of them does
		}
		return got == "write" || got == "read" && r.level == "read"
	}
	return w.user.Access == Write || r.level == "read"
}

// refusal is the text for a permission that is not there.
func (w caller) refusal() string {
	if w.bot() {
		return "Resource not accessible by integration"
	}
	return "Resource not accessible by personal access token"
}

// authenticate finds out who it is.
func (s *Server) authenticate(c *call) (answer, bool) {
	scheme, token, _ := strings.Cut(c.r.Header.Get("Authorization"), " ")
	switch {
	case token == "":
		s.t.Errorf("%s without a credential", c.route.name)
		return refuse(http.StatusUnauthorized, "Requires authentication"), true
	case !strings.EqualFold(scheme, "Bearer") && !strings.EqualFold(scheme, "token"):
		s.t.Errorf("%s: Authorization of scheme %q", c.route.name, scheme)
		return refuse(http.StatusUnauthorized, "Bad credentials"), true
	}
	if c.route.jwt {
		return s.authenticateApp(c, token)
	}
	who, ok := s.principal(token)
	if !ok {
		return refuse(http.StatusUnauthorized, "Bad credentials"), true
	}
	c.who = who
	return answer{}, false
}

// principal is whom a token stands for.
func (s *Server) principal(token string) (caller, bool) {
	if t, ok := s.tokens[token]; ok {
		return caller{login: botLogin, grants: t.grants}, s.clock().Before(t.expires)
	}
	for _, u := range s.users {
		if u.Token == token && token != "" {
			return caller{login: u.Login, user: u}, true
		}
	}
	return caller{}, false
}

// AddUser adds an account with a token, or replaces it.
func (s *Server) AddUser(u User) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users[u.Login] = u
}

// Revoke makes a token, a user's or an installation's, one that never was.
func (s *Server) Revoke(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t, ok := s.tokens[token]; ok {
		t.expires = time.Time{} // it stays among those that were minted: none is minted twice
		s.tokens[token] = t
	}
	for login, u := range s.users {
		if u.Token == token {
			u.Token = ""
			s.users[login] = u
		}
	}
}

// AllowGit tells whether a request over Git's HTTP protocol has a credential that is good now: it is what
// gitserver.Server.Allow takes. The user's name does not matter, the token is the password.
func (s *Server) AllowGit(r *http.Request) bool {
	_, token, ok := r.BasicAuth()
	s.mu.Lock()
	defer s.mu.Unlock()
	who, known := s.principal(token)
	return ok && known && who.user.Access != Hidden
}

func (s *Server) email(login string) string {
	if u, ok := s.users[login]; ok && u.Email != "" {
		return u.Email
	}
	if login == botLogin {
		login = strconv.Itoa(s.id(login)) + "+" + login
	}
	return login + "@users.noreply.github.com"
}

// account is a user as other objects show it.
func (s *Server) account(login string) any {
	if login == "" {
		return nil
	}
	kind := "User"
	if strings.HasSuffix(login, "[bot]") {
		kind = "Bot"
	}
	return doc{
		"login": login, "id": s.id(login), "node_id": "U_" + login, "type": kind, "site_admin": false,
		"url": s.URL() + "users/" + login, "html_url": s.http.URL + "/" + login,
	}
}

// loginOf is the account with an email address, "" when there is none.
func (s *Server) loginOf(email string) string {
	if login, ok := strings.CutSuffix(email, "@users.noreply.github.com"); ok {
		_, after, found := strings.Cut(login, "+")
		if found {
			return after
		}
		return login
	}
	for _, u := range s.users {
		if u.Email == email {
			return u.Login
		}
	}
	return ""
}

func getUser(c *call) answer {
	if c.who.bot() {
		return refuse(http.StatusForbidden, c.who.refusal())
	}
	return ok(c.s.account(c.who.login))
}
