package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

// manifests is the directory of a set, and of a world, that has what is applied
// to the API server before the parts of the set can start.
const manifests = "manifests"

// run makes a world, waits for its end and gives its exit code.
func run(o options) (int, error) {
	if os.Getuid() != 0 {
		return 1, errors.New("making a world: only root may make its namespaces")
	}
	dirs, err := ensure(needed(o.with))
	if err != nil {
		return 1, err
	}
	temporary := o.dir == ""
	if o.dir, err = prepare(o.dir, dirs); err != nil {
		return 1, fmt.Errorf("preparing the world's directory: %w", err)
	}
	code, stopped, err := o.live()
	if temporary && (stopped || code == 0 && err == nil) {
		return code, errors.Join(err, os.RemoveAll(o.dir))
	}
	if code != 0 || err != nil {
		fmt.Fprintf(os.Stderr, "bed: what the world wrote is in %s\n", o.dir)
	}
	return code, err
}

// prepare makes the directory of a world and links its binaries and manifests into it.
func prepare(dir string, sets []string) (string, error) {
	var err error
	if dir == "" {
		dir, err = os.MkdirTemp("", "bed-")
	} else {
		dir, err = filepath.Abs(dir)
	}
	if err != nil {
		return "", err
	}
	if strings.HasPrefix(dir, "/run/") || strings.HasPrefix(dir, "/proc/") {
		return "", fmt.Errorf("%s cannot be seen inside: /run and /proc are the world's own", dir)
	}
	if _, err := os.Stat(filepath.Join(dir, "etcd")); err == nil {
		return "", fmt.Errorf("%s has had a world already", dir)
	}
	for _, sub := range []string{"bin", manifests, "log", "pki", "git", "flux"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return "", err
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil { // pods run as other users
		return "", err
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if err := os.Symlink(self, filepath.Join(dir, "bin", "bed")); err != nil {
		return "", err
	}
	for _, set := range sets {
		err := errors.Join(link(set, filepath.Join(dir, "bin")), link(filepath.Join(set, manifests), filepath.Join(dir, manifests)))
		if err != nil {
			return "", err
		}
	}
	return dir, nil
}

// link links the files of one directory into another.
func link(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !entry.Type().IsRegular() {
			continue
		}
		if err := os.Symlink(filepath.Join(from, entry.Name()), filepath.Join(to, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

// live starts PID 1 of the world and waits for it. The world is stopped by the
// signals that end a command; should this process be killed, the kernel stops it.
func (o options) live() (code int, stopped bool, err error) {
	// The kernel signals the death of the thread that started the process, so that
	// thread has to stay.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.Command("/proc/self/exe", append([]string{pidOne}, o.arguments()...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC,
		Pdeathsig:  syscall.SIGKILL,
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	if err := cmd.Start(); err != nil {
		return 1, false, fmt.Errorf("making a world: %w", err)
	}
	pid := strconv.Itoa(cmd.Process.Pid)
	if err := os.WriteFile(filepath.Join(o.dir, "pid"), []byte(pid+"\n"), 0o644); err != nil {
		return 1, false, errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // the state tells
	}()
	select {
	case <-ended:
		return exitCode(cmd.ProcessState.Sys().(syscall.WaitStatus)), false, nil
	case s := <-signals:
		err := cmd.Process.Kill()
		<-ended
		return 128 + int(s.(syscall.Signal)), true, err
	}
}

// exitCode is a status as a shell gives it.
func exitCode(status syscall.WaitStatus) int {
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

// enter replaces this process by a command in a world that runs.
func enter(o options) error {
	if o.dir == "" || len(o.command) == 0 {
		return fmt.Errorf("%w: exec needs a --dir and a command", errUsage)
	}
	dir, err := filepath.Abs(o.dir)
	if err != nil {
		return err
	}
	pid, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		return fmt.Errorf("finding the world: %w", err)
	}
	nsenter, err := exec.LookPath("nsenter")
	if err != nil {
		return err
	}
	wd, err := os.Getwd()
	if err != nil {
		return err
	}
	args := []string{"nsenter", "--target=" + strings.TrimSpace(string(pid)), "--net", "--mount", "--pid", "--uts", "--ipc", "--wdns=" + wd, "--"}
	return syscall.Exec(nsenter, append(args, o.command...), inside(dir))
}

// inside is the environment of commands in the world.
func inside(dir string) []string {
	env := append(os.Environ(),
		"BED_DIR="+dir,
		"KUBECONFIG="+filepath.Join(dir, "admin.kubeconfig"),
		"PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH")+":/usr/sbin:/sbin",
	)
	return (&exec.Cmd{Env: env}).Environ() // the last of each name
}
