package cmd

import (
	"context"
	"io"
	"log/slog"
)

// RunCmd keeps Git equal to what the databases say.
type RunCmd struct {
	Files     []string `name:"file" short:"f" required:"" placeholder:"FILE" help:"A Cluster file; may be given several times."`
	LogFormat string   `enum:"text,json" default:"text" help:"Format of the log: text or json."`
}

// Help is shown by --help.
func (RunCmd) Help() string {
	return "It runs until it is interrupted. Secrets that a Cluster file names are directories below $POOLWRIGHT_SECRETS " +
		"(default /var/run/secrets/poolwright).\n\n" + example("poolwright run -f clusters/orders/cluster.yaml -f clusters/billing/cluster.yaml")
}

// Run keeps the clusters until ctx ends.
func (c RunCmd) Run(ctx context.Context, std *Stdio) error {
	runFleet(ctx, theWorld(ctx), c.Files, logEvents(c.logger(std.Err)))
	return nil
}

func (c RunCmd) logger(w io.Writer) *slog.Logger {
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, nil))
	}
	return slog.New(slog.NewTextHandler(w, nil))
}
