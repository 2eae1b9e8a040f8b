package pooler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/poolwright/poolwright/discovery/cause"
)

// own is the console's database, which is none.
const own = "pgbouncer"

// Console is the admin console of one PgBouncer, for one caller at a time. After an error other than Refused it is of no use any
// more: close it and open another.
type Console struct {
	config  Config
	conn    *conn
	version Version
}

// Open connects to the console at host:port and asks for the version. An error is an *Error.
func Open(ctx context.Context, address string, c Config) (*Console, error) {
	connection, err := c.connect(ctx, address, own)
	if err != nil {
		return nil, err
	}
	console := &Console{config: c, conn: connection}
	if console.version, err = console.askVersion(ctx); err != nil {
		console.Close()
		return nil, err
	}
	return console, nil
}

// Version is that of the process.
func (c *Console) Version() Version { return c.version }

// Close ends the connection and waits for nobody.
func (c *Console) Close() { c.conn.drop() }

func (c *Console) ask(ctx context.Context, command string) (table, error) {
	ctx, cancel := c.config.bounded(ctx)
	defer cancel()
	return c.conn.ask(ctx, command)
}

func (c *Console) askVersion(ctx context.Context) (Version, error) {
	t, err := c.ask(ctx, "SHOW VERSION")
	if err != nil {
		return Version{}, err
	}
	if len(t.rows) != 1 {
		return Version{}, &Error{Fault: Garbled, Detail: fmt.Sprintf("SHOW VERSION has %d rows", len(t.rows))}
	}
	text, err := t.get(t.rows[0], "version")
	if err != nil {
		return Version{}, err
	}
	return parseVersion(text)
}

// parseVersion reads "PgBouncer 1.24.1", maybe with more behind it.
func parseVersion(text string) (v Version, err error) {
	rest, ok := strings.CutPrefix(text, "PgBouncer ")
	words := strings.Fields(rest)
	if !ok || len(words) == 0 {
		return v, &Error{Fault: Garbled, Detail: fmt.Sprintf("%.40q is not PgBouncer's version", text)}
	}
	parts := strings.Split(words[0], ".")
	for i, n := range []*int{&v.Major, &v.Minor, &v.Patch} {
		if i >= len(parts) {
			break
		}
		digits := parts[i]
		if end := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
			digits = digits[:end] // 1.26.0dev, 1.25.0rc1
		}
		if *n, err = strconv.Atoi(digits); err != nil {
			return Version{}, &Error{Fault: Garbled, Detail: fmt.Sprintf("%.40q is not PgBouncer's version", text)}
		}
	}
	return v, nil
}

// String is "1.24.1".
func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch) }

// AtLeast reports whether v is of that minor line, or newer.
func (v Version) AtLeast(major, minor int) bool {
	return v.Major > major || v.Major == major && v.Minor >= minor
}

// Databases are those that exist now, by name; an entry * has one for each name that was asked for.
func (c *Console) Databases(ctx context.Context) ([]Database, error) {
	all, err := list(ctx, c, "SHOW DATABASES", table.database, func(d Database) string { return d.Name })
	all = slices.DeleteFunc(all, func(d Database) bool { return d.Name == "*" })
	slices.SortFunc(all, func(a, b Database) int { return strings.Compare(a.Name, b.Name) })
	return all, err
}

// list reads the rows that a command shows, in the order of the pooler, without those of the console's own database.
func list[T any](ctx context.Context, c *Console, command string, read func(table, []string) (T, error), database func(T) string) ([]T, error) {
	t, err := c.ask(ctx, command)
	if err != nil {
		return nil, err
	}
	var all []T
	for _, row := range t.rows {
		v, err := read(t, row)
		if err != nil {
			return nil, err
		}
		if database(v) != own {
			all = append(all, v)
		}
	}
	return all, nil
}

func (t table) database(row []string) (d Database, err error) {
	name, e1 := t.get(row, "name")
	paused, e2 := t.get(row, "paused")
	disabled, e3 := t.get(row, "disabled")
	return Database{Name: name, Paused: paused == "1", Disabled: disabled == "1"}, cmp.Or(e1, e2, e3)
}

// Clients are those of databases, in the order of the pooler.
func (c *Console) Clients(ctx context.Context) ([]Client, error) {
	return list(ctx, c, "SHOW CLIENTS", table.client, func(client Client) string { return client.Database })
}

// connectLayout is how connect_time is written. The name of a zone that is not known here counts as UTC.
const connectLayout = "2006-01-02 15:04:05 MST"

func (t table) client(row []string) (c Client, err error) {
	user, e1 := t.get(row, "user")
	database, e2 := t.get(row, "database")
	addr, e3 := t.get(row, "addr")
	port, e4 := t.get(row, "port")
	since, e5 := t.get(row, "connect_time")
	if err := cmp.Or(e1, e2, e3, e4, e5); err != nil {
		return c, err
	}
	c = Client{ID: t.maybe(row, "id"), User: user, Database: database, Addr: hostOf(addr), Application: t.maybe(row, "application_name")}
	c.Port, e1 = strconv.Atoi(port)
	c.Since, e2 = time.Parse(connectLayout, since)
	if err := cmp.Or(e1, e2); err != nil {
		return c, &Error{Fault: Garbled, Detail: "SHOW CLIENTS: " + cause.Plain(err)}
	}
	return c, nil
}

// Servers are the connections to database servers, in the order of the pooler.
func (c *Console) Servers(ctx context.Context) ([]Server, error) {
	return list(ctx, c, "SHOW SERVERS", table.server, func(s Server) string { return s.Database })
}

func (t table) server(row []string) (s Server, err error) {
	database, e1 := t.get(row, "database")
	addr, e2 := t.get(row, "addr")
	since, e3 := t.get(row, "connect_time")
	if err := cmp.Or(e1, e2, e3); err != nil {
		return s, err
	}
	s = Server{Database: database, Addr: hostOf(addr)}
	if s.Since, err = time.Parse(connectLayout, since); err != nil {
		return s, &Error{Fault: Garbled, Detail: "SHOW SERVERS: " + cause.Plain(err)}
	}
	return s, nil
}

// hostOf is an address without what a UNIX socket's has behind it.
func hostOf(addr string) string {
	if ip := net.ParseIP(addr); ip != nil {
		return ip.String()
	}
	return addr
}

// Disable lets no new client of a database in. Those that are in go on.
func (c *Console) Disable(ctx context.Context, database string) error {
	return c.do(ctx, "DISABLE", database)
}

// Enable lets clients in again.
func (c *Console) Enable(ctx context.Context, database string) error {
	return c.do(ctx, "ENABLE", database)
}

// Kill cuts every client of a database and pauses it: RESUME must follow. It frees the pool, so that a login
// that is under way crashes the process: DISABLE must have been answered before.
func (c *Console) Kill(ctx context.Context, database string) error {
	return c.do(ctx, "KILL", database)
}

// Resume lets a paused database go on.
func (c *Console) Resume(ctx context.Context, database string) error {
	err := c.do(ctx, "RESUME", database)
	if e, ok := errors.AsType[*Error](err); ok && e.Fault == Refused && strings.Contains(e.Detail, "is not paused") {
		return nil
	}
	return err
}

// Reconnect lets a database use new server connections only, and forget what the server said of itself.
func (c *Console) Reconnect(ctx context.Context, database string) error {
	return c.do(ctx, "RECONNECT", database)
}

// Reload reads the configuration and the auth_file again. A pooler for which neither has changed goes on as before.
func (c *Console) Reload(ctx context.Context) error {
	_, err := c.ask(ctx, "RELOAD")
	return err
}

func (c *Console) do(ctx context.Context, verb, database string) error {
	name, err := quoteName(database)
	if err == nil {
		_, err = c.ask(ctx, verb+" "+name)
	}
	return err
}

// quoteName quotes a database's name.
func quoteName(name string) (string, error) {
	switch {
	case name == "" || name == "*" || name == own:
		return "", &Error{Fault: Refused, Detail: fmt.Sprintf("%q is not the name of one database", name)}
	case len(name) > 63 || strings.ContainsRune(name, 0):
		return "", &Error{Fault: Refused, Detail: fmt.Sprintf("%.63q is no name that PgBouncer can be told", name)}
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`, nil
}

// batch is how many commands are sent before their answers are read. Both directions of a batch fit into a socket's buffers.
const batch = 200

// KillClients cuts clients by their ids, since 1.24. gone counts those that are not there any more, also by themselves.
// Each batch of 200 has the time of one command.
func (c *Console) KillClients(ctx context.Context, ids []string) (gone int, err error) {
	for chunk := range slices.Chunk(ids, batch) {
		n, err := c.killBatch(ctx, chunk)
		gone += n
		if err != nil {
			return gone, err
		}
	}
	return gone, nil
}

func (c *Console) killBatch(ctx context.Context, ids []string) (gone int, err error) {
	ctx, cancel := c.config.bounded(ctx)
	defer cancel()
	if err := c.sendKills(ctx, ids); err != nil {
		return 0, err
	}
	var refusal error
	for range ids {
		err := c.awaitReady(ctx)
		switch e, said := errors.AsType[*Error](err); {
		case err == nil, said && e.Fault == Refused && strings.Contains(e.Detail, "client not found"):
			gone++
		case said && e.Fault == Refused, said && e.Fault == Denied:
			refusal = err
		default:
			return gone, err
		}
	}
	return gone, refusal
}

// sendKills sends a batch, or nothing of it.
func (c *Console) sendKills(ctx context.Context, ids []string) error {
	for _, id := range ids {
		if _, err := strconv.ParseUint(id, 10, 64); err != nil {
			return &Error{Fault: Refused, Detail: fmt.Sprintf("%.20q is no id of a client", id)}
		}
	}
	for _, id := range ids {
		c.conn.pg.Frontend().SendQuery(&pgproto3.Query{String: "KILL_CLIENT " + id})
	}
	deadline, _ := ctx.Deadline()
	_ = c.conn.raw.SetWriteDeadline(deadline) // the driver sets none when it is passed by; a socket that cannot is broken
	if err := c.conn.pg.Frontend().Flush(); err != nil {
		return judge(ctx, err)
	}
	_ = c.conn.raw.SetWriteDeadline(time.Time{})
	return nil
}

// awaitReady reads the answer to one command.
func (c *Console) awaitReady(ctx context.Context) (refusal error) {
	for {
		message, err := c.conn.pg.ReceiveMessage(ctx)
		if err != nil {
			return judge(ctx, err)
		}
		switch m := message.(type) {
		case *pgproto3.ErrorResponse:
			refusal = judge(ctx, pgconn.ErrorResponseToPgError(m))
		case *pgproto3.ReadyForQuery:
			return refusal
		}
	}
}
