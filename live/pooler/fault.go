package pooler

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
)

// without removes a secret.
func (e *Error) without(secret string) *Error {
	if secret != "" {
		e.Detail = strings.ReplaceAll(e.Detail, secret, "*****")
	}
	return e
}

// judge classifies what the driver, the network or the pooler said.
func judge(ctx context.Context, err error) *Error {
	if known, ok := errors.AsType[*Error](err); ok {
		return known
	}
	if said, ok := errors.AsType[*pgconn.PgError](err); ok {
		return &Error{Fault: byWords(said), Code: said.Code, Detail: oneLine(said.Message)}
	}
	switch {
	case isUntrusted(err):
		return &Error{Fault: Untrusted, Detail: plain(err)}
	case isTimeout(ctx, err):
		return &Error{Fault: Timeout, Detail: "no answer in time"}
	case isAbsent(err):
		return &Error{Fault: Unreachable, Detail: plain(err)}
	}
	return &Error{Fault: Garbled, Detail: plain(err)}
}

// judgeLogin is judge for the time before anybody is let in. With the modes allow and prefer there were two tries, with TLS and
// without: that the peer wants the other one says nothing.
func judgeLogin(ctx context.Context, err error) (e *Error) {
	for _, try := range tries(err) {
		if next := judgeTry(ctx, try); e == nil || next.Fault != Untrusted || e.Fault == Untrusted {
			e = next
		}
	}
	return e
}

func tries(err error) []error {
	var several interface{ Unwrap() []error }
	if errors.As(err, &several) && len(several.Unwrap()) > 0 {
		return several.Unwrap()
	}
	return []error{err}
}

func judgeTry(ctx context.Context, err error) *Error {
	e := judge(ctx, err)
	if e.Fault == Garbled && strings.Contains(strings.ToLower(e.Detail), "tls") {
		e.Fault = Untrusted
	}
	return e
}

// byWords finds out what a refusal is about: PgBouncer says 08P01 (protocol_violation) to almost everything.
func byWords(said *pgconn.PgError) Fault {
	words := strings.ToLower(said.Message)
	has := func(some ...string) bool {
		return slices.ContainsFunc(some, func(s string) bool { return strings.Contains(words, s) })
	}
	switch {
	case has("ssl required", "tls required"):
		return Untrusted
	case strings.HasPrefix(said.Code, "28"), has("authentication failed", "no such user", "not allowed", "admin access", "auth failed", "wrong password"):
		return Denied
	case strings.HasPrefix(said.Code, "57P"):
		return Unreachable
	}
	return Refused
}

func isTimeout(ctx context.Context, err error) bool {
	var network net.Error
	return ctx.Err() != nil || pgconn.Timeout(err) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &network) && network.Timeout()
}

func isAbsent(err error) bool {
	var name *net.DNSError
	var op *net.OpError
	var code syscall.Errno
	return errors.As(err, &name) || errors.As(err, &op) || errors.As(err, &code) || errors.Is(err, pgconn.ErrConnClosed) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe)
}

// isUntrusted: the peer could not prove who it is, or will not speak TLS where that is demanded.
func isUntrusted(err error) bool {
	var verify *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var record tls.RecordHeaderError
	var op *net.OpError
	if errors.As(err, &op) && (op.Op == "remote error" || op.Op == "local error") { // an alert of TLS
		return true
	}
	return errors.As(err, &verify) || errors.As(err, &authority) || errors.As(err, &name) || errors.As(err, &record)
}

// plain is the innermost cause in one line: what wraps it repeats the address, the user and an ephemeral port.
func plain(err error) string {
	if name, ok := errors.AsType[*net.DNSError](err); ok {
		return "looking up " + name.Name + ": " + name.Err
	}
	for {
		next := errors.Unwrap(err)
		var several interface{ Unwrap() []error }
		if errors.As(err, &several) && len(several.Unwrap()) > 0 {
			next = several.Unwrap()[0] // of several addresses that were tried, the first
		}
		if next == nil {
			return oneLine(err.Error())
		}
		err = next
	}
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
