package sign

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"golang.org/x/crypto/ssh"
)

// at is when everything here happens.
var at = time.Date(2024, 3, 1, 12, 0, 0, 0, time.UTC)

const (
	day    = 24 * time.Hour
	secret = "hunter2"
	author = "poolwright <bot@example.com> 1709294400 +0000"
	commit = "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor " + author + "\ncommitter " + author + "\n\nexample-pg: writer example-pg-1\n"
)

func now() time.Time { return at }

// gives returns a source of this text and passphrase.
func gives(text, passphrase string) func(context.Context) ([]byte, []byte, error) {
	return func(context.Context) ([]byte, []byte, error) { return []byte(text), []byte(passphrase), nil }
}

func givesLine(text string) func(context.Context) ([]byte, error) {
	return func(context.Context) ([]byte, error) { return []byte(text), nil }
}

// sshPair is a private key's PEM, under the passphrase unless that is empty, and its public half.
func sshPair(t testing.TB, private crypto.Signer, passphrase string) (string, ssh.PublicKey) {
	t.Helper()
	block, err := ssh.MarshalPrivateKey(private, "")
	if passphrase != "" {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte(passphrase))
	}
	must(t, err)
	public, err := ssh.NewPublicKey(private.Public())
	must(t, err)
	return string(pem.EncodeToMemory(block)), public
}

func newEd25519(t testing.TB) crypto.Signer {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	must(t, err)
	return private
}

func newECDSA(t testing.TB) crypto.Signer {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	return private
}

func newRSA(t testing.TB) crypto.Signer {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	return private
}

// certify makes the line of a certificate that is valid for so long around at.
func certify(t testing.TB, public ssh.PublicKey, authority crypto.Signer, kind uint32, from, until uint64) string {
	t.Helper()
	by, err := ssh.NewSignerFromSigner(authority)
	must(t, err)
	cert := &ssh.Certificate{
		Key: public, Serial: 7, CertType: kind, KeyId: "poolwright", ValidPrincipals: []string{"bot@example.com"},
		ValidAfter: from, ValidBefore: until,
	}
	must(t, cert.SignCert(rand.Reader, by))
	return string(ssh.MarshalAuthorizedKey(cert))
}

func unix(when time.Time) uint64 { return uint64(when.Unix()) }

// pgp makes an OpenPGP key a year before at, and changes it.
func pgp(t testing.TB, change ...func(*openpgp.Entity, *packet.Config)) *openpgp.Entity {
	t.Helper()
	config := &packet.Config{Time: func() time.Time { return at.Add(-365 * day) }, Algorithm: packet.PubKeyAlgoEdDSA}
	entity, err := openpgp.NewEntity("poolwright", "", "bot@example.com", config)
	must(t, err)
	for _, c := range change {
		c(entity, config)
	}
	return entity
}

// lives makes the primary key end.
func lives(t testing.TB, life time.Duration) func(*openpgp.Entity, *packet.Config) {
	return func(e *openpgp.Entity, c *packet.Config) {
		self, identity := e.PrimarySelfSignature()
		self.KeyLifetimeSecs = new(uint32(life / time.Second))
		must(t, self.SignUserId(identity.UserId.Id, e.PrimaryKey, e.PrivateKey, c))
	}
}

// certifiesOnly takes the right to sign from the primary key.
func certifiesOnly(t testing.TB) func(*openpgp.Entity, *packet.Config) {
	return func(e *openpgp.Entity, c *packet.Config) {
		self, identity := e.PrimarySelfSignature()
		self.FlagSign = false
		must(t, self.SignUserId(identity.UserId.Id, e.PrimaryKey, e.PrivateKey, c))
	}
}

// subkey adds one that signs.
func subkey(t testing.TB, life time.Duration) func(*openpgp.Entity, *packet.Config) {
	return func(e *openpgp.Entity, c *packet.Config) {
		with := *c
		with.KeyLifetimeSecs = uint32(life / time.Second)
		must(t, e.AddSigningSubkey(&with))
	}
}

func revokes(t testing.TB) func(*openpgp.Entity, *packet.Config) {
	return func(e *openpgp.Entity, c *packet.Config) { must(t, e.RevokeKey(packet.KeyRetired, "", c)) }
}

func locks(t testing.TB) func(*openpgp.Entity, *packet.Config) {
	return func(e *openpgp.Entity, c *packet.Config) { must(t, e.EncryptPrivateKeys([]byte(secret), c)) }
}

// exported is the secret key in its armor.
func exported(t testing.TB, e *openpgp.Entity) string {
	t.Helper()
	return armored(t, openpgp.PrivateKeyType, func(w *bytes.Buffer) error { return e.SerializePrivateWithoutSigning(w, nil) })
}

func public(t testing.TB, e *openpgp.Entity) string {
	t.Helper()
	return armored(t, openpgp.PublicKeyType, func(w *bytes.Buffer) error { return e.Serialize(w) })
}

func armored(t testing.TB, kind string, write func(*bytes.Buffer) error) string {
	t.Helper()
	var raw, text bytes.Buffer
	must(t, write(&raw))
	w, err := armor.Encode(&text, kind, nil)
	must(t, err)
	_, err = w.Write(raw.Bytes())
	must(t, err)
	must(t, w.Close())
	return text.String()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// unusables are signers that must not sign, by why. The text is what the error has to say.
func unusables(t testing.TB) map[string]struct {
	signer *Signer
	says   string
} {
	plain, half := sshPair(t, newEd25519(t), "")
	locked, _ := sshPair(t, newEd25519(t), secret)
	ca := newEd25519(t)
	withLine := func(line string) *Signer {
		return SSH(SSHOptions{Key: gives(plain, ""), Certificate: givesLine(line), Now: now})
	}
	certificate := func(kind uint32, from, until uint64) *Signer {
		return withLine(certify(t, half, ca, kind, from, until))
	}
	_, other := sshPair(t, newECDSA(t), "")
	noLine := func(context.Context) ([]byte, error) { return nil, os.ErrNotExist }
	early := func() time.Time { return at.Add(-366 * day) }
	withSSH := func(text, passphrase string) *Signer { return SSH(SSHOptions{Key: gives(text, passphrase), Now: now}) }
	withPGP := func(text, passphrase string) *Signer {
		return OpenPGP(OpenPGPOptions{Key: gives(text, passphrase), Now: now})
	}
	lost := func(context.Context) ([]byte, []byte, error) { return nil, nil, os.ErrNotExist }
	two := exported(t, pgp(t)) // of which the second follows in the same ring
	ring := armored(t, openpgp.PrivateKeyType, func(w *bytes.Buffer) error {
		return errors.Join(pgp(t).SerializePrivateWithoutSigning(w, nil), pgp(t).SerializePrivateWithoutSigning(w, nil))
	})
	return map[string]struct {
		signer *Signer
		says   string
	}{
		"an SSH key that is not configured":                       {SSH(SSHOptions{Now: now}), "no key is configured"},
		"an SSH key that is missing":                              {SSH(SSHOptions{Key: lost, Now: now}), "reading the key: file does not exist"},
		"an SSH key that is empty":                                {withSSH("", ""), "is empty"},
		"an SSH key that is none":                                 {withSSH("-----BEGIN "+secret, ""), "cannot be read"},
		"an SSH public key":                                       {withSSH(string(ssh.MarshalAuthorizedKey(half)), ""), "cannot be read"},
		"an SSH key without its passphrase":                       {withSSH(locked, ""), "has a passphrase and none is given"},
		"an SSH key with a wrong passphrase":                      {withSSH(locked, secret+"!"), "its passphrase is wrong"},
		"an SSH certificate that ended":                           {certificate(ssh.UserCert, unix(at.Add(-day)), unix(at)), "ended on 2024-03-01 12:00:00 UTC"},
		"an SSH certificate that is not valid yet":                {certificate(ssh.UserCert, unix(at.Add(time.Second)), ssh.CertTimeInfinity), "not valid yet"},
		"an SSH certificate that is never valid":                  {certificate(ssh.UserCert, ssh.CertTimeInfinity, ssh.CertTimeInfinity), "not valid yet"},
		"an SSH certificate of a host":                            {certificate(ssh.HostCert, 0, ssh.CertTimeInfinity), "no SSH user certificate"},
		"an SSH certificate for another key":                      {withLine(certify(t, other, ca, ssh.UserCert, 0, ssh.CertTimeInfinity)), "for another key"},
		"an SSH certificate that is a bare key":                   {withLine(string(ssh.MarshalAuthorizedKey(half))), "no SSH user certificate"},
		"an SSH certificate that is none":                         {withLine(secret), "certificate cannot be read"},
		"an SSH certificate that is missing":                      {SSH(SSHOptions{Key: gives(plain, ""), Certificate: noLine, Now: now}), "reading the SSH certificate"},
		"an OpenPGP key that is not configured":                   {OpenPGP(OpenPGPOptions{Now: now}), "no key is configured"},
		"an OpenPGP key that is missing":                          {OpenPGP(OpenPGPOptions{Key: lost, Now: now}), "reading the key: file does not exist"},
		"an OpenPGP key that is none":                             {withPGP("-----BEGIN PGP "+secret, ""), "cannot be read"},
		"an OpenPGP key that is an SSH key":                       {withPGP(plain, ""), "cannot be read"},
		"an OpenPGP key after which another follows":              {withPGP(ring, ""), "there are 2 OpenPGP keys"},
		"an OpenPGP key cut off":                                  {withPGP(two[:len(two)/2], ""), "cannot be read"},
		"an OpenPGP public key":                                   {withPGP(public(t, pgp(t)), ""), "the secret half"},
		"an OpenPGP key without its passphrase":                   {withPGP(exported(t, pgp(t, locks(t))), ""), "has a passphrase and none is given"},
		"an OpenPGP key with a wrong passphrase":                  {withPGP(exported(t, pgp(t, locks(t))), secret+"!"), "passphrase of the OpenPGP key is wrong"},
		"an OpenPGP key that expired":                             {withPGP(exported(t, pgp(t, lives(t, 364*day))), ""), "ended on 2024-02-29 12:00:00 UTC"},
		"an OpenPGP key that is not valid yet":                    {OpenPGP(OpenPGPOptions{Key: gives(exported(t, pgp(t)), ""), Now: early}), "not valid yet"},
		"an OpenPGP key that is revoked":                          {withPGP(exported(t, pgp(t, revokes(t))), ""), "is revoked"},
		"an OpenPGP key that only certifies":                      {withPGP(exported(t, pgp(t, certifiesOnly(t))), ""), "may not sign"},
		"an OpenPGP key whose signing subkey expired":             {withPGP(exported(t, pgp(t, certifiesOnly(t), subkey(t, 30*day))), ""), "the signing subkey of"},
		"an OpenPGP key that expired, with a subkey that did not": {withPGP(exported(t, pgp(t, subkey(t, 0), lives(t, 364*day))), ""), "ended on"},
	}
}

func TestC09AnUnusableKeySignsNothing(t *testing.T) {
	for name, c := range unusables(t) {
		t.Run(name, func(t *testing.T) {
			signed, err := c.signer.Sign(t.Context(), []byte(commit))
			if signed != "" || !errors.Is(err, ErrKey) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %q and the error %v, want one that says %q", signed, err, c.says)
			}
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("the error gives it away: %v", err)
			}
			if _, err := c.signer.Public(t.Context()); !errors.Is(err, ErrKey) {
				t.Errorf("Public says %v", err)
			}
		})
	}
}

// On a quiet day, without a commit to make, the same is found.
func TestC09CheckFindsAnUnusableKey(t *testing.T) {
	for name, c := range unusables(t) {
		t.Run(name, func(t *testing.T) {
			if err := c.signer.Check(t.Context(), c.signer.now()); !errors.Is(err, ErrKey) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want one that says %q", err, c.says)
			}
		})
	}
}

func TestC09CheckWarnsTwoWeeksAhead(t *testing.T) {
	plain, half := sshPair(t, newEd25519(t), "")
	ca := newEd25519(t)
	until := func(end uint64) *Signer {
		return SSH(SSHOptions{Key: gives(plain, ""), Certificate: givesLine(certify(t, half, ca, ssh.UserCert, 0, end)), Now: now})
	}
	with := func(change ...func(*openpgp.Entity, *packet.Config)) *Signer {
		return OpenPGP(OpenPGPOptions{Key: gives(exported(t, pgp(t, change...)), ""), Now: now})
	}
	for name, c := range map[string]struct {
		signer *Signer
		ends   time.Time
	}{
		"a bare SSH key never ends":                              {SSH(SSHOptions{Key: gives(plain, ""), Now: now}), time.Time{}},
		"an SSH certificate for ever":                            {until(ssh.CertTimeInfinity), time.Time{}},
		"an SSH certificate for two weeks and a second":          {until(unix(at.Add(Soon + time.Second))), time.Time{}},
		"an SSH certificate for two weeks":                       {until(unix(at.Add(Soon))), at.Add(Soon)},
		"an SSH certificate for one more second":                 {until(unix(at.Add(time.Second))), at.Add(time.Second)},
		"an OpenPGP key without an end":                          {with(), time.Time{}},
		"an OpenPGP key for a month":                             {with(lives(t, 395*day)), time.Time{}},
		"an OpenPGP key for a week":                              {with(lives(t, 372*day)), at.Add(7 * day)},
		"an OpenPGP key whose signing subkey ends in a week":     {with(subkey(t, 372*day)), at.Add(7 * day)},
		"an OpenPGP key that ends before its signing subkey":     {with(subkey(t, 500*day), lives(t, 372*day)), at.Add(7 * day)},
		"an OpenPGP key whose signing subkey ends in four weeks": {with(subkey(t, 393*day)), time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.signer.Check(t.Context(), at)
			var warning *ExpiryError
			switch {
			case c.ends.IsZero() && err != nil:
				t.Errorf("got %v, want nothing", err)
			case !c.ends.IsZero() && (!errors.As(err, &warning) || !warning.At.Equal(c.ends) || errors.Is(err, ErrKey)):
				t.Errorf("got %v, want a warning of %s", err, c.ends)
			}
			if _, err := c.signer.Sign(t.Context(), []byte(commit)); err != nil {
				t.Errorf("it does not sign: %v", err)
			}
		})
	}
}

func TestAKeyIsReadOnEachUse(t *testing.T) {
	first, one := sshPair(t, newEd25519(t), "")
	second, two := sshPair(t, newEd25519(t), secret)
	held, passphrase := first, ""
	signer := SSH(SSHOptions{Now: now, Key: func(ctx context.Context) ([]byte, []byte, error) { return gives(held, passphrase)(ctx) }})
	for _, want := range []ssh.PublicKey{one, two} {
		text, err := signer.Public(t.Context())
		must(t, err)
		if text != "ssh-ed25519 "+ssh.FingerprintSHA256(want) {
			t.Errorf("got %q, want the fingerprint %s", text, ssh.FingerprintSHA256(want))
		}
		held, passphrase = second, secret
	}
}

// A half that does not belong to the other would sign what nobody can verify.
func TestC09HalvesThatDoNotBelongTogether(t *testing.T) {
	mine, theirs := pgp(t), pgp(t)
	mine.PrivateKey.PrivateKey = theirs.PrivateKey.PrivateKey
	signed, err := pgpKey{mine, first(mine.SigningKey(at))}.sign([]byte(commit), at)
	if signed != "" || !errors.Is(err, ErrKey) || !strings.Contains(err.Error(), "verifying") {
		t.Errorf("got %q and %v", signed, err)
	}
}

func first[T any](value T, _ bool) T { return value }

func TestTheEndOfTheContextIsNoFaultOfTheKey(t *testing.T) {
	plain, _ := sshPair(t, newEd25519(t), "")
	for name, with := range map[string]func(end func()) *Signer{
		"reading an SSH key":     func(end func()) *Signer { return SSH(SSHOptions{Key: ends(end)}) },
		"reading an OpenPGP key": func(end func()) *Signer { return OpenPGP(OpenPGPOptions{Key: ends(end)}) },
		"reading the certificate": func(end func()) *Signer {
			return SSH(SSHOptions{Key: gives(plain, ""), Certificate: func(context.Context) ([]byte, error) { end(); return nil, nil }})
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		if _, err := with(cancel).Sign(ctx, []byte(commit)); !errors.Is(err, context.Canceled) || errors.Is(err, ErrKey) {
			t.Errorf("%s: got %v", name, err)
		}
		cancel()
	}
}

// ends is a source during which the context ends.
func ends(end func()) func(context.Context) ([]byte, []byte, error) {
	return func(ctx context.Context) ([]byte, []byte, error) { end(); return nil, nil, ctx.Err() }
}

func TestWhatPeopleAreTold(t *testing.T) {
	plain, half := sshPair(t, newEd25519(t), "")
	ca := newEd25519(t)
	_, authority := sshPair(t, ca, "")
	entity := pgp(t)
	for name, c := range map[string]struct {
		signer *Signer
		want   string
	}{
		"an SSH key": {SSH(SSHOptions{Key: gives(plain, "")}), "ssh-ed25519 " + ssh.FingerprintSHA256(half)},
		"an SSH certificate": {
			SSH(SSHOptions{Key: gives(plain, ""), Certificate: givesLine(certify(t, half, ca, ssh.UserCert, 0, unix(at.Add(day)))), Now: now}),
			"ssh-ed25519 " + ssh.FingerprintSHA256(half) + ", certified by " + ssh.FingerprintSHA256(authority) + " until 2024-03-02 12:00:00 UTC",
		},
		"an OpenPGP key": {
			OpenPGP(OpenPGPOptions{Key: gives(exported(t, entity), ""), Now: now}),
			"OpenPGP " + strings.ToUpper(hexOf(entity.PrimaryKey.Fingerprint)) + " poolwright <bot@example.com>",
		},
	} {
		if got, err := c.signer.Public(t.Context()); err != nil || got != c.want {
			t.Errorf("%s: got %q and %v, want %q", name, got, err, c.want)
		}
	}
}
