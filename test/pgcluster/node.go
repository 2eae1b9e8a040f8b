package pgcluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Node is one server.
type Node struct {
	Name string
	Host string // in 127.0.0.0/8
	Port int

	cluster  *Cluster
	dir      string
	upstream *Node // whom a standby follows
	process  *process
}

// process is a postmaster that runs or has run.
type process struct {
	cmd    *exec.Cmd
	exited chan struct{}
}

// Mode is how a server is stopped.
type Mode syscall.Signal

// The modes are those of pg_ctl.
const (
	// Fast ends the sessions and lets the standbys receive everything.
	Fast = Mode(syscall.SIGINT)
	// Immediate is a crash: no checkpoint, no good-bye.
	Immediate = Mode(syscall.SIGQUIT)
)

// deadline bounds every wait of the bed; reaching it is always a failure.
const deadline = time.Minute

// Addr is host:port.
func (n *Node) Addr() string { return net.JoinHostPort(n.Host, strconv.Itoa(n.Port)) }

// DSN connects User to database postgres over TCP without TLS.
func (n *Node) DSN() string {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(User, Password), Host: n.Addr(),
		Path: "/postgres", RawQuery: "sslmode=disable",
	}
	return u.String()
}

// Running tells whether the server's process lives.
func (n *Node) Running() bool {
	if n.process == nil {
		return false
	}
	select {
	case <-n.process.exited:
		return false
	default:
		return true
	}
}

func (n *Node) data() string   { return filepath.Join(n.dir, "data") }
func (n *Node) config() string { return filepath.Join(n.dir, "postgresql.conf") }
func (n *Node) log() string    { return filepath.Join(n.dir, "log") }

// start runs the server and waits until it accepts connections.
func (n *Node) start() error {
	log, err := os.OpenFile(n.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := n.cluster.install.command("postgres", "-D", n.data(), "-c", "config_file="+n.config())
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", n.Name, err)
	}
	p := &process{cmd: cmd, exited: make(chan struct{})}
	go func() { _ = cmd.Wait(); close(p.exited) }()
	n.process = p
	n.cluster.t.Cleanup(func() { p.stop(Immediate) })
	return n.waitFor("accepting connections", "SELECT true")
}

// stop signals the process, by its id, and waits for its end.
func (n *Node) stop(mode Mode) error {
	if !n.Running() {
		return nil
	}
	if !n.process.stop(mode) {
		return fmt.Errorf("stopping %s: it still ran after %s and was killed\n%s", n.Name, deadline, n.logTail())
	}
	return nil
}

// stop reports whether the signal was enough. It leaves nothing running.
func (p *process) stop(mode Mode) bool {
	_ = p.cmd.Process.Signal(syscall.Signal(mode))
	select {
	case <-p.exited:
		return true
	case <-time.After(deadline):
		_ = p.cmd.Process.Kill()
		<-p.exited
		return false
	}
}

// reload makes the server read its configuration again, and waits until new
// sessions see it.
func (n *Node) reload() error {
	if !n.Running() {
		return nil
	}
	var before time.Time
	if err := n.queryRow(context.Background(), "SELECT clock_timestamp()", &before); err != nil {
		return err
	}
	if err := n.process.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		return err
	}
	return n.waitFor("reloading", "SELECT pg_conf_load_time() >= "+quote(before.Format(time.RFC3339Nano)))
}

// connect is a superuser's session over the Unix socket, which needs no password.
func (n *Node) connect(ctx context.Context) (*pgx.Conn, error) {
	return pgx.Connect(ctx, fmt.Sprintf("host=%s port=%d user=postgres dbname=postgres sslmode=disable", n.dir, n.Port))
}

func (n *Node) exec(ctx context.Context, sql string) error {
	conn, err := n.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.PgConn().Exec(ctx, sql).ReadAll()
	return err
}

func (n *Node) queryRow(ctx context.Context, sql string, into any) error {
	conn, err := n.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	return conn.QueryRow(ctx, sql).Scan(into)
}

// waitFor asks until the answer is true. A server that is not up yet counts as
// "not yet", one that has exited as a failure.
func (n *Node) waitFor(what, sql string) error {
	return n.waitAtMost(deadline, what, sql)
}

func (n *Node) waitAtMost(limit time.Duration, what, sql string) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	pause := time.NewTicker(20 * time.Millisecond)
	defer pause.Stop()
	ask := &asker{node: n}
	defer ask.close()
	for {
		err := ask.whether(ctx, sql)
		if err == nil {
			return nil
		}
		select {
		case <-n.process.exited:
			return fmt.Errorf("%s of %s: the server has exited\n%s", what, n.Name, n.logTail())
		case <-ctx.Done():
			return fmt.Errorf("%s of %s: not within %s (last error: %w)\n%s", what, n.Name, limit, err, n.logTail())
		case <-pause.C:
		}
	}
}

// asker keeps a connection between questions: a new one for each costs the
// server a process.
type asker struct {
	node *Node
	conn *pgx.Conn
}

// errNotYet is an answer that is false or NULL.
var errNotYet = errors.New("the answer is no")

// whether returns nil when the answer is true.
func (a *asker) whether(ctx context.Context, sql string) (err error) {
	if a.conn == nil {
		if a.conn, err = a.node.connect(ctx); err != nil {
			return err
		}
	}
	var yes *bool
	if err := a.conn.QueryRow(ctx, sql).Scan(&yes); err != nil {
		a.close()
		return err
	}
	if yes == nil || !*yes {
		return errNotYet
	}
	return nil
}

func (a *asker) close() {
	if a.conn != nil {
		_ = a.conn.Close(context.Background())
		a.conn = nil
	}
}

// waitCaughtUp waits until a standby streams from its upstream and has replayed
// all that the upstream has now.
func (n *Node) waitCaughtUp() error {
	if err := n.waitFor("streaming", n.streamsFrom(n.upstream)); err != nil {
		return err
	}
	var lsn string
	current := "SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END::text"
	if err := n.upstream.queryRow(context.Background(), current, &lsn); err != nil {
		return err
	}
	return n.waitFor("catching up", "SELECT pg_last_wal_replay_lsn() >= "+quote(lsn))
}

func (n *Node) streamsFrom(up *Node) string {
	return fmt.Sprintf("SELECT EXISTS (SELECT FROM pg_stat_wal_receiver WHERE status = 'streaming' AND sender_host = %s AND sender_port = %d)",
		quote(up.Host), up.Port)
}

// logTail is the end of the server's log, for the text of a failure.
func (n *Node) logTail() string {
	text, err := os.ReadFile(n.log())
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-3000):])
}
