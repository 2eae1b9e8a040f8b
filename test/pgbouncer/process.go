package pgbouncer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

// deadline bounds every wait of the bed; reaching it is always a failure.
const deadline = time.Minute

// Process is a running PgBouncer.
type Process struct {
	Host string // in 127.0.0.0/8, its own
	Port int

	t      testing.TB
	dir    string
	cmd    *exec.Cmd
	exited chan struct{}

	mu  sync.Mutex
	log bytes.Buffer
}

// Start runs a PgBouncer until the test ends. It fails the test when it cannot.
func Start(t testing.TB, o Options) *Process {
	t.Helper()
	p, err := start(t, o)
	if err != nil {
		t.Fatalf("pgbouncer: %v", err)
	}
	return p
}

func start(t testing.TB, o Options) (*Process, error) {
	t.Helper()
	p := &Process{t: t, Port: o.Port, exited: make(chan struct{})}
	if p.Port == 0 {
		p.Port = Port
	}
	if o.Version == "" {
		o.Version = Versions()[len(Versions())-1]
	}
	binary := Binary(t, o.Version)
	var err error
	if p.Host, err = freeHost(p.Port); err != nil {
		return nil, err
	}
	if p.dir, err = os.MkdirTemp("", "pgbouncer-run-"); err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = os.RemoveAll(p.dir) })
	if err := errors.Join(own(p.dir), p.configure(o)); err != nil {
		return nil, err
	}
	if err := p.run(binary); err != nil {
		return nil, err
	}
	return p, p.awaitPort()
}

// freeHost is a loopback address whose port nobody has.
func freeHost(port int) (string, error) {
	for range 100 {
		host := fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), rand.IntN(255), 1+rand.IntN(254))
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err == nil {
			return host, l.Close()
		}
	}
	return "", errors.New("finding a loopback address: none is free (Linux has all of 127.0.0.0/8, others may not)")
}

// nobody is who runs it in root's place.
var nobody = syscall.Credential{Uid: 65534, Gid: 65534}

// own gives a file to whom the process runs as.
func own(path string) error {
	if os.Getuid() != 0 {
		return nil
	}
	return os.Chown(path, int(nobody.Uid), int(nobody.Gid))
}

func (p *Process) run(binary string) error {
	p.cmd = exec.Command(binary, p.dir+"/pgbouncer.ini")
	p.cmd.Dir = "/"
	p.cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"}
	p.cmd.Stdout, p.cmd.Stderr = p, p
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if os.Getuid() == 0 {
		p.cmd.SysProcAttr.Credential = &nobody
	}
	endWithParent(p.cmd.SysProcAttr)
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("starting: %w", err)
	}
	go func() { _ = p.cmd.Wait(); close(p.exited) }()
	p.t.Cleanup(func() {
		p.Stop()
		if p.t.Failed() {
			p.t.Logf("log of PgBouncer at %s:\n%s", p.Addr(), p.Log())
		}
	})
	return nil
}

// Write takes what the process says.
func (p *Process) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.Write(text)
}

var _ io.Writer = (*Process)(nil)

// Log is what the process said until now.
func (p *Process) Log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

func (p *Process) awaitPort() error {
	late, again := time.After(deadline), time.NewTicker(5*time.Millisecond)
	defer again.Stop()
	for {
		conn, err := net.Dial("tcp", p.Addr())
		if err == nil {
			return conn.Close()
		}
		select {
		case <-again.C:
		case <-p.exited:
			return fmt.Errorf("it has exited\n%s", p.Log())
		case <-late:
			return fmt.Errorf("its port: %w\n%s", err, p.Log())
		}
	}
}

// Addr is host:port.
func (p *Process) Addr() string { return net.JoinHostPort(p.Host, strconv.Itoa(p.Port)) }

// DSN connects User to a database.
func (p *Process) DSN(database string) string {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(User, Password), Host: p.Addr(),
		Path: "/" + database, RawQuery: "sslmode=disable",
	}
	return u.String()
}

// Signal sends the process a signal: SIGSTOP freezes it, SIGCONT lets it go on.
func (p *Process) Signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Errorf("pgbouncer: sending %v: %v", s, err)
	}
}

// Stop is kill -9. It returns when the process is gone.
func (p *Process) Stop() {
	_ = p.cmd.Process.Kill() // gone already is well
	<-p.exited
}

// Exited is closed when the process has ended, for whatever reason.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Running tells whether the process lives.
func (p *Process) Running() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}
