package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// world is the driver's view of the world that it is in.
type world struct {
	fleet
	with  map[string]bool
	parts []*part // in the order in which they may be started
}

// drive starts the parts, runs the command and gives its exit code.
func drive(o options) (int, error) {
	if os.Getppid() != 1 {
		return 2, fmt.Errorf("%w: %s is for bed itself", errUsage, driver)
	}
	w, err := newWorld(o)
	if err != nil {
		return 1, fmt.Errorf("preparing the world: %w", err)
	}
	listener, err := listenControl(o.dir)
	if err != nil {
		return 1, err
	}
	start := time.Now()
	if err := w.up(context.Background()); err != nil {
		return 1, err
	}
	fmt.Fprintf(os.Stderr, "bed: ready in %.1f s: %s\n", time.Since(start).Seconds(), o.dir)
	go serveControl(listener, w.parts)
	if len(o.command) == 0 {
		fmt.Fprintf(os.Stderr, hint, filepath.Join(o.dir, "bin", "bed"), o.dir)
		select {} // until this world is killed
	}
	return command(o.command)
}

const hint = `
Look around from another terminal (Ctrl-C here ends it):
  %[1]s exec --dir %[2]s -- kubectl get pods -A
  %[1]s exec --dir %[2]s -- bed ctl list
  %[1]s exec --dir %[2]s -- bash
`

func newWorld(o options) (*world, error) {
	f := fleet{dir: o.dir}
	if err := f.configure(); err != nil {
		return nil, err
	}
	var err error
	if f.ask, err = newAsker(o.dir); err != nil {
		return nil, err
	}
	w := &world{fleet: f, with: o.with}
	specs := []spec{f.etcd(), f.apiserver(), f.controllerManager(), f.scheduler(), f.fakenode(), f.gitd()}
	if o.with["proxy"] {
		specs = append(specs, f.proxy())
	}
	if o.with["flux"] {
		specs = append(specs, f.sourceController(), f.kustomizeController())
	}
	if o.with["argo"] {
		specs = append(specs, f.redis(), f.argoRepo(), f.argoController())
	}
	for _, s := range specs {
		w.parts = append(w.parts, newPart(s, o.dir))
	}
	return w, nil
}

// up starts the parts, as early as each can start, and waits until all answer.
func (w *world) up(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := w.start(ctx, "etcd", "apiserver"); err != nil {
		return err
	}
	core := []string{"controller-manager", "scheduler", "fakenode", "gitd"}
	if w.with["proxy"] {
		core = append(core, "proxy")
	}
	steps := []func() error{
		func() error { return w.start(ctx, core...) },
		func() error {
			return w.kubectl(ctx, "", "wait", "--for=create", "serviceaccount/default", "--namespace=default", "--timeout=60s")
		},
		func() error { return w.kubectl(ctx, "", "wait", "--for=create", "node/fake1", "--timeout=60s") },
	}
	if w.with["flux"] {
		steps = append(steps, func() error { return w.upFlux(ctx) })
	}
	if w.with["argo"] {
		steps = append(steps, func() error { return w.upArgo(ctx) })
	}
	return together(steps...)
}

func (w *world) upFlux(ctx context.Context) error {
	if err := w.establish(ctx, namespace("flux-system"), "*.toolkit.fluxcd.io_*.yaml"); err != nil {
		return fmt.Errorf("setting up Flux: %w", err)
	}
	return w.start(ctx, "source-controller", "kustomize-controller")
}

func (w *world) upArgo(ctx context.Context) error {
	if err := w.configureArgo(); err != nil {
		return fmt.Errorf("setting up Argo CD: %w", err)
	}
	setUp := func() error {
		if err := w.establish(ctx, namespace("argocd"), "app*-crd.yaml"); err != nil {
			return fmt.Errorf("setting up Argo CD: %w", err)
		}
		return w.kubectl(ctx, argoSetup, "apply", "--server-side", "--filename=-")
	}
	if err := together(setUp, func() error { return w.start(ctx, "redis", "argo-repo") }); err != nil {
		return err
	}
	return w.start(ctx, "argo-controller")
}

// establish creates a namespace and the custom resource definitions of the
// manifests, and waits until the API server serves them.
func (w *world) establish(ctx context.Context, namespace, pattern string) error {
	files, err := filepath.Glob(w.path(manifests, pattern))
	if err != nil || len(files) == 0 {
		return errors.Join(err, fmt.Errorf("no manifest is like %s", pattern))
	}
	args := []string{"--filename=" + strings.Join(files, ",")}
	if err := w.kubectl(ctx, namespace, "apply", "--server-side", "--filename=-"); err != nil {
		return err
	}
	if err := w.kubectl(ctx, "", append([]string{"apply", "--server-side"}, args...)...); err != nil {
		return err
	}
	for {
		err := w.kubectl(ctx, "", append([]string{"wait", "--for=condition=Established", "--timeout=60s"}, args...)...)
		if err == nil || ctx.Err() != nil || !strings.Contains(err.Error(), "accessor error") {
			return err
		} // kubectl cannot wait for a condition where there is none yet
	}
}

// kubectl runs kubectl as admin with the given input.
func (w *world) kubectl(ctx context.Context, input string, args ...string) error {
	cmd := exec.CommandContext(ctx, w.bin("kubectl"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+w.kubeconfig("admin"))
	cmd.Stdin = strings.NewReader(input)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
	return nil
}

// start starts parts side by side.
func (w *world) start(ctx context.Context, names ...string) error {
	var steps []func() error
	for _, name := range names {
		p, err := find(w.parts, name)
		if err != nil {
			return err
		}
		steps = append(steps, func() error { return p.start(ctx) })
	}
	return together(steps...)
}

func together(steps ...func() error) error {
	errs := make([]error, len(steps))
	var wg sync.WaitGroup
	for i, step := range steps {
		wg.Go(func() { errs[i] = step() })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func find(parts []*part, name string) (*part, error) {
	for _, p := range parts {
		if p.name == name {
			return p, nil
		}
	}
	return nil, fmt.Errorf("no part %q in this world", name)
}

// command runs the command that the world is for.
func command(argv []string) (int, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exitCode(exit.Sys().(syscall.WaitStatus)), nil
	}
	if err != nil {
		return 1, fmt.Errorf("running the command: %w", err)
	}
	return 0, nil
}
