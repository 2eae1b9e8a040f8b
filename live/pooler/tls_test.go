package pooler

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/poolwright/poolwright/test/pgbouncer"
)

// certify makes a certificate that vouches for itself, and its key, in files that everybody may read.
func certify(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	template := x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"pooler.example"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, private.Public(), private)
	check(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	check(t, err)
	dir, err := os.MkdirTemp("", "pooler-tls-")
	check(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	check(t, os.Chmod(dir, 0o755)) // PgBouncer runs as another user
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	check(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644))
	check(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o644))
	return cert, key
}

func TestConsolesThatWantTLS(t *testing.T) {
	cert, key := certify(t)
	other, _ := certify(t)
	for _, v := range pgbouncer.Versions() {
		t.Run(v, func(t *testing.T) {
			p := pgbouncer.Start(t, pgbouncer.Options{Version: v, Settings: map[string]string{
				"client_tls_sslmode": "require", "client_tls_cert_file": cert, "client_tls_key_file": key,
			}})
			for name, tc := range map[string]struct {
				mode, root, password string
				want                 Fault
			}{
				"we do not speak it":                            {mode: "disable", want: Untrusted},
				"we speak either":                               {mode: "", want: 0},
				"we speak either, and allow TLS":                {mode: "allow", want: 0},
				"we demand it":                                  {mode: "require", want: 0},
				"we know its authority":                         {mode: "verify-ca", root: cert, want: 0},
				"we know its authority, and its name is wrong":  {mode: "verify-full", root: cert, want: Untrusted},
				"we know another authority":                     {mode: "verify-ca", root: other, want: Untrusted},
				"we know that of the system":                    {mode: "verify-ca", want: Untrusted},
				"the file of the authority is missing":          {mode: "verify-ca", root: cert + ".gone", want: Untrusted},
				"a wrong password is one, also after two tries": {mode: "prefer", password: "wrong", want: Denied},
				"a wrong password is one, in the other order":   {mode: "allow", password: "wrong", want: Denied},
				"a mode that there is not":                      {mode: "maybe", want: Untrusted},
			} {
				t.Run(name, func(t *testing.T) {
					c := admin
					if tc.password != "" {
						c = as(pgbouncer.User, tc.password)
					}
					c.SSLMode, c.RootCert = tc.mode, tc.root
					console, err := Open(t.Context(), p.Addr(), c)
					if err == nil {
						_, err = console.Databases(t.Context())
						console.Close()
					}
					if fault(t, err) != tc.want {
						t.Errorf("got %v, want %v", err, tc.want)
					}
				})
			}
		})
	}
}
