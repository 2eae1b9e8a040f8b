package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

const (
	// containerCommand makes fakenode become a pod's process.
	containerCommand = "container"
	// layers is where what the pods write is kept: not on the file system that lies below them.
	layers = "/run/pods"
)

// container is what fakenode tells itself about the process that it becomes.
type container struct {
	file string // where this is written

	ID       string
	Address  string
	Command  []string
	Env      []string
	Dir      string
	User     int
	Group    int
	Mounts   []mount
	ReadOnly bool // the root
}

type mount struct {
	Source, Target string
	ReadOnly       bool
}

// becomeContainer turns this process, which is in new namespaces, into the process of a pod.
func becomeContainer(file string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var c container
	if err := json.Unmarshal(content, &c); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil { // until the interface is there
		return err
	}
	if err := c.network(); err != nil {
		return err
	}
	root, err := c.layer()
	if err != nil {
		return err
	}
	if err := errors.Join(syscall.Chroot(root), os.Chdir(c.Dir)); err != nil {
		return fmt.Errorf("entering the root: %w", err)
	}
	path, err := exec.LookPath(c.Command[0])
	if err != nil {
		return err
	}
	if err := errors.Join(syscall.Setgroups([]int{c.Group}), syscall.Setgid(c.Group), syscall.Setuid(c.User)); err != nil {
		return fmt.Errorf("becoming user %d: %w", c.User, err)
	}
	return syscall.Exec(path, c.Command, c.Env)
}

func (c *container) network() error {
	if err := ip(
		"link set lo up",
		fmt.Sprintf("addr add %s/32 dev eth0", c.Address),
		"link set eth0 up",
		fmt.Sprintf("route add %s dev eth0", nodeAddress),
		fmt.Sprintf("route add default via %s dev eth0", nodeAddress),
		"route del local 127.0.0.0/8 dev lo table local",
		fmt.Sprintf("route add 127.0.0.0/8 via %s dev eth0 src %s", nodeAddress, c.Address),
	); err != nil {
		return err
	}
	return routeLoopback("eth0")
}

// layer mounts the process's root: the machine's with a layer above, and the volumes in it.
func (c *container) layer() (root string, err error) {
	base := filepath.Join(layers, c.ID)
	upper, work, root := filepath.Join(base, "upper"), filepath.Join(base, "work"), filepath.Join(base, "root")
	for _, dir := range []string{upper, work, root} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return "", err
		}
	}
	if err := syscall.Mount("overlay", root, "overlay", 0, "lowerdir=/,upperdir="+upper+",workdir="+work); err != nil {
		return "", fmt.Errorf("mounting the root: %w", err)
	}
	for _, path := range []string{"/proc", "/dev", "/sys", "/etc/hosts", "/etc/resolv.conf"} {
		if _, err := os.Stat(path); err != nil {
			continue
		}
		if err := syscall.Mount(path, root+path, "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
			return "", fmt.Errorf("mounting %s: %w", path, err)
		}
	}
	for _, dir := range []string{"/run", "/tmp"} {
		if err := syscall.Mount("tmpfs", root+dir, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, "mode=1777"); err != nil {
			return "", fmt.Errorf("mounting %s: %w", dir, err)
		}
	}
	for _, m := range c.Mounts {
		if err := m.bind(root); err != nil {
			return "", fmt.Errorf("mounting %s: %w", m.Target, err)
		}
	}
	if c.ReadOnly {
		return root, remountReadOnly(root)
	}
	return root, nil
}

func (m mount) bind(root string) error {
	info, err := os.Stat(m.Source)
	if err != nil {
		return err
	}
	target := filepath.Join(root, m.Target)
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	if info.IsDir() {
		err = os.MkdirAll(target, 0o755)
	} else if _, missing := os.Stat(target); missing != nil {
		err = os.WriteFile(target, nil, 0o644)
	}
	if err != nil {
		return err
	}
	if err := syscall.Mount(m.Source, target, "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
		return err
	}
	if m.ReadOnly {
		return remountReadOnly(target)
	}
	return nil
}

func remountReadOnly(target string) error {
	return syscall.Mount("", target, "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY, "")
}
