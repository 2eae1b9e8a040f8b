package pooler

import (
	"context"
	"net"
	"strings"
	"time"
)

// Config is how the poolers of one cluster are reached.
type Config struct {
	// Credentials gives the user and password of a new connection.
	Credentials func(ctx context.Context) (user, password string, err error)
	// SSLMode is disable, allow, prefer (default), require, verify-ca or verify-full, as in libpq.
	SSLMode string
	// RootCert is the path of the CAs for verify-ca and verify-full; default the system's. Read for each new connection.
	RootCert string
	// Timeout bounds an attempt to connect, and each command, default 1 s. A context's earlier deadline wins.
	Timeout time.Duration
	// Dial replaces the network, for tests.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Version is a PgBouncer version as SHOW VERSION tells it.
type Version struct{ Major, Minor, Patch int }

// Database is one row of SHOW DATABASES. The console's own, pgbouncer, is left out.
type Database struct {
	Name             string
	Paused, Disabled bool
}

// Client is one row of SHOW CLIENTS. The console's own connections are left out.
type Client struct {
	// ID names the client for KillClients, "" before PgBouncer 1.24.
	ID             string
	User, Database string
	// Addr is the host it came from; Port tells two connections of one host apart.
	Addr string
	Port int
	// Application is its application_name, "" where the version does not tell.
	Application string
	// Since is when it connected, in whole seconds by the pooler's clock.
	Since time.Time
}

// Server is one row of SHOW SERVERS: a connection of the pooler to a database server. The console's own are left out.
type Server struct {
	Database string
	// Addr is the address that was connected to: the name may mean another one today.
	Addr string
	// Since is when it was connected, in whole seconds by the pooler's clock.
	Since time.Time
}

// Fault is why a pooler gave no answer.
type Fault uint8

// The faults.
const (
	Unreachable Fault = iota + 1 // "unreachable": nobody listens there, or the connection broke
	Timeout                      // "timeout": no answer in time
	Denied                       // "denied": the pooler refuses the login, or does not take the user for an administrator
	Untrusted                    // "untrusted": TLS is refused, demanded, or its certificate is not trusted
	Refused                      // "refused": it answered with an error
	Garbled                      // "garbled": it answered what PgBouncer does not answer
)

const faultWords = ",unreachable,timeout,denied,untrusted,refused,garbled"

// String returns the fault's word.
func (f Fault) String() string { return strings.Split(faultWords, ",")[f] }

// MarshalText writes the word of String.
func (f Fault) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// Error is why there is no answer. Callers branch on Fault.
type Error struct {
	Fault Fault
	// Code is the SQLSTATE, "" when nothing was said.
	Code string
	// Detail is for people, in one line, without a password and without a port that differs from try to try.
	Detail string
}

// Error returns the fault and the detail.
func (e *Error) Error() string { return e.Fault.String() + ": " + e.Detail }

// Outcome is what a proof came to.
type Outcome uint8

// The outcomes.
const (
	Proven       Outcome = iota + 1 // "proven": the question was answered by a node of the right role
	RoleMismatch                    // "role-mismatch": a node that cannot write answered where a writer is meant to be
	Failed                          // "failed": no answer; the fault says why
)

const outcomeWords = ",proven,role-mismatch,failed"

// String returns the outcome's word.
func (o Outcome) String() string { return strings.Split(outcomeWords, ",")[o] }

// MarshalText writes the word of String.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }
