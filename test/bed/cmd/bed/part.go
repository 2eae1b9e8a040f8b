package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

const (
	// readyTimeout is how long a part may take until it answers.
	readyTimeout = 5 * time.Minute
	// enough: a part that ended so often before it answered never will.
	enough = 5
)

// spec says what a part is.
type spec struct {
	name string
	argv []string
	env  []string
	// ready succeeds when the part answers.
	ready func(context.Context) error
}

// part is one server of the world, kept running unless it was told to stop.
type part struct {
	spec
	log string

	mu     sync.Mutex
	cmd    *exec.Cmd     // nil when down
	ended  chan struct{} // closed when cmd has ended
	wanted bool
	ends   int // how often it ended by itself since it was started
}

func newPart(s spec, dir string) *part {
	return &part{spec: s, log: filepath.Join(dir, "log", s.name+".log")}
}

// start launches the part, if it is down, and waits until it answers.
func (p *part) start(ctx context.Context) error {
	p.mu.Lock()
	p.wanted, p.ends = true, 0
	err := p.launch()
	p.mu.Unlock()
	if err != nil {
		return err
	}
	return p.awaitReady(ctx)
}

// launch needs p.mu.
func (p *part) launch() error {
	if p.cmd != nil {
		return nil
	}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(p.argv[0], p.argv[1:]...)
	cmd.Env = append(os.Environ(), p.env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a terminal's Ctrl-C is not for it; its children stop with it
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", p.name, err)
	}
	p.cmd, p.ended = cmd, make(chan struct{})
	go p.watch(cmd, p.ended)
	return nil
}

// watch waits for the end of a process, and starts the part again when nobody wanted that.
func (p *part) watch(cmd *exec.Cmd, ended chan struct{}) {
	_ = cmd.Wait()
	p.mu.Lock()
	p.cmd = nil
	close(ended)
	p.ends++
	wanted := p.wanted
	p.mu.Unlock()
	if !wanted {
		return
	}
	fmt.Fprintf(os.Stderr, "bed: %s ended (%s); starting it again in a second; its log: %s\n", p.name, cmd.ProcessState, p.log)
	time.Sleep(time.Second)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.wanted {
		if err := p.launch(); err != nil {
			fmt.Fprintln(os.Stderr, "bed:", err)
		}
	}
}

// signal sends a signal to the part and its children. The signals that end a
// process stop the part for good, and signal waits for the end.
func (p *part) signal(s syscall.Signal) error {
	p.mu.Lock()
	if ends(s) {
		p.wanted = false
	}
	cmd, ended := p.cmd, p.ended
	p.mu.Unlock()
	if cmd == nil {
		if ends(s) {
			return nil
		}
		return fmt.Errorf("%s is down", p.name)
	}
	if err := syscall.Kill(-cmd.Process.Pid, s); err != nil {
		return fmt.Errorf("signalling %s: %w", p.name, err)
	}
	if !ends(s) {
		return nil
	}
	select {
	case <-ended:
		return nil
	case <-time.After(readyTimeout):
		return fmt.Errorf("stopping %s: it does not end", p.name)
	}
}

func ends(s syscall.Signal) bool { return s != syscall.SIGSTOP && s != syscall.SIGCONT }

// awaitReady asks every 20 ms. It gives up on a part that ends again and again.
func (p *part) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	err := await(ctx, func(ctx context.Context) error {
		err := p.ready(ctx)
		p.mu.Lock()
		defer p.mu.Unlock()
		if err != nil && p.ends >= enough {
			cancel()
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("waiting for %s (its log: %s): %w", p.name, p.log, err)
	}
	return nil
}

// await repeats ask until it succeeds or ctx ends; then the error is the last one of ask.
func await(ctx context.Context, ask func(context.Context) error) error {
	for {
		attempt, cancel := context.WithTimeout(ctx, 2*time.Second)
		err := ask(attempt)
		cancel()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// state is the part in one word or two.
func (p *part) state() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.cmd != nil:
		return fmt.Sprintf("up %d", p.cmd.Process.Pid)
	case p.wanted:
		return "restarting"
	}
	return "down"
}
