package sign

import (
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

func hexOf(b []byte) string { return hex.EncodeToString(b) }

// repository is an empty one in which git trusts the signers of allowed (a line of an allowed_signers file) and of the
// OpenPGP public key.
type repository struct {
	dir string
	env []string
}

func newRepository(t *testing.T, allowed, openpgp string) repository {
	t.Helper()
	dir, err := os.MkdirTemp("", "sign") // short: the path of a socket of gpg's agent is below it
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	r := repository{dir: dir}
	home := filepath.Join(r.dir, "gnupg")
	must(t, os.Mkdir(home, 0o700))
	r.env = append(os.Environ(), "HOME="+r.dir, "GNUPGHOME="+home, "GIT_CONFIG_NOSYSTEM=1")
	signers := filepath.Join(r.dir, "allowed_signers")
	must(t, os.WriteFile(signers, []byte(allowed+"\n"), 0o600))
	r.must(t, "", "git", "init", "-q", "repo")
	r.must(t, "", "git", "-C", "repo", "config", "gpg.ssh.allowedSignersFile", signers)
	if openpgp != "" {
		r.must(t, openpgp, "gpg", "--batch", "--quiet", "--import")
	}
	return r
}

// run runs a command in the repository's directory.
func (r repository) run(t *testing.T, stdin, name string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = r.dir, r.env, strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (r repository) must(t *testing.T, stdin, name string, args ...string) string {
	t.Helper()
	out, err := r.run(t, stdin, name, args...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(out)
}

// verify asks git about a commit with this signature.
func (r repository) verify(t *testing.T, commit, armored string) (string, error) {
	t.Helper()
	head, message, _ := strings.Cut(commit, "\n\n")
	lines := strings.ReplaceAll(strings.TrimSuffix(armored, "\n"), "\n", "\n ")
	hash := r.must(t, head+"\ngpgsig "+lines+"\n\n"+message, "git", "-C", "repo", "hash-object", "-t", "commit", "-w", "--stdin")
	return r.run(t, "", "git", "-C", "repo", "verify-commit", hash)
}

// allow is a line of an allowed_signers file.
func allow(options string, key ssh.PublicKey) string {
	return strings.Join(strings.Fields("bot@example.com "+options+" "+string(ssh.MarshalAuthorizedKey(key))), " ")
}

func TestC09GitVerifiesEachCommit(t *testing.T) {
	type trial struct {
		signer  *Signer
		trusted repository
	}
	trials := map[string]trial{}
	ca := newEd25519(t)
	_, authority := sshPair(t, ca, "")
	for name, pair := range map[string]func() (key string, half ssh.PublicKey, passphrase string){
		"Ed25519": func() (string, ssh.PublicKey, string) { k, h := sshPair(t, newEd25519(t), ""); return k, h, "" },
		"ECDSA":   func() (string, ssh.PublicKey, string) { k, h := sshPair(t, newECDSA(t), ""); return k, h, "" },
		"RSA":     func() (string, ssh.PublicKey, string) { k, h := sshPair(t, newRSA(t), ""); return k, h, "" },
		"locked":  func() (string, ssh.PublicKey, string) { k, h := sshPair(t, newRSA(t), secret); return k, h, secret },
	} {
		key, half, passphrase := pair()
		trials["an SSH key, "+name] = trial{
			SSH(SSHOptions{Key: gives(key, passphrase), Now: now}), newRepository(t, allow(`namespaces="git"`, half), ""),
		}
		line := certify(t, half, ca, ssh.UserCert, unix(at.Add(-day)), unix(at.Add(day)))
		trials["an SSH certificate, "+name] = trial{
			SSH(SSHOptions{Key: gives(key, passphrase), Certificate: givesLine(line), Now: now}),
			newRepository(t, allow("cert-authority", authority), ""),
		}
	}
	plain, sub, locked := pgp(t), pgp(t, certifiesOnly(t), subkey(t, 0)), pgp(t)
	trials["an OpenPGP key"] = trial{OpenPGP(OpenPGPOptions{Key: gives(exported(t, plain), ""), Now: now}), newRepository(t, "", public(t, plain))}
	trials["an OpenPGP key that signs with a subkey"] = trial{OpenPGP(OpenPGPOptions{Key: gives(exported(t, sub), ""), Now: now}), newRepository(t, "", public(t, sub))}
	trusted := public(t, locked)
	locks(t)(locked, nil)
	trials["an OpenPGP key, locked"] = trial{OpenPGP(OpenPGPOptions{Key: gives(exported(t, locked), secret), Now: now}), newRepository(t, "", trusted)}
	for name, c := range trials {
		t.Run(name, func(t *testing.T) {
			armored, err := c.signer.Sign(t.Context(), []byte(commit))
			must(t, err)
			if out, err := c.trusted.verify(t, commit, armored); err != nil {
				t.Errorf("git does not verify it: %v\n%s\n%s", err, out, armored)
			}
			if out, err := c.trusted.verify(t, commit+"!", armored); err == nil {
				t.Errorf("git verifies another commit:\n%s", out)
			}
			if armored != strings.TrimRight(armored, "\n")+"\n" {
				t.Errorf("it does not end in one newline: %q", armored)
			}
		})
	}
}

// Keys as people have them: made by ssh-keygen and gpg, exported as their manuals say.
func TestC09KeysThatOtherToolsMade(t *testing.T) {
	t.Run("ssh-keygen with a passphrase", func(t *testing.T) {
		r := newRepository(t, "", "")
		r.must(t, "", "ssh-keygen", "-q", "-t", "ed25519", "-N", secret, "-f", "key")
		key, half := r.must(t, "", "cat", "key"), r.must(t, "", "cat", "key.pub")
		must(t, os.WriteFile(filepath.Join(r.dir, "allowed_signers"), []byte("bot@example.com "+half+"\n"), 0o600))
		verified(t, r, SSH(SSHOptions{Key: gives(key+"\n", secret), Now: now}))
	})
	for name, spec := range map[string]string{
		"gpg with RSA, its primary key":       "Key-Type: RSA\nKey-Length: 2048\nKey-Usage: sign\n",
		"gpg with a subkey, the primary gone": "Key-Type: EDDSA\nKey-Curve: ed25519\nKey-Usage: cert\nSubkey-Type: EDDSA\nSubkey-Curve: ed25519\nSubkey-Usage: sign\n",
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t, "", "")
			t.Cleanup(func() {
				cmd := exec.Command("gpgconf", "--kill", "all")
				cmd.Env = r.env
				_ = cmd.Run()
			})
			made := spec + "Name-Real: poolwright\nName-Email: bot@example.com\nCreation-Date: 20230301T000000\nExpire-Date: 0\n"
			gpg := []string{"--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", secret}
			r.must(t, made, "gpg", append(gpg, "--generate-key")...)
			export := "--export-secret-keys"
			if strings.Contains(spec, "Subkey") {
				export = "--export-secret-subkeys"
			}
			key := r.must(t, "", "gpg", append(gpg, "--armor", export)...)
			verified(t, r, OpenPGP(OpenPGPOptions{Key: gives(key+"\n", secret), Now: now}))
		})
	}
}

func verified(t *testing.T, r repository, signer *Signer) {
	t.Helper()
	armored, err := signer.Sign(t.Context(), []byte(commit))
	must(t, err)
	if out, err := r.verify(t, commit, armored); err != nil {
		t.Errorf("git does not verify it: %v\n%s", err, out)
	}
}
