package githubfake

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/poolwright/poolwright/gitsync/gitserver"
)

// Server is GitHub with one repository. Its methods are what a test asks of it and what people do; they may be
// called at any time.
type Server struct {
	t     testing.TB
	o     Options
	http  *httptest.Server
	mux   *http.ServeMux
	store store
	app   appKey

	mu     sync.Mutex // one request, or one act of a person, at a time
	name   string     // owner/name
	old    []string   // names it had
	now    view
	before view // the last change
	users  map[string]User
	tokens map[string]installationToken // App's
	ids    map[string]int
	used   map[string]*hour
	limits []*limit
	lags   map[Lagging]*lag
	rules  []ruleset
	checks map[string][]Check
	states map[string]map[string]string // of commit statuses: sha, context
	signed map[string]verdict
	merges map[string]string // head and base to the merged tree, "" for a conflict

	archived, unsigned bool
	skew               time.Duration

	gate    sync.Mutex // what is looked at before a request has its turn
	writing map[string]int
	faults  []*fault
	log     []Request
}

// view is what can change: the branches and the pull requests.
type view struct {
	heads map[string]string
	pulls []*Pull
}

// New starts a server at a loopback address. It is closed when the test ends.
func New(t testing.TB, o Options) *Server {
	t.Helper()
	o = o.complete(t)
	s := &Server{
		t: t, o: o, name: o.Name, mux: http.NewServeMux(), store: openStore(o.Repo.Dir),
		users: map[string]User{}, tokens: map[string]installationToken{}, ids: map[string]int{}, used: map[string]*hour{},
		lags: map[Lagging]*lag{}, checks: map[string][]Check{}, states: map[string]map[string]string{},
		signed: map[string]verdict{}, merges: map[string]string{}, writing: map[string]int{},
	}
	for _, u := range o.Users {
		s.users[u.Login] = u
	}
	s.now.heads = s.heads()
	s.before = s.now.clone()
	s.register()
	s.http = httptest.NewUnstartedServer(s)
	if o.TLS {
		s.http.StartTLS()
	} else {
		s.http.Start()
	}
	t.Cleanup(s.Close)
	return s
}

// URL is the address of the API, as a client is configured with it: it ends in a slash.
func (s *Server) URL() string {
	if s.o.Enterprise {
		return s.http.URL + "/api/v3/"
	}
	return s.http.URL + "/"
}

// CA is the PEM of the certificate of a server with TLS.
func (s *Server) CA() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.http.Certificate().Raw})
}

// Repo is the repository that is served.
func (s *Server) Repo() *gitserver.Repo { return s.o.Repo }

// Name is owner/name as it is now.
func (s *Server) Name() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.name
}

// Token is the token of the first user.
func (s *Server) Token() string { return s.o.Users[0].Token }

// Close stops the server and cuts what is open.
func (s *Server) Close() {
	s.http.CloseClientConnections()
	s.http.Close()
}

// do runs what a person or the test does, with its effects on pull requests.
func (s *Server) do(actor string, f func()) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle(outside)
	was := s.now.clone()
	f()
	s.settle(actor)
	s.changed(was)
}

// changed remembers what was before a change, for reads that lag.
func (s *Server) changed(was view) {
	s.before = was
	for _, l := range s.lags {
		l.left = l.n
	}
}

// clock is GitHub's time.
func (s *Server) clock() time.Time { return s.o.Now().Add(s.skew).UTC() }

// date is the clock for an answer that had no turn.
func (s *Server) date() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clock().Format(http.TimeFormat)
}

// id is the number of a thing by its name, the same each time.
func (s *Server) id(thing string) int {
	if _, ok := s.ids[thing]; !ok {
		s.ids[thing] = 1000 + len(s.ids)
	}
	return s.ids[thing]
}

func (s *Server) owner() string {
	owner, _, _ := strings.Cut(s.name, "/")
	return owner
}

// address is the URL of something in the API, below the repository.
func (s *Server) address(format string, args ...any) string {
	return strings.TrimSuffix(s.URL()+"repos/"+s.name+"/"+fmt.Sprintf(format, args...), "/")
}

// page is the URL of something for people.
func (s *Server) page(format string, args ...any) string {
	return strings.TrimSuffix(s.http.URL+"/"+s.name+"/"+fmt.Sprintf(format, args...), "/")
}

func (v view) clone() view {
	c := view{heads: v.heads} // replaced, never written to
	for _, p := range v.pulls {
		copied := *p // its lists are replaced, never written to
		c.pulls = append(c.pulls, &copied)
	}
	return c
}

func (v view) pull(number int) *Pull {
	for _, p := range v.pulls {
		if p.Number == number {
			return p
		}
	}
	return nil
}
