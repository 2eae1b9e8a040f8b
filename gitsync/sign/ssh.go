package sign

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"time"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"
)

// namespace keeps a signature of a commit from being one of anything else. git asks for this one.
const namespace = "git"

// SSHOptions say what SSH signs with.
type SSHOptions struct {
	// Key returns the PEM of the private key, and its passphrase when it has one. It is asked on each use.
	Key func(context.Context) (pem, passphrase []byte, err error)
	// Certificate returns the line of an OpenSSH user certificate for Key, as ssh-keygen writes it into a -cert.pub file. It is
	// asked on each use. Nil: the bare key signs.
	Certificate func(context.Context) ([]byte, error)
	// Now is the clock. Default time.Now.
	Now func() time.Time
}

// SSH returns a signer with an SSH key: Ed25519, ECDSA or RSA. Nothing is read yet.
func SSH(o SSHOptions) *Signer {
	return &Signer{now: clock(o.Now), open: func(ctx context.Context, now time.Time) (key, error) {
		signer, err := readSSH(ctx, o.Key)
		if err != nil {
			return nil, err
		}
		if o.Certificate == nil {
			return sshKey{signer, nil}, nil
		}
		return certified(ctx, signer, o.Certificate, now)
	}}
}

func readSSH(ctx context.Context, from source) (ssh.Signer, error) {
	pem, passphrase, err := from.read(ctx)
	if err != nil {
		return nil, err
	}
	signer, err := ssh.ParsePrivateKey(pem)
	if _, ok := errors.AsType[*ssh.PassphraseMissingError](err); ok {
		if len(passphrase) == 0 {
			return nil, keyError("the SSH key has a passphrase and none is given")
		}
		signer, err = ssh.ParsePrivateKeyWithPassphrase(pem, passphrase)
	}
	if err != nil {
		return nil, keyError("the SSH key cannot be read or its passphrase is wrong")
	}
	switch signer.PublicKey().Type() {
	case ssh.InsecureKeyAlgoDSA: //nolint:staticcheck // to refuse it
		return nil, keyError("an SSH key of type DSA is not accepted any more")
	case ssh.KeyAlgoRSA:
		return sha512{signer.(ssh.AlgorithmSigner)}, nil // what the parser returns for RSA is one
	}
	return signer, nil
}

// sha512 makes an RSA key sign with rsa-sha2-512, also behind a certificate. Its own choice is SHA-1, which SSHSIG forbids.
type sha512 struct{ ssh.AlgorithmSigner }

func (s sha512) Sign(random io.Reader, data []byte) (*ssh.Signature, error) {
	return s.SignWithAlgorithm(random, data, ssh.KeyAlgoRSASHA512)
}

func certified(ctx context.Context, signer ssh.Signer, from func(context.Context) ([]byte, error), now time.Time) (key, error) {
	line, err := from(ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, keyError("reading the SSH certificate: %w", err)
	}
	cert, err := parseCertificate(line)
	if err != nil {
		return nil, err
	}
	if err := validity(cert, now); err != nil {
		return nil, err
	}
	with, err := ssh.NewCertSigner(cert, signer)
	if err != nil {
		return nil, keyError("the SSH certificate is for another key")
	}
	return sshKey{with, cert}, nil
}

func parseCertificate(line []byte) (*ssh.Certificate, error) {
	public, _, _, _, err := ssh.ParseAuthorizedKey(line)
	if err != nil {
		return nil, keyError("the SSH certificate cannot be read")
	}
	cert, ok := public.(*ssh.Certificate)
	if !ok || cert.CertType != ssh.UserCert {
		return nil, keyError("this is no SSH user certificate")
	}
	return cert, nil
}

func validity(cert *ssh.Certificate, now time.Time) error {
	from, until := moment(cert.ValidAfter), moment(cert.ValidBefore)
	if cert.ValidAfter > math.MaxInt64 || now.Before(from) {
		return keyError("the SSH certificate is not valid yet")
	}
	if !until.IsZero() && !now.Before(until) {
		return keyError("the SSH certificate ended on %s UTC", until.Format(time.DateTime))
	}
	return nil
}

// moment is a time of a certificate, zero when it is beyond what Go counts, as "forever" is.
func moment(seconds uint64) time.Time {
	if seconds > math.MaxInt64 {
		return time.Time{}
	}
	return time.Unix(int64(seconds), 0).UTC()
}

// sshKey is a key with the certificate it goes by, if any.
type sshKey struct {
	ssh.Signer
	cert *ssh.Certificate
}

func (k sshKey) sign(message []byte, _ time.Time) (string, error) {
	made, err := sshsig.Sign(bytes.NewReader(message), k.Signer, sshsig.HashSHA512, namespace)
	if err != nil {
		return "", keyError("signing with the SSH key: %w", err)
	}
	if err := sshsig.Verify(bytes.NewReader(message), made, k.PublicKey(), sshsig.HashSHA512, namespace); err != nil {
		return "", keyError("verifying what the SSH key signed: %w", err)
	}
	return string(sshsig.Armor(made)), nil
}

func (k sshKey) end() time.Time {
	if k.cert == nil {
		return time.Time{}
	}
	return moment(k.cert.ValidBefore)
}

func (k sshKey) public() string {
	if k.cert == nil {
		return k.PublicKey().Type() + " " + ssh.FingerprintSHA256(k.PublicKey())
	}
	text := k.cert.Key.Type() + " " + ssh.FingerprintSHA256(k.cert.Key) + ", certified by " + ssh.FingerprintSHA256(k.cert.SignatureKey)
	if end := k.end(); !end.IsZero() {
		text += " until " + end.Format(time.DateTime) + " UTC"
	}
	return text
}
