package cmd

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/poolwright/poolwright/clusters"
	"github.com/poolwright/poolwright/gitsync"
	"github.com/poolwright/poolwright/gitsync/forge"
	"github.com/poolwright/poolwright/gitsync/hub"
	"github.com/poolwright/poolwright/gitsync/sign"
)

// branch is one branch as it is published to.
type branch struct {
	git gitsync.Publisher
	// hub is the forge's API, and pulls keeps the pull requests there; nil where none is declared.
	hub   *hub.Client
	pulls *forge.Keeper
	// key signs the commits; nil for none.
	key *sign.Signer
}

// openBranch opens what a declaration publishes to. Nothing is asked yet.
func openBranch(p clusters.PublishTo, now func() time.Time) (b branch, err error) {
	if p.Repository == "" {
		return b, exitf(ExitUsage, "set spec.publish.repository in the Cluster file", "opening the repository: none is declared")
	}
	o := gitsync.Options{
		URL: p.Repository, Branch: p.Branch,
		Author:    gitsync.Identity{Name: p.Author.Name, Email: p.Author.Email},
		Committer: gitsync.Identity{Name: p.Committer.Name, Email: p.Committer.Email},
	}
	as, err := appsOf(p, now)
	if err != nil {
		return b, err
	}
	if p.Forge != nil {
		if b.hub, err = openHub(*p.Forge, as, now); err != nil {
			return b, err
		}
		b.pulls = forge.New(forge.Options{Hub: b.hub, Base: p.Branch, Now: now})
	}
	if p.Via == "github" {
		o.Hub, o.HubAuthor, o.HubVerified = b.hub, as.forge != nil, as.forge != nil
		b.git, err = gitsync.Open(o)
		return b, err
	}
	if b.key = signerOf(p.Signing, now); b.key != nil {
		o.Sign = b.key
	}
	o.Auth = gitAuth(p.Auth, as.git)
	if o.CA, err = readCA(p.Auth.CAFile, "the repository"); err != nil {
		return b, err
	}
	b.git, err = gitsync.Open(o)
	return b, err
}

// readCA reads certificates, if a file with some is declared.
func readCA(file, of string) ([]byte, error) {
	if file == "" {
		return nil, nil
	}
	ca, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the CA file of %s: %w", of, err)
	}
	return ca, nil
}

// apps is the GitHub App that Git and the forge are asked as; nil where it is somebody else. Where it is the same, it mints one
// token for both.
type apps struct{ git, forge *hub.AppAuth }

func appsOf(p clusters.PublishTo, now func() time.Time) (as apps, err error) {
	if p.Forge == nil {
		return as, nil
	}
	if p.Auth.App != nil {
		if as.git, err = openApp(*p.Auth.App, *p.Forge, now); err != nil {
			return as, err
		}
	}
	switch app := p.Forge.Auth.App; {
	case app == nil:
	case p.Auth.App != nil && *p.Auth.App == *app:
		as.forge = as.git
	default:
		as.forge, err = openApp(*app, *p.Forge, now)
	}
	return as, err
}

func openApp(a clusters.GitHubApp, f clusters.Forge, now func() time.Time) (*hub.AppAuth, error) {
	ca, err := readCA(f.CAFile, "the forge")
	if err != nil {
		return nil, err
	}
	return hub.App(hub.AppOptions{
		API: f.API, AppID: a.AppID, InstallationID: a.InstallationID, Repository: f.Repository, CA: ca, Now: now,
		Key: func(context.Context) ([]byte, error) {
			text, err := secretText("the App's private key", a.KeyEnv, a.KeyFile)
			return []byte(text), err
		},
	})
}

func openHub(f clusters.Forge, as apps, now func() time.Time) (*hub.Client, error) {
	ca, err := readCA(f.CAFile, "the forge")
	if err != nil {
		return nil, err
	}
	auth := hub.Fixed(func(context.Context) (string, error) {
		return secretText("the forge's token", f.Auth.TokenEnv, f.Auth.TokenFile)
	})
	if as.forge != nil {
		auth = as.forge
	}
	return hub.Open(hub.Options{API: f.API, Repository: f.Repository, Auth: auth, CA: ca, Now: now})
}

// signerOf is nil where commits are not signed.
func signerOf(s *clusters.Signing, now func() time.Time) *sign.Signer {
	if s == nil {
		return nil
	}
	read := func(context.Context) (key, passphrase []byte, err error) {
		text, err := secretText("the signing key", s.KeyEnv, s.KeyFile)
		if err != nil || s.PassphraseEnv == "" && s.PassphraseFile == "" {
			return []byte(text), nil, err
		}
		words, err := secretText("the passphrase of the signing key", s.PassphraseEnv, s.PassphraseFile)
		return []byte(text), []byte(words), err
	}
	if s.Format == "openpgp" {
		return sign.OpenPGP(sign.OpenPGPOptions{Key: read, Now: now})
	}
	return sign.SSH(sign.SSHOptions{Key: read, Now: now})
}

// gitAuth is nil when nothing is declared.
func gitAuth(a clusters.GitAuth, app *hub.AppAuth) gitsync.Auth {
	switch {
	case app != nil:
		return gitsync.Minted{Mint: app.Basic, Drop: app.Drop}
	case a.SSHKeyFile != "":
		return gitsync.SSHKey{KnownHosts: a.KnownHostsFile, Key: func(context.Context) (pem, passphrase []byte, err error) {
			pem, err = os.ReadFile(a.SSHKeyFile)
			return pem, nil, err
		}}
	case a.TokenType == "bearer":
		return gitsync.Token(func(context.Context) (string, error) { return gitSecret(a.TokenEnv, a.TokenFile) })
	case a.TokenEnv != "", a.TokenFile != "":
		return basic(a.Username, a.TokenEnv, a.TokenFile)
	case a.PasswordEnv != "", a.PasswordFile != "":
		return basic(a.Username, a.PasswordEnv, a.PasswordFile)
	}
	return nil
}

// basic shows a user and a password.
func basic(user, env, file string) gitsync.Basic {
	return func(context.Context) (string, string, error) {
		password, err := gitSecret(env, file)
		return user, password, err
	}
}

func gitSecret(env, file string) (string, error) {
	return secretText("the repository's credentials", env, file)
}

// secretText is in a variable or a file. It is read anew for each operation, so that a rotated one is used at once.
func secretText(what, env, file string) (string, error) {
	if env != "" {
		if os.Getenv(env) == "" {
			return "", fmt.Errorf("reading %s: environment variable %s is not set", what, env)
		}
		return os.Getenv(env), nil
	}
	text, err := readLine(file)
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", what, err)
	}
	return text, nil
}
