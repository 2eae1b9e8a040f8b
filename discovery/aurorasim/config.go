package aurorasim

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// Config describes a cluster to simulate. Only Name and Instances are required.
type Config struct {
	// Name is the cluster's identifier, the first label of its endpoints.
	Name string
	// Domain is the opaque suffix of all endpoints. Default "abcdefghijkl.us-east-1.rds.amazonaws.com".
	Domain string
	// Port is the port in endpoint names that Dial and Lookup understand. Default 5432. The listeners have ports of their own.
	Port int
	// Instances are the instance identifiers; the first is the writer.
	Instances []string
	// User and Password are the only credentials accepted. No User: any. No Password: nobody is asked for one.
	User, Password string
	// Auth says how the password is asked for. Default SCRAM.
	Auth Auth
	// TLS offers TLS to clients that ask for it, with a certificate for all endpoints, signed by CA.
	TLS bool
	// Zones are given to the instances in turn. Default us-east-1a, us-east-1b, us-east-1c.
	Zones []string
	// Class of every instance in Metadata. Default db.r6g.large.
	Class string
	// Version is aurora_version(). Default 15.4.
	Version string
	// FailoverDelay is from the loss of the writer to the promotion of a reader. 0: at once. Negative: never by itself.
	FailoverDelay time.Duration
	// RestartDelay is from a kill or reboot until the instance is back. 0: a killed instance stays away
	// until Restart, a rebooted one is back at once.
	RestartDelay time.Duration
	// DNSLag is from a promotion until the writer's cluster endpoint follows it. 0: at once.
	DNSLag time.Duration
	// InMemory makes no sockets: Dial alone connects, by pipes, and a reset is an end of file. It is for tests in a
	// testing/synctest bubble, whose clock stands still while anything waits for a socket. Addresses only look like such.
	InMemory bool
	// Now is the databases' clock. Default time.Now. Delays always run on the real clock.
	Now func() time.Time
}

// Auth is a way to ask for a password.
type Auth uint8

// The ways.
const (
	SCRAM     Auth = iota // SCRAM-SHA-256, without channel binding
	Cleartext             // the password itself, as RDS does for IAM tokens
)

func (c *Config) setDefaults() error {
	if c.Name == "" || len(c.Instances) == 0 {
		return errors.New("a simulated cluster needs a name and at least one instance")
	}
	if c.Domain == "" {
		c.Domain = "abcdefghijkl.us-east-1.rds.amazonaws.com"
	}
	if c.Port == 0 {
		c.Port = 5432
	}
	if len(c.Zones) == 0 {
		c.Zones = []string{"us-east-1a", "us-east-1b", "us-east-1c"}
	}
	if c.Class == "" {
		c.Class = "db.r6g.large"
	}
	if c.Version == "" {
		c.Version = "15.4"
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return nil
}

// Cluster is a running simulated cluster. All methods may be called at any time from any goroutine.
type Cluster struct {
	cfg    Config
	verify verifier
	tls    *tls.Config
	ca     []byte

	// ctx ends with Close; wg counts every goroutine.
	ctx  context.Context
	stop context.CancelFunc
	wg   sync.WaitGroup

	mu       sync.Mutex
	members  []*node // in the order of creation
	writer   *node   // who the storage takes writes from; stays on a dead one until somebody is promoted
	headless bool    // Demote was called: nobody becomes writer by itself
	named    *node   // who the writer's cluster endpoint leads to
	pinned   map[Endpoint]string
	fronts   map[Endpoint]net.Listener
	turn     int // of the reader endpoint
	born     int // machines made so far: gives resource ids
	pids     uint32
	ports    int // made up so far, when in memory
	timers   map[*time.Timer]struct{}
	changed  chan struct{} // closed and replaced at every change
	closed   bool
}

// Start begins the simulation; its instances answer when it returns. Close ends it.
func Start(cfg Config) (*Cluster, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	c := &Cluster{
		cfg:     cfg,
		verify:  newVerifier(cfg),
		pinned:  map[Endpoint]string{},
		fronts:  map[Endpoint]net.Listener{},
		timers:  map[*time.Timer]struct{}{},
		changed: make(chan struct{}),
	}
	c.ctx, c.stop = context.WithCancel(context.Background())
	if err := c.start(); err != nil {
		c.Close()
		return nil, fmt.Errorf("starting simulated cluster %s: %w", cfg.Name, err)
	}
	return c, nil
}

func (c *Cluster) start() error {
	if c.cfg.TLS {
		if err := c.makeTLS(); err != nil {
			return err
		}
	}
	for _, name := range c.cfg.Instances {
		if err := c.AddInstance(name); err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range []Endpoint{WriterEndpoint, ReaderEndpoint} {
		if err := c.openFront(e); err != nil {
			return err
		}
	}
	return nil
}

// Close ends all listeners, sessions and goroutines and waits for them.
func (c *Cluster) Close() {
	c.mu.Lock()
	c.closed = true
	c.stop()
	for t := range c.timers {
		t.Stop()
	}
	for _, l := range c.fronts {
		_ = l.Close()
	}
	for _, n := range c.members {
		n.retire()
	}
	c.announce()
	c.mu.Unlock()
	c.wg.Wait()
}

// announce wakes all who wait for a change. c.mu is held.
func (c *Cluster) announce() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// after runs f with c.mu held once d has passed, at once when d is not positive. c.mu is held.
func (c *Cluster) after(d time.Duration, f func()) {
	if d <= 0 {
		f()
		return
	}
	var t *time.Timer
	t = time.AfterFunc(d, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.timers, t)
		if !c.closed {
			f()
			c.announce()
		}
	})
	c.timers[t] = struct{}{}
}
