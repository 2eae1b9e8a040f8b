package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// network are the commands of ip(8) that make the world's network: pods' addresses
// are local, 10.200.0.1 is the node, and the bridge is where everything else
// (the Services' addresses, before kube-proxy turns them round) seems to be.
const network = `link set lo up
route replace local 10.244.0.0/16 dev lo
link add uplink0 type bridge
addr add 10.200.0.1/24 dev uplink0
link set uplink0 up
route replace default dev uplink0
`

// initWorld is PID 1 of a world: it sets up what is the world's own, starts the
// driver, and reaps what becomes orphaned until the driver ends.
func initWorld(o options) (int, error) {
	if os.Getpid() != 1 {
		return 2, fmt.Errorf("%w: %s is for bed itself", errUsage, pidOne)
	}
	if err := errors.Join(ownMounts(), ownNames(o.dir), ownNetwork()); err != nil {
		return 1, fmt.Errorf("setting up the world: %w", err)
	}
	child, err := syscall.ForkExec("/proc/self/exe", append([]string{"bed", driver}, o.arguments()...), &syscall.ProcAttr{
		Env:   inside(o.dir),
		Files: []uintptr{0, 1, 2},
	})
	if err != nil {
		return 1, fmt.Errorf("starting the driver: %w", err)
	}
	for {
		var status syscall.WaitStatus
		switch pid, err := syscall.Wait4(-1, &status, 0, nil); {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return 1, fmt.Errorf("waiting for the driver: %w", err)
		case pid == child:
			return exitCode(status), nil
		}
	}
}

func ownMounts() error {
	for _, m := range []struct {
		source, target, kind string
		flags                uintptr
		options              string
	}{
		{"", "/", "", syscall.MS_REC | syscall.MS_PRIVATE, ""},
		{"proc", "/proc", "proc", syscall.MS_NOSUID | syscall.MS_NODEV | syscall.MS_NOEXEC, ""},
		{"tmpfs", "/run", "tmpfs", syscall.MS_NOSUID | syscall.MS_NODEV, "mode=755"},
	} {
		if err := syscall.Mount(m.source, m.target, m.kind, m.flags, m.options); err != nil {
			return fmt.Errorf("mounting %s: %w", m.target, err)
		}
	}
	return os.MkdirAll("/run/lock", 0o755)
}

// ownNames lets nothing ask a name server that cannot be reached: git asks for the
// name of its host when it writes a reflog, and would wait 6 s for it each time.
func ownNames(dir string) error {
	const hostname = "bed"
	if err := syscall.Sethostname([]byte(hostname)); err != nil {
		return fmt.Errorf("naming the host: %w", err)
	}
	for file, content := range map[string]string{
		"/etc/hosts":       "127.0.0.1 localhost " + hostname + "\n::1 localhost\n",
		"/etc/resolv.conf": "nameserver 127.0.0.1\n", // refuses at once
	} {
		own := filepath.Join(dir, filepath.Base(file))
		if err := os.WriteFile(own, []byte(content), 0o644); err != nil {
			return err
		}
		if _, err := os.Stat(file); err != nil {
			continue // a link into /run, which leads nowhere in here; that is as good
		}
		if err := syscall.Mount(own, file, "", syscall.MS_BIND, ""); err != nil {
			return fmt.Errorf("mounting %s: %w", file, err)
		}
	}
	return nil
}

func ownNetwork() error {
	ip := exec.Command("ip", "-batch", "-")
	ip.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin")
	ip.Stdin = strings.NewReader(network)
	if out, err := ip.CombinedOutput(); err != nil {
		return fmt.Errorf("running ip: %w: %s (hint: make deps)", err, out)
	}
	return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1\n"), 0o644)
}
