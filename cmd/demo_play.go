package cmd

import (
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"

	"github.com/poolwright/poolwright/discovery"
	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/render"
)

// play is the demo as it is seen.
type play struct {
	*stage
	out   io.Writer
	began time.Time
	// landed are the commits so far, oldest first, with their messages.
	landed, messages []string
	killed           time.Time
}

// actTime is how long one act may take on a slow machine.
const actTime = 60 * time.Second

// perform plays the three acts: three commits.
func (p *play) perform(ctx context.Context) error {
	p.began = time.Now()
	fmt.Fprintf(p.out, "A simulated Aurora cluster of three instances, a Git repository on 127.0.0.1,\n"+
		"and the loop of `poolwright run` between them. Times are since the start.\n\n")
	for _, act := range []struct {
		title string
		begin func() error
		ends  func(Event) bool
	}{
		{"The first look and the first tree", nil, committed},
		{"A reader is added", func() error { return p.sim.AddInstance("example-pg-4") }, committed},
		{"The writer is killed", p.killWriter, committed},
	} {
		fmt.Fprintf(p.out, "%s\n", act.title)
		if act.begin != nil {
			if err := act.begin(); err != nil {
				return err
			}
		}
		if err := p.follow(ctx, act.ends); err != nil {
			return err
		}
		fmt.Fprintln(p.out)
	}
	return p.epilogue()
}

func committed(e Event) bool { return e.Kind == Committed }

func (p *play) killWriter() error {
	p.killed = time.Now()
	p.line(p.killed, "killed example-pg-1; the cluster needs %v to have a new writer", demoFailover)
	return p.sim.Kill("example-pg-1")
}

// follow tells events until one of them ends the act.
func (p *play) follow(ctx context.Context, ends func(Event) bool) error {
	late := time.NewTimer(actTime)
	defer late.Stop()
	for {
		select {
		case <-ctx.Done():
			return exitf(ExitUnreachable, "", "playing the demo: interrupted")
		case <-late.C:
			return exitf(ExitUnreachable, "poolwright demo", "playing the demo: nothing happened for %v", actTime)
		case e := <-p.events:
			p.tell(e)
			if ends(e) {
				return nil
			}
		}
	}
}

// line writes one line of the timeline.
func (p *play) line(at time.Time, format string, args ...any) {
	fmt.Fprintf(p.out, "  %6d ms  %s\n", at.Sub(p.began).Milliseconds(), fmt.Sprintf(format, args...))
}

// tell writes an event, and keeps what is needed at the end.
func (p *play) tell(e Event) {
	for _, text := range eventLines(e) {
		p.line(e.At, "%s", text)
	}
	if e.Kind == Committed {
		p.landed = append(p.landed, e.Commits...)
		p.messages = append(p.messages, e.Messages...)
	}
}

// eventLines is an event in plain words.
func eventLines(e Event) []string {
	switch e.Kind {
	case Trusted:
		return []string{"seen: " + rolesText(e.Topology)}
	case Doubted:
		return []string{"in doubt, so nothing changes: " + e.Detail}
	case WriterLost:
		return []string{"the idle connection to the writer broke"}
	case WindowOpened:
		return []string{"failover window opened"}
	case Decided:
		return decidedLines(e.Plan)
	case Committed:
		return []string{fmt.Sprintf("committed and pushed %s: %s", short(e.Commits[len(e.Commits)-1]), e.Detail)}
	}
	return []string{strings.TrimSuffix(fmt.Sprintf("%s: %v", e.Kind, e.Err), ": <nil>")}
}

func decidedLines(decided plan.Plan) []string {
	lines := []string{"decided: " + strings.TrimSpace(decided.Action.String()+" "+decided.Class.String())}
	for _, r := range decided.Reasons {
		lines = append(lines, "  "+r.String())
	}
	return lines
}

// rolesText is "a writer, b reader".
func rolesText(t discovery.Topology) string {
	words := make([]string, len(t.Instances))
	for i, instance := range t.Instances {
		words[i] = instance.Name + " " + instance.Role.String()
	}
	return strings.Join(words, ", ")
}

func short(hash string) string { return hash[:min(len(hash), 9)] }

// epilogue shows what came of it.
func (p *play) epilogue() error {
	took := time.Since(p.killed).Milliseconds()
	fmt.Fprintf(p.out, "From the kill to the commit on the server: %d ms, of which the databases took %d ms.\n\n", took, demoFailover.Milliseconds())
	for i, message := range p.messages {
		fmt.Fprintf(p.out, "commit %s\n%s\n\n", short(p.landed[i]), indent(message))
	}
	keys, err := p.selectorDiff()
	if err != nil {
		return err
	}
	fmt.Fprintf(p.out, "What the failover changed in the selectors:\n")
	for _, k := range keys {
		fmt.Fprintf(p.out, "  %s\n", k)
	}
	fmt.Fprintf(p.out, `
The repository is %[1]s. Try:
  git clone %[1]s && git -C repo log -p
  kubectl kustomize repo/clusters/example-pg
  poolwright check -f %[2]s repo/clusters/example-pg
  poolwright demo --stay
`, p.repository(), p.clusterFile())
	return nil
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ")
}

// selectorDiff is what the last commit did to the selectors.
func (p *play) selectorDiff() ([]KeyDiff, error) {
	head := p.landed[len(p.landed)-1]
	before, err := p.services(head + "^")
	if err != nil {
		return nil, err
	}
	after, err := p.services(head)
	if err != nil {
		return nil, err
	}
	keys := diffKeys(render.ServicesFile, before, after)
	return slices.DeleteFunc(keys, func(k KeyDiff) bool { return !strings.Contains(k.Key, " spec.selector") }), nil
}

// services is services.yaml at a revision.
func (p *play) services(revision string) ([]byte, error) {
	text, err := fileAt(p.repository(), revision, path.Join("clusters", demoCluster, render.ServicesFile))
	if err != nil {
		return nil, fmt.Errorf("reading the demo's repository at %s: %w", revision, err)
	}
	return []byte(text), nil
}

// fileAt is a file of a bare repository at a revision.
func fileAt(dir, revision, file string) (string, error) {
	repo, err := git.PlainOpen(dir)
	if err != nil {
		return "", err
	}
	hash, err := repo.ResolveRevision(plumbing.Revision(revision))
	if err != nil {
		return "", err
	}
	commit, err := repo.CommitObject(*hash)
	if err != nil {
		return "", err
	}
	f, err := commit.File(file)
	if err != nil {
		return "", err
	}
	return f.Contents()
}
