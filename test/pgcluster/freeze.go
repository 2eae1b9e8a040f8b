package pgcluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Freeze stops all processes of a server where they are: its connections stay
// open, and nobody answers, until Thaw, Kill or the end of the test. It needs Linux.
func (c *Cluster) Freeze(name string) {
	c.t.Helper()
	n := c.Node(name)
	frozen := n.process
	c.check(n.signalAll(syscall.SIGSTOP))
	c.t.Cleanup(func() { // a stopped process hears no other signal than these two
		if n.process == frozen && n.Running() {
			_ = n.signalAll(syscall.SIGCONT)
		}
	})
}

// Thaw lets a frozen server go on.
func (c *Cluster) Thaw(name string) {
	c.t.Helper()
	c.check(c.Node(name).signalAll(syscall.SIGCONT))
}

// Kill is kill -9 of all processes of a server, frozen or not. It returns when the server is gone.
func (c *Cluster) Kill(name string) {
	c.t.Helper()
	n := c.Node(name)
	c.check(n.signalAll(syscall.SIGKILL))
	<-n.process.exited
}

// signalAll signals the postmaster first: it starts nobody after that.
func (n *Node) signalAll(s syscall.Signal) error {
	if !n.Running() {
		return fmt.Errorf("sending %v to %s: it does not run", s, n.Name)
	}
	children, err := childrenOf(n.process.cmd.Process.Pid)
	if err != nil {
		return err
	}
	if err := n.process.cmd.Process.Signal(s); err != nil {
		return fmt.Errorf("sending %v to %s: %w", s, n.Name, err)
	}
	later, err := childrenOf(n.process.cmd.Process.Pid) // who was started in between; none when it is gone
	for _, pid := range append(children, later...) {
		_ = syscall.Kill(pid, s) // it may have ended by itself
	}
	return err
}

// childrenOf are the processes whose parent is pid.
func childrenOf(pid int) (found []int, err error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		// The name in parentheses may contain anything.
		_, after, _ := strings.Cut(string(text[strings.LastIndex(string(text), ")")+1:]), " ")
		fields := strings.Fields(after)
		if len(fields) < 2 || fields[1] != strconv.Itoa(pid) {
			continue
		}
		child, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			return nil, err
		}
		found = append(found, child)
	}
	return found, nil
}
