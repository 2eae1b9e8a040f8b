package session

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/poolwright/poolwright/discovery"
	"github.com/poolwright/poolwright/discovery/cause"
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
	case cause.IsTimeout(ctx, err):
		return &Error{Fault: discovery.Timeout, Detail: "no answer before the deadline"}
	case cause.IsAbsent(err):
		return &Error{Fault: discovery.Unreachable, Detail: cause.Plain(err)}
	case cause.IsUntrusted(err):
		return &Error{Fault: discovery.Denied, Detail: cause.Plain(err)}
	default:
		return &Error{Fault: discovery.Broken, Detail: cause.Plain(err)}
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
