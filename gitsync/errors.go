package gitsync

import (
	"context"
	"errors"
	"strings"
	"unicode"

	"github.com/poolwright/poolwright/gitsync/hub"
)

// What a caller can do about an error. Every error of a [Repo] that is about the remote is one of
// these by errors.Is; the error of a single edit is ErrPath or whatever its Draw returned.
var (
	// ErrMoved: the branch moved under each of our tries. Try again later, the drawing is fine.
	ErrMoved = errors.New("the branch kept moving")
	// ErrRefused: the remote will not take it, and will not tomorrow either. A person has to look.
	ErrRefused = errors.New("the remote refuses")
	// ErrAuth: the credential, or the key that signs, is missing, wrong, expired or not allowed. A person or a new token.
	ErrAuth = errors.New("not authorised")
	// ErrNotFound: no such repository or branch, or none this credential may see.
	ErrNotFound = errors.New("not found")
	// ErrUnreachable: the remote is away or cannot do it now (network, 5xx, rate limit, locked ref, full
	// disk). Try again with backoff.
	ErrUnreachable = errors.New("the remote is not available")
	// ErrUnsupported: this remote cannot be used (SHA-256 objects, multi_ack only, no smart HTTP), or not in this way
	// (an empty repository through GitHub's API).
	ErrUnsupported = errors.New("not supported")
	// ErrPath: a path or a change that is never written (outside the directory, through a symlink,
	// under an attribute that needs a filter).
	ErrPath = errors.New("refused path")
)

// errStale: what is cached does not lead to the remote's head; start cold.
var errStale = errors.New("the cache does not lead to the branch head")

// fault is an error of one of the kinds above.
type fault struct {
	kind  error
	text  string
	cause error
}

func (f *fault) Error() string {
	s := f.kind.Error()
	if f.text != "" {
		s += ": " + f.text
	}
	if f.cause != nil {
		s += ": " + f.cause.Error()
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

// typed tells whether err already says what a caller can do.
func typed(err error) bool {
	for _, k := range []error{ErrMoved, ErrRefused, ErrAuth, ErrNotFound, ErrUnreachable, ErrUnsupported, ErrPath} {
		if errors.Is(err, k) {
			return true
		}
	}
	return false
}

// unlessStale is nil for errStale: what it says is that the branch moved while we looked.
func unlessStale(err error) error {
	if errors.Is(err, errStale) {
		return nil
	}
	return err
}

// unclear tells whether a push that ended in err may have been carried out all the same: the connection
// broke, or something between us and the server answered for it.
func unclear(err error) bool {
	var no *refusal
	return err != nil && !errors.As(err, &no) && (!typed(err) || errors.Is(err, ErrUnreachable)) && !errors.Is(err, hub.ErrLimited)
}

// unreachable types an error of the network or of the conversation. The end of the caller's
// context stays visible to errors.Is.
func unreachable(ctx context.Context, err error) error {
	if err == nil || typed(err) {
		return err
	}
	if c := ctx.Err(); c != nil && !errors.Is(err, c) {
		err = errors.Join(c, err)
	}
	return &fault{kind: ErrUnreachable, cause: err}
}

// remoteFault types what a remote said instead of answering.
func remoteFault(text string) error {
	low := strings.ToLower(text)
	for _, c := range remoteWords {
		if strings.Contains(low, c.word) {
			return faultf(c.kind, printable(text))
		}
	}
	return faultf(ErrUnreachable, printable(text))
}

// remoteWords are tried in order. Texts of git, and of the forges where they differ.
var remoteWords = []struct {
	word string
	kind error
}{
	{"not our ref", errStale},
	{"tf401041", ErrUnsupported}, // Azure DevOps wants multi_ack
	{"no space left", ErrUnreachable},
	{"not appear to be a git repository", ErrNotFound},
	{"no such file or directory", ErrNotFound},
	{"repository not exported", ErrNotFound},
	{"not found", ErrNotFound},
	{"could not be found", ErrNotFound},
	{"dubious ownership", ErrRefused},
	{"permission", ErrAuth},
	{"denied", ErrAuth},
	{"unauthorized", ErrAuth},
	{"not authorized", ErrAuth},
	{"not allowed", ErrAuth},
}

const textLimit = 1000

// printable makes a remote's text fit for one line of an error: no control characters, no flood.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
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
