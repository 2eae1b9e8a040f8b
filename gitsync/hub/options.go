package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/google/go-github/v66/github"

	"github.com/poolwright/poolwright/gitsync/roots"
)

// PublicAPI is the API of github.com.
const PublicAPI = "https://api.github.com/"

// Options say which repository, as whom, and how patiently.
type Options struct {
	// API is the base address. Default [PublicAPI]; an Enterprise Server's is https://HOST/api/v3/. http only for
	// hosts of this machine.
	API string
	// Repository is owner/name.
	Repository string
	// Auth is whose token is used.
	Auth Auth
	// CA holds certificates (PEM) trusted beside the system's.
	CA []byte
	// Pause is the least time between two writes. Default 1 s, as GitHub asks for; negative: none.
	Pause time.Duration
	// Now is the clock. Default: the system's.
	Now func() time.Time
	// Sleep waits between writes. Default: a timer that ctx ends.
	Sleep func(ctx context.Context, d time.Duration) error
}

func (o Options) withDefaults() Options {
	o.API = cmp.Or(o.API, PublicAPI)
	o.Pause = cmp.Or(o.Pause, time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sleep == nil {
		o.Sleep = sleep
	}
	return o
}

// Client speaks of one repository. Its methods may be called at the same time; writes go out one after the other.
type Client struct {
	gh          *github.Client
	auth        Auth
	owner, name string
	close       func()
}

// Open checks the options. It does not speak to GitHub.
func Open(o Options) (*Client, error) {
	o = o.withDefaults()
	if o.Auth == nil {
		return nil, errors.New("opening the GitHub client: there is no credential")
	}
	owner, name, err := splitRepository(o.Repository)
	if err != nil {
		return nil, fmt.Errorf("opening the GitHub client: %w", err)
	}
	gh, end, err := dial(o)
	if err != nil {
		return nil, fmt.Errorf("opening the GitHub client: %w", err)
	}
	return &Client{gh: gh, auth: o.Auth, owner: owner, name: name, close: end}, nil
}

// Close lets go of idle connections.
func (c *Client) Close() error {
	c.close()
	return nil
}

// dial makes a go-github client that speaks through a wire of ours.
func dial(o Options) (*github.Client, func(), error) {
	base, err := parseAPI(o.API)
	if err != nil {
		return nil, nil, err
	}
	pool, err := roots.Pool(o.CA)
	if err != nil {
		return nil, nil, err
	}
	w := newWire(o, pool)
	gh := github.NewClient(w.client())
	gh.BaseURL, gh.UserAgent = base, "poolwright"
	return gh, w.base.CloseIdleConnections, nil
}

// parseAPI takes an address that carries no credential and that nobody can listen to.
func parseAPI(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return nil, errors.New("the API's address cannot be read") // url.Error would repeat what may be a credential
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("the API's address carries more than scheme, host and path")
	case u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())):
		return nil, errors.New("the API's address is not https://HOST/")
	}
	if !strings.HasSuffix(u.Path, "/") {
		u.Path += "/"
	}
	return u, nil
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

var repositoryName = regexp.MustCompile(`^([A-Za-z0-9_-]+)/([A-Za-z0-9._-]+)$`)

func splitRepository(s string) (owner, name string, err error) {
	m := repositoryName.FindStringSubmatch(s)
	if m == nil || m[2] == "." || m[2] == ".." {
		return "", "", fmt.Errorf("%q is not owner/name", printable(s))
	}
	return m[1], m[2], nil
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// revision is a strict subset of what git takes as a branch name; a hash is one, too. It goes into a path.
var revision = regexp.MustCompile(`^[\pL\pN_][\pL\pN_.+@=-]*(/[\pL\pN_][\pL\pN_.+@=-]*)*$`)

// checkNames refuses what would make another path of a request.
func checkNames(names ...string) error {
	for _, s := range names {
		if !revision.MatchString(s) || strings.Contains(s, "..") || strings.HasSuffix(s, ".") || strings.HasSuffix(s, ".lock") {
			return faultf(ErrRefused, fmt.Sprintf("%q is no branch and no hash", printable(s)))
		}
	}
	return nil
}
