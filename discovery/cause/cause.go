// Package cause finds out what ended a connection to a PostgreSQL server, or to a pooler in front of one, when no
// SQLSTATE tells. What the causes mean is for the caller to say.
package cause

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
)

// IsTimeout reports whether there was no answer in time: the context's, or the network's.
func IsTimeout(ctx context.Context, err error) bool {
	var network net.Error
	return ctx.Err() != nil || pgconn.Timeout(err) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &network) && network.Timeout()
}

// IsAbsent reports whether nobody is there, or not any more.
func IsAbsent(err error) bool {
	var name *net.DNSError
	var op *net.OpError
	var code syscall.Errno
	return errors.As(err, &name) || errors.As(err, &op) || errors.As(err, &code) || errors.Is(err, pgconn.ErrConnClosed) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe)
}

// IsUntrusted reports whether the other side could not prove who it is.
func IsUntrusted(err error) bool {
	var verify *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	return errors.As(err, &verify) || errors.As(err, &authority) || errors.As(err, &name)
}

// Plain is the innermost cause in one line: what wraps it repeats the address, the user and an ephemeral port.
func Plain(err error) string {
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
			return Line(err.Error())
		}
		err = next
	}
}

// Line is a text in one line.
func Line(text string) string { return strings.Join(strings.Fields(text), " ") }
