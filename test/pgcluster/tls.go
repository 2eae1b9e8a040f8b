package pgcluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

func (n *Node) certFile() string { return filepath.Join(n.cluster.dir, n.Name+".crt") }
func (n *Node) keyFile() string  { return filepath.Join(n.cluster.dir, n.Name+".key") }

// writeCertificates makes an authority for this cluster alone and a
// certificate for each node, valid for its address and its name.
func (c *Cluster) writeCertificates() error {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	ca := certificate("pgcluster test authority")
	ca.IsCA, ca.BasicConstraintsValid, ca.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	if err != nil {
		return err
	}
	c.CAFile = filepath.Join(c.dir, "ca.crt")
	if err := os.WriteFile(c.CAFile, encode("CERTIFICATE", der), 0o600); err != nil {
		return err
	}
	for _, n := range c.nodes {
		if err := n.writeCertificate(ca, caKey); err != nil {
			return err
		}
	}
	return nil
}

func (n *Node) writeCertificate(ca *x509.Certificate, caKey *ecdsa.PrivateKey) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	cert := certificate(n.Name)
	cert.IPAddresses, cert.DNSNames = []net.IP{net.ParseIP(n.Host)}, []string{n.Name}
	der, err := x509.CreateCertificate(rand.Reader, cert, ca, key.Public(), caKey)
	if err != nil {
		return err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := n.cluster.install.write(n.certFile(), string(encode("CERTIFICATE", der))); err != nil {
		return err
	}
	return n.cluster.install.write(n.keyFile(), string(encode("PRIVATE KEY", keyDER)))
}

func certificate(name string) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.Add(24 * time.Hour),
	}
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
