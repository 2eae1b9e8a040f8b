package notice

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

const (
	certificatesKept = 16
	// issuersMost is how many issuers are fetched for one chain. Amazon's have two.
	issuersMost = 3
	fetchMost   = 64 << 10
	// fetchTimeout leaves SNS, which waits 15 seconds, time to be answered.
	fetchTimeout = 5 * time.Second
)

// errFetch: the other end or the network has trouble, and not the certificate.
var errFetch = errors.New("the certificate cannot be fetched now")

// certificates are those that SNS signs with, by their addresses.
type certificates struct {
	fetch func(context.Context, string) ([]byte, error)
	roots *x509.CertPool
	kept  *lru.Cache[string, chain]
}

// chain is a certificate and what leads from it to a root.
type chain struct {
	leaf    *x509.Certificate
	issuers *x509.CertPool
}

func newCertificates(fetch func(context.Context, string) ([]byte, error), roots *x509.CertPool) *certificates {
	kept, _ := lru.New[string, chain](certificatesKept) // fails for no size only
	return &certificates{fetch: fetch, roots: roots, kept: kept}
}

// get returns the certificate at an address of that host if it is to be trusted now.
func (c *certificates) get(ctx context.Context, address, host string, now time.Time) (*x509.Certificate, error) {
	if at, ok := c.kept.Get(address); ok && c.trusted(at, host, now) == nil {
		return at.leaf, nil
	}
	text, err := c.fetch(ctx, address)
	if err != nil {
		return nil, errFetch
	}
	found, err := parseChain(text)
	if err != nil {
		return nil, err
	}
	if err := c.complete(ctx, found, host, now); err != nil {
		return nil, err
	}
	c.kept.Add(address, found)
	return found.leaf, nil
}

func (c *certificates) trusted(of chain, host string, now time.Time) error {
	general := "sns.amazonaws.com"
	if strings.HasSuffix(host, ".cn") {
		general += ".cn"
	}
	if of.leaf.VerifyHostname(host) != nil && of.leaf.VerifyHostname(general) != nil {
		return errors.New("the certificate is not of Amazon SNS")
	}
	_, err := of.leaf.Verify(x509.VerifyOptions{
		Roots: c.roots, Intermediates: of.issuers, CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}, // it signs messages, whatever else it may do
	})
	return err
}

// complete fetches the issuers that are missing, until the chain is trusted.
func (c *certificates) complete(ctx context.Context, of chain, host string, now time.Time) error {
	last := of.leaf
	for range issuersMost {
		err := c.trusted(of, host, now)
		if _, ok := errors.AsType[x509.UnknownAuthorityError](err); !ok {
			return err
		}
		issuer, next := c.issuer(ctx, last)
		if next != nil {
			return errors.Join(err, next)
		}
		of.issuers.AddCert(issuer)
		last = issuer
	}
	return c.trusted(of, host, now)
}

// issuer is whoever the certificate says has issued it. Whether that is so the chain will tell.
func (c *certificates) issuer(ctx context.Context, of *x509.Certificate) (*x509.Certificate, error) {
	for _, address := range of.IssuingCertificateURL {
		if !ofTrustServices(address) {
			continue
		}
		der, err := c.fetch(ctx, address)
		if err != nil {
			return nil, errFetch
		}
		if block, _ := pem.Decode(der); block != nil {
			der = block.Bytes
		}
		return x509.ParseCertificate(der)
	}
	return nil, errors.New("the certificate names no issuer at Amazon Trust Services")
}

// parseChain reads a certificate and those after it.
func parseChain(text []byte) (chain, error) {
	of := chain{issuers: x509.NewCertPool()}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		certificate, err := x509.ParseCertificate(block.Bytes)
		switch {
		case err != nil || block.Type != "CERTIFICATE":
			return chain{}, errors.New("there is no certificate at SigningCertURL")
		case of.leaf == nil:
			of.leaf = certificate
		default:
			of.issuers.AddCert(certificate)
		}
	}
	if of.leaf == nil {
		return chain{}, errors.New("there is no certificate at SigningCertURL")
	}
	return of, nil
}

// untrusted is the answer to a message whose certificate is not trusted, or not yet.
func untrusted(err error) *answer {
	if errors.Is(err, errFetch) {
		return refuse(http.StatusServiceUnavailable, errFetch.Error())
	}
	return refuse(http.StatusForbidden, line("the certificate is not trusted: "+err.Error()))
}

// newFetch gets documents over HTTP. A redirect would lead away from the host that was judged.
func newFetch() func(context.Context, string) ([]byte, error) {
	client := &http.Client{
		Timeout:       fetchTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return func(ctx context.Context, address string) ([]byte, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
		if err != nil {
			return nil, err
		}
		response, err := client.Do(request)
		if err != nil {
			return nil, err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("the answer is %s", response.Status)
		}
		return io.ReadAll(io.LimitReader(response.Body, fetchMost))
	}
}
