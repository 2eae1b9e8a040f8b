package driver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/poolwright/poolwright/cmd"
	"github.com/poolwright/poolwright/test/pgcluster"
)

// asBinary makes a test binary be poolwright.
const asBinary = "POOLWRIGHT_TEST_AS_BINARY"

// Patience bounds every wait, so that a failure ends.
const Patience = 90 * time.Second

// Main is what TestMain calls: it runs the tests, or poolwright when this process is meant to be it.
func Main(m *testing.M) {
	if os.Getenv(asBinary) != "" {
		os.Exit(cmd.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// Process is a running poolwright.
type Process struct {
	t    testing.TB
	cmd  *exec.Cmd
	done chan struct{}

	mu    sync.Mutex
	log   strings.Builder
	lines chan struct{} // has a value after a new line
}

// Start runs poolwright until the test ends, or Stop or Kill.
func Start(t testing.TB, args ...string) *Process {
	t.Helper()
	p := &Process{t: t, cmd: command(args...), done: make(chan struct{}), lines: make(chan struct{}, 1)}
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.done)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			p.mu.Lock()
			p.log.WriteString(lines.Text() + "\n")
			p.mu.Unlock()
			signal(p.lines)
		}
		_ = p.cmd.Wait()
	}()
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("log of poolwright:\n%s", p.Text())
		}
	})
	return p
}

// command is poolwright. A kubeconfig in the environment of the tests is not for it.
func command(args ...string) *exec.Cmd {
	c := exec.CommandContext(context.Background(), os.Args[0], args...)
	c.Env = append(os.Environ(), asBinary+"=1", "GORACE=halt_on_error=1 atexit_sleep_ms=0", "KUBECONFIG=",
		"PGUSER="+pgcluster.User, "PGPASSWORD="+pgcluster.Password, "PGSSLMODE=disable")
	return c
}

// Kill is kill -9. It returns when the process is gone.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// Stop asks it to end, and wants it to end well.
func (p *Process) Stop() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Error(err)
	}
	select {
	case <-p.done:
	case <-time.After(Patience):
		p.t.Error("poolwright does not end when it is asked to")
		return
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		p.t.Errorf("got exit code %d after SIGTERM, want 0", code)
	}
}

// Text is the log until now.
func (p *Process) Text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// AwaitLine waits for a line of the log with all of these parts, and returns it.
func (p *Process) AwaitLine(parts ...string) string {
	p.t.Helper()
	return p.AwaitLineAfter("", parts...)
}

// AwaitLineAfter is AwaitLine for what comes after a log that is known already.
func (p *Process) AwaitLineAfter(known string, parts ...string) string {
	p.t.Helper()
	late := time.NewTimer(Patience)
	defer late.Stop()
	for {
		if line := Line(strings.TrimPrefix(p.Text(), known), parts...); line != "" {
			return line
		}
		select {
		case <-p.lines:
		case <-late.C:
			p.t.Fatalf("waiting for a line of the log with %q", parts)
		}
	}
}

// Line is the first line of a text with all of these parts, "" when there is none.
func Line(text string, parts ...string) string {
	for line := range strings.Lines(text) {
		if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// signal leaves one value in c.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Once runs poolwright to its end.
func Once(t testing.TB, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	c := command(args...)
	var out, errs strings.Builder
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(fmt.Errorf("running poolwright: %w", err))
	}
	return out.String(), errs.String(), c.ProcessState.ExitCode()
}
