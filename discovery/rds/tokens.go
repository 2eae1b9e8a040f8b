package rds

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/rds/auth"
)

const (
	// tokenReuse is how long a token is handed out. RDS accepts it for 15 minutes.
	tokenReuse = 10 * time.Minute
	// warmEvery is how often Run looks whether credentials need to be renewed.
	warmEvery = time.Minute
	// margin is what credentials must still be good for.
	margin = time.Minute
)

// Tokens makes RDS authentication tokens, which take a password's place for the
// 15 minutes that they are valid. It may be used by several goroutines.
type Tokens struct {
	source aws.CredentialsProvider

	mu          sync.Mutex
	credentials aws.Credentials
	made        map[tokenKey]token
}

type tokenKey struct {
	region, host string
	port         int
	user         string
}

type token struct {
	text  string
	until time.Time
}

// NewTokens signs with the credentials of config, as Load makes it. Its region
// does not matter.
func NewTokens(config aws.Config) *Tokens {
	return &Tokens{source: tagged{config.Credentials}, made: map[tokenKey]token{}}
}

// Run keeps credentials at hand until ctx ends, so that Token need not wait for them.
func (t *Tokens) Run(ctx context.Context) {
	every := time.NewTicker(warmEvery)
	defer every.Stop()
	for {
		_, _ = t.renew(ctx) // Token says what is wrong, when it matters
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
	}
}

// Token returns the password of user at host:port. It is reused for 10 minutes
// and never beyond the life of the credentials it was signed with. The
// connection has to use TLS. An error says that there are no credentials.
func (t *Tokens) Token(ctx context.Context, region, host string, port int, user string) (string, error) {
	key := tokenKey{region, host, port, user}
	if text, ok := t.reuse(key); ok {
		return text, nil
	}
	credentials, err := t.usable(ctx)
	if err != nil {
		return "", err
	}
	text, err := auth.BuildAuthToken(ctx, net.JoinHostPort(host, strconv.Itoa(port)), region, user, fixed(credentials))
	if err != nil {
		return "", fmt.Errorf("signing an RDS token for %s: %w", user, err)
	}
	until := time.Now().Add(tokenReuse)
	if credentials.CanExpire && credentials.Expires.Before(until) {
		until = credentials.Expires
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.made[key] = token{text, until}
	return text, nil
}

func (t *Tokens) reuse(key tokenKey) (string, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	made, ok := t.made[key]
	return made.text, ok && time.Now().Before(made.until)
}

// usable prefers credentials that are at hand over a question to AWS.
func (t *Tokens) usable(ctx context.Context) (aws.Credentials, error) {
	t.mu.Lock()
	at := t.credentials
	t.mu.Unlock()
	if at.HasKeys() && (!at.CanExpire || time.Until(at.Expires) > margin) {
		return at, nil
	}
	return t.renew(ctx)
}

func (t *Tokens) renew(ctx context.Context) (aws.Credentials, error) {
	bounded, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	found, err := t.source.Retrieve(bounded)
	if err != nil {
		return aws.Credentials{}, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.credentials = found
	return found, nil
}

// fixed provides credentials that are known.
type fixed aws.Credentials

func (f fixed) Retrieve(context.Context) (aws.Credentials, error) { return aws.Credentials(f), nil }
