package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/poolwright/poolwright/discovery"
)

// conn is a connection and the socket under it, which can be closed without any ceremony.
type conn struct {
	pg  *pgconn.PgConn
	raw net.Conn
}

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
	return &conn{pg: pg, raw: raw}, nil
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
