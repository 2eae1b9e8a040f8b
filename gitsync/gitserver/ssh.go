package gitserver

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"
)

// SSH is an SSH server that runs git-upload-pack and git-receive-pack, and nothing else.
type SSH struct {
	// ClientKey is the PEM of the one key that is let in.
	ClientKey []byte

	root     string
	listener net.Listener
	hostKeys []ssh.Signer // ECDSA, Ed25519
	config   *ssh.ServerConfig
	mu       sync.Mutex
	open     map[net.Conn]bool
	conns    int
	wg       sync.WaitGroup
}

// StartSSH serves the repositories below root over SSH at a loopback address.
func StartSSH(root string) (*SSH, error) {
	s := &SSH{root: root, open: map[net.Conn]bool{}}
	client, err := s.makeKeys()
	if err != nil {
		return nil, err
	}
	s.config = &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, k ssh.PublicKey) (*ssh.Permissions, error) {
		if !bytes.Equal(k.Marshal(), client.Marshal()) {
			return nil, errors.New("unknown key")
		}
		return nil, nil //nolint:nilnil // no restrictions
	}}
	for _, k := range s.hostKeys {
		s.config.AddHostKey(k)
	}
	if s.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	s.wg.Go(s.serve)
	return s, nil
}

func (s *SSH) makeKeys() (ssh.PublicKey, error) {
	_, client, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	block, err := ssh.MarshalPrivateKey(client, "test")
	if err != nil {
		return nil, err
	}
	s.ClientKey = pem.EncodeToMemory(block)
	_, host, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	for _, k := range []any{curve, host} {
		signer, err := ssh.NewSignerFromKey(k)
		if err != nil {
			return nil, err
		}
		s.hostKeys = append(s.hostKeys, signer)
	}
	return ssh.NewPublicKey(client.Public())
}

// URL is the address of a repository.
func (s *SSH) URL(r *Repo) string {
	return "ssh://git@" + s.listener.Addr().String() + "/" + r.Name
}

// KnownHosts is a known_hosts file with the Ed25519 key only; the server offers an ECDSA key too.
func (s *SSH) KnownHosts() []byte {
	host, port, _ := net.SplitHostPort(s.listener.Addr().String())
	return fmt.Appendf(nil, "[%s]:%s %s", host, port, ssh.MarshalAuthorizedKey(s.hostKeys[1].PublicKey()))
}

// Connections is how many connections were taken so far.
func (s *SSH) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conns
}

// Cut closes all connections now.
func (s *SSH) Cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.open {
		_ = c.Close()
	}
}

// Close stops the server.
func (s *SSH) Close() {
	_ = s.listener.Close()
	s.Cut()
	s.wg.Wait()
}

func (s *SSH) serve() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.open[c] = true
		s.conns++
		s.mu.Unlock()
		s.wg.Go(func() {
			s.connection(c)
			s.mu.Lock()
			delete(s.open, c)
			s.mu.Unlock()
		})
	}
}

func (s *SSH) connection(c net.Conn) {
	defer c.Close()
	conn, channels, requests, err := ssh.NewServerConn(c, s.config)
	if err != nil {
		return
	}
	defer conn.Close()
	go ssh.DiscardRequests(requests)
	for n := range channels {
		ch, reqs, err := n.Accept()
		if err != nil {
			return
		}
		s.wg.Go(func() { s.channel(ch, reqs) })
	}
}

func (s *SSH) channel(ch ssh.Channel, reqs <-chan *ssh.Request) {
	defer ch.Close()
	for r := range reqs {
		var cmd struct{ Line string }
		if r.Type != "exec" || ssh.Unmarshal(r.Payload, &cmd) != nil {
			_ = r.Reply(false, nil)
			continue
		}
		_ = r.Reply(true, nil)
		code := s.exec(ch, cmd.Line)
		_, _ = ch.SendRequest("exit-status", false, ssh.Marshal(struct{ Code uint32 }{code}))
		return
	}
}

// exec runs a service as git's shell does.
func (s *SSH) exec(ch ssh.Channel, line string) uint32 {
	service, arg, _ := strings.Cut(line, " ")
	if service != "git-upload-pack" && service != "git-receive-pack" {
		_, _ = io.WriteString(ch.Stderr(), "no shell here\n")
		return 128
	}
	path := strings.ReplaceAll(strings.Trim(arg, "'"), `'\''`, "'")
	cmd := command("", strings.TrimPrefix(service, "git-"), filepath.Join(s.root, filepath.FromSlash(path)))
	cmd.Stdout, cmd.Stderr = ch, ch.Stderr()
	in, err := cmd.StdinPipe()
	if err != nil {
		return 128
	}
	go func() {
		_, _ = io.Copy(in, ch)
		_ = in.Close()
	}()
	var exit *exec.ExitError
	switch err := cmd.Run(); {
	case errors.As(err, &exit):
		return uint32(exit.ExitCode())
	case err != nil:
		return 128
	}
	return 0
}
