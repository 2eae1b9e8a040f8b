package aurorasim

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"
)

// CA is the certificate, in PEM, that signs the cluster's; nil without TLS.
func (c *Cluster) CA() []byte { return c.ca }

// makeTLS makes a CA and one certificate for every name below the domain.
func (c *Cluster) makeTLS() error {
	ca := template("simulated RDS root of " + c.cfg.Name)
	ca.IsCA, ca.BasicConstraintsValid, ca.KeyUsage = true, true, x509.KeyUsageCertSign
	caDER, caKey, err := issue(ca, ca, nil)
	if err != nil {
		return fmt.Errorf("making a CA: %w", err)
	}
	leaf := template(c.cfg.Name)
	leaf.DNSNames = []string{"*." + c.cfg.Domain, c.EndpointHost(WriterEndpoint), c.EndpointHost(ReaderEndpoint)}
	leaf.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	leafDER, leafKey, err := issue(leaf, ca, caKey)
	if err != nil {
		return fmt.Errorf("making a certificate: %w", err)
	}
	c.ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: caDER})
	c.tls = &tls.Config{
		MinVersion:   tls.VersionTLS12,
		Certificates: []tls.Certificate{{Certificate: [][]byte{leafDER}, PrivateKey: leafKey}},
	}
	return nil
}

// template is valid at any time that a test may pretend it is.
func template(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(int64(len(name))),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC),
		NotAfter:     time.Date(2199, 1, 1, 0, 0, 0, 0, time.UTC),
		KeyUsage:     x509.KeyUsageDigitalSignature,
	}
}

// issue signs a certificate with a new key; without a parent's key it is self-signed.
func issue(t, parent *x509.Certificate, parentKey *ecdsa.PrivateKey) ([]byte, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	if parentKey == nil {
		parentKey = key
	}
	der, err := x509.CreateCertificate(rand.Reader, t, parent, &key.PublicKey, parentKey)
	return der, key, err
}
