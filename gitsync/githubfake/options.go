package githubfake

import (
	"cmp"
	"testing"
	"time"

	"github.com/poolwright/poolwright/gitsync/gitserver"
)

// Access is what a user may do.
type Access int

// The levels of access.
const (
	Write Access = iota
	Read
	Hidden // the repository is not there for this user
)

func (a Access) String() string { return [...]string{"write", "read", "hidden"}[a] }

// User is an account with a token.
type User struct {
	Login, Token string
	// Email is the address of commits, LOGIN@users.noreply.github.com by default.
	Email  string
	Access Access
}

// Options say what GitHub there is. The zero value is an empty repository acme/platform with one user, robot, who
// may write.
type Options struct {
	// Repo is what is served; nil is a new one, empty, below t.TempDir().
	Repo *gitserver.Repo
	// Name is owner/name.
	Name string
	// Base is the default branch, "main" by default.
	Base string
	// Users are the accounts: those with a token may come in, all of them may be asked for a review and assigned.
	Users []User
	// Permissions of the App's installation. The default is what a bot with pull requests needs: contents,
	// pull_requests: write; metadata, checks, statuses: read.
	Permissions map[string]string
	// Now is GitHub's clock, time.Now by default.
	Now func() time.Time
	// Lifetime of an installation's token, one hour by default.
	Lifetime time.Duration
	// Hourly is how many requests a credential has per hour, 5,000 by default.
	Hourly int
	// MaxPage is the most that a page holds whatever per_page says, 100 by default.
	MaxPage int
	// MaxTree is how many entries a recursive tree has before it is truncated, 100,000 by default.
	MaxTree int
	// Methods are the allowed ways to merge, all of merge, squash, rebase by default.
	Methods []string
	// NoAutoMerge and NoDrafts are repositories that do not have these.
	NoAutoMerge, NoDrafts bool
	// DeleteMerged deletes the branch of a pull request that was merged.
	DeleteMerged bool
	// Racing lets a credential write twice at once: several processes share it.
	Racing bool
	// Enterprise serves the API below /api/v3/ and /api/graphql.
	Enterprise bool
	// TLS serves https, with the certificate [Server.CA].
	TLS bool
	// Verify is asked about a commit that carries a signature: what was signed, and the signature. It returns GitHub's
	// reason; "valid" is verified. nil answers unknown_key.
	Verify func(payload, signature string) (reason string)
}

// complete fills in the defaults.
func (o Options) complete(t testing.TB) Options {
	t.Helper()
	o.Name, o.Base = cmp.Or(o.Name, "acme/platform"), cmp.Or(o.Base, "main")
	o.Lifetime, o.Hourly = cmp.Or(o.Lifetime, time.Hour), cmp.Or(o.Hourly, 5000)
	o.MaxPage, o.MaxTree = cmp.Or(o.MaxPage, 100), cmp.Or(o.MaxTree, 100_000)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Verify == nil {
		o.Verify = func(string, string) string { return "unknown_key" }
	}
	if len(o.Users) == 0 {
		o.Users = []User{{Login: "robot", Token: "ghp_robot0123456789"}}
	}
	if o.Methods == nil {
		o.Methods = []string{"merge", "squash", "rebase"}
	}
	if o.Permissions == nil {
		o.Permissions = map[string]string{
			"contents": "write", "pull_requests": "write", "metadata": "read", "checks": "read", "statuses": "read",
		}
	}
	if o.Repo == nil {
		var err error
		if o.Repo, err = gitserver.CreateRepo(t.TempDir(), o.Name+".git"); err != nil {
			t.Fatal(err)
		}
	}
	return o
}
