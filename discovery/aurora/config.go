package aurora

import (
	"cmp"
	"time"

	"github.com/poolwright/poolwright/discovery"
	"github.com/poolwright/poolwright/discovery/session"
)

// Config says whom to ask, and how.
type Config struct {
	// Cluster is the name that observations carry.
	Cluster string
	// Mode is passed on in observations.
	Mode discovery.Mode
	// Name is the DB cluster identifier, and Domain the opaque rest of every endpoint:
	// {instance}.{Domain}, {Name}.cluster-{Domain}, {Name}.cluster-ro-{Domain}.
	Name, Domain string
	// Port of all endpoints that do not say their own, default 5432.
	Port int
	// Writer and Reader replace the cluster endpoints that follow from Name and Domain.
	Writer, Reader session.Address
	// Hosts are addresses of instances by name, where {instance}.{Domain} does not lead there.
	Hosts map[string]session.Address
	// Session is how to connect; its Timeout (default 3 s) is the deadline of every probe.
	Session session.Config
	// Now is the clock, default time.Now.
	Now func() time.Time
}

func (c Config) port() int { return cmp.Or(c.Port, 5432) }

// instance is where an instance is asked.
func (c Config) instance(name string) session.Address {
	if at, ok := c.Hosts[name]; ok {
		return c.withPort(at)
	}
	host, port := discovery.Observation{Domain: c.Domain, Port: c.Port}.Address(name)
	return session.Address{Host: host, Port: port}
}

// endpoint is a cluster endpoint, ok is false when there is none.
func (c Config) endpoint(role discovery.Role) (at session.Address, ok bool) {
	given, kind := c.Writer, ".cluster-"
	if role == discovery.Reader {
		given, kind = c.Reader, ".cluster-ro-"
	}
	if given.Host == "" && c.Name != "" && c.Domain != "" {
		given.Host = c.Name + kind + c.Domain
	}
	return c.withPort(given), given.Host != ""
}

func (c Config) withPort(at session.Address) session.Address {
	at.Port = cmp.Or(at.Port, c.port())
	return at
}
