package gitsync

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"
)

// sshCarrier keeps one SSH connection and runs each service on a channel of its own: 2 round trips
// where a new connection takes 9.
type sshCarrier struct {
	at   location
	auth SSHKey

	client *ssh.Client
	used   time.Time
}

const (
	// proveAfter is how long a connection may have been idle before it is asked whether it lives.
	proveAfter   = 15 * time.Second
	proveTimeout = 3 * time.Second
)

func newSSHCarrier(l location, auth Auth) (*sshCarrier, error) {
	key, ok := auth.(SSHKey)
	if !ok || key.Key == nil || key.KnownHosts == "" {
		return nil, fmt.Errorf("%s needs an SSH key and a known_hosts file", l)
	}
	return &sshCarrier{at: l, auth: key}, nil
}

func (c *sshCarrier) close() error {
	if c.client == nil {
		return nil
	}
	err := c.client.Close()
	c.client = nil
	return err
}

func (c *sshCarrier) open(ctx context.Context, service string) (session, error) {
	kept := c.client != nil
	s, err := c.start(ctx, service)
	if err != nil && kept && ctx.Err() == nil { // the kept connection had died
		_ = c.close()
		s, err = c.start(ctx, service)
	}
	if err != nil {
		_ = c.close()
		return nil, err
	}
	c.used = time.Now()
	return s, nil
}

func (c *sshCarrier) start(ctx context.Context, service string) (*stream, error) {
	if err := c.connect(ctx); err != nil {
		return nil, err
	}
	client := c.client
	hurry := context.AfterFunc(ctx, func() { _ = client.Close() })
	defer hurry()
	s, err := client.NewSession()
	if err != nil {
		return nil, err
	}
	errs := &syncText{}
	s.Stderr = errs
	in, _ := s.StdinPipe() // fails only when set twice
	out, _ := s.StdoutPipe()
	if err := s.Start(service + " " + shellQuote(c.at.path)); err != nil {
		_ = s.Close()
		return nil, err
	}
	cut := context.AfterFunc(ctx, func() { _ = s.Close() })
	stop := func() { cut(); _ = s.Close() }
	return &stream{in: in, out: out, errs: errs, wait: s.Wait, stop: stop}, nil
}

// connect makes sure there is a connection that answered lately.
func (c *sshCarrier) connect(ctx context.Context) error {
	if c.client != nil && (time.Since(c.used) < proveAfter || lives(ctx, c.client)) {
		return nil
	}
	_ = c.close()
	config, err := c.config(ctx)
	if err != nil {
		return err
	}
	c.client, err = dialSSH(ctx, c.at.host, config)
	return err
}

// lives asks the server anything; any answer will do.
func lives(ctx context.Context, client *ssh.Client) bool {
	ctx, cancel := context.WithTimeout(ctx, proveTimeout)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = client.Close() })
	_, _, err := client.SendRequest("keepalive@openssh.com", true, nil)
	return stop() && err == nil
}

// dialSSH puts the whole handshake under the context, which ssh.ClientConfig.Timeout does not.
func dialSSH(ctx context.Context, host string, config *ssh.ClientConfig) (*ssh.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*dialTimeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", host)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	c, channels, requests, err := ssh.NewClientConn(conn, host, config)
	if !stop() {
		err = errors.Join(ctx.Err(), err)
	}
	if err != nil {
		_ = conn.Close()
		return nil, sshFault(err)
	}
	return ssh.NewClient(c, channels, requests), nil
}

// config reads key and known hosts anew. The algorithms asked for are those known_hosts has: with
// the defaults the server would show another of its keys, which looks like a wrong host.
func (c *sshCarrier) config(ctx context.Context) (*ssh.ClientConfig, error) {
	pem, passphrase, err := c.auth.Key(ctx)
	if err != nil {
		return nil, &fault{kind: ErrAuth, text: "getting the SSH key", cause: err}
	}
	signer, err := parseKey(pem, passphrase)
	if err != nil {
		return nil, faultf(ErrAuth, "the SSH key cannot be read or its passphrase is wrong")
	}
	hosts, err := knownhosts.NewDB(c.auth.KnownHosts)
	if err != nil {
		return nil, &fault{kind: ErrAuth, text: "reading known_hosts", cause: err}
	}
	return &ssh.ClientConfig{
		User:              c.at.user,
		Auth:              []ssh.AuthMethod{ssh.PublicKeys(signer)},
		HostKeyCallback:   hosts.HostKeyCallback(),
		HostKeyAlgorithms: hosts.HostKeyAlgorithms(c.at.host),
	}, nil
}

func parseKey(pem, passphrase []byte) (ssh.Signer, error) {
	if len(passphrase) > 0 {
		return ssh.ParsePrivateKeyWithPassphrase(pem, passphrase)
	}
	return ssh.ParsePrivateKey(pem)
}

func sshFault(err error) error {
	switch {
	case knownhosts.IsHostKeyChanged(err):
		return &fault{kind: ErrAuth, text: "the host's key is not the one in known_hosts", cause: err}
	case knownhosts.IsHostUnknown(err):
		return &fault{kind: ErrAuth, text: "the host is not in known_hosts", cause: err}
	case strings.Contains(err.Error(), "unable to authenticate"):
		return &fault{kind: ErrAuth, cause: err}
	}
	return err
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
