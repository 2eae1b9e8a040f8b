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
	Output    `embed:""`
}

// Help is shown by --help.
func (PauseCmd) Help() string {
	return "Nothing is committed and no Service is patched until `resume`; alerts go on. An override that stands is no longer protected. It is written to the " +
		"cluster's control ConfigMap: a poolwright that reads no Kubernetes (failover.patchServices: false, or run --kubernetes off) hears of it only through " +
		"spec.paused of the Cluster file.\n\n" +
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
	v, err := s.paused(ctx, std.Err, c.Reason, time.Now())
	if err != nil {
		return err
	}
	return c.write(std.Out, v, v.text)
}

// pauseView is what a pause came to.
type pauseView struct {
	Cluster   string     `json:"cluster"`
	Namespace string     `json:"namespace"`
	Pause     live.Pause `json:"pause"`
	// Already is true when that pause stood before.
	Already bool `json:"already"`
	// Ahead is true when the Services are ahead of Git, and no longer protected.
	Ahead bool `json:"ahead"`
	// Resume is the command that ends it.
	Resume string `json:"resume"`
}

// paused pauses, unless the cluster is.
func (s site) paused(ctx context.Context, notes io.Writer, reason string, now time.Time) (v pauseView, err error) {
	if s.declared != nil && !s.declared.PatchesServices() {
		return v, exitf(ExitRefused, "set spec.paused: true in the Cluster file", "pausing %s: its Cluster file says failover.patchServices: false, so what is said in Kubernetes is not read", s.names.Cluster)
	}
	sight, err := s.look(ctx)
	if err != nil {
		return v, err
	}
	v = pauseView{Cluster: s.names.Cluster, Namespace: s.names.Namespace, Ahead: sight.Control.Override != nil, Resume: s.command("resume")}
	if p := sight.Control.Pause; p != nil && p.Reason == reason {
		v.Pause, v.Already = *p, true
		return v, nil
	}
	by := s.caller(ctx, now)
	by.tell(notes)
	v.Pause = live.Pause{Reason: reason, By: by.name, At: whole(by.now)}
	return v, s.say(ctx, word{live.KeyPause: v.Pause})
}

func (v pauseView) text(w io.Writer) error {
	if v.Already {
		fmt.Fprintf(w, "%s is paused already, since %s by %s: %s\n", v.Cluster, stamp(v.Pause.At), printable(v.Pause.By), printable(v.Pause.Reason))
		return nil
	}
	fmt.Fprintf(w, "%s is paused: no commits and no patches, alerts go on\n", v.Cluster)
	if v.Ahead {
		fmt.Fprintln(w, "its Services are ahead of Git, and are no longer put back when somebody changes them")
	}
	fmt.Fprintf(w, "end it with: %s\n", v.Resume)
	return nil
}

// ResumeCmd lifts a pause, and holds by reverts.
type ResumeCmd struct {
	SiteFlags `embed:""`
	Output    `embed:""`
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
	v, err := s.resumed(ctx, std.Err, time.Now())
	if err != nil {
		return err
	}
	return c.write(std.Out, v, v.text)
}

// resumeView is what a resume came to.
type resumeView struct {
	Cluster   string `json:"cluster"`
	Namespace string `json:"namespace"`
	// Pause is what was lifted, nil when nothing was.
	Pause *live.Pause `json:"pause,omitempty"`
	// Declared is true when the Cluster file pauses the cluster still.
	Declared bool        `json:"declared"`
	Resume   live.Resume `json:"resume"`
}

func (s site) resumed(ctx context.Context, notes io.Writer, now time.Time) (v resumeView, err error) {
	sight, err := s.look(ctx)
	if err != nil {
		return v, err
	}
	by := s.caller(ctx, now)
	by.tell(notes)
	v = resumeView{
		Cluster: s.names.Cluster, Namespace: s.names.Namespace, Pause: sight.Control.Pause,
		Declared: s.declared != nil && s.declared.Cluster.Spec.Paused, Resume: live.Resume{By: by.name, At: whole(by.now)},
	}
	return v, s.say(ctx, word{live.KeyPause: nil, live.KeyResume: v.Resume})
}

func (v resumeView) text(w io.Writer) error {
	switch p := v.Pause; {
	case p != nil:
		fmt.Fprintf(w, "%s is no longer paused (it was since %s by %s: %s)\n", v.Cluster, stamp(p.At), printable(p.By), printable(p.Reason))
	case !v.Declared:
		fmt.Fprintf(w, "%s was not paused\n", v.Cluster)
	}
	if v.Declared {
		fmt.Fprintf(w, "spec.paused of the Cluster file of %s pauses it still\n", v.Cluster)
	}
	fmt.Fprintln(w, "reverts that people made until now hold it no longer")
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
