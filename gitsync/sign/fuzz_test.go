package sign

import (
	"context"
	"errors"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

// FuzzSSH: whatever the files hold, they sign or are an ErrKey, which repeats nothing of them.
func FuzzSSH(f *testing.F) {
	plain, half := sshPair(f, newEd25519(f), "")
	f.Add(plain, certify(f, half, newEd25519(f), ssh.UserCert, 0, ssh.CertTimeInfinity))
	f.Add(plain, "ssh-ed25519-cert-v01@openssh.com AAAA")
	f.Add("-----BEGIN RSA PRIVATE KEY-----\n-----END RSA PRIVATE KEY-----\n", "")
	f.Fuzz(func(t *testing.T, key, certificate string) {
		judge(t, SSH(SSHOptions{Key: gives(key, ""), Now: now}), key)
		judge(t, SSH(SSHOptions{Key: gives(plain, ""), Certificate: givesLine(certificate), Now: now}), certificate)
	})
}

// FuzzOpenPGP: as FuzzSSH.
func FuzzOpenPGP(f *testing.F) {
	f.Add(exported(f, pgp(f)), "")
	f.Add(exported(f, pgp(f, locks(f))), secret)
	f.Add("\x95\x01", "")
	f.Fuzz(func(t *testing.T, key, passphrase string) {
		judge(t, OpenPGP(OpenPGPOptions{Key: gives(key, passphrase), Now: now}), key)
	})
}

func judge(t *testing.T, signer *Signer, text string) {
	t.Helper()
	signed, err := signer.Sign(context.Background(), []byte(commit))
	switch {
	case err == nil && !strings.HasPrefix(signed, "-----BEGIN "):
		t.Errorf("%q is no signature", signed)
	case err != nil && (signed != "" || !errors.Is(err, ErrKey)):
		t.Errorf("got %q and %v", signed, err)
	case err != nil && len(text) > 40 && strings.Contains(err.Error(), text):
		t.Errorf("the error gives it away: %v", err)
	}
}
