package gitsynctest

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/poolwright/poolwright/gitsync"
	"github.com/poolwright/poolwright/gitsync/sign"
)

// signedByKey: git itself verifies each commit, also those that were drawn twice, and the message is what it was.
func signedByKey(t *testing.T, b Bed) {
	if b.Signed == nil {
		t.Skip("this publisher does not sign: the forge does")
	}
	b.seed(t)
	signer := trusted(t, b)
	p := b.Signed(t, signer)
	first := write("a", "one\n\nThe evidence.\n\nPoolwright-Cluster: one\n", put("x", "1\n"))
	rs := publish(t, p, movedOnce(t, b, first), write("b", "two", put("y", "1\n")))
	made := slices.Concat(rs[0].Commits, rs[1].Commits)
	if len(made) != 2 {
		t.Fatalf("made %v", made)
	}
	for _, c := range made {
		if out := b.git(t, "verify-commit", "--raw", c); out != "" {
			t.Errorf("verify-commit prints %q", out)
		}
		if got := b.git(t, "log", "-1", "--format=%G?|%GS", c); got != "G|"+Author.Email {
			t.Errorf("%s is signed %q", c, got)
		}
	}
	if got := b.git(t, "log", "-1", "--format=%s|%b", made[0]); got != "one|The evidence.\n\nPoolwright-Cluster: one" {
		t.Errorf("the message is %q", got)
	}
	base := read(t, b.New(t), "a")
	if len(base.Log) < 2 || base.Log[1].Trailers["Poolwright-Cluster"] != "one" {
		t.Errorf("the log reads as %+v", base.Log)
	}
	if r := publish(t, p, first)[0]; len(r.Commits) != 0 {
		t.Errorf("an equal tree was signed again: %+v", r)
	}
}

// movedOnce is the edit, and somebody else's commit while it is drawn for the first time.
func movedOnce(t *testing.T, b Bed, e gitsync.Edit) gitsync.Edit {
	draw, moved := e.Draw, false
	e.Draw = func(base gitsync.Base) ([]gitsync.Change, error) {
		if !moved {
			moved = true
			b.seed(t)
		}
		return draw(base)
	}
	return e
}

// broken is a signer whose key has ended.
type broken struct{ err error }

func (s broken) Sign(context.Context, []byte) (string, error) { return "", s.err }

func signerFails(t *testing.T, b Bed) {
	if b.Signed == nil {
		t.Skip("this publisher does not sign: the forge does")
	}
	b.seed(t)
	before := b.Repo.Tip("main")
	expired := errors.New("the key has expired")
	for name, s := range map[string]broken{"an error": {expired}, "an empty signature": {}} {
		_, err := b.Signed(t, s).Publish(t.Context(), []gitsync.Edit{write("a", "one", put("x", "1\n")), write("b", "two", put("x", "1\n"))})
		if !errors.Is(err, gitsync.ErrAuth) || s.err != nil && !errors.Is(err, s.err) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	if b.Repo.Tip("main") != before || b.Pushes() != 0 {
		t.Errorf("%d pushes, want none", b.Pushes())
	}
}

// trusted is a signer with a key that git trusts in the bed's repository.
func trusted(t *testing.T, b Bed) gitsync.Signer {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	half, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	allowed := filepath.Join(t.TempDir(), "allowed_signers")
	line := Author.Email + " " + strings.TrimSpace(string(ssh.MarshalAuthorizedKey(half.PublicKey()))) + "\n"
	if err := os.WriteFile(allowed, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := b.Repo.Config("gpg.ssh.allowedSignersFile=" + allowed); err != nil {
		t.Fatal(err)
	}
	return sign.SSH(sign.SSHOptions{Key: func(context.Context) ([]byte, []byte, error) { return pem.EncodeToMemory(block), nil, nil }})
}
