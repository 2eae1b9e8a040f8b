package hub

import (
	"context"
	"errors"
	"strings"
)

// Auth is whose token a request carries: [Fixed] or [App].
type Auth interface {
	// Token is asked for each request.
	Token(ctx context.Context) (string, error)
	// Drop says that GitHub answered 401 to this token. The request is tried once more if Token has another.
	Drop(token string)
}

// Fixed is a token that somebody else makes and replaces (a personal access token, a mounted Secret). read is called
// for each request, so that a rotated token is used at once. White space around the token is left away.
func Fixed(read func(context.Context) (string, error)) Auth { return fixed(read) }

type fixed func(context.Context) (string, error)

func (f fixed) Token(ctx context.Context) (string, error) { return f(ctx) }
func (f fixed) Drop(string)                               {}

// tokenOf asks for a token that can go into a header. Its errors never say ErrNotFound: that the credential cannot be had
// says nothing about what was asked for.
func tokenOf(ctx context.Context, auth Auth) (string, error) {
	token, err := auth.Token(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return "", unreachable(ctx, ctx.Err())
	case errors.Is(err, ErrUnreachable) || errors.Is(err, ErrLimited):
		return "", err
	case err != nil:
		return "", faultf(ErrAuth, "reading the token: "+err.Error())
	}
	token = strings.TrimSpace(token)
	if token == "" {
		return "", faultf(ErrAuth, "the token is empty")
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", faultf(ErrAuth, "the token has characters that no token has")
	}
	return token, nil
}
