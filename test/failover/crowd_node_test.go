//go:build e2e

package failover

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// node is an application in Node.js: node/client.js, which says each outcome in a line.
func (w *crowd) node(ctx context.Context) {
	cmd := exec.CommandContext(ctx, "node", filepath.Join("node", "client.js"),
		dsn(w.address), strconv.Itoa(len(w.diaries)), strconv.FormatInt(w.cell.Pace().Milliseconds(), 10))
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	check(w.t, err)
	if err := cmd.Start(); err != nil {
		w.t.Errorf("starting node: %v", err)
		return
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		w.hear(lines.Text())
	}
	if err := cmd.Wait(); err != nil && ctx.Err() == nil {
		w.t.Errorf("node has ended: %v", err)
	}
}

// hear takes a line: the connection's number, the outcome, the time in milliseconds.
func (w *crowd) hear(line string) {
	f := strings.Fields(line)
	if len(f) != 3 {
		return
	}
	i, err := strconv.Atoi(f[0])
	ms, bad := strconv.ParseFloat(f[2], 64)
	if err != nil || bad != nil || i < 0 || i >= len(w.diaries) {
		w.t.Errorf("node says %q", line)
		return
	}
	w.diaries[i].Note(Outcome(f[1]), time.UnixMicro(int64(ms*1000)))
}
