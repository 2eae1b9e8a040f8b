package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/poolwright/poolwright/discovery"
)

// conn is a connection and the socket under it, which can be closed without any ceremony.
type conn struct {
	pg      *pgconn.PgConn
	raw     net.Conn
	expires time.Time
	era     int // of the Session that keeps it
}

// lifetime is how long a connection serves, on average: a quarter less to a quarter more, so that those which were opened together
// are not all replaced in one round. A name can come to lead to another machine while the old one still answers over the old
// socket (blue/green, a cluster that was restored and renamed). PgBouncer follows the name with its next connection, so who asks must too.
const lifetime = time.Minute

func expiry() time.Time { return time.Now().Add(lifetime*3/4 + rand.N(lifetime/2)) }

func (c Config) open(ctx context.Context, at Address, user, password string) (*conn, error) {
	d, err := c.driver(at, user, password)
	if err != nil {
		// Without what the driver wraps around it, which quotes all settings.
		return nil, &Error{Fault: discovery.Broken, Detail: fmt.Sprintf("setting up the connection: %s", cmp.Or(errors.Unwrap(err), err))}
	}
	var raw net.Conn
	var opened atomic.Bool
	d.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if opened.Load() {
			// The driver would dial again to cancel a question that timed out, for up to 15 s a time. statement_timeout does that.
			return nil, errNoCancel
		}
		socket, err := c.dial(ctx, network, address)
		raw = socket
		return socket, err
	}
	pg, err := pgconn.ConnectConfig(ctx, d)
	if err != nil {
		return nil, err
	}
	opened.Store(true)
	return &conn{pg: pg, raw: raw, expires: expiry()}, nil
}

var errNoCancel = errors.New("no second connection to cancel with")

// drop throws the connection away: what is broken gets no goodbye.
func (c *conn) drop() {
	_ = c.raw.Close() // it is broken already
}

// close says goodbye, but does not wait for it.
func (c *conn) close() {
	ctx, cancel := context.WithTimeout(context.Background(), goodbye)
	defer cancel()
	_ = c.pg.Close(ctx)
	c.drop()
}

const goodbye = 100 * time.Millisecond
