package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const server = "https://127.0.0.1:6443"

// users of the API server, each with the token NAME-token and the groups it is
// in. A kubeconfig NAME.kubeconfig for each is in the world's directory.
func users() [][3]string {
	const all = "system:masters"
	return [][3]string{ // name, user, group
		{"admin", "admin", all},
		{"controller-manager", "system:kube-controller-manager", ""},
		{"scheduler", "system:kube-scheduler", ""},
		{"proxy", "system:kube-proxy", ""},
		{"fakenode", "fakenode", all},
		{"source-controller", "source-controller", all},
		{"kustomize-controller", "kustomize-controller", all},
		{"argo-controller", "argo-controller", all},
		{"argo-repo", "argo-repo", all},
	}
}

// writePKI writes what the API server and its clients prove themselves with.
func writePKI(dir string) error {
	pki := filepath.Join(dir, "pki")
	now := time.Now()
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "bed"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(1, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "kube-apiserver"},
		NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 96, 0, 1), net.IPv4(10, 200, 0, 1)},
	}
	caKey, err := writeKey(filepath.Join(pki, "ca.key"))
	if err != nil {
		return err
	}
	leafKey, err := writeKey(filepath.Join(pki, "apiserver.key"))
	if err != nil {
		return err
	}
	tokenKey, err := writeKey(filepath.Join(pki, "sa.key"))
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(tokenKey.Public())
	if err != nil {
		return err
	}
	if err := writePEM(filepath.Join(pki, "sa.pub"), "PUBLIC KEY", public); err != nil {
		return err
	}
	if err := writeCertificate(filepath.Join(pki, "ca.crt"), ca, ca, caKey.Public(), caKey); err != nil {
		return err
	}
	if err := writeCertificate(filepath.Join(pki, "apiserver.crt"), leaf, ca, leafKey.Public(), caKey); err != nil {
		return err
	}
	return writeUsers(dir)
}

func writeKey(file string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return key, writePEM(file, "EC PRIVATE KEY", der)
}

func writeCertificate(file string, c, parent *x509.Certificate, public crypto.PublicKey, signer crypto.Signer) error {
	der, err := x509.CreateCertificate(rand.Reader, c, parent, public, signer)
	if err != nil {
		return err
	}
	return writePEM(file, "CERTIFICATE", der)
}

func writePEM(file, kind string, der []byte) error {
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}

const kubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: bed, cluster: {server: %q, certificate-authority: %q}}]
users: [{name: %[3]q, user: {token: "%[3]s-token"}}]
contexts: [{name: bed, context: {cluster: bed, user: %[3]q}}]
current-context: bed
`

func writeUsers(dir string) error {
	var tokens strings.Builder
	for i, u := range users() {
		fmt.Fprintf(&tokens, "%s-token,%s,%d", u[0], u[1], i)
		if u[2] != "" {
			fmt.Fprintf(&tokens, ",%q", u[2])
		}
		tokens.WriteString("\n")
		content := fmt.Sprintf(kubeconfig, server, filepath.Join(dir, "pki", "ca.crt"), u[0])
		if err := os.WriteFile(filepath.Join(dir, u[0]+".kubeconfig"), []byte(content), 0o600); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "pki", "tokens.csv"), []byte(tokens.String()), 0o600)
}
