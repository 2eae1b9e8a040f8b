package cmd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/poolwright/poolwright/discovery/aurorasim"
	"github.com/poolwright/poolwright/gitsync/githttp"
)

// DemoCmd shows a failover on this machine.
type DemoCmd struct {
	Stay bool   `help:"Keep it running, with a prompt to provoke faults."`
	Dir  string `placeholder:"DIR" help:"Keep the repository and the Cluster file here. Default: a new temporary directory."`
}

// Help is shown by --help.
func (DemoCmd) Help() string {
	return "It simulates an Aurora cluster of three instances, serves a Git repository on 127.0.0.1 and runs the same loop as " +
		"`poolwright run`. It needs no database, no git and no network.\n\n" + example("poolwright demo --stay")
}

// Run plays the demo.
func (c DemoCmd) Run(ctx context.Context, std *Stdio) error {
	dir, err := c.directory()
	if err != nil {
		return err
	}
	s, err := openStage(ctx, dir)
	if err != nil {
		return err
	}
	defer s.close()
	show := &play{stage: s, out: std.Out}
	if err := show.perform(ctx); err != nil {
		return err
	}
	if c.Stay {
		return show.stay(ctx, std.In)
	}
	return nil
}

// directory is where the demo lives: new and empty.
func (c DemoCmd) directory() (string, error) {
	if c.Dir == "" {
		dir, err := os.MkdirTemp("", "poolwright-demo-")
		if err != nil {
			return "", fmt.Errorf("making the demo's directory: %w", err)
		}
		return dir, nil
	}
	entries, err := os.ReadDir(c.Dir)
	if err == nil && len(entries) > 0 {
		return "", exitf(ExitUsage, "poolwright demo", "making the demo's directory: %s is not empty", c.Dir)
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return "", fmt.Errorf("making the demo's directory: %w", err)
	}
	return c.Dir, nil
}

const (
	demoCluster = "example-pg"
	// demoFailover is how long the simulated cluster takes to have a new writer.
	// A real one takes 5 to 30 s.
	demoFailover = 2 * time.Second
)

// demoFile is the demo's Cluster file. Its intervals are the shortest allowed;
// the batch window lets a new reader's overlay and its joining be one commit.
const demoFile = `apiVersion: poolwright.dev/v1alpha1
kind: Cluster
metadata:
  name: example-pg
  namespace: databases
spec:
  discovery:
    clusterName: example-pg
    domainName: demo.us-east-1.rds.amazonaws.com
    sslMode: disable
    interval: 1s
    timeout: 1s
  monitor:
    interval: 1s
    timeout: 1s
  pgbouncer:
    image: ghcr.io/cloudnative-pg/pgbouncer:1.24.1
    authFileSecretRef:
      name: example-pg-userlist
  publish:
    repository: %s
    path: clusters/example-pg
    batchWindow: 4s
`

// stage is everything the demo runs on.
type stage struct {
	dir    string
	url    string
	sim    *aurorasim.Cluster
	events chan Event

	server *http.Server
	stop   context.CancelFunc
	wg     sync.WaitGroup
}

func (s *stage) repository() string  { return filepath.Join(s.dir, "repo.git") }
func (s *stage) clusterFile() string { return filepath.Join(s.dir, "cluster.yaml") }

// openStage makes the repository, starts its server, the databases and the loop.
func openStage(ctx context.Context, dir string) (s *stage, err error) {
	ctx, stop := context.WithCancel(ctx)
	s = &stage{dir: dir, events: make(chan Event, 64), stop: stop}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if err := s.serve(ctx); err != nil {
		return s, err
	}
	if err := os.WriteFile(s.clusterFile(), fmt.Appendf(nil, demoFile, s.url), 0o644); err != nil {
		return s, fmt.Errorf("writing the demo's Cluster file: %w", err)
	}
	s.sim, err = aurorasim.Start(aurorasim.Config{
		Name: demoCluster, Domain: "demo.us-east-1.rds.amazonaws.com", FailoverDelay: demoFailover,
		Instances: []string{"example-pg-1", "example-pg-2", "example-pg-3"},
	})
	if err != nil {
		return s, err
	}
	s.loop(ctx)
	return s, nil
}

// loop is what `poolwright run` runs, with the simulated network in place of the real one.
func (s *stage) loop(ctx context.Context) {
	world := outside{Dial: s.sim.Dial, Lookup: s.sim.Lookup, Now: time.Now, AWS: newAWS(ctx), Getenv: func(string) string { return "demo" }}
	f, end := newFleet(ctx, world, func(e Event) {
		select {
		case s.events <- e:
		case <-ctx.Done(): // nobody looks any more
		}
	})
	s.wg.Go(func() {
		defer end()
		f.run(ctx, []string{s.clusterFile()})
	})
}

// serve makes the bare repository and serves it on loopback.
func (s *stage) serve(ctx context.Context) error {
	if err := githttp.Init(s.repository(), "main"); err != nil {
		return err
	}
	var loopback net.ListenConfig
	listener, err := loopback.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("serving the demo's repository: %w", err)
	}
	s.url = "http://" + listener.Addr().String()
	s.server = &http.Server{Handler: githttp.New(s.repository()), ReadHeaderTimeout: actTime}
	s.wg.Go(func() {
		if err := s.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.events <- Event{Kind: GitFailed, Err: err}
		}
	})
	return nil
}

// close ends the loop, then what it runs on.
func (s *stage) close() {
	s.stop()
	if s.server != nil {
		_ = s.server.Close()
	}
	s.wg.Wait()
	if s.sim != nil {
		s.sim.Close()
	}
}
