package gitsync

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp"

	"github.com/poolwright/poolwright/gitsync/roots"
)

// httpCarrier speaks smart HTTP, protocol version 0: each message is a request of its own.
type httpCarrier struct {
	client *http.Client
	base   string // without a slash at its end
	auth   Auth
}

const (
	dialTimeout = 10 * time.Second
	idleTimeout = 90 * time.Second
	maxRedirect = 5
)

func newHTTPCarrier(l location, auth Auth, ca []byte) (*httpCarrier, error) {
	switch a := auth.(type) {
	case SSHKey:
		return nil, fmt.Errorf("an SSH key does not open %s", l)
	case Minted:
		if a.Mint == nil || a.Drop == nil {
			return nil, fmt.Errorf("a minted password for %s needs to be minted and dropped", l)
		}
	}
	pool, err := roots.Pool(ca)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSHandshakeTimeout: dialTimeout,
		TLSClientConfig:     &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2:   true,
		IdleConnTimeout:     idleTimeout,
	}
	return &httpCarrier{
		client: &http.Client{Transport: transport, CheckRedirect: stayOnHost},
		base:   l.String(),
		auth:   auth,
	}, nil
}

// stayOnHost follows a redirect of a reading request on the same host, like git's http.followRedirects=initial
// but never with a credential to somebody else.
func stayOnHost(next *http.Request, via []*http.Request) error {
	first := via[0]
	target := next.URL.Scheme + "://" + next.URL.Host + next.URL.Path
	switch {
	case first.Method != http.MethodGet:
		return http.ErrUseLastResponse
	case len(via) > maxRedirect:
		return faultf(ErrUnsupported, "too many redirects")
	case next.URL.Hostname() != first.URL.Hostname() || first.URL.Scheme == "https" && next.URL.Scheme != "https":
		return faultf(ErrUnsupported, "the remote redirects to "+target+": use that address")
	}
	return nil
}

func (c *httpCarrier) close() error {
	c.client.CloseIdleConnections()
	return nil
}

func (c *httpCarrier) open(ctx context.Context, service string) (session, error) {
	return &httpSession{carrier: c, ctx: ctx, service: service}, nil
}

// httpSession is a pair of requests.
type httpSession struct {
	carrier *httpCarrier
	ctx     context.Context
	service string
	body    io.ReadCloser
}

const infoRefs = "/info/refs"

func (s *httpSession) refs() (*packp.AdvRefs, error) {
	res, err := s.do(http.MethodGet, infoRefs+"?service="+s.service, nil) //nolint:bodyclose // s.close does
	if err != nil {
		return nil, err
	}
	if err := contentType(res, "application/x-"+s.service+"-advertisement"); err != nil {
		return nil, err
	}
	adv, err := readRefs(res.Body)
	if err != nil {
		return nil, err
	}
	s.close()
	if moved, ok := strings.CutSuffix(res.Request.URL.Path, infoRefs); ok {
		u := url.URL{Scheme: res.Request.URL.Scheme, Host: res.Request.URL.Host, Path: moved}
		s.carrier.base = u.String()
	}
	return adv, nil
}

func (s *httpSession) exchange(request []byte) (io.Reader, error) {
	res, err := s.do(http.MethodPost, "/"+s.service, request) //nolint:bodyclose // s.close does
	if err != nil {
		return nil, err
	}
	return res.Body, contentType(res, "application/x-"+s.service+"-result")
}

func (s *httpSession) do(method, path string, body []byte) (*http.Response, error) {
	res, password, err := s.once(method, path, body)
	if m, ok := s.carrier.auth.(Minted); ok && err == nil && res.StatusCode == http.StatusUnauthorized {
		m.Drop(password)
		res, _, err = s.once(method, path, body)
	}
	if err != nil {
		return nil, err
	}
	return res, statusFault(res)
}

// once makes one request and returns the password that it showed.
func (s *httpSession) once(method, path string, body []byte) (*http.Response, string, error) {
	s.close()
	req, err := http.NewRequestWithContext(s.ctx, method, s.carrier.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	req.Header.Set("User-Agent", "git/"+agent) // some servers look for "git/"
	if body != nil {
		req.Header.Set("Content-Type", "application/x-"+s.service+"-request")
		req.Header.Set("Accept", "application/x-"+s.service+"-result")
	}
	password, err := s.carrier.authorise(req)
	if err != nil {
		return nil, "", &fault{kind: ErrAuth, text: "getting the credential", cause: err}
	}
	res, err := s.carrier.client.Do(req)
	if err != nil {
		return nil, "", err
	}
	s.body = res.Body
	return res, password, nil
}

// authorise shows the credential, and returns the password when there is one.
func (c *httpCarrier) authorise(req *http.Request) (string, error) {
	switch a := c.auth.(type) {
	case Basic:
		return setBasic(req, a)
	case Minted:
		return setBasic(req, a.Mint)
	case Token:
		token, err := a(req.Context())
		req.Header.Set("Authorization", "Bearer "+token)
		return token, err
	}
	return "", nil
}

func setBasic(req *http.Request, get Basic) (string, error) {
	user, password, err := get(req.Context())
	req.SetBasicAuth(user, password)
	return password, err
}

// close reads an answer to its end, without which its connection would not serve the next request, and ends it.
func (s *httpSession) close() {
	if s.body == nil {
		return
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(s.body, 256<<10))
	_ = s.body.Close()
	s.body = nil
}

func contentType(res *http.Response, want string) error {
	got, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if got == want {
		return nil
	}
	return faultf(ErrUnsupported, fmt.Sprintf("%s is no smart Git server (it answered with %s)", res.Request.URL.Host, printable(got)))
}

// statusFault says what a status that is not 200 means.
func statusFault(res *http.Response) error {
	text := res.Status
	if res.StatusCode == http.StatusOK {
		return nil
	}
	// What is said to a wrong credential may have the credential in it.
	quoted := res.StatusCode != http.StatusUnauthorized
	if body, _ := io.ReadAll(io.LimitReader(res.Body, 4*textLimit)); quoted && len(body) > 0 && !bytes.Contains(body, []byte("<")) {
		text += ": " + printable(string(body))
	}
	wait := res.Header.Get("Retry-After")
	if wait != "" {
		text += ", retry after " + printable(wait)
	}
	switch c := res.StatusCode; {
	case strings.Contains(text, "TF401041"):
		return faultf(ErrUnsupported, "the remote needs multi_ack, which is not spoken here (Azure DevOps)")
	case c == http.StatusUnauthorized, c == http.StatusForbidden && wait == "":
		return faultf(ErrAuth, text)
	case c == http.StatusNotFound, c == http.StatusGone:
		return faultf(ErrNotFound, "no repository there, or none this credential may see ("+text+")")
	case c == http.StatusForbidden, c == http.StatusTooManyRequests, c == http.StatusRequestTimeout, c >= 500:
		return faultf(ErrUnreachable, text)
	case c >= 300 && c < 400:
		return faultf(ErrUnsupported, "the remote redirects a push or fetch: "+text)
	}
	return faultf(ErrRefused, text)
}
