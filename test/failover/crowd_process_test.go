//go:build e2e

package failover

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// programs are the applications that are processes of their own, and say each outcome in a line. `make failover-build` builds what is to be built.
var programs = map[Driver][]string{
	Libpq: {"../../bin/failover-libpq"},
	Node:  {"node", "node/client.js"},
}

// process runs an application until the end.
func (w *crowd) process(ctx context.Context, program []string) {
	args := append(slices.Clone(program[1:]), dsn(w.address), strconv.Itoa(len(w.diaries)), strconv.FormatInt(w.cell.Pace().Milliseconds(), 10))
	cmd := exec.CommandContext(ctx, program[0], args...)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	check(w.t, err)
	if err := cmd.Start(); err != nil {
		w.t.Errorf("starting an application: %v", err)
		return
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		w.hear(lines.Text())
	}
	if err := cmd.Wait(); ctx.Err() == nil {
		w.t.Errorf("%s has ended: %v", program[0], err)
	}
}

// hear takes a line: the connection's number, the outcome, the time in milliseconds.
func (w *crowd) hear(line string) {
	f := strings.Fields(line)
	if len(f) != 3 {
		return // the last one, cut
	}
	i, err := strconv.Atoi(f[0])
	ms, bad := strconv.ParseFloat(f[2], 64)
	if err != nil || bad != nil || i < 0 || i >= len(w.diaries) {
		w.t.Errorf("an application says %q", line)
		return
	}
	w.diaries[i].Note(Outcome(f[1]), time.UnixMicro(int64(ms*1000)))
}
