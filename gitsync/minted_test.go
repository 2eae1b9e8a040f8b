package gitsync_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/gitsync"
)

// mint is what hands out passwords: a new one when the last was dropped.
type mint struct {
	n       int
	current string
	dropped []string
}

func (m *mint) auth() gitsync.Minted {
	return gitsync.Minted{
		Mint: func(context.Context) (string, string, error) {
			if m.current == "" {
				m.n++
				m.current = fmt.Sprintf("t0ken-%d", m.n)
			}
			return "x-access-token", m.current, nil
		},
		Drop: func(password string) {
			m.dropped = append(m.dropped, password)
			if m.current == password {
				m.current = ""
			}
		},
	}
}

// TestC20MintedPasswordIsDropped: a password that is refused, at the first word or in the middle of a publish, is
// dropped, and the request made once more with another one. Two in a row are an error.
func TestC20MintedPasswordIsDropped(t *testing.T) {
	t.Parallel()
	m := &mint{}
	b := newHTTPBed(t, gitsync.Options{Auth: m.auth()})
	revoked, at := "none", http.MethodGet
	b.Allow(func(r *http.Request) bool {
		user, p, _ := r.BasicAuth()
		return user == "x-access-token" && (p != revoked || r.Method != at)
	})
	publishOne(t, b.git, write("a", "x", "1\n"))
	if m.n != 1 {
		t.Errorf("%d passwords minted while the first was good", m.n)
	}
	for _, at = range []string{http.MethodGet, http.MethodPost} {
		revoked = m.current
		if r := publishOne(t, b.git, write("a", "x", "revoked on "+at+"\n")); len(r.Commits) != 1 || m.current == revoked {
			t.Errorf("revoked on %s: receipt %+v, the password is %s", at, r, m.current)
		}
	}
	if got := strings.Join(m.dropped, " "); got != "t0ken-1 t0ken-2" || b.Pushes() == 0 {
		t.Errorf("dropped are %s", got)
	}
	b.Reset()
	b.Allow(func(*http.Request) bool { return false })
	_, err := b.git.Publish(t.Context(), []gitsync.Edit{write("a", "x", "2\n")})
	if !errors.Is(err, gitsync.ErrAuth) || strings.Contains(err.Error(), "t0ken") || len(b.Requests()) != 2 {
		t.Errorf("%d requests, the error is %v", len(b.Requests()), err)
	}
}

func TestMintThatFails(t *testing.T) {
	t.Parallel()
	gone := errors.New("no such App")
	b := newHTTPBed(t, gitsync.Options{Auth: gitsync.Minted{
		Mint: func(context.Context) (string, string, error) { return "", "", gone }, Drop: func(string) {},
	}})
	if _, err := b.git.Read(t.Context(), "a"); !errors.Is(err, gone) || !errors.Is(err, gitsync.ErrAuth) {
		t.Errorf("the error is %v", err)
	}
	if len(b.Requests()) > 0 {
		t.Error("it asked without a credential")
	}
}
