package githubfake_test

import (
	"crypto/x509"
	"encoding/pem"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/poolwright/poolwright/gitsync/githubfake"
)

// assertion is the App's token, with claims other than the right ones.
func (b bed) assertion(change func(*jwt.RegisteredClaims)) string {
	b.t.Helper()
	block, _ := pem.Decode(b.AppKey())
	key, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	if err != nil {
		b.t.Fatal(err)
	}
	claims := jwt.RegisteredClaims{
		Issuer: strconv.Itoa(githubfake.AppID), IssuedAt: jwt.NewNumericDate(b.Now().Add(-time.Minute)),
		ExpiresAt: jwt.NewNumericDate(b.Now().Add(9 * time.Minute)),
	}
	if change != nil {
		change(&claims)
	}
	signed, err := jwt.NewWithClaims(jwt.SigningMethodRS256, claims).SignedString(key)
	if err != nil {
		b.t.Fatal(err)
	}
	return "Bearer " + signed
}

// mint is an installation's token, as an Authorization.
func (b bed) mint(body any) string {
	b.t.Helper()
	r := b.ask("POST", "/app/installations/815/access_tokens", body, "Authorization", b.assertion(nil)).want(b.t, 201, "")
	return "token " + r.at(b.t, "token").(string)
}

func TestC20AnInstallationsTokenEnds(t *testing.T) {
	b := start(t, githubfake.Options{})
	b.ask("GET", "/app", nil, "Authorization", b.assertion(nil)).want(t, 200, `"slug":"poolwright-test"`)
	b.ask("GET", "installation", nil, "Authorization", b.assertion(nil)).want(t, 200, `"id":815`)
	auth := b.mint(nil)
	git, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://x", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	git.SetBasicAuth("x-access-token", auth[len("token "):])
	b.Advance(time.Hour - time.Second)
	b.ask("GET", "pulls", nil, "Authorization", auth).want(t, 200, "[]")
	if !b.AllowGit(git) {
		t.Error("Git does not take the token")
	}
	b.Advance(time.Second)
	b.ask("GET", "pulls", nil, "Authorization", auth).want(t, 401, "Bad credentials")
	if b.AllowGit(git) {
		t.Error("Git takes a token that is over")
	}
	again := b.mint(nil)
	b.ask("GET", "pulls", nil, "Authorization", again).want(t, 200, "[]")
	b.Revoke(again[len("token "):])
	b.ask("GET", "pulls", nil, "Authorization", again).want(t, 401, "Bad credentials")
	third := b.mint(nil)
	want := []string{auth[len("token "):], again[len("token "):], third[len("token "):]}
	if got := b.InstallationTokens(); !slices.Equal(got, want) {
		t.Errorf("tokens are %v, want %v: none is minted twice", got, want)
	}
}

func TestAnAppsAssertionIsChecked(t *testing.T) {
	b := start(t, githubfake.Options{})
	at := func(d time.Duration) *jwt.NumericDate { return jwt.NewNumericDate(b.Now().Add(d)) }
	for name, c := range map[string]struct {
		change func(*jwt.RegisteredClaims)
		want   string
	}{
		"another App":     {func(c *jwt.RegisteredClaims) { c.Issuer = "1" }, "Integration not found"},
		"over":            {func(c *jwt.RegisteredClaims) { c.ExpiresAt = at(-time.Second) }, "'exp'"},
		"for too long":    {func(c *jwt.RegisteredClaims) { c.ExpiresAt = at(11 * time.Minute) }, "too far in the future"},
		"without an end":  {func(c *jwt.RegisteredClaims) { c.ExpiresAt = nil }, "could not be decoded"},
		"of the future":   {func(c *jwt.RegisteredClaims) { c.IssuedAt = at(time.Second) }, "'iat'"},
		"of no time":      {func(c *jwt.RegisteredClaims) { c.IssuedAt = nil }, "'iat'"},
		"as it should be": {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			status := 401
			if c.want == "" {
				status = 200
			}
			b.ask("GET", "/app", nil, "Authorization", b.assertion(c.change)).want(t, status, c.want)
		})
	}
	b.ask("GET", "/app", nil).want(t, 401, "A JSON web token could not be decoded") // with a user's token
}

// TestC09WhoseCommitsAreVerified makes a commit each and reads what GitHub says about it.
func TestC09WhoseCommitsAreVerified(t *testing.T) {
	person := m{"name": "A", "email": "a@example.com"}
	for name, c := range map[string]struct {
		app    bool
		more   m
		do     func(b bed)
		reason string
	}{
		"an App's":                                {app: true, reason: "valid"},
		"an App's with an author":                 {app: true, more: m{"author": person}, reason: "unsigned"},
		"an App's with a committer":               {app: true, more: m{"committer": person}, reason: "unsigned"},
		"a user's":                                {reason: "unsigned"},
		"one with a known signature":              {more: m{"signature": "good"}, reason: "valid"},
		"one with an unknown signature":           {more: m{"signature": "bad"}, reason: "unknown_key"},
		"an App's where GitHub does not sign":     {app: true, do: func(b bed) { b.SetSigning(false) }, reason: "unsigned"},
		"an App's with an author and a signature": {app: true, more: m{"author": person, "signature": "good"}, reason: "valid"},
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, githubfake.Options{Verify: func(payload, signature string) string {
				if signature == "good\n" && payload != "" || signature == "good" {
					return "valid"
				}
				return "unknown_key"
			}})
			if c.do != nil {
				c.do(b)
			}
			body, auth := m{"message": "x", "tree": b.git("rev-parse", "main^{tree}")}, "Bearer "+b.Token()
			maps.Copy(body, c.more)
			if c.app {
				auth = b.mint(nil)
			}
			r := b.ask("POST", "git/commits", body, "Authorization", auth).want(t, 201, "")
			if got := r.at(t, "verification.reason"); got != c.reason {
				t.Errorf("it is %v, want %s", got, c.reason)
			}
			if v := r.at(t, "verification.verified"); v != (c.reason == "valid") {
				t.Errorf("verified is %v", v)
			}
			sha := r.at(t, "sha").(string)
			b.SetVerified(sha, false, "expired_key")
			b.ask("GET", "commits/"+sha, nil).want(t, 200, `"reason":"expired_key"`)
		})
	}
}

func TestAnAppMayDoWhatItWasGranted(t *testing.T) {
	b := start(t, githubfake.Options{})
	b.pull("side")
	auth := b.mint(m{"permissions": m{"contents": "read", "pull_requests": "write"}})
	with := []string{"Authorization", auth}
	b.ask("GET", "git/ref/heads/main", nil, with...).want(t, 200, "")
	b.ask("POST", "git/blobs", m{"content": "x"}, with...).want(t, 403, "Resource not accessible by integration")
	b.ask("POST", "issues/1/comments", m{"body": "x"}, with...).want(t, 201, `"login":"poolwright-test[bot]"`)
	b.ask("GET", "commits/main/check-runs", nil, with...).want(t, 403, "Resource not accessible by integration")
	b.ask("GET", "/user", nil, with...).want(t, 403, "Resource not accessible by integration")
	b.ask("GET", "/user", nil).want(t, 200, `"login":"robot"`)
	b.ask("POST", "/app/installations/815/access_tokens", m{"permissions": m{"checks": "write"}}, "Authorization", b.assertion(nil)).
		want(t, 422, "not granted to this installation")
	b.ask("POST", "/app/installations/1/access_tokens", nil, "Authorization", b.assertion(nil)).want(t, 404, "Not Found")
	if n := b.Count("POST app/installations/{id}/access_tokens"); n != 3 || len(b.Writes()) != 3 {
		t.Errorf("%d tokens were asked for; writes are %v", n, b.Writes())
	}
}
