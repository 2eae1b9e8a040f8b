// Package roots says whose certificates are trusted: those the machine trusts, and a person's own beside them.
package roots

import (
	"crypto/x509"
	"errors"
)

// Pool is the system's roots and those in ca (PEM); nil means the system's alone. A bundle without a certificate is an error.
func Pool(ca []byte) (*x509.CertPool, error) {
	if len(ca) == 0 {
		return nil, nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(ca) {
		return nil, errors.New("the CA bundle holds no PEM certificate")
	}
	return pool, nil
}
