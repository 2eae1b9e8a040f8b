package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
)

// Stdio is the process's streams.
type Stdio struct {
	In       io.Reader
	Out, Err io.Writer
}

// CLI is the grammar.
type CLI struct {
	Demo         DemoCmd         `cmd:"" help:"Watch a failover happen, start to end, on this machine."`
	Run          RunCmd          `cmd:"" help:"Keep Git equal to what the databases say."`
	Discover     DiscoverCmd     `cmd:"" help:"Ask a cluster once, who is what."`
	Plan         PlanCmd         `cmd:"" help:"Say what would be decided, and why."`
	Render       RenderCmd       `cmd:"" help:"Draw a cluster's tree of files."`
	Check        CheckCmd        `cmd:"" help:"Check committed cluster directories."`
	Diff         DiffCmd         `cmd:"" help:"Show what would be committed now."`
	Patch        PatchCmd        `cmd:"" help:"Emergency: move the live Services to another writer now, ahead of Git."`
	Release      ReleaseCmd      `cmd:"" help:"Hand the live Services back to Git."`
	Status       StatusCmd       `cmd:"" help:"Show what is declared, observed, decided and live, and how far it got."`
	Doctor       DoctorCmd       `cmd:"" help:"Check whether an override would work, and what would break it."`
	Pause        PauseCmd        `cmd:"" help:"Stop every commit and every patch of a cluster; alerts go on."`
	Resume       ResumeCmd       `cmd:"" help:"End a pause, and holds by reverts."`
	GitopsConfig GitopsConfigCmd `cmd:"" help:"Print what Argo CD or Flux, and RBAC, need to have."`
	Import       ImportCmd       `cmd:"" help:"Turn a PgBouncerAurora resource into a Cluster file."`
	Version      VersionCmd      `cmd:"" help:"Print the version."`
}

const about = "poolwright keeps PgBouncer in front of Aurora PostgreSQL pointing at the right instances, through Git."

// Main runs the command line args and returns the exit code.
func Main(args []string, in io.Reader, out, errs io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	return report(errs, runVerb(ctx, args, &Stdio{In: in, Out: out, Err: errs}))
}

// runVerb parses args and runs the verb they name.
func runVerb(ctx context.Context, args []string, std *Stdio) error {
	helped := false
	parser, err := kong.New(&CLI{},
		kong.Name("poolwright"), kong.Description(about),
		kong.Writers(std.Out, std.Err),
		kong.Exit(func(int) { helped = true }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(std))
	if err != nil {
		return err
	}
	parsed, err := parser.Parse(args)
	if helped {
		return nil
	}
	if err != nil {
		return usageError(parser, args, err)
	}
	return parsed.Run()
}

// usageError says what is wrong with the command line, and what to type instead.
func usageError(parser *kong.Kong, args []string, err error) error {
	verb := verbOf(args)
	verbs := verbsOf(parser)
	switch {
	case verb == "":
		return exitf(ExitUsage, "poolwright --help", "reading the command line: no verb given")
	case !slices.Contains(verbs, verb):
		return unknownVerb(verb, verbs)
	}
	if parse, ok := errors.AsType[*kong.ParseError](err); ok {
		err = parse.Unwrap()
	}
	return exitf(ExitUsage, "poolwright "+verb+" --help", "reading the command line: %w", err)
}

// unknownVerb names what was probably meant, or every verb.
func unknownVerb(verb string, verbs []string) error {
	if near, ok := nearest(verb, verbs); ok {
		return exitf(ExitUsage, "poolwright "+near, "reading the command line: no verb %q; the nearest is %q", verb, near)
	}
	return exitf(ExitUsage, "poolwright --help", "reading the command line: no verb %q; there are %s", verb, strings.Join(verbs, ", "))
}

// verbOf is the first argument which is not a flag.
func verbOf(args []string) string {
	i := slices.IndexFunc(args, func(a string) bool { return !strings.HasPrefix(a, "-") })
	if i < 0 {
		return ""
	}
	return args[i]
}

func verbsOf(parser *kong.Kong) (verbs []string) {
	for _, leaf := range parser.Model.Leaves(true) {
		verbs = append(verbs, leaf.Name)
	}
	return verbs
}

// nearest is the word with the smallest edit distance to s, the first of equals.
// It is false when that is no typing error any more.
func nearest(s string, words []string) (string, bool) {
	near := slices.MinFunc(words, func(a, b string) int { return distance(s, a) - distance(s, b) })
	return near, distance(s, near) <= max(1, len(near)/3)
}

// distance counts the bytes to insert, remove or replace to get from a to b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		left := row[0]
		row[0]++
		for j := range len(b) {
			replaced := left
			if a[i] != b[j] {
				replaced++
			}
			left = row[j+1]
			row[j+1] = min(row[j+1]+1, row[j]+1, replaced)
		}
	}
	return row[len(b)]
}

// example is the text that every verb's help ends with.
func example(line string) string { return fmt.Sprintf("Example:\n\n    %s", line) }
