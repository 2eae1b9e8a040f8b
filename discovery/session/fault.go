package session

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/poolwright/poolwright/discovery"
)

// Error is why there is no answer.
type Error struct {
	Fault discovery.Fault
	// Code is the server's SQLSTATE, "" when the server said nothing.
	Code string
	// Detail is for people: no password, and no address or port that differs from try to try.
	Detail string
}

// Error returns the fault and the detail.
func (e *Error) Error() string { return e.Fault.String() + ": " + e.Detail }

// without removes a secret.
func (e *Error) without(secret string) *Error {
	if secret != "" {
		e.Detail = strings.ReplaceAll(e.Detail, secret, "*****")
	}
	return e
}

// judge classifies what the driver or the network said.
func judge(ctx context.Context, err error) *Error {
	var known *Error
	var server *pgconn.PgError
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &server):
		return &Error{Fault: byCode(server.Code), Code: server.Code, Detail: server.Message + " (SQLSTATE " + server.Code + ")"}
	case isTimeout(ctx, err):
		return &Error{Fault: discovery.Timeout, Detail: "no answer before the deadline"}
	case isAbsent(err):
		return &Error{Fault: discovery.Unreachable, Detail: plain(err)}
	case isUntrusted(err):
		return &Error{Fault: discovery.Denied, Detail: plain(err)}
	default:
		return &Error{Fault: discovery.Broken, Detail: plain(err)}
	}
}

// byCode is the fault behind an SQLSTATE.
func byCode(code string) discovery.Fault {
	switch {
	case code == "57P03": // cannot_connect_now: starting up, recovering, shutting down
		return discovery.StartingUp
	case code == "57014": // query_canceled: our statement_timeout
		return discovery.Timeout
	case strings.HasPrefix(code, "57P"), strings.HasPrefix(code, "08"): // shutting down, crashed, connection lost
		return discovery.Unreachable
	case strings.HasPrefix(code, "28"), code == "42501": // invalid authorization, insufficient privilege
		return discovery.Denied
	default:
		return discovery.Broken
	}
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
	return errors.As(err, &name) || errors.As(err, &op) || errors.As(err, &code) ||
		errors.Is(err, pgconn.ErrConnClosed) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe)
}

// isUntrusted: the server could not prove who it is.
func isUntrusted(err error) bool {
	var verify *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	return errors.As(err, &verify) || errors.As(err, &authority) || errors.As(err, &name)
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
			return strings.Join(strings.Fields(err.Error()), " ")
		}
		err = next
	}
}
