package gitsync

import "context"

// Auth is how to prove who we are. The credential is asked for anew on each operation, so one that is
// rotated or minted for an hour works. A closed set: [Basic], [Token], [Minted], [SSHKey].
type Auth interface{ auth() }

// Basic is HTTP basic authentication. GitHub, GitLab and Bitbucket take their tokens this way
// (GitHub App: user "x-access-token").
type Basic func(context.Context) (user, password string, err error)

// Token is HTTP bearer authentication (Gitea, Azure DevOps, Bitbucket Data Center).
type Token func(context.Context) (token string, err error)

// Minted is HTTP basic authentication with a password that somebody mints, such as a GitHub App's installation
// token, and keeps until it is refused.
type Minted struct {
	// Mint returns the password, a new one after Drop.
	Mint func(context.Context) (user, password string, err error)
	// Drop is told which password the remote answered with 401. The request is then made once more, with another one.
	Drop func(password string)
}

// SSHKey authenticates with a private key. The user comes from the URL, default "git".
type SSHKey struct {
	// Key returns the PEM of the private key, unencrypted or with its passphrase.
	Key func(context.Context) (pem, passphrase []byte, err error)
	// KnownHosts is the path of a known_hosts file, read anew on each connection. Only a host listed
	// there is spoken to.
	KnownHosts string
}

func (Basic) auth()  {}
func (Token) auth()  {}
func (Minted) auth() {}
func (SSHKey) auth() {}
