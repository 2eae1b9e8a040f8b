package aurorasim

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// anyAddr asks for a free port. The simulator never listens on anything but loopback.
const anyAddr = "127.0.0.1:0"

var errClosed = errors.New("the simulated cluster is closed")

// Endpoint is one of the two cluster endpoints.
type Endpoint uint8

// The cluster endpoints.
const (
	WriterEndpoint Endpoint = iota // {cluster}.cluster-{domain}
	ReaderEndpoint                 // {cluster}.cluster-ro-{domain}
)

// Host is the name of an instance's endpoint: {name}.{domain}.
func (c *Cluster) Host(instance string) string { return instance + "." + c.cfg.Domain }

// EndpointHost is the name of a cluster endpoint.
func (c *Cluster) EndpointHost(e Endpoint) string {
	return c.cfg.Name + [...]string{".cluster-", ".cluster-ro-"}[e] + c.cfg.Domain
}

// Addr is the address of an instance's listener, host:port, the last one while it refuses; "" when there is no such instance.
// It stays the same over restarts unless another process has taken the port meanwhile.
func (c *Cluster) Addr(instance string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.find(instance); n != nil {
		return n.addr
	}
	return ""
}

// EndpointAddr is the address of a cluster endpoint's own listener, for clients that cannot use Dial. Where the name of the
// endpoint would lead to an instance that refuses, a connection to this address is reset.
func (c *Cluster) EndpointAddr(e Endpoint) string { return c.fronts[e].Addr().String() }

// PinEndpoint makes a cluster endpoint lead to an instance, as stale DNS does. An empty name ends that.
func (c *Cluster) PinEndpoint(e Endpoint, instance string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pinned[e] = instance
	c.announce()
}

// leads is the instance that a cluster endpoint leads to now, nil when its name has no address. c.mu is held.
func (c *Cluster) leads(e Endpoint) *node {
	if name := c.pinned[e]; name != "" {
		return c.find(name)
	}
	if e == WriterEndpoint {
		if c.named == nil {
			return nil
		}
		return c.find(c.named.name)
	}
	for range c.members {
		c.turn++
		if n := c.members[c.turn%len(c.members)]; n != c.writer && n.phase == up {
			return n
		}
	}
	return c.writer
}

// resolve is the simulated DNS. c.mu is held.
func (c *Cluster) resolve(host string) (*node, error) {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	for _, e := range []Endpoint{WriterEndpoint, ReaderEndpoint} {
		if host == strings.ToLower(c.EndpointHost(e)) {
			if n := c.leads(e); n != nil {
				return n, nil
			}
		}
	}
	for _, n := range c.members {
		if host == strings.ToLower(c.Host(n.name)) {
			return n, nil
		}
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

// Lookup resolves an endpoint name to the host:port of a listener. It has the form of pgconn's LookupFunc.
func (c *Cluster) Lookup(_ context.Context, host string) ([]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, err := c.resolve(host)
	if err != nil {
		return nil, err
	}
	return []string{n.addr}, nil
}

// Dial connects to an endpoint name with the configured port, or to a listener's address. It has the form of pgconn's DialFunc.
// Errors are those of a real network: no such host, connection refused.
func (c *Cluster) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	target, err := c.target(addr)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	if p, ok := target.(*pipes); ok {
		return p.dial(ctx)
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", target.Addr().String())
}

// target is the listener that addr means. A closed one is refused here: its port may belong to another process by now.
func (c *Cluster) target(addr string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.fronts {
		if addr == l.Addr().String() {
			return l, nil
		}
	}
	i := slices.IndexFunc(c.members, func(n *node) bool { return n.addr == addr })
	if i >= 0 {
		return c.members[i].port()
	}
	n, err := c.resolve(host)
	if err != nil {
		return nil, err
	}
	if port != strconv.Itoa(c.cfg.Port) {
		return nil, refused()
	}
	return n.port()
}

func (n *node) port() (net.Listener, error) {
	if n.listener == nil {
		return nil, refused()
	}
	return n.listener, nil
}

func refused() error { return os.NewSyscallError("connect", syscall.ECONNREFUSED) }

// openFront listens for a cluster endpoint. c.mu is held.
func (c *Cluster) openFront(e Endpoint) error {
	l, err := c.listen(anyAddr)
	if err != nil {
		return fmt.Errorf("listening for a cluster endpoint: %w", err)
	}
	c.fronts[e] = l
	c.accept(l, func() *node { return c.leads(e) })
	return nil
}

// accept serves what comes to l until l is closed. to is called with c.mu held. c.mu is held.
func (c *Cluster) accept(l net.Listener, to func() *node) {
	c.wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			c.serve(conn, to)
		}
	})
}
