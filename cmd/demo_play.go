package cmd

import (
	"cmp"
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
	// acts are the events of each act, the last one a commit.
	acts   [][]Event
	killed time.Time
}

const (
	// actTime is how long one act may take on a slow machine.
	actTime = 60 * time.Second
	// beat is a pause between acts, so that each begins when the loop is at rest.
	beat = 300 * time.Millisecond
)

// perform plays the three acts: three commits.
func (p *play) perform(ctx context.Context) error {
	p.began = time.Now()
	fmt.Fprintf(p.out, "A simulated Aurora cluster of three instances, a Git repository on 127.0.0.1,\n"+
		"and the loop of `poolwright run` between them. Times are since the start.\n")
	for _, act := range []struct {
		title string
		begin func() error
	}{
		{"The first look, the first tree", nil},
		{"A reader is added", func() error { return p.sim.AddInstance("example-pg-4") }},
		{"The writer is killed", p.killWriter},
	} {
		fmt.Fprintf(p.out, "\n%s\n", act.title)
		if act.begin != nil {
			if err := act.begin(); err != nil {
				return err
			}
		}
		if err := p.follow(ctx); err != nil {
			return err
		}
	}
	return p.epilogue()
}

func (p *play) killWriter() error {
	p.killed = time.Now()
	p.line(p.killed, "killed example-pg-1; the databases will need %v to have a new writer", demoFailover)
	return p.sim.Kill("example-pg-1")
}

// follow tells events until a commit ends the act, and for a beat longer.
func (p *play) follow(ctx context.Context) error {
	p.acts = append(p.acts, nil)
	end := time.NewTimer(actTime)
	defer end.Stop()
	done := false
	for {
		select {
		case <-ctx.Done():
			return exitf(ExitUnreachable, "", "playing the demo: interrupted")
		case <-end.C:
			if done {
				return nil
			}
			return exitf(ExitUnreachable, "poolwright demo", "playing the demo: no commit for %v", actTime)
		case e := <-p.events:
			p.tell(e)
			act := &p.acts[len(p.acts)-1]
			*act = append(*act, e)
			if e.Kind == Committed && !done {
				done = true
				end.Reset(beat)
			}
		}
	}
}

// line writes one line of the timeline.
func (p *play) line(at time.Time, format string, args ...any) {
	fmt.Fprintf(p.out, "  %6d ms  %s\n", at.Sub(p.began).Milliseconds(), fmt.Sprintf(format, args...))
}

// tell writes an event in plain words.
func (p *play) tell(e Event) {
	for _, text := range eventLines(e) {
		p.line(e.At, "%s", text)
	}
}

// eventLines is an event in plain words; none for what another event says already.
func eventLines(e Event) []string {
	switch e.Kind {
	case Trusted:
		return []string{"seen: " + rolesText(e.Topology)}
	case Doubted:
		return []string{"in doubt, nothing changes: " + doubtLine(e.Topology)}
	case WriterLost:
		return []string{"the idle connection to the writer broke"}
	case WindowOpened:
		return []string{"looking every 100 ms from now on"}
	case WindowClosed:
		return []string{"back to the normal interval"}
	case Decided:
		return decidedLines(e.Plan)
	case Committed:
		return []string{fmt.Sprintf("committed and pushed %s: %s", short(e.Commits[len(e.Commits)-1]), e.Detail)}
	}
	return []string{strings.TrimSuffix(fmt.Sprintf("%s: %v", e.Kind, e.Err), ": <nil>")}
}

func decidedLines(decided plan.Plan) []string {
	if decided.Action == plan.Keep {
		return nil
	}
	lines := []string{"decided: " + cmp.Or(decided.Class.String(), decided.Action.String())}
	for _, r := range decided.Reasons {
		if r.Code == plan.Doubted || r.Code == plan.DiscoveryFailing {
			return nil // Doubted has said it
		}
		lines = append(lines, "  "+r.String())
	}
	return lines
}

func doubtLine(t discovery.Topology) string {
	words := make([]string, len(t.Doubts))
	for i, d := range t.Doubts {
		words[i] = doubtText(t.Cluster, d)
	}
	return strings.Join(words, "; ")
}

// rolesText is "a writer, b reader, c gives no answer".
func rolesText(t discovery.Topology) string {
	words := make([]string, len(t.Instances))
	for i, instance := range t.Instances {
		words[i] = instance.Name + " " + instance.Role.String()
		if instance.Probe != discovery.None {
			words[i] = instance.Name + " gives no answer"
		}
	}
	return strings.Join(words, ", ")
}

func short(hash string) string { return hash[:min(len(hash), 9)] }

// epilogue shows what came of it.
func (p *play) epilogue() error {
	fmt.Fprintf(p.out, "\nFrom the kill to the commit\n")
	for _, moment := range []struct {
		what string
		is   func(Event) bool
	}{
		{"loss noticed", func(e Event) bool { return e.Kind == WriterLost || e.Kind == Doubted }},
		{"the new writer says so", func(e Event) bool { return e.Kind == Trusted }},
		{"decided", func(e Event) bool { return e.Kind == Decided && e.Plan.Action == plan.Failover }},
		{"committed and pushed", func(e Event) bool { return e.Kind == Committed }},
	} {
		fmt.Fprintf(p.out, "  %6d ms  %s\n", p.last(moment.is).At.Sub(p.killed).Milliseconds(), moment.what)
	}
	fmt.Fprintf(p.out, "\nThe history\n")
	for _, act := range p.acts {
		for _, e := range act {
			for i, message := range e.Messages {
				fmt.Fprintf(p.out, "  commit %s\n\n%s\n\n", short(e.Commits[i]), indent(message))
			}
		}
	}
	keys, err := p.selectorDiff()
	if err != nil {
		return err
	}
	fmt.Fprintf(p.out, "What the failover changed in the selectors\n")
	for _, k := range keys {
		fmt.Fprintf(p.out, "  %s\n", k)
	}
	fmt.Fprintf(p.out, stageText, p.repository(), p.clusterFile())
	return nil
}

const stageText = `
The repository is %[1]s. Try
  git clone %[1]s demo && git -C demo log -p
  kubectl kustomize demo/clusters/example-pg
  poolwright check -f %[2]s demo/clusters/example-pg
  poolwright demo --stay
`

// last is the first such event of the last act.
func (p *play) last(is func(Event) bool) Event {
	events := p.acts[len(p.acts)-1]
	if i := slices.IndexFunc(events, is); i >= 0 {
		return events[i]
	}
	return Event{At: p.killed}
}

func indent(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight("      "+line, " ")
	}
	return strings.Join(lines, "\n")
}

// selectorDiff is what the last commit did to the selectors.
func (p *play) selectorDiff() ([]string, error) {
	landed := p.last(func(e Event) bool { return e.Kind == Committed }).Commits
	head := landed[len(landed)-1]
	before, err := p.services(head + "^")
	if err != nil {
		return nil, err
	}
	after, err := p.services(head)
	if err != nil {
		return nil, err
	}
	return selectorLines(render.Summary(render.Tree{render.ServicesFile: before}, render.Tree{render.ServicesFile: after})), nil
}

// selectorLines are the lines of a summary that move traffic.
func selectorLines(summary string) (lines []string) {
	for line := range strings.Lines(summary) {
		if strings.Contains(line, " selector ") {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	return lines
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
