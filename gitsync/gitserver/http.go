package gitserver

import (
	"bytes"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Request is one request as the server saw it.
type Request struct {
	Method, Path string
	// Service is git-upload-pack or git-receive-pack.
	Service string
	// In and Out are the bytes of the bodies.
	In, Out int64
	Status  int
	// Wall is how long the server worked on it.
	Wall time.Duration
}

// IsPush tells whether the request sends a pack.
func (r Request) IsPush() bool { return r.Method == http.MethodPost && r.Service == "git-receive-pack" }

// Server serves the bare repositories below Root over smart HTTP.
type Server struct {
	Root string

	backend   string
	http      *httptest.Server
	mu        sync.Mutex
	log       []Request
	conns     int
	wire      atomic.Int64
	allow     func(*http.Request) bool
	intercept func(http.ResponseWriter, *http.Request) bool
	after     func(*http.Request)
}

// Allow sets who may come in: false is answered with 401. nil is everybody.
func (s *Server) Allow(f func(*http.Request) bool) { s.set(func() { s.allow = f }) }

// Intercept sets what sees a request before git does. It may answer in git's place, then it returns true; it
// may also only wait, count or break something. nil is nothing.
func (s *Server) Intercept(f func(http.ResponseWriter, *http.Request) bool) {
	s.set(func() { s.intercept = f })
}

// After sets what is called when git has done a request and before the client hears of it: with
// [Server.Cut] a push is carried out and its answer lost. nil is nothing.
func (s *Server) After(f func(*http.Request)) { s.set(func() { s.after = f }) }

func (s *Server) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// New makes a server for the repositories below root, started at a loopback address.
func New(root string) (*Server, error) {
	s, err := newServer(root)
	if err != nil {
		return nil, err
	}
	s.http.Start()
	return s, nil
}

// NewTLS is New with https; CA is its certificate.
func NewTLS(root string) (*Server, error) {
	s, err := newServer(root)
	if err != nil {
		return nil, err
	}
	s.http.StartTLS()
	return s, nil
}

func newServer(root string) (*Server, error) {
	libexec, err := run("", "--exec-path")
	if err != nil {
		return nil, err
	}
	s := &Server{Root: root, backend: filepath.Join(libexec, "git-http-backend")}
	s.http = httptest.NewUnstartedServer(s)
	s.http.Listener = counted{s.http.Listener, &s.wire}
	s.http.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.mu.Lock()
			s.conns++
			s.mu.Unlock()
		}
	}
	return s, nil
}

// HTTP is the URL of a repository.
func (s *Server) HTTP(r *Repo) string { return s.http.URL + "/" + r.Name }

// CA is the certificate of a server made by NewTLS, in DER.
func (s *Server) CA() []byte { return s.http.Certificate().Raw }

// Close stops the server and cuts what is open.
func (s *Server) Close() {
	s.http.CloseClientConnections()
	s.http.Close()
}

// Cut closes all connections now.
func (s *Server) Cut() { s.http.CloseClientConnections() }

// Requests is what was asked since the last Reset.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.log...)
}

// Connections is how many connections were opened since the last Reset.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conns
}

// Wire is how many bytes went over the connections in both directions since the last Reset, headers included.
func (s *Server) Wire() int64 { return s.wire.Load() }

// counted counts the bytes of the connections it accepts.
type counted struct {
	net.Listener
	n *atomic.Int64
}

func (l counted) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return countedConn{c, l.n}, err
}

type countedConn struct {
	net.Conn
	n *atomic.Int64
}

func (c countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.n.Add(int64(n))
	return n, err
}

func (c countedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.n.Add(int64(n))
	return n, err
}

// Reset forgets requests, connections and bytes.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log, s.conns = nil, 0
	s.wire.Store(0)
}

// Pushes counts the requests that send a pack.
func (s *Server) Pushes() int {
	n := 0
	for _, r := range s.Requests() {
		if r.IsPush() {
			n++
		}
	}
	return n
}

// ServeHTTP hands a request to git http-backend.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body) // the CGI package refuses a chunked body
	if err != nil {
		return
	}
	r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	rec := &recorder{ResponseWriter: w, status: http.StatusOK}
	start := time.Now()
	s.answer(rec, r)
	service := r.URL.Query().Get("service")
	if service == "" {
		service = r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, Request{r.Method, r.URL.Path, service, int64(len(body)), rec.n, rec.status, time.Since(start)})
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	allow, intercept, after := s.allow, s.intercept, s.after
	s.mu.Unlock()
	if allow != nil && !allow(r) {
		w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	if intercept != nil && intercept(w, r) {
		return
	}
	h := &cgi.Handler{
		Path: s.backend, Root: "/", Stderr: io.Discard,
		Env: append(env(), "GIT_PROJECT_ROOT="+s.Root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=somebody"),
	}
	if after == nil {
		h.ServeHTTP(w, r)
		return
	}
	held := httptest.NewRecorder()
	h.ServeHTTP(held, r)
	after(r)
	maps.Copy(w.Header(), held.Header())
	w.WriteHeader(held.Code)
	_, _ = w.Write(held.Body.Bytes())
}

// recorder counts what goes out.
type recorder struct {
	http.ResponseWriter
	n      int64
	status int
}

func (r *recorder) WriteHeader(code int) {
	r.status = code
	r.ResponseWriter.WriteHeader(code)
}

func (r *recorder) Write(p []byte) (int, error) {
	n, err := r.ResponseWriter.Write(p)
	r.n += int64(n)
	return n, err
}

// Unwrap lets a test reach the connection through http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
