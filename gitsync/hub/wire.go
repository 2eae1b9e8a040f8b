package hub

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	answerLimit    = 32 << 20 // GitHub's largest tree is 7 MB
	requestTimeout = 30 * time.Second
	dialTimeout    = 10 * time.Second
	idleTimeout    = 90 * time.Second
	maxRedirect    = 5
)

// wire carries requests: rules 1 to 7 of the package.
type wire struct {
	base  *http.Transport
	auth  Auth
	now   func() time.Time
	gate  *gate
	pace  *pace
	cache *cache
	most  int // bytes of an answer
}

func newWire(o Options, pool *x509.CertPool) *wire {
	return &wire{
		base: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
			TLSHandshakeTimeout: dialTimeout,
			TLSClientConfig:     &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
			ForceAttemptHTTP2:   true,
			IdleConnTimeout:     idleTimeout,
		},
		auth:  o.Auth,
		now:   o.Now,
		gate:  &gate{},
		pace:  newPace(o.Pause, o.Now, o.Sleep),
		cache: newCache(cacheLimit),
		most:  answerLimit,
	}
}

func (w *wire) client() *http.Client { return &http.Client{Transport: w, CheckRedirect: stayOnHost} }

// stayOnHost follows the redirects of a renamed repository for reads, and never with a credential to somebody else.
func stayOnHost(next *http.Request, via []*http.Request) error {
	first := via[0]
	switch {
	case first.Method != http.MethodGet:
		return http.ErrUseLastResponse
	case len(via) > maxRedirect:
		return faultf(ErrRefused, "too many redirects")
	case next.URL.Scheme != first.URL.Scheme || next.URL.Host != first.URL.Host:
		return faultf(ErrRefused, "the API redirects to "+bare(next.URL)+": use that address")
	}
	return nil
}

// bare is an address without what may be secret in it.
func bare(u *url.URL) string { return u.Scheme + "://" + u.Host + u.Path }

// RoundTrip implements http.RoundTripper. An answer has been read to its end when it returns.
func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		defer req.Body.Close()
	}
	ctx, kind := req.Context(), kindOf(req)
	if err := w.gate.check(kind, w.now()); err != nil {
		return nil, err
	}
	if kind != reading {
		if err := w.pace.take(ctx); err != nil {
			return nil, unreachable(ctx, err)
		}
		defer w.pace.give()
		if err := w.gate.check(kind, w.now()); err != nil { // what went before may have met a limit
			return nil, err
		}
	}
	a, err := w.ask(req)
	if err != nil {
		return nil, unreachable(ctx, err)
	}
	if err := w.gate.heed(kind, a, w.now()); err != nil {
		return nil, err
	}
	return w.finish(req, a)
}

// ask sends the request, and once more when its token is refused and there is another.
func (w *wire) ask(req *http.Request) (*answer, error) {
	var refused string
	var a *answer
	for range 2 {
		token, err := tokenOf(req.Context(), w.auth)
		if err != nil {
			return nil, err
		}
		if token == refused {
			return a, nil
		}
		a, err = w.send(req, token)
		if err != nil || a.StatusCode != http.StatusUnauthorized {
			return a, err
		}
		w.auth.Drop(token)
		refused = token
	}
	return a, nil
}

// answer is a response that has been read.
type answer struct {
	*http.Response
	body []byte
}

func (w *wire) send(req *http.Request, token string) (*answer, error) {
	ctx, cancel := context.WithTimeout(req.Context(), requestTimeout)
	defer cancel()
	out := req.Clone(ctx)
	if req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			return nil, err
		}
		out.Body = body
	}
	out.Header.Set("Accept", "application/vnd.github+json")
	out.Header.Set("Authorization", "Bearer "+token)
	if tag := w.cache.tag(req); tag != "" {
		out.Header.Set("If-None-Match", tag)
	}
	resp, err := w.base.RoundTrip(out)
	if err != nil {
		return nil, err
	}
	return w.read(req, resp, token)
}

// read takes the whole answer in, so that one that breaks off is an error here and not a short list later. What GitHub
// says of an error goes into texts for people: the token is not repeated.
func (w *wire) read(req *http.Request, resp *http.Response, token string) (*answer, error) {
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(w.most)+1))
	if err != nil {
		return nil, err
	}
	if len(body) > w.most {
		return nil, faultf(ErrRefused, fmt.Sprintf("an answer of more than %d bytes", w.most))
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		body = bytes.ReplaceAll(body, []byte(token), []byte("[token]"))
	}
	resp.Request = req // without the credential
	return &answer{Response: resp, body: body}, nil
}

// finish is what go-github gets to see. It must not count limits on its own, by its own clock.
func (w *wire) finish(req *http.Request, a *answer) (*http.Response, error) {
	a = w.cache.exchange(req, a)
	if a.StatusCode == http.StatusOK || a.StatusCode == http.StatusCreated {
		if s := bytes.TrimSpace(a.body); len(s) == 0 || s[0] != '{' && s[0] != '[' {
			return nil, faultf(ErrUnreachable, "the answer is not JSON")
		}
	}
	for name := range a.Header {
		if strings.HasPrefix(name, "X-Ratelimit-") {
			a.Header.Del(name)
		}
	}
	a.Body, a.ContentLength = io.NopCloser(bytes.NewReader(a.body)), int64(len(a.body))
	return a.Response, nil
}
