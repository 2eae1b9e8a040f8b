package githubfake

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// The App that is installed in the repository.
const (
	AppID          = 4711
	InstallationID = 815
	AppSlug        = "poolwright-test"
	botLogin       = AppSlug + "[bot]"
)

// appKey makes the App's key when it is first asked for: it takes a while.
type appKey struct {
	once sync.Once
	key  *rsa.PrivateKey
}

func (k *appKey) private(s *Server) *rsa.PrivateKey {
	k.once.Do(func() {
		var err error
		if k.key, err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
			s.t.Error(err)
		}
	})
	return k.key
}

type installationToken struct {
	expires time.Time
	grants  map[string]string
}

// AppKey is the private key of the App, as GitHub gives it: PEM of PKCS #1.
func (s *Server) AppKey() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(s.app.private(s))})
}

// InstallationTokens are all tokens that were minted, the oldest first, those that are over or revoked too.
func (s *Server) InstallationTokens() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.tokens))
}

// authenticateApp reads an App's JSON web token: RS256, iss the App, at most ten minutes, not of the future.
func (s *Server) authenticateApp(c *call, token string) (answer, bool) {
	var claims jwt.RegisteredClaims
	_, err := jwt.ParseWithClaims(token, &claims, func(*jwt.Token) (any, error) { return &s.app.private(s).PublicKey, nil },
		jwt.WithValidMethods([]string{"RS256"}), jwt.WithTimeFunc(s.clock), jwt.WithExpirationRequired())
	now := s.clock()
	denied := func(message string) (answer, bool) { return refuse(http.StatusUnauthorized, message), true }
	switch {
	case errors.Is(err, jwt.ErrTokenExpired):
		return denied("'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires")
	case err != nil:
		return denied("A JSON web token could not be decoded")
	case claims.Issuer != strconv.Itoa(AppID):
		return denied("Integration not found")
	case claims.IssuedAt == nil || claims.IssuedAt.After(now):
		return denied("'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued")
	case claims.ExpiresAt.Sub(now) > 10*time.Minute:
		return denied("'Expiration time' claim ('exp') is too far in the future")
	}
	c.who = caller{login: AppSlug, app: true}
	return answer{}, false
}

func getApp(c *call) answer {
	return ok(doc{
		"id": AppID, "slug": AppSlug, "node_id": "A_4711", "name": "Poolwright test", "owner": c.s.account(c.s.owner()),
		"html_url": c.s.http.URL + "/apps/" + AppSlug, "permissions": c.s.o.Permissions, "events": []string{},
	})
}

func getInstallation(c *call) answer {
	return ok(doc{
		"id": InstallationID, "account": c.s.account(c.s.owner()), "app_id": AppID, "app_slug": AppSlug, "target_type": "Organization",
		"repository_selection": "selected", "permissions": c.s.o.Permissions, "events": []string{}, "suspended_at": nil,
		"access_tokens_url": fmt.Sprintf("%sapp/installations/%d/access_tokens", c.s.URL(), InstallationID),
	})
}

func createToken(c *call) answer {
	var in struct {
		Repositories  []string          `json:"repositories"`
		RepositoryIDs []int64           `json:"repository_ids"`
		Permissions   map[string]string `json:"permissions"`
	}
	if c.r.PathValue("id") != strconv.Itoa(InstallationID) {
		return missing()
	}
	if len(c.body) > 0 {
		if a, ok := c.read(&in); !ok {
			return a
		}
	}
	grants := maps.Clone(c.s.o.Permissions)
	if in.Permissions != nil {
		grants = in.Permissions
	}
	for scope, level := range grants {
		if had := c.s.o.Permissions[scope]; had != level && had != "write" {
			return unprocessable("The permissions requested are not granted to this installation.")
		}
	}
	token := fmt.Sprintf("ghs_%036d", len(c.s.tokens)+1)
	t := installationToken{c.now.Add(c.s.o.Lifetime).Truncate(time.Second), grants}
	c.s.tokens[token] = t
	return created(doc{
		"token": token, "expires_at": stamp(t.expires), "permissions": grants, "repository_selection": "selected",
	})
}
