package cmd

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/poolwright/poolwright/live"
)

// PatchCmd moves the role Services by a person's order.
type PatchCmd struct {
	SiteFlags  `embed:""`
	To         string        `required:"" placeholder:"INSTANCE" help:"The instance that is to be the writer."`
	Reason     string        `required:"" placeholder:"TEXT" help:"Why; it goes into the commit."`
	For        time.Duration `default:"30m" help:"How long the order stands against what the databases say. Then they are believed again: if they say another writer, a failover to that one follows."`
	Force      bool          `help:"Also when the instance has no ready pod, is read-only or cannot be asked."`
	Yes        bool          `help:"Do not ask."`
	DryRun     bool          `help:"Show what would be done, and do nothing."`
	LeaseFlags `embed:""`
	Output     `embed:""`
}

// Help is shown by --help.
func (PatchCmd) Help() string {
	return "An emergency: the live Writer and Reader Services are moved at once, ahead of Git, with whatever kubeconfig you have, also while poolwright " +
		"does not run. It shows first what is, what would be and what the instance says of itself, which is asked with the credentials of the Cluster file, " +
		"else with PGUSER and PGPASSWORD. A poolwright that runs commits the same and hands the Services back. The order ends after --for, by the clock of the API server; " +
		"what it moved stays moved unless the databases say another writer then. Where no poolwright runs and the Cluster file has a way into the poolers, the clients of the old " +
		"writer are cut as a poolwright would. Output other than text needs --yes, for nobody could be shown what is agreed to.\n\n" +
		example("poolwright patch --cluster example-pg -n databases --to example-pg-2 --reason 'example-pg-1 hangs'")
}

// Run shows, asks and moves.
func (c PatchCmd) Run(ctx context.Context, std *Stdio) error {
	if err := c.usable(); err != nil {
		return err
	}
	s, err := c.reach(ctx)
	if err != nil {
		return err
	}
	return s.patch(ctx, theWorld(ctx), std, c)
}

// maxOrder bounds how long an order stands: what is longer is a change of the Cluster file.
const maxOrder = 24 * time.Hour

func (c PatchCmd) usable() error {
	if c.For < time.Minute || c.For > maxOrder {
		return exitf(ExitUsage, "", "reading the command line: --for %s is not between 1m and %s", c.For, maxOrder)
	}
	return haveReason(c.Reason)
}

// patch is the whole verb, once Kubernetes is in reach. A machine gets one value, whatever became of the order.
func (s site) patch(ctx context.Context, world outside, std *Stdio, c PatchCmd) error {
	m, err := s.motion(ctx, world, c)
	if err != nil {
		return err
	}
	m.by.tell(std.Err)
	if !c.isForMachines() {
		return m.perform(ctx, std, c)
	}
	err = m.perform(ctx, &Stdio{Out: io.Discard, Err: std.Err}, c)
	if unwritten := c.write(std.Out, m.view(), nil); unwritten != nil {
		return unwritten
	}
	return err
}

// perform shows, asks and moves.
func (m *motion) perform(ctx context.Context, std *Stdio, c PatchCmd) error {
	if err := m.show(std.Out); err != nil {
		return err
	}
	if err := m.refusal(c); err != nil {
		return err
	}
	if c.DryRun {
		m.showWrites(std.Out)
		return nil
	}
	if err := c.consent(std, m.site); err != nil {
		return err
	}
	return m.carryOut(ctx, std, c)
}

// consent asks a person at a terminal; anywhere else --yes has to be given.
func (c PatchCmd) consent(std *Stdio, s site) error {
	if c.Yes {
		return nil
	}
	if !isTerminal(std.In) {
		return exitf(ExitRefused, s.command("patch", c.words("--yes")...), "moving the Services of %s: nobody is at a terminal to ask", s.names.Cluster)
	}
	fmt.Fprintf(std.Err, "move the live Services of %s to %s? [yes/no] ", s.names.Cluster, c.To)
	answer, err := bufio.NewReader(std.In).ReadString('\n')
	if word := strings.ToLower(strings.TrimSpace(answer)); err != nil && err != io.EOF || word != "yes" && word != "y" {
		return exitf(ExitRefused, "", "moving the Services of %s: not confirmed, nothing was done", s.names.Cluster)
	}
	return nil
}

// words are the verb's own flags, to be typed again with one more.
func (c PatchCmd) words(more string) []string {
	words := []string{"--to", c.To, "--reason", c.Reason}
	if c.For != 30*time.Minute {
		words = append(words, "--for", c.For.String())
	}
	if c.Force && more != "--force" {
		words = append(words, "--force")
	}
	return append(words, more)
}

// isTerminal reports whether somebody can be asked.
func isTerminal(in io.Reader) bool {
	f, ok := in.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// orderTimeout bounds the writing of the order: the Writer does not wait for it longer.
const orderTimeout = time.Second

// carryOut gives the order and moves the Services.
func (m *motion) carryOut(ctx context.Context, std *Stdio, c PatchCmd) error {
	order := live.Order{Writer: c.To, Reason: c.Reason, By: m.want.By, At: whole(m.now), Until: m.want.Until}
	bounded, cancel := context.WithTimeout(ctx, orderTimeout)
	err := m.say(bounded, word{live.KeyOrder: order})
	cancel()
	if err == nil {
		m.order = &order
	} else {
		fmt.Fprintf(std.Err, "the order could not be written, going on: %s\na poolwright that runs may put the Services back to what the databases say\n", printable(err.Error()))
	}
	if err := m.move(ctx, std); err != nil {
		return err
	}
	m.after(std.Out)
	m.escort(ctx, std.Out)
	return nil
}

// passes bounds how often a Service is moved anew that somebody else wrote meanwhile.
const passes = 5

// move writes what live.Next says, Writer first, until nothing is left to write.
func (m *motion) move(ctx context.Context, std *Stdio) error {
	var failed error
	writes := m.writes()
	for range passes {
		if failed = m.pass(ctx, std, writes); failed == nil {
			return nil
		}
		if live.CodeOf(failed) != 0 || ctx.Err() != nil {
			break
		}
		sight, err := m.look(ctx)
		if err != nil {
			return err
		}
		writes = moving(live.Next(sight, m.want, m.now).Writes)
	}
	return apiProblem(failed, "moving the Services of "+m.names.Cluster)
}

// pass makes the writes of one verdict. The first one of a Service that fails ends it; a mirror may fail.
func (m *motion) pass(ctx context.Context, std *Stdio, writes []live.Write) error {
	for _, w := range writes {
		bounded, cancel := context.WithTimeout(ctx, siteTimeout)
		err := live.Do(bounded, m.kube, m.names, w)
		cancel()
		switch {
		case err != nil && w.Kind == live.Mirror:
			fmt.Fprintf(std.Err, "the record could not be mirrored, which matters only if a Service is replaced: %s\n", printable(err.Error()))
		case err != nil:
			return fmt.Errorf("%s %s: %w", w.Role, w.Name, err)
		case w.Kind != live.Mirror:
			m.moved = append(m.moved, w.Name)
			fmt.Fprintf(std.Out, "moved    %s\n", w.Name)
		}
	}
	return nil
}
