package cmd

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"
)

// StatusCmd shows everything that is known of clusters.
type StatusCmd struct {
	Files      []string `name:"file" short:"f" sep:"none" required:"" xor:"site" placeholder:"FILE" help:"A Cluster file; may be given several times."`
	Cluster    string   `required:"" xor:"site" placeholder:"NAME" help:"A cluster's name, without its file: its Services are found by their labels."`
	Namespace  string   `short:"n" placeholder:"NAME" help:"The namespace of --cluster; default that of the kubeconfig."`
	KubeFlags  `embed:""`
	LeaseFlags `embed:""`
	Output     `embed:""`
	Watch      bool `help:"Show it again whenever something changes, until interrupted."`
	ExitCode   bool `help:"Exit 1 when anything is not in order."`
}

// Help is shown by --help.
func (StatusCmd) Help() string {
	return "Git is read where a file names a repository, the databases are asked where a file says how, and Kubernetes is looked at; what is out of reach is said, " +
		"and stops nothing else. The last lines move the Services by hand, without poolwright.\n\n" +
		example("poolwright status -f clusters/orders/cluster.yaml -f clusters/billing/cluster.yaml --exit-code")
}

// watchEvery is how often --watch looks.
const watchEvery = 2 * time.Second

// Run looks and tells, once or again and again.
func (c StatusCmd) Run(ctx context.Context, std *Stdio) error {
	files := make([]*declaration, max(1, len(c.Files)))
	for i := range files {
		if d, err := c.flags(i).declaration(); err != nil {
			return err
		} else if d != nil {
			files[i] = d
		}
	}
	look := func(ctx context.Context) []survey { return c.surveys(ctx, theWorld(ctx), files) }
	if c.Watch {
		return c.watch(ctx, std.Out, look)
	}
	all := look(ctx)
	if err := c.tell(std.Out, all); err != nil {
		return err
	}
	return c.verdict(all)
}

// flags are those of one of the clusters.
func (c StatusCmd) flags(i int) SiteFlags {
	f := SiteFlags{Cluster: c.Cluster, Namespace: c.Namespace, KubeFlags: c.KubeFlags}
	if i < len(c.Files) {
		f.File = c.Files[i]
	}
	return f
}

// surveys look at all clusters at once.
func (c StatusCmd) surveys(ctx context.Context, world outside, files []*declaration) []survey {
	k, kubeErr := c.connect()
	all := make([]survey, len(files))
	var done sync.WaitGroup
	for i, d := range files {
		done.Go(func() { all[i] = c.survey(ctx, world, c.flags(i), d, k, kubeErr) })
	}
	done.Wait()
	return all
}

func (c StatusCmd) survey(ctx context.Context, world outside, f SiteFlags, d *declaration, k kube, kubeErr error) survey {
	s := site{kube: k, declared: d, address: f.address(k), argo: argoNamespace}
	s.names.Cluster, s.names.Namespace = f.Cluster, cmp.Or(f.Namespace, k.Namespace)
	if d != nil {
		s.names = namesOf(d.Cluster)
	}
	if kubeErr == nil {
		found, err := f.siteIn(ctx, k, d)
		if kubeErr = err; err == nil {
			s = found
		}
	}
	return surveyOf(ctx, s, world, c.view(k), kubeErr)
}

// tell writes all clusters.
func (c StatusCmd) tell(w io.Writer, all []survey) error {
	views := make([]statusView, len(all))
	for i := range all {
		views[i] = all[i].view()
	}
	return c.write(w, views, func(w io.Writer) error {
		for i, v := range views {
			if i > 0 {
				fmt.Fprintln(w)
			}
			if err := writeStatus(w, v, all[i].now); err != nil {
				return err
			}
		}
		return nil
	})
}

// verdict is the exit code, and what could not be reached at all.
func (c StatusCmd) verdict(all []survey) error {
	for i := range all {
		v := &all[i]
		if v.site.declared == nil && v.sight == nil {
			return noKube(v.kubeErr)
		}
	}
	if c.ExitCode && slices.ContainsFunc(all, func(v survey) bool { return !v.view().InOrder }) {
		return &ExitError{Code: ExitDiffers}
	}
	return nil
}

// watch tells whenever something has changed, until ctx ends. That time passes is no change.
func (c StatusCmd) watch(ctx context.Context, w io.Writer, look func(context.Context) []survey) error {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	var last []byte
	for {
		all := look(ctx)
		if ctx.Err() != nil {
			return nil
		}
		said, err := c.fingerprint(all)
		if err != nil {
			return err
		}
		if !bytes.Equal(said, last) {
			last = said
			clearScreen(w, c.Format == "text")
			if err := c.tell(w, all); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// fingerprint is everything that is told but for the passing of time.
func (c StatusCmd) fingerprint(all []survey) ([]byte, error) {
	views := make([]statusView, len(all))
	for i := range all {
		views[i] = all[i].view()
		views[i].Holder.Renewed = time.Time{}
	}
	return json.Marshal(views)
}

// clearScreen begins anew on a terminal, and draws a line anywhere else.
func clearScreen(w io.Writer, text bool) {
	if f, ok := w.(*os.File); ok && text && isTerminal(f) {
		fmt.Fprint(w, "\x1b[H\x1b[2J")
	} else if text {
		fmt.Fprintln(w, "---")
	}
}
