package hub

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode"
)

// What a caller can do about an error. Every error of a [Client] is one of these by errors.Is. Only ErrNotFound of
// [Client.Pull] says that a pull request is gone; the other kinds say nothing about what GitHub holds.
var (
	// ErrMoved: the branch, or the head of the pull request, is no longer what the call was made for. Look again.
	ErrMoved = errors.New("moved meanwhile")
	// ErrExists: the branch or the pull request is there already. Use that one.
	ErrExists = errors.New("exists already")
	// ErrRefused: GitHub will not do it, and will not tomorrow either. A person has to look.
	ErrRefused = errors.New("GitHub refuses")
	// ErrAuth: the credential is missing, wrong, expired or not allowed. A person or a new token.
	ErrAuth = errors.New("not authorised")
	// ErrNotFound: there is no such thing, or none that this credential may see.
	ErrNotFound = errors.New("not found")
	// ErrUnreachable: GitHub is away, answered half, or cannot do it now. Try again with backoff. A write that ended
	// so may have been carried out: look before trying again.
	ErrUnreachable = errors.New("GitHub is not available")
	// ErrLimited: GitHub takes no call of this kind before the time that [RetryAt] tells. Nothing was done.
	ErrLimited = errors.New("rate limited")
)

// RetryAt is when to come again after ErrLimited.
func RetryAt(err error) (time.Time, bool) {
	var f *fault
	if !errors.As(err, &f) || f.again.IsZero() {
		return time.Time{}, false
	}
	return f.again, true
}

// fault is an error of one of the kinds above.
type fault struct {
	kind  error
	text  string
	cause error
	again time.Time // of ErrLimited
}

func (f *fault) Error() string {
	s := f.kind.Error()
	if !f.again.IsZero() {
		s += " until " + f.again.UTC().Format(time.RFC3339)
	}
	if f.text != "" {
		s += ": " + printable(f.text)
	}
	if f.cause != nil {
		s += ": " + printable(f.cause.Error())
	}
	return s
}

func (f *fault) Unwrap() []error {
	if f.cause == nil {
		return []error{f.kind}
	}
	return []error{f.kind, f.cause}
}

func faultf(kind error, text string) error { return &fault{kind: kind, text: text} }

// unreachable types an error of the network. The end of the caller's context stays visible to errors.Is.
func unreachable(ctx context.Context, err error) error {
	var f *fault
	if err == nil || errors.As(err, &f) {
		return err
	}
	if c := ctx.Err(); c != nil && !errors.Is(err, c) {
		err = errors.Join(c, err)
	}
	return &fault{kind: ErrUnreachable, cause: err}
}

const textLimit = 1000

// printable makes a foreign text fit for one line of an error: no control characters, no flood.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > textLimit {
		s = strings.ToValidUTF8(s[:textLimit], "") + "…"
	}
	return s
}
