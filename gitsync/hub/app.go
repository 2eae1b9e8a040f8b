package hub

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-github/v66/github"
)

// AppOptions say which GitHub App, installed where.
type AppOptions struct {
	// API is the base address. Default [PublicAPI].
	API string
	// AppID is the number on the App's page.
	AppID int64
	// InstallationID may be zero: then it is that of Repository.
	InstallationID int64
	// Repository is owner/name.
	Repository string
	// Key returns the App's RSA private key (PEM). It is read for each token that is minted.
	Key func(context.Context) ([]byte, error)
	// CA holds certificates (PEM) trusted beside the system's.
	CA []byte
	// Now is the clock. Default: the system's.
	Now func() time.Time
}

// AppAuth mints the tokens of an App's installation, which are good for an hour. It serves REST as an [Auth], and git
// over HTTP by [AppAuth.Basic].
type AppAuth struct {
	gh          *github.Client // with the App's own credential
	close       func()
	appID       int64
	owner, name string
	now         func() time.Time
	minting     chan struct{} // one at a time: the others use what comes of it

	mu           sync.Mutex
	installation int64
	token        string
	expires      time.Time
	writes       bool // the installation may write contents
}

const (
	tokenMargin = 5 * time.Minute // a token this near its end is not begun with
	// GitHub takes a JWT for ten minutes at most, and one from the future not at all.
	jwtLife = 9 * time.Minute
	jwtSkew = time.Minute
)

// App checks the options. It neither speaks to GitHub nor reads the key.
func App(o AppOptions) (*AppAuth, error) {
	if o.AppID <= 0 || o.InstallationID < 0 || o.Key == nil {
		return nil, errors.New("opening the GitHub App: it needs its number and its key")
	}
	owner, name, err := splitRepository(o.Repository)
	if err != nil {
		return nil, fmt.Errorf("opening the GitHub App: %w", err)
	}
	own := &appKey{id: o.AppID, read: o.Key, now: o.Now}
	wired := Options{API: o.API, Auth: own, CA: o.CA, Pause: -1, Now: o.Now}.withDefaults()
	own.now = wired.Now
	gh, end, err := dial(wired)
	if err != nil {
		return nil, fmt.Errorf("opening the GitHub App: %w", err)
	}
	return &AppAuth{
		gh: gh, close: end, appID: o.AppID, owner: owner, name: name, now: wired.Now,
		minting: make(chan struct{}, 1), installation: o.InstallationID,
	}, nil
}

// Close lets go of idle connections.
func (a *AppAuth) Close() error {
	a.close()
	return nil
}

// Token is a token with at least five minutes to live.
func (a *AppAuth) Token(ctx context.Context) (string, error) {
	select {
	case a.minting <- struct{}{}:
	case <-ctx.Done():
		return "", unreachable(ctx, ctx.Err())
	}
	defer func() { <-a.minting }()
	if token := a.kept(); token != "" {
		return token, nil
	}
	token, err := a.mint(ctx)
	return token, ofApp(explain(ctx, err, fmt.Sprintf("minting a token of GitHub App %d", a.appID)))
}

// Basic is the user and password for git over HTTP.
func (a *AppAuth) Basic(ctx context.Context) (user, password string, err error) {
	token, err := a.Token(ctx)
	return "x-access-token", token, err
}

// Drop forgets a token that GitHub has refused.
func (a *AppAuth) Drop(token string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.token == token {
		a.token = ""
	}
}

func (a *AppAuth) kept() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.expires.Sub(a.now()) <= tokenMargin {
		return ""
	}
	return a.token
}

func (a *AppAuth) mint(ctx context.Context) (string, error) {
	id, err := a.installed(ctx)
	if err != nil {
		return "", err
	}
	got, _, err := a.gh.Apps.CreateInstallationToken(ctx, id, nil)
	if err != nil {
		return "", err
	}
	if got.GetToken() == "" || got.GetExpiresAt().IsZero() {
		return "", half("a token")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.token, a.expires = got.GetToken(), got.GetExpiresAt().Time
	a.writes = got.GetPermissions().GetContents() == "write"
	return a.token, nil
}

// installed is where the App is installed.
func (a *AppAuth) installed(ctx context.Context) (int64, error) {
	a.mu.Lock()
	id := a.installation
	a.mu.Unlock()
	if id != 0 {
		return id, nil
	}
	got, _, err := a.gh.Apps.FindRepositoryInstallation(ctx, a.owner, a.name)
	if err != nil {
		return 0, err
	}
	if got.GetID() == 0 {
		return 0, half("the installation's number")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.installation = got.GetID()
	return a.installation, nil
}

// ofApp makes ErrAuth of what GitHub says of an App: one that is not installed here is not a missing pull request.
func ofApp(err error) error {
	if err == nil || errors.Is(err, ErrUnreachable) || errors.Is(err, ErrLimited) {
		return err
	}
	return faultf(ErrAuth, err.Error())
}

// mayWrite tells what the last token was given.
func (a *AppAuth) mayWrite() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.writes
}

// login is the name that the App's commits and comments carry.
func (a *AppAuth) login(ctx context.Context) (string, error) {
	got, _, err := a.gh.Apps.Get(ctx, "")
	if err == nil && got.GetSlug() == "" {
		err = half("the App's name")
	}
	if err != nil {
		return "", ofApp(explain(ctx, err, "reading who we are"))
	}
	return got.GetSlug() + "[bot]", nil
}

// appKey is the App's own credential: a JWT by its private key. It opens the App's calls and nothing else.
type appKey struct {
	id   int64
	read func(context.Context) ([]byte, error)
	now  func() time.Time
}

func (k *appKey) Token(ctx context.Context) (string, error) {
	pem, err := k.read(ctx)
	if err != nil {
		return "", fmt.Errorf("reading the App's key: %w", err)
	}
	key, err := jwt.ParseRSAPrivateKeyFromPEM(pem)
	if err != nil {
		return "", errors.New("the App's key is no RSA private key in PEM")
	}
	now := k.now()
	return jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.RegisteredClaims{
		Issuer:    strconv.FormatInt(k.id, 10),
		IssuedAt:  jwt.NewNumericDate(now.Add(-jwtSkew)),
		ExpiresAt: jwt.NewNumericDate(now.Add(jwtLife)),
	}).SignedString(key)
}

func (k *appKey) Drop(string) {}
