//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// gate is poolwright's way to the API server. It hands everything on as it is, with the credentials it came with.
type gate struct {
	*httptest.Server
	to    *url.URL
	via   http.RoundTripper
	proxy *httputil.ReverseProxy

	mu    sync.Mutex
	shut  bool
	asked []question
	traps []*trap
}

// question is one request to the API server.
type question struct {
	at     time.Time
	method string
	path   string
	query  url.Values
	body   string
	status int // 0 until it is answered, and for a read
}

// trap is sprung once, by the first question that matches.
type trap struct {
	match func(question) bool
	after bool // after the API server has done it; its answer is lost
	do    func()
}

func newGate(t testing.TB, w world) *gate {
	t.Helper()
	via, err := rest.TransportFor(rest.AnonymousClientConfig(w.config))
	check(t, err)
	to, err := url.Parse(w.config.Host)
	check(t, err)
	g := &gate{to: to, via: via}
	g.proxy = &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to) },
		Transport:     via,
		FlushInterval: -1,
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	g.Server = httptest.NewUnstartedServer(g)
	g.Config.ErrorLog = log.New(io.Discard, "", 0) // a process that is killed leaves broken handshakes
	g.StartTLS()                                   // client-go keeps its token to itself without TLS
	t.Cleanup(func() { g.close(); g.Close() })
	return g
}

// close cuts poolwright off from the API server.
func (g *gate) close() {
	g.mu.Lock()
	g.shut = true
	g.mu.Unlock()
	g.CloseClientConnections()
}

// before does something when a request comes that matches, instead of handing it on. It happens once.
func (g *gate) before(match func(question) bool, do func()) { g.set1(&trap{match: match, do: do}) }

// after does something when a request that matches has been carried out; poolwright does not get the answer.
func (g *gate) after(match func(question) bool, do func()) {
	g.set1(&trap{match: match, do: do, after: true})
}

func (g *gate) set1(t *trap) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.traps = append(g.traps, t)
}

// all are the requests until now that match.
func (g *gate) all(match func(question) bool) (found []question) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, q := range g.asked {
		if match(q) {
			found = append(found, q)
		}
	}
	return found
}

// ServeHTTP hands a request on. What writes is answered only when it has been carried out, whoever waits for it.
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	at, ok := g.note(question{at: time.Now(), method: r.Method, path: r.URL.Path, query: r.URL.Query(), body: string(body)})
	if !ok || g.spring(at, false) {
		panic(http.ErrAbortHandler)
	}
	if r.Method == http.MethodGet {
		g.proxy.ServeHTTP(w, r)
		return
	}
	q := r.Clone(context.WithoutCancel(r.Context()))
	q.RequestURI, q.URL.Scheme, q.URL.Host, q.Host = "", g.to.Scheme, g.to.Host, g.to.Host
	q.Body = io.NopCloser(bytes.NewReader(body))
	answer, err := g.via.RoundTrip(q)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer answer.Body.Close()
	g.answered(at, answer.StatusCode)
	if g.spring(at, true) {
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), answer.Header)
	w.WriteHeader(answer.StatusCode)
	_, _ = io.Copy(w, answer.Body)
}

// note writes a question down; ok is false when the gate is closed.
func (g *gate) note(q question) (at int, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut {
		return 0, false
	}
	g.asked = append(g.asked, q)
	return len(g.asked) - 1, true
}

func (g *gate) answered(at, status int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked[at].status = status
}

// spring springs the first trap that matches, and reports whether there was one.
func (g *gate) spring(at int, after bool) bool {
	g.mu.Lock()
	i := slices.IndexFunc(g.traps, func(t *trap) bool { return t.after == after && t.match(g.asked[at]) })
	if i < 0 {
		g.mu.Unlock()
		return false
	}
	sprung := g.traps[i]
	g.traps = slices.Delete(g.traps, i, i+1)
	g.mu.Unlock()
	sprung.do()
	return true
}

// isWrite reports whether a question writes something; the Lease does not count, nor do Events.
func isWrite(q question) bool {
	return q.method != http.MethodGet && !strings.Contains(q.path, "/leases") && !strings.Contains(q.path, "/events")
}

// isPatchOf matches the patches of a role's Service.
func isPatchOf(role string) func(question) bool {
	return func(q question) bool {
		return q.method == http.MethodPatch && strings.HasSuffix(q.path, "/services/story-"+role)
	}
}

// isServicePatch matches the patches of both.
func isServicePatch(q question) bool { return isPatchOf("writer")(q) || isPatchOf("reader")(q) }

// operation is one of a JSON Patch.
type operation struct {
	Op, Path string
	Value    json.RawMessage
}

func (q question) operations() (ops []operation) {
	_ = json.Unmarshal([]byte(q.body), &ops)
	return ops
}

// does reports whether a patch has an operation.
func (q question) does(op, path string) bool {
	return slices.ContainsFunc(q.operations(), func(o operation) bool { return o.Op == op && o.Path == path })
}

const (
	overridePath = "/metadata/annotations/poolwright.dev~1override"
	freezePath   = "/metadata/annotations/kustomize.toolkit.fluxcd.io~1reconcile"
)

func moves(q question) bool     { return q.does("replace", "/spec/selector") }
func unfreezes(q question) bool { return q.does("remove", freezePath) && q.does("add", overridePath) }
func releases(q question) bool  { return q.does("replace", "/metadata/managedFields") }

// both is true where both are.
func both(a, b func(question) bool) func(question) bool {
	return func(q question) bool { return a(q) && b(q) }
}
