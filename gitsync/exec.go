package gitsync

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// execCarrier reaches a repository on this machine by running git on it, as git itself does: its
// hooks, locks and quarantine apply.
type execCarrier struct{ path string }

func newExecCarrier(l location, auth Auth) (*execCarrier, error) {
	if auth != nil {
		return nil, fmt.Errorf("a repository on this machine (%s) takes no credentials", l)
	}
	return &execCarrier{l.path}, nil
}

func (c *execCarrier) close() error { return nil }

func (c *execCarrier) open(ctx context.Context, service string) (session, error) {
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, "git", strings.TrimPrefix(service, "git-"), "--", c.path)
	cmd.Env = cleanEnv(os.Environ())
	// Its hooks are its group: a push that is given up must not land later, when nobody waits for it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second // what left the group must not hold us
	errs := &syncText{}
	cmd.Stderr = errs
	in, err := cmd.StdinPipe()
	if err != nil {
		cancel()
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		cancel()
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		cancel()
		if errors.Is(err, exec.ErrNotFound) {
			return nil, faultf(ErrUnsupported, "a repository on this machine needs git installed")
		}
		return nil, err
	}
	return &stream{in: in, out: out, errs: errs, wait: cmd.Wait, stop: cancel}, nil
}

// cleanEnv leaves out what would bend git to another repository, and keeps its texts in English.
func cleanEnv(env []string) []string {
	bent := []string{
		"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
		"GIT_COMMON_DIR", "GIT_QUARANTINE_PATH", "GIT_PROTOCOL", "LC_ALL",
	}
	env = slices.DeleteFunc(env, func(kv string) bool {
		key, _, _ := strings.Cut(kv, "=")
		return slices.Contains(bent, key)
	})
	return append(env, "LC_ALL=C")
}
