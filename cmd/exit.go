package cmd

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// Exit codes of every verb.
const (
	ExitOK          = 0 // fine
	ExitDiffers     = 1 // something differs, or there are findings
	ExitUsage       = 2 // the command line or an input file is not usable
	ExitUntrusted   = 3 // the topology is in doubt: nothing was decided, nothing written
	ExitRefused     = 4 // refused until a person acts
	ExitUnreachable = 5 // the Git remote could not be reached; databases that cannot be are a doubt
)

// ExitError is an error with an exit code and, where one thing is certain to help,
// a hint. One without an error is a silent code: what there was to say is
// on standard output already.
type ExitError struct {
	Code int
	Err  error
	Hint string
}

func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap returns the cause.
func (e *ExitError) Unwrap() error { return e.Err }

// exitf makes an ExitError with a code, a hint ("" for none) and a cause.
func exitf(code int, hint, format string, args ...any) error {
	return &ExitError{Code: code, Err: fmt.Errorf(format, args...), Hint: hint}
}

// report writes err for people and returns its exit code.
func report(w io.Writer, err error) int {
	if err == nil {
		return ExitOK
	}
	exit, ok := errors.AsType[*ExitError](err)
	if !ok {
		exit = &ExitError{Code: ExitUsage, Err: err}
	}
	if exit.Err == nil {
		return exit.Code
	}
	for line := range strings.Lines(err.Error()) {
		line = strings.TrimRight(line, "\n")
		if !strings.HasPrefix(line, "hint: ") { // a list of problems brings its own hints
			line = "poolwright: " + line
		}
		fmt.Fprintln(w, printable(line))
	}
	if exit.Hint != "" {
		fmt.Fprintf(w, "hint: %s\n", exit.Hint)
	}
	return exit.Code
}
