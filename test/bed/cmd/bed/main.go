package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
)

const usage = `usage:
  bed build [--with flux,argo,proxy]                         (default: everything)
  bed run   [--dir D] [--with flux,argo,proxy] [-- CMD ARGS...]
  bed exec  --dir D -- CMD ARGS...
  bed ctl   [--dir D] list | start NAME | stop [--signal KILL] NAME | restart NAME
`

// errUsage is an error of the command line: the usage is printed with it.
var errUsage = errors.New("wrong usage")

func main() {
	code, err := dispatch(os.Args[1:])
	if errors.Is(err, errUsage) {
		fmt.Fprint(os.Stderr, usage)
		code = 2
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bed:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// dispatch runs one command and gives its exit code.
func dispatch(args []string) (int, error) {
	if len(args) == 0 {
		return 2, errUsage
	}
	switch args[0] {
	case "build":
		return 0, build(args[1:])
	case "ctl":
		return 0, control(args[1:])
	}
	o, err := parse(args[1:])
	if err != nil {
		return 2, err
	}
	switch args[0] {
	case "run":
		return run(o)
	case "exec":
		return 1, enter(o)
	case pidOne: // not for people: what run starts as PID 1 of the world
		return initWorld(o)
	case driver: // not for people: what PID 1 starts
		return drive(o)
	}
	return 2, fmt.Errorf("%w: no command %q", errUsage, args[0])
}

const (
	pidOne = "init"
	driver = "drive"
)

// options are what run and exec are told.
type options struct {
	// dir is where the world writes. Default: a new temporary directory.
	dir string
	// with are the extras: which of flux, argo and proxy run beside the core.
	with map[string]bool
	// command runs inside. None: the world stays until it is stopped.
	command []string
}

func parse(args []string) (options, error) {
	flags := flag.NewFlagSet("bed", flag.ContinueOnError)
	flags.SetOutput(os.Stderr)
	dir := flags.String("dir", "", "where the world writes; default: a new temporary directory")
	with := flags.String("with", "", "extras: flux, argo, proxy")
	if err := flags.Parse(args); err != nil {
		return options{}, errors.Join(errUsage, err)
	}
	extras, err := parseExtras(*with)
	return options{dir: *dir, with: extras, command: flags.Args()}, err
}

func parseExtras(list string) (map[string]bool, error) {
	extras := map[string]bool{}
	for name := range strings.SplitSeq(list, ",") {
		switch name {
		case "":
		case "flux", "argo", "proxy":
			extras[name] = true
		default:
			return nil, fmt.Errorf("%w: no extra %q; there are flux, argo and proxy", errUsage, name)
		}
	}
	return extras, nil
}

// arguments are the options as parse reads them.
func (o options) arguments() []string {
	var with []string
	for _, name := range []string{"flux", "argo", "proxy"} {
		if o.with[name] {
			with = append(with, name)
		}
	}
	args := []string{"--dir", o.dir, "--with", strings.Join(with, ","), "--"}
	return append(args, o.command...)
}
