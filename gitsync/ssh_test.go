package gitsync_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/poolwright/poolwright/gitsync"
	"github.com/poolwright/poolwright/gitsync/gitserver"
)

func newSSHBed(t *testing.T) (*gitserver.SSH, *gitserver.Repo, gitsync.Options) {
	t.Helper()
	root, repo, _ := newRepo(t)
	foreign(t, repo, map[string]*gitserver.File{"README.md": gitserver.Text("hello\n")})
	s := serveSSH(t, root)
	return s, repo, sshOptions(t, s, repo)
}

// TestTrap14OneConnection: services are channels on one connection, and a connection that died is replaced.
func TestTrap14OneConnection(t *testing.T) {
	t.Parallel()
	s, repo, o := newSSHBed(t)
	p := open(t, o)
	for n := range 3 {
		publishOne(t, p, write("a", "x", fmt.Sprintf("%d\n", n)))
		foreign(t, repo, map[string]*gitserver.File{"theirs": gitserver.Text(fmt.Sprint(n))})
	}
	if s.Connections() != 1 {
		t.Errorf("%d connections, want 1", s.Connections())
	}
	s.Cut()
	publishOne(t, p, write("a", "x", "after the cut\n"))
	if s.Connections() != 2 {
		t.Errorf("%d connections after the cut, want 2", s.Connections())
	}
	gitsync.Idle(p)
	publishOne(t, p, write("a", "x", "after a pause\n"))
	if s.Connections() != 2 {
		t.Errorf("%d connections after a pause, want 2", s.Connections())
	}
	s.Cut()
	gitsync.Idle(p)
	publishOne(t, p, write("a", "x", "after a pause that was too long\n"))
	if s.Connections() != 3 {
		t.Errorf("%d connections after that, want 3", s.Connections())
	}
}

// TestTrap12SilentServer: the context ends a handshake that never comes.
func TestTrap12SilentServer(t *testing.T) {
	t.Parallel()
	_, _, o := newSSHBed(t)
	l := must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
	t.Cleanup(func() { _ = l.Close() })
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = c.Read(make([]byte, 1)) // it has sent its banner and waits for ours
		cancel()
		<-t.Context().Done()
		_ = c.Close()
	}()
	known := filepath.Join(t.TempDir(), "known_hosts")
	key := must[ssh.PublicKey](t)(newPublicKey())
	host, port, _ := net.SplitHostPort(l.Addr().String())
	writeFile(t, known, fmt.Sprintf("[%s]:%s %s", host, port, ssh.MarshalAuthorizedKey(key)))
	o.URL = "ssh://git@" + l.Addr().String() + "/x.git"
	o.Auth = gitsync.SSHKey{Key: o.Auth.(gitsync.SSHKey).Key, KnownHosts: known}
	if _, err := open(t, o).Read(ctx, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

func newPublicKey() (ssh.PublicKey, error) {
	public, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	return ssh.NewPublicKey(public)
}

// TestTrap13KnownHosts: known_hosts has one of the server's keys and not the one it prefers (the contract suite runs
// with that too). Unlisted and wrong hosts are not spoken to.
func TestTrap13KnownHosts(t *testing.T) {
	t.Parallel()
	s, _, o := newSSHBed(t)
	host, _, _ := strings.Cut(string(s.KnownHosts()), " ")
	wrong := must[ssh.PublicKey](t)(newPublicKey())
	for _, c := range []struct {
		name, known, text string
		ok                bool
	}{
		{"the right host", string(s.KnownHosts()), "", true},
		{"an unlisted host", "other.example.com " + string(ssh.MarshalAuthorizedKey(wrong)), "is not in known_hosts", false},
		{"a host with another key", host + " " + string(ssh.MarshalAuthorizedKey(wrong)), "is not the one in known_hosts", false},
		{"a file that cannot be read", "\x00", "known_hosts", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			known := filepath.Join(t.TempDir(), "known_hosts")
			if c.known != "\x00" {
				writeFile(t, known, c.known)
			}
			o := o
			o.Auth = gitsync.SSHKey{Key: o.Auth.(gitsync.SSHKey).Key, KnownHosts: known}
			_, err := open(t, o).Read(t.Context(), "a")
			if (err == nil) != c.ok || err != nil && (!errors.Is(err, gitsync.ErrAuth) || !strings.Contains(err.Error(), c.text)) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestSSHKeyIsTurnedDown(t *testing.T) {
	t.Parallel()
	_, _, o := newSSHBed(t)
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	locked := must[*pem.Block](t)(ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte("s3cret")))
	for name, key := range map[string]func(context.Context) ([]byte, []byte, error){
		"a key the server does not know": func(context.Context) ([]byte, []byte, error) {
			return pem.EncodeToMemory(locked), []byte("s3cret"), nil
		},
		"a wrong passphrase": func(context.Context) ([]byte, []byte, error) {
			return pem.EncodeToMemory(locked), []byte("t0ken"), nil
		},
		"no key": func(context.Context) ([]byte, []byte, error) { return nil, nil, errors.New("no such file") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := o
			o.Auth = gitsync.SSHKey{Key: key, KnownHosts: o.Auth.(gitsync.SSHKey).KnownHosts}
			_, err := open(t, o).Read(t.Context(), "a")
			if !errors.Is(err, gitsync.ErrAuth) || strings.Contains(err.Error(), "t0ken") || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
