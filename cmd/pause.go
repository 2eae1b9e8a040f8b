package cmd

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/poolwright/poolwright/live"
)

// PauseCmd stops every commit and every patch of a cluster.
type PauseCmd struct {
	SiteFlags `embed:""`
	Reason    string `required:"" placeholder:"TEXT" help:"Why, for those who find it."`
}

// Help is shown by --help.
func (PauseCmd) Help() string {
	return "Nothing is committed and no Service is patched until `resume`; alerts go on. An override that stands is no longer protected.\n\n" +
		example("poolwright pause --cluster example-pg -n databases --reason 'maintenance window'")
}

// Run writes the word.
func (c PauseCmd) Run(ctx context.Context, std *Stdio) error {
	if err := haveReason(c.Reason); err != nil {
		return err
	}
	s, err := c.reach(ctx)
	if err != nil {
		return err
	}
	return s.pause(ctx, std.Out, c.Reason, time.Now())
}

// pause pauses, unless the cluster is.
func (s site) pause(ctx context.Context, out io.Writer, reason string, now time.Time) error {
	sight, err := s.look(ctx)
	if err != nil {
		return err
	}
	if p := sight.Control.Pause; p != nil && p.Reason == reason {
		fmt.Fprintf(out, "%s is paused already, since %s by %s: %s\n", s.names.Cluster, stamp(p.At), printable(p.By), printable(p.Reason))
		return nil
	}
	if err := s.say(ctx, word{wordPause: live.Pause{Reason: reason, By: s.whoami(ctx), At: whole(now)}}); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s is paused: no commits and no patches, alerts go on\n", s.names.Cluster)
	if sight.Control.Override != nil {
		fmt.Fprintln(out, "its Services are ahead of Git, and are no longer put back when somebody changes them")
	}
	fmt.Fprintf(out, "end it with: %s\n", s.command("resume"))
	return nil
}

// ResumeCmd lifts a pause, and holds by reverts.
type ResumeCmd struct {
	SiteFlags `embed:""`
}

// Help is shown by --help.
func (ResumeCmd) Help() string {
	return "It ends a pause, and the holds by reverts that people made before: what is decided is committed again.\n\n" +
		example("poolwright resume --cluster example-pg -n databases")
}

// Run writes the word.
func (c ResumeCmd) Run(ctx context.Context, std *Stdio) error {
	s, err := c.reach(ctx)
	if err != nil {
		return err
	}
	return s.resume(ctx, std.Out, time.Now())
}

func (s site) resume(ctx context.Context, out io.Writer, now time.Time) error {
	sight, err := s.look(ctx)
	if err != nil {
		return err
	}
	if err := s.say(ctx, word{wordPause: nil, wordResume: live.Resume{By: s.whoami(ctx), At: whole(now)}}); err != nil {
		return err
	}
	switch p := sight.Control.Pause; {
	case p != nil:
		fmt.Fprintf(out, "%s is no longer paused (it was since %s by %s: %s)\n", s.names.Cluster, stamp(p.At), printable(p.By), printable(p.Reason))
	case s.declared != nil && s.declared.Cluster.Spec.Paused:
		fmt.Fprintf(out, "%s was not paused from here; spec.paused of its Cluster file pauses it still\n", s.names.Cluster)
	default:
		fmt.Fprintf(out, "%s was not paused\n", s.names.Cluster)
	}
	fmt.Fprintln(out, "reverts that people made until now hold it no longer")
	return nil
}

// haveReason refuses a reason that says nothing, or that would not fit into a commit's trailer.
func haveReason(reason string) error {
	switch {
	case strings.TrimSpace(reason) == "":
		return exitf(ExitUsage, "", "reading the command line: --reason says nothing")
	case strings.ContainsAny(reason, "\r\n"):
		return exitf(ExitUsage, "", "reading the command line: --reason has more than one line")
	case len(reason) > maxReason:
		return exitf(ExitUsage, "", "reading the command line: --reason has %d bytes, more than %d", len(reason), maxReason)
	}
	return nil
}

// maxReason bounds a reason, in bytes: it goes into a commit and into annotations.
const maxReason = 500

// whole is a time as the control ConfigMap and the records hold it.
func whole(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }

// stamp is a time for people.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
