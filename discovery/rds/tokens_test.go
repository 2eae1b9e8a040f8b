package rds

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// source provides credentials that last an hour, and counts how often it is asked.
type source struct {
	mu    sync.Mutex
	asked int
	err   error
	hang  bool
}

func (s *source) Retrieve(ctx context.Context) (aws.Credentials, error) {
	s.mu.Lock()
	s.asked++
	hang, err := s.hang, s.err
	s.mu.Unlock()
	if hang {
		<-ctx.Done()
		return aws.Credentials{}, ctx.Err()
	}
	return aws.Credentials{
		AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "secret", SessionToken: "session",
		CanExpire: true, Expires: time.Now().Add(time.Hour),
	}, err
}

func (s *source) set(err error, hang bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err, s.hang = err, hang
}

func (s *source) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

func ask(t *testing.T, tokens *Tokens) string {
	t.Helper()
	text, err := tokens.Token(t.Context(), "eu-west-1", "w1.example.test", 5432, "poolwright")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestATokenIsForOneUserAtOneEndpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tokens := NewTokens(aws.Config{Credentials: &source{}})
		text := ask(t, tokens)
		u, err := url.Parse("https://" + text)
		if err != nil {
			t.Fatal(err)
		}
		q := u.Query()
		if u.Host != "w1.example.test:5432" || q.Get("Action") != "connect" || q.Get("DBUser") != "poolwright" || q.Get("X-Amz-Expires") != "900" {
			t.Errorf("token %s", text)
		}
		if scope := "/eu-west-1/rds-db/aws4_request"; !strings.HasSuffix(q.Get("X-Amz-Credential"), scope) {
			t.Errorf("credential %s, want scope %s", q.Get("X-Amz-Credential"), scope)
		}
		other, err := tokens.Token(t.Context(), "eu-west-1", "r1.example.test", 5432, "poolwright")
		if err != nil || other == text {
			t.Errorf("another endpoint: same token %v, error %v", other == text, err)
		}
	})
}

func TestATokenIsReusedForTenMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tokens := NewTokens(aws.Config{Credentials: &source{}})
		first := ask(t, tokens)
		pass(10*time.Minute - time.Second)
		if ask(t, tokens) != first {
			t.Error("a new token before ten minutes are over")
		}
		pass(time.Second)
		if ask(t, tokens) == first {
			t.Error("the same token after ten minutes")
		}
	})
}

func TestATokenDoesNotOutliveItsCredentials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{}
		tokens := NewTokens(aws.Config{Credentials: s})
		ask(t, tokens) // now there are credentials for an hour
		pass(58 * time.Minute)
		late := ask(t, tokens)
		if n := s.count(); n != 1 {
			t.Errorf("asked %d times for credentials, want once", n)
		}
		pass(2 * time.Minute)
		if ask(t, tokens) == late {
			t.Error("the same token although its credentials have expired")
		}
		if n := s.count(); n != 2 {
			t.Errorf("asked %d times for credentials, want twice", n)
		}
	})
}

func TestRunKeepsCredentialsAtHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{}
		tokens := NewTokens(aws.Config{Credentials: s})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { tokens.Run(ctx); close(done) }()
		defer func() { cancel(); <-done }()

		pass(3 * time.Hour)
		s.set(nil, true) // from now on AWS hangs
		pass(50 * time.Minute)
		before := time.Now()
		ask(t, tokens)
		if took := time.Since(before); took != 0 {
			t.Errorf("waited %s for AWS", took)
		}
	})
}

func TestNoCredentialsIsAnErrorInBoundedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{err: errors.New("no role")}
		tokens := NewTokens(aws.Config{Credentials: s})
		_, err := tokens.Token(t.Context(), "eu-west-1", "w1", 5432, "poolwright")
		if err == nil || err.Error() != "finding AWS credentials: no role" {
			t.Errorf("error %v", err)
		}
		s.set(nil, true)
		before := time.Now()
		if _, err := tokens.Token(t.Context(), "eu-west-1", "w1", 5432, "poolwright"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want the deadline", err)
		}
		if took := time.Since(before); took != callTimeout {
			t.Errorf("took %s, want %s", took, callTimeout)
		}
	})
}
