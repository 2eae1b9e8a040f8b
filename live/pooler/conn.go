package pooler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/poolwright/poolwright/discovery/cause"
)

const (
	defaultTimeout = time.Second
	// maxMessage is the longest message that is read: one row of SHOW is a few hundred bytes.
	maxMessage = 1 << 20
	// maxAnswer is the most that is read of one answer: a hundred thousand clients are half of it.
	maxAnswer = 64 << 20
)

func (c Config) timeout() time.Duration { return cmp.Or(c.Timeout, defaultTimeout) }

// bounded is ctx with the timeout of one exchange.
func (c Config) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, c.timeout())
}

// conn is a connection and the socket under it.
type conn struct {
	pg  *pgconn.PgConn
	raw net.Conn
}

// connect opens a connection to a database of the pooler. An error is an *Error.
func (c Config) connect(ctx context.Context, address, database string) (*conn, error) {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	user, password, err := c.credentials(ctx)
	if err != nil {
		return nil, &Error{Fault: Denied, Detail: "getting the credentials: " + cause.Plain(err)}
	}
	d, err := c.driver(address, user, database)
	if err != nil {
		return nil, err
	}
	d.Password = password
	var connected atomic.Bool
	var raw net.Conn
	d.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if connected.Load() { // the driver would dial again to cancel a question that timed out, for up to 15 s a time
			return nil, errNoCancel
		}
		socket, err := c.dial(ctx, network, address)
		raw = socket
		return socket, err
	}
	pg, err := pgconn.ConnectConfig(ctx, d)
	if err != nil {
		return nil, judgeLogin(ctx, err).without(password)
	}
	connected.Store(true)
	return &conn{pg: pg, raw: raw}, nil
}

func (c Config) credentials(ctx context.Context) (user, password string, err error) {
	if c.Credentials == nil {
		return "", "", errors.New("none are given")
	}
	return c.Credentials(ctx)
}

// driver is the driver's configuration of one connection. The password never is in a connection string.
func (c Config) driver(address, user, database string) (*pgconn.Config, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, &Error{Fault: Unreachable, Detail: fmt.Sprintf("%q is not host:port", address)}
	}
	settings := "host=" + quoteValue(host) + " port=" + quoteValue(port) + " dbname=" + quoteValue(database) +
		" user=" + quoteValue(user) + " sslmode=" + quoteValue(cmp.Or(c.SSLMode, "prefer")) + " target_session_attrs=any"
	if c.RootCert != "" {
		settings += " sslrootcert=" + quoteValue(c.RootCert)
	}
	d, err := pgconn.ParseConfig(settings)
	if err != nil { // without what the driver wraps around it, which quotes all settings
		return nil, &Error{Fault: Untrusted, Detail: "setting up the connection: " + cause.Plain(cmp.Or(errors.Unwrap(err), err))}
	}
	d.ConnectTimeout = 0 // the context has the deadline
	d.RuntimeParams = map[string]string{"application_name": "poolwright"}
	d.BuildFrontend = func(r io.Reader, w io.Writer) *pgproto3.Frontend {
		f := pgproto3.NewFrontend(r, w)
		f.SetMaxBodyLen(maxMessage)
		return f
	}
	return d, nil
}

// quoteValue quotes a value of a connection string.
func quoteValue(v string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(v) + "'"
}

func (c Config) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if c.Dial != nil {
		return c.Dial(ctx, network, address)
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}

var errNoCancel = errors.New("no second connection to cancel with")

// drop ends the connection without waiting for the peer. Left alone after a timeout, the driver goes on reading for up to 15 s,
// and a pooler that hangs would get a connection more with each new try.
func (c *conn) drop() {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_ = c.pg.Close(ended) // whatever it says, the socket is closed
	_ = c.raw.Close()
}

// farewell says goodbye, so that the pooler counts no lost client, and does not wait long for it.
func (c *conn) farewell() {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	_ = c.pg.Close(ctx)
	_ = c.raw.Close()
}

// table is an answer in rows.
type table struct {
	columns map[string]int
	rows    [][]string
}

// ask sends one command and reads its answer, the last table of it. An error is an *Error.
func (c *conn) ask(ctx context.Context, command string) (t table, err error) {
	size := 0
	results := c.pg.Exec(ctx, command)
	for results.NextResult() {
		reader := results.ResultReader()
		t = table{columns: map[string]int{}}
		for i, f := range reader.FieldDescriptions() {
			t.columns[f.Name] = i
		}
		for reader.NextRow() {
			row, length := textOf(reader.Values())
			if size += length; size > maxAnswer {
				c.drop()
				return table{}, &Error{Fault: Garbled, Detail: "the answer does not end"}
			}
			t.rows = append(t.rows, row)
		}
	}
	if err := results.Close(); err != nil {
		return t, judge(ctx, err)
	}
	return t, nil
}

// textOf is a row as text, and about what it takes up.
func textOf(values [][]byte) (row []string, size int) {
	row = make([]string, len(values))
	size = 24
	for i, v := range values {
		row[i] = string(v)
		size += 16 + len(v)
	}
	return row, size
}

// get gives a row's value of a column by name.
func (t table) get(row []string, column string) (string, error) {
	i, ok := t.columns[column]
	if !ok || i >= len(row) {
		return "", &Error{Fault: Garbled, Detail: fmt.Sprintf("the answer has no column %q", column)}
	}
	return row[i], nil
}

// maybe is a value of a column that not every version has.
func (t table) maybe(row []string, column string) string {
	v, _ := t.get(row, column)
	return v
}
