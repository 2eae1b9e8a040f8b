package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// process is the first container of a pod as a process. How it is run:
//
//  1. Its volumes are written to files, once. What a ConfigMap or Secret says
//     later is not seen. A pod waits for a ConfigMap or Secret that is not there.
//  2. It gets network and mount namespaces of its own: the address of the pod on
//     an interface, so that two pods may listen on 0.0.0.0 and one port, and the
//     machine's root with a layer of its own above it, so that it may write
//     anywhere and its volumes may be mounted anywhere. The image is not looked at.
//  3. It reaches the world by its addresses, those in 127.0.0.0/8 too (but
//     127.0.0.1, which is its own): databases of tests listen there.
//  4. It runs as the user that the pod names, else as nobody.
//  5. When it ends it is started again after a second, with the same files.
type process struct {
	worker *worker
	pod    *corev1.Pod
	cancel context.CancelFunc
	exited chan struct{} // closed when the process has ended for good

	listens  bool // as the worker last heard
	restarts atomic.Int32

	mu  sync.Mutex
	pid int // 0 while none runs
}

// startProcess starts the pod's process in the background, and tells whether the pod's first port accepts connections.
func startProcess(ctx context.Context, w *worker, pod *corev1.Pod, listens chan<- bool) *process {
	ctx, cancel := context.WithCancel(ctx)
	p := &process{worker: w, pod: pod, cancel: cancel, exited: make(chan struct{})}
	go p.run(ctx)
	go p.probe(ctx, listens)
	return p
}

func (p *process) dir() string { return filepath.Join(p.worker.dir, string(p.pod.UID)) }

func (p *process) run(ctx context.Context) {
	defer close(p.exited)
	var c *container
	for ctx.Err() == nil {
		err := errors.New("ended")
		if c == nil {
			c, err = containerOf(ctx, p.worker.client, p.pod, p.worker.address, p.dir())
		}
		if c != nil {
			err = p.once(ctx, c)
			p.restarts.Add(1)
		}
		if ctx.Err() == nil {
			log.Printf("%s/%s: process: %v", p.pod.Namespace, p.pod.Name, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// once runs the process until its end.
func (p *process) once(ctx context.Context, c *container) error {
	output, err := os.OpenFile(filepath.Join(p.dir(), "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer output.Close()
	cmd := exec.Command("/proc/self/exe", containerCommand, c.file)
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL, Setpgid: true,
	}
	connected, err := cmd.StdinPipe() // closed when the network is there
	if err != nil {
		return err
	}
	p.mu.Lock()
	if ctx.Err() != nil {
		p.mu.Unlock()
		return ctx.Err()
	}
	err = cmd.Start()
	if err == nil {
		p.pid = cmd.Process.Pid
	}
	p.mu.Unlock()
	if err != nil {
		return err
	}
	if err := connect(cmd.Process.Pid, p.worker.address); err != nil {
		return errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	connected.Close()
	err = cmd.Wait()
	p.mu.Lock()
	p.pid = 0
	p.mu.Unlock()
	return err
}

// interfaces counts the interfaces made, for their names.
var interfaces atomic.Int32

// connect gives a process an interface in its network namespace, and its pod's address a route to there.
func connect(pid int, address string) error {
	name := fmt.Sprintf("pod%d", interfaces.Add(1))
	if err := ip(
		fmt.Sprintf("link add %s type veth peer name eth0 netns %d", name, pid),
		fmt.Sprintf("link set %s up", name),
		// Among the local routes, since that of all pods is one.
		fmt.Sprintf("route replace unicast %s/32 dev %s src %s table local", address, name, nodeAddress),
	); err != nil {
		return err
	}
	return routeLoopback(name)
}

// routeLoopback lets packets for 127.0.0.0/8 come in by the interface.
func routeLoopback(device string) error {
	return os.WriteFile(filepath.Join("/proc/sys/net/ipv4/conf", device, "route_localnet"), []byte("1\n"), 0o644)
}

func ip(lines ...string) error {
	cmd := exec.Command("ip", "-batch", "-")
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("running ip: %w: %s", err, out)
	}
	return nil
}

// probe tells every change of whether the pod's first port accepts connections.
func (p *process) probe(ctx context.Context, listens chan<- bool) {
	port := int32(0)
	if ports := p.pod.Spec.Containers[0].Ports; len(ports) > 0 {
		port = ports[0].ContainerPort
	}
	address := net.JoinHostPort(p.worker.address, strconv.Itoa(int(port)))
	for last := false; ; {
		conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", address)
		if err == nil {
			conn.Close()
		}
		if up := err == nil; up != last {
			select {
			case listens <- up:
				last = up
			case <-ctx.Done():
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// end ends the process: with its preStop hook and SIGTERM in the pod's grace
// period, or at once when the pod is nil, gone, or becomes so.
func (p *process) end(pod *corev1.Pod) {
	p.cancel()
	grace := time.Duration(0)
	if pod != nil && pod.DeletionGracePeriodSeconds != nil {
		grace = time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second
	}
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	go func() {
		p.preStop(ctx)
		p.signal(syscall.SIGTERM)
	}()
	for {
		select {
		case <-p.exited:
			_ = os.RemoveAll(filepath.Join(layers, string(p.pod.UID)))
			return
		case <-ctx.Done():
			p.signal(syscall.SIGKILL)
			<-p.exited
		case _, there := <-p.worker.states:
			if !there {
				cancel()
				p.worker.states = nil
			}
		}
	}
}

// preStop runs the container's preStop hook, when it is a command, beside the process.
func (p *process) preStop(ctx context.Context) {
	hooks := p.pod.Spec.Containers[0].Lifecycle
	p.mu.Lock()
	pid := p.pid
	p.mu.Unlock()
	if pid == 0 || hooks == nil || hooks.PreStop == nil || hooks.PreStop.Exec == nil {
		return
	}
	args := append([]string{"--target=" + strconv.Itoa(pid), "--net", "--mount", "--root", "--"}, hooks.PreStop.Exec.Command...)
	if out, err := exec.CommandContext(ctx, "nsenter", args...).CombinedOutput(); err != nil && ctx.Err() == nil {
		log.Printf("%s/%s: preStop: %v: %s", p.pod.Namespace, p.pod.Name, err, out)
	}
}

func (p *process) signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pid != 0 {
		_ = syscall.Kill(-p.pid, s) // it may have ended by itself
	}
}
