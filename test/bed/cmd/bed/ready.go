package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
)

// asker asks the parts how they are, as the user admin.
type asker struct{ client *http.Client }

func newAsker(dir string) (asker, error) {
	pem, err := os.ReadFile(filepath.Join(dir, "pki", "ca.crt"))
	if err != nil {
		return asker{}, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return asker{}, errors.New("reading the CA: no certificate")
	}
	return asker{&http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		DisableKeepAlives: true, // a part that was started anew is another server
	}}}, nil
}

// get succeeds when the address answers with 200.
func (a asker) get(url string) func(context.Context) error {
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		if url == server+"/readyz" {
			request.Header.Set("Authorization", "Bearer admin-token")
		}
		response, err := a.client.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode == http.StatusOK {
			return nil
		}
		body, _ := io.ReadAll(io.LimitReader(response.Body, 1000))
		return fmt.Errorf("%s: %s: %s", url, response.Status, body)
	}
}

// dials succeeds when the address accepts a connection.
func dials(address string) func(context.Context) error {
	return func(ctx context.Context) error {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		return conn.Close()
	}
}
