package session

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Config is what the sessions of one cluster have in common.
type Config struct {
	// Database to connect to, default postgres.
	Database string
	// SSLMode is disable, require (default), verify-ca or verify-full, as in libpq.
	SSLMode string
	// RootCert is the path of the CAs for verify-ca and verify-full; default the system's. Read for each new connection.
	RootCert string
	// Credentials gives the user and password of a new connection. nil is user postgres without a password.
	Credentials func(ctx context.Context, host string, port int) (user, password string, err error)
	// Timeout bounds each question and each attempt to connect, default 3 s. A context's earlier deadline wins.
	Timeout time.Duration
	// Dial and Lookup replace the network, for tests and demonstrations.
	Dial   func(ctx context.Context, network, address string) (net.Conn, error)
	Lookup func(ctx context.Context, host string) ([]string, error)
}

// Address is where to connect to.
type Address struct {
	Host string
	Port int // default 5432
}

// String returns host:port, or [v6]:port.
func (a Address) String() string { return net.JoinHostPort(a.Host, strconv.Itoa(a.port())) }

func (a Address) port() int { return cmp.Or(a.Port, 5432) }

const defaultTimeout = 3 * time.Second

func (c Config) timeout() time.Duration { return cmp.Or(c.Timeout, defaultTimeout) }

func (c Config) credentials(ctx context.Context, at Address) (user, password string, err error) {
	if c.Credentials == nil {
		return "", "", nil
	}
	return c.Credentials(ctx, at.Host, at.port())
}

// dial is Config.Dial, or a dialer whose keepalive finds a silent peer in about 5 s.
func (c Config) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if c.Dial != nil {
		return c.Dial(ctx, network, address)
	}
	d := net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 2 * time.Second, Interval: time.Second, Count: 3}}
	return d.DialContext(ctx, network, address)
}

// driver is the driver's configuration of one connection. The password never is in a connection string.
func (c Config) driver(at Address, user, password string) (*pgconn.Config, error) {
	user = cmp.Or(user, "postgres")
	settings := map[string]string{
		"host": at.Host, "port": strconv.Itoa(at.port()), "user": user, "dbname": cmp.Or(c.Database, "postgres"),
		"sslmode": cmp.Or(c.SSLMode, "require"), "target_session_attrs": "any",
	}
	if c.RootCert != "" {
		settings["sslrootcert"] = c.RootCert
	}
	var text strings.Builder
	for key, value := range settings {
		fmt.Fprintf(&text, "%s='%s' ", key, strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(value))
	}
	d, err := pgconn.ParseConfig(text.String())
	if err != nil {
		return nil, err
	}
	d.User, d.Password = user, password
	d.ConnectTimeout = 0 // the context has the deadline
	d.RuntimeParams = map[string]string{
		"application_name": "poolwright",
		"client_encoding":  "UTF8",
		// So that a question nobody waits for any more does not keep its backend.
		"statement_timeout": strconv.FormatInt(max(1, c.timeout().Milliseconds()), 10),
	}
	if c.Lookup != nil {
		d.LookupFunc = c.Lookup
	}
	return d, nil
}
