//go:build e2e

package failover

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"
)

// psql is a script that has a psql, and another one when that has ended: a psql that reads commands from a pipe ends with its connection.
func (w *crowd) psql(ctx context.Context, i int, d *Diary) {
	for ctx.Err() == nil {
		if o := w.onePsql(ctx, i, d); ctx.Err() == nil {
			d.Note(o, time.Now())
			wait(ctx, w.cell.Pace())
		}
	}
}

// code is how psql says what the server said, with VERBOSITY sqlstate.
var code = regexp.MustCompile(`^(?:ERROR|FATAL):  ([0-9A-Z]{5})$`)

// psqlProgram is psql itself: what Debian has in PATH is a script that looks for it, at ten times the cost.
var psqlProgram = sync.OnceValue(func() string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/psql") // the pattern is well-formed
	if len(found) == 0 {
		return "psql"
	}
	return found[len(found)-1]
})

// onePsql talks to a psql until it ends, and returns what that was about.
func (w *crowd) onePsql(ctx context.Context, i int, d *Diary) Outcome {
	// stdbuf: psql keeps its answers back when they go to a pipe.
	cmd := exec.CommandContext(ctx, "stdbuf", "-oL", psqlProgram(), "-XqAt", "-v", "VERBOSITY=sqlstate", dsn(w.address))
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := cmd.StdinPipe()
	check(w.t, err)
	read, write, err := os.Pipe()
	check(w.t, err)
	defer read.Close()
	cmd.Stdout, cmd.Stderr = write, write
	if err := cmd.Start(); err != nil {
		write.Close()
		return "connection"
	}
	write.Close()
	defer func() { in.Close(); _ = cmd.Wait() }() // how it ended is known already
	said, lines := Outcome("connection"), bufio.NewScanner(read)
	for {
		if _, err := io.WriteString(in, statement(i)+";\n"); err != nil {
			return said
		}
		answer, more := w.answer(lines, &said)
		if !more {
			return said
		}
		d.Note(answer, time.Now())
		wait(ctx, w.cell.Pace())
	}
}

// answer reads until a statement has one. An error of the connection has none: the end follows.
func (w *crowd) answer(lines *bufio.Scanner, said *Outcome) (o Outcome, more bool) {
	for lines.Scan() {
		switch found := code.FindStringSubmatch(lines.Text()); {
		case found != nil && strings.HasPrefix(lines.Text(), "FATAL"):
			*said = Outcome(found[1])
		case found != nil:
			return Outcome(found[1]), true
		case len(lines.Text()) == 1: // a server's name
			return Done(lines.Text()), true
		}
	}
	return "", false
}
