package cmd

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/poolwright/poolwright/clusters"
)

// RunCmd keeps Git equal to what the databases say.
type RunCmd struct {
	Files      []string `name:"file" short:"f" sep:"none" required:"" xor:"clusters" placeholder:"FILE" help:"A Cluster file; may be given several times."`
	Fleet      string   `required:"" xor:"clusters" placeholder:"FILE" help:"A Fleet file: the Cluster files are in the repository itself, and hooks are as it says."`
	LogFormat  string   `enum:"text,json" default:"text" help:"Format of the log: text or json."`
	Kubernetes string   `enum:"auto,off" default:"auto" help:"Whether failovers move the live Services ahead of Git: auto (in a pod, or with a kubeconfig from a flag or $KUBECONFIG) or off."`
	KubeFlags  `embed:""`
	LeaseFlags `embed:""`
	HookFlags  `embed:""`
}

// Help is shown by --help.
func (RunCmd) Help() string {
	return "It runs until it is interrupted. Where Kubernetes is in reach, a failover moves the live Services at once, ahead of Git. " +
		"Replicas of the same configuration share a Lease, and one of them acts; a second run for other clusters in the same namespace needs its own --lease. In a pod set POD_NAME to the pod's name: a container that starts again then takes its Lease over at once. Secrets that a Cluster file names are directories below $POOLWRIGHT_SECRETS " +
		"(default /var/run/secrets/poolwright).\n\n" + example("poolwright run -f clusters/orders/cluster.yaml -f clusters/billing/cluster.yaml")
}

// Run keeps the clusters until ctx ends.
func (c RunCmd) Run(ctx context.Context, std *Stdio) error {
	log := c.logger(std.Err)
	world := theWorld(ctx)
	hooks, err := c.listensTo()
	if err != nil {
		return err
	}
	point, end, err := c.standpoint(ctx)
	if err != nil {
		return err
	}
	world.Kube = point
	f, endLanes := newFleet(ctx, world, logEvents(log))
	defer endLanes()
	if err := c.keep(ctx, f, hooks, log); err != nil {
		return err
	}
	end()
	return nil
}

// keep keeps the clusters until ctx ends.
func (c RunCmd) keep(ctx context.Context, f *fleet, hooks clusters.Hooks, log *slog.Logger) error {
	w := &follower{fleet: f, path: c.Fleet, changed: make(chan struct{}, 1)}
	tell := func(h hint) {
		f.tell(h)
		if h.github != nil {
			w.nudge()
		}
	}
	if err := listen(ctx, hooks, f.outside.Now, tell, log); err != nil {
		return err
	}
	if c.Fleet != "" {
		w.run(ctx)
		return nil
	}
	f.run(ctx, c.Files)
	return nil
}

// listensTo is which hooks there are: those of the Fleet file, or of the flags.
func (c RunCmd) listensTo() (clusters.Hooks, error) {
	hooks, err := c.hooks()
	if err != nil || c.Fleet == "" {
		return hooks, err
	}
	if hooks.Listen != "" {
		return hooks, exitf(ExitUsage, "", "reading the command line: with --fleet the Fleet file says what is listened to (spec.hooks)")
	}
	text, err := os.ReadFile(c.Fleet)
	if err != nil {
		return hooks, fmt.Errorf("reading the Fleet file: %w", err)
	}
	of, err := clusters.LoadFleet(c.Fleet, text)
	return of.Spec.Hooks, err
}

// standpoint connects to Kubernetes, if that is wanted and named. A kubeconfig that
// merely lies in the home directory is nobody's wish to run against it.
func (c RunCmd) standpoint(ctx context.Context) (point *standpoint, end func(), err error) {
	if c.Kubernetes == "off" || c.Kubeconfig == "" && c.Context == "" && os.Getenv("KUBECONFIG") == "" && !inPod() {
		return nil, func() {}, nil
	}
	k, err := c.connect()
	if err != nil {
		return nil, nil, err
	}
	point, end = newStandpoint(ctx, k, c.LeaseFlags)
	return point, end, nil
}

func (c RunCmd) logger(w io.Writer) *slog.Logger {
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, nil))
	}
	return slog.New(slog.NewTextHandler(w, nil))
}
