package gitsync

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/poolwright/poolwright/gitsync/hub"
)

// Options say which branch of which repository, as whom, and how patiently.
type Options struct {
	// URL is a path, or a file, http, https or ssh URL, or git@host:path. It carries no password; a
	// user only for ssh.
	URL string
	// Branch to read and commit to, without refs/heads/. Default "main".
	Branch string
	// Author and Committer of the commits. Committer defaults to Author.
	Author, Committer Identity
	// Auth proves who we are; nil for none.
	Auth Auth
	// CA holds certificates (PEM) trusted for https beside the system's.
	CA []byte
	// Sign signs each commit; nil for none. A signer that cannot is ErrAuth, before anything is pushed.
	Sign Signer
	// Hub publishes through GitHub's API in Git's place: no clone, and Auth, CA and Sign are not for it. URL then is
	// how the repository is called in messages. nil: Git. See the package comment for what differs.
	Hub *hub.Client
	// HubAuthor leaves author, committer and time of a commit to GitHub. It then signs the commits of an App.
	HubAuthor bool
	// HubVerified makes it ErrRefused, before the branch is moved, that GitHub does not answer "verified" for a commit.
	HubVerified bool
	// LogDepth is how many of the newest commits are known with their messages. Default 500, some 100 kB. From a
	// server that cannot leave files out of a fetch, 50 at most.
	LogDepth int
	// Tries is how often a commit is drawn and pushed when the branch keeps moving. Default 10.
	Tries int
	// Timeout bounds one try: read, draw, push. Default 60 s, two minutes through GitHub's API. The context given to a method bounds all of them.
	Timeout time.Duration
	// Sleep waits between tries. Default: a timer that ctx ends.
	Sleep func(ctx context.Context, d time.Duration) error
}

func (o Options) withDefaults() Options {
	o.Branch = cmp.Or(o.Branch, "main")
	o.Committer = cmp.Or(o.Committer, o.Author)
	o.LogDepth = cmp.Or(o.LogDepth, 500)
	o.Tries = cmp.Or(o.Tries, 10)
	if o.Hub != nil {
		o.Timeout = cmp.Or(o.Timeout, 2*time.Minute)
	}
	o.Timeout = cmp.Or(o.Timeout, time.Minute)
	if o.Sleep == nil {
		o.Sleep = sleep
	}
	return o
}

// branchName is a strict subset of what git takes.
var branchName = regexp.MustCompile(`^[\pL\pN_][\pL\pN_.+@=-]*(/[\pL\pN_][\pL\pN_.+@=-]*)*$`)

func (o Options) check() error {
	switch {
	case !branchName.MatchString(o.Branch) || strings.Contains(o.Branch, "..") ||
		strings.HasSuffix(o.Branch, ".") || strings.HasSuffix(o.Branch, ".lock"):
		return fmt.Errorf("%q is no branch name", o.Branch)
	case o.Author.Name == "" || o.Author.Email == "" || o.Committer.Name == "" || o.Committer.Email == "":
		return errors.New("author and committer need a name and an email")
	case o.Hub != nil && (o.Sign != nil || o.Auth != nil || len(o.CA) > 0):
		return errors.New("through GitHub's API there is no signer, no credential and no CA beside the client's")
	case o.Hub == nil && (o.HubAuthor || o.HubVerified):
		return errors.New("GitHub can be author and verify commits only through its API")
	case o.LogDepth < 1 || o.Tries < 1 || o.Timeout < 0:
		return errors.New("log depth, tries and timeout must be positive")
	}
	return nil
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

// Open checks the options. It does not speak to the remote: that is the first [Repo.Read] or [Repo.Publish].
func Open(o Options) (*Repo, error) {
	o = o.withDefaults()
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("opening the repository: %w", err)
	}
	at, err := parseLocation(o.URL)
	if err != nil {
		return nil, fmt.Errorf("opening the repository: %w", err)
	}
	r := &Repo{opts: o, at: at, view: newView()}
	if o.Hub != nil {
		r.remote, r.portion = newHubRemote(o.Hub, o, r.view), hubPortion
		return r, nil
	}
	c, err := newCarrier(at, o)
	if err != nil {
		return nil, fmt.Errorf("opening the repository: %w", err)
	}
	r.remote = newGitRemote(c, o, r.view)
	return r, nil
}

// hubPortion is how many edits go into one push through GitHub's API. A commit takes two writes, which GitHub wants a
// second apart, and an urgent edit waits for the push that is under way.
const hubPortion = 10

func newCarrier(at location, o Options) (carrier, error) {
	switch at.scheme {
	case "file":
		return newExecCarrier(at, o.Auth)
	case "ssh":
		return newSSHCarrier(at, o.Auth)
	}
	return newHTTPCarrier(at, o.Auth, o.CA)
}
