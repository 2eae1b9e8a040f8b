package pooler

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/poolwright/poolwright/discovery/cause"
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
		return &Error{Fault: byWords(said), Code: said.Code, Detail: cause.Line(said.Message)}
	}
	switch {
	case isUntrusted(err):
		return &Error{Fault: Untrusted, Detail: cause.Plain(err)}
	case cause.IsTimeout(ctx, err):
		return &Error{Fault: Timeout, Detail: "no answer in time"}
	case cause.IsAbsent(err):
		return &Error{Fault: Unreachable, Detail: cause.Plain(err)}
	}
	return &Error{Fault: Garbled, Detail: cause.Plain(err)}
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

// isUntrusted: the peer could not prove who it is, or will not speak TLS where that is demanded.
func isUntrusted(err error) bool {
	var record tls.RecordHeaderError
	var op *net.OpError
	if errors.As(err, &op) && (op.Op == "remote error" || op.Op == "local error") { // an alert of TLS
		return true
	}
	return cause.IsUntrusted(err) || errors.As(err, &record)
}
