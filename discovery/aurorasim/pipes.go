package aurorasim

import (
	"context"
	"net"
	"strconv"
	"sync"
)

// listen opens a port of the kind that the cluster is configured for. c.mu is held.
func (c *Cluster) listen(addr string) (net.Listener, error) {
	if !c.cfg.InMemory {
		return net.Listen("tcp", addr)
	}
	if addr == anyAddr {
		c.ports++
		addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(c.ports))
	}
	return &pipes{addr: pipeAddr(addr), dialed: make(chan net.Conn), closed: make(chan struct{})}, nil
}

// pipes is a listener without a socket.
type pipes struct {
	addr   pipeAddr
	dialed chan net.Conn
	once   sync.Once
	closed chan struct{}
}

type pipeAddr string

// Network implements net.Addr.
func (pipeAddr) Network() string { return "tcp" }

// String implements net.Addr.
func (a pipeAddr) String() string { return string(a) }

// Addr implements net.Listener.
func (p *pipes) Addr() net.Addr { return p.addr }

// Close implements net.Listener.
func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// Accept implements net.Listener.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.dialed:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) dial(ctx context.Context) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.dialed <- theirs:
		return pipe{ours, p.addr}, nil
	case <-p.closed:
		return nil, refused()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// pipe knows where it leads to: pgx sends its cancel requests there.
type pipe struct {
	net.Conn
	remote pipeAddr
}

// RemoteAddr implements net.Conn.
func (p pipe) RemoteAddr() net.Addr { return p.remote }
