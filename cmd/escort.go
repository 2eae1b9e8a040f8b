package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	bare "k8s.io/client-go/metadata"

	"github.com/poolwright/poolwright/clusters"
	"github.com/poolwright/poolwright/live"
	"github.com/poolwright/poolwright/live/evict"
	"github.com/poolwright/poolwright/live/pooler"
	prove "github.com/poolwright/poolwright/live/proof"
	"github.com/poolwright/poolwright/live/reload"
)

// escort is what follows a Service that moved: the clients of the instance that it
// selected before are taken off it, and it is proven from outside that writes are
// served. Nothing waits for it, neither the Services nor Git.
type escort struct {
	runner   *evict.Runner
	prover   *prove.Prover    // nil: nothing is proven
	reloader *reload.Reloader // nil: there is no way into the poolers
	asks     *clusters.Proof
	port     int
	evicts   bool // false: nobody is cut, and no entry is begun
	// writer is what the Writer Service selected when it was seen last.
	writer string
}

// ears hear what happens to the live side of a cluster.
type ears struct {
	keeping  func(live.Event)
	evicting func(evict.Event)
	proving  func(prove.Event)
	rotating func(reload.Event)
}

// escortKey says what an escort is made of: another one is made when it differs.
func escortKey(d declaration) string {
	f := d.Cluster.Spec.Failover
	text, err := json.Marshal([]any{f.Evict, f.EvictWithin, f.Propagation, f.Console, f.Proof, f.FastInterval, d.Cluster.Spec.PgBouncer.ListenPort(), d.Cluster.Spec.PgBouncer.AuthFileSecretRef})
	if err != nil {
		panic(err) // strings and numbers
	}
	return string(text)
}

// escort makes the escort of a cluster beside its Keeper. fast reports whether a failover window is open; secrets reads their metadata.
func (o outside) escort(d declaration, c evict.Config, secrets bare.Interface, fast *atomic.Bool, tell ears) *escort {
	f := d.Cluster.Spec.Failover
	e := &escort{asks: f.Proof, port: d.Cluster.Spec.PgBouncer.ListenPort()}
	c.Tell = tell.evicting
	e.runner, e.evicts = o.evictor(d, c)
	if f.Console != nil {
		e.reloader = reload.New(reload.Config{
			Namespace: c.Names.Namespace, Secret: d.Cluster.Spec.PgBouncer.AuthFileSecretRef.Name, Client: secrets, Pods: c.Pods, Port: e.port, Holds: c.Holds, Tell: tell.rotating, Now: o.Now,
			Console: opening(o.console(*f.Console), func(c *pooler.Console) reload.Console { return c }),
		})
	}
	if f.Proof != nil {
		e.prover = prove.New(prove.Config{
			Ask: o.asker(d.Metadata.Name, *f.Proof), Interval: time.Duration(f.Proof.Interval), FastInterval: time.Duration(f.FastInterval),
			Fast: fast.Load, Tell: tell.proving,
		})
	}
	return e
}

// evictor makes the Runner of a cluster, as its declaration says. evicts is false when nobody is to be cut.
func (o outside) evictor(d declaration, c evict.Config) (runner *evict.Runner, evicts bool) {
	f := d.Cluster.Spec.Failover
	c.Within, c.Propagation, c.Port = time.Duration(f.EvictWithin), time.Duration(f.Propagation), d.Cluster.Spec.PgBouncer.ListenPort()
	c.Mode, _ = evict.ParseMode(f.Evict) // Load has checked it
	if f.Console != nil {
		c.Console = opening(o.console(*f.Console), func(c *pooler.Console) evict.Console { return c })
	}
	return evict.New(c), c.Mode != evict.ModeNone
}

// run works until ctx ends, and waits for what is under way.
func (e *escort) run(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() { e.runner.Run(ctx) })
	if e.prover != nil {
		all.Go(func() { e.prover.Run(ctx) })
	}
	if e.reloader != nil {
		all.Go(func() { e.reloader.Run(ctx) })
	}
	all.Wait()
}

// see takes what Kubernetes shows and what is wanted, after each change of it. It
// is called from one goroutine at a time.
func (e *escort) see(s live.Sight, w live.Want) {
	if e.evicts || s.Control.Eviction != nil { // what another mode has left is put right
		e.runner.See(evict.Seen{Sight: s, Wanted: w.To, Paused: w.Paused != ""})
	}
	if e.prover == nil {
		return
	}
	writer, reader := s.Services[live.Writer], s.Services[live.Reader]
	e.prover.Target(proofAddress(e.asks.WriterAddress, writer, e.port), proofAddress(e.asks.ReaderAddress, reader, e.port))
	if now := selectorOf(writer); now != e.writer {
		e.writer = now
		e.prover.Wake()
	}
}

// selectorOf is a Service's selector in one line, "" for none.
func selectorOf(svc *corev1.Service) string {
	if svc == nil {
		return ""
	}
	return selectorText(svc.Spec.Selector)
}

// proofAddress is where a role is asked: as declared, else at the Service's cluster IP. "" is nowhere.
func proofAddress(declared string, svc *corev1.Service, port int) string {
	switch {
	case svc == nil:
		return ""
	case declared != "":
		return declared
	case net.ParseIP(svc.Spec.ClusterIP) == nil: // headless, or not assigned yet
		return ""
	}
	return net.JoinHostPort(svc.Spec.ClusterIP, strconv.Itoa(port))
}

// opener opens the admin console at host:port; asker asks what a proof is about there.
type (
	opener = func(ctx context.Context, address string) (*pooler.Console, error)
	asker  = func(ctx context.Context, access pooler.Access, address string) pooler.Proof
)

// console opens admin consoles.
func (o outside) console(c clusters.Console) opener {
	config := o.pooler(c.PoolerLogin, func(_, password string) (string, string, error) { return c.User, password, nil })
	return func(ctx context.Context, address string) (*pooler.Console, error) {
		return pooler.Open(ctx, address, config)
	}
}

// opening is open for who knows a console as a C. With an error there is none, and not the nil *Console.
func opening[C any](open opener, as func(*pooler.Console) C) func(ctx context.Context, address string) (C, error) {
	return func(ctx context.Context, address string) (none C, err error) {
		console, err := open(ctx, address)
		if err != nil {
			return none, err
		}
		return as(console), nil
	}
}

// asker asks the questions of a proof.
func (o outside) asker(cluster string, p clusters.Proof) asker {
	config := o.pooler(p.PoolerLogin, func(user, password string) (string, string, error) {
		if user == "" {
			return "", "", fmt.Errorf("reading the user of failover.proof: there is none")
		}
		return user, password, nil
	})
	return func(ctx context.Context, access pooler.Access, address string) pooler.Proof {
		q := pooler.Question{Access: access, Database: p.Database}
		if access == pooler.Writes {
			q.Table, q.Cluster = p.Table, cluster
		}
		return pooler.Prove(ctx, address, config, q, o.Now)
	}
}

// pooler is how a login is made. as says under which name.
func (o outside) pooler(l clusters.PoolerLogin, as func(user, password string) (string, string, error)) pooler.Config {
	read := o.poolerSecret(l)
	return pooler.Config{
		SSLMode: l.SSLMode, RootCert: l.SSLRootCert, Dial: o.Dial,
		Credentials: func(context.Context) (user, password string, err error) {
			if user, password, err = read(); err != nil {
				return "", "", err
			}
			return as(user, password)
		},
	}
}

// poolerSecret reads user and password anew for each connection, so that rotated ones are used at once. A user may be missing.
func (o outside) poolerSecret(l clusters.PoolerLogin) func() (user, password string, err error) {
	switch {
	case l.AuthSecretRef != nil:
		return poolerDirectory(filepath.Join(o.Secrets, l.AuthSecretRef.Name))
	case l.Credentials != nil && l.Credentials.File != nil:
		return poolerDirectory(l.Credentials.File.Directory)
	case l.Credentials != nil && l.Credentials.Env != nil:
		env := l.Credentials.Env
		return func() (string, string, error) {
			password := o.Getenv(env.PasswordVar)
			if password == "" {
				return "", "", fmt.Errorf("reading the password: environment variable %s is not set", env.PasswordVar)
			}
			return strings.TrimSpace(o.Getenv(env.UserVar)), password, nil
		}
	}
	return func() (string, string, error) { return "", "", nil }
}

func poolerDirectory(dir string) func() (string, string, error) {
	return func() (string, string, error) {
		password, err := readLine(filepath.Join(dir, "password"))
		if err != nil {
			return "", "", fmt.Errorf("reading the password: %w", err)
		}
		user, _ := userIn(dir) // who needs one says so
		return user, password, nil
	}
}
