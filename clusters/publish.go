package clusters

// PublishTo is the branch that is published to, and as whom: what clusters have to agree about to share their pushes.
type PublishTo struct {
	// Repository is a URL (file, http, https, ssh), an scp-like address or a path, without credentials, query and fragment.
	// Default empty: nothing is published. Source: poolwright.
	Repository string `json:"repository,omitempty"`
	// Branch that the GitOps tool follows. Default main. Source: poolwright.
	Branch string `json:"branch,omitempty"`
	// Via is how commits get there: git, by a push; github, through the API of the forge, without a clone, where GitHub signs what
	// an App commits. Default git. Source: poolwright.
	Via string `json:"via,omitempty" jsonschema:"enum=git,enum=github"`
	// Auth says where Git credentials come from. Default none. Source: poolwright.
	Auth GitAuth `json:"auth,omitzero"`
	// Forge is where pull requests are made. Default none: there are no pull requests. Source: poolwright.
	Forge *Forge `json:"forge,omitempty"`
	// Signing is with which key every commit is signed; where it cannot be used, nothing is published. Default none: commits are not
	// signed. Source: poolwright.
	Signing *Signing `json:"signing,omitempty"`
	// Author of the commits. Default poolwright <poolwright@localhost>. Source: poolwright.
	Author Person `json:"author,omitzero"`
	// Committer of the commits. Default the author. Source: poolwright.
	Committer Person `json:"committer,omitzero"`
}

// Publish is where the generated files go and how. Without a repository nothing is published.
type Publish struct {
	PublishTo
	// Path is the cluster's directory in the repository. Default clusters/<name>. Source: poolwright.
	Path string `json:"path,omitempty"`
	// BatchWindow is how long changes of class membership, scale and config wait for each other to share a commit,
	// a Go duration. Default 0s. Source: poolwright.
	BatchWindow Duration `json:"batchWindow,omitempty"`
	// RevertHold is how long a person's revert of a commit holds, a Go duration. Default 0s: until the facts are others, the Cluster file
	// was edited, or poolwright resume. Source: poolwright.
	RevertHold Duration `json:"revertHold,omitempty"`
	// Trailers are added to every commit message. Default none. Source: poolwright.
	Trailers map[string]string `json:"trailers,omitempty"`
	// Policy is how each class of change goes in. Default commit for each. Source: poolwright.
	Policy PublishPolicy `json:"policy,omitzero"`
	// PullRequest is how the pull requests look, of which a cluster has one at most. It needs a forge. Default: see its fields.
	// Source: poolwright.
	PullRequest PullRequest `json:"pullRequest,omitzero"`
}

// PublishPolicy is how each class of change goes in: commit, at once, or pullRequest, when a person has merged it, which is never passed
// over and needs a forge. With a forge, pullRequest is what to choose for scale and config: they can wait, and people want to see them.
// Failover and membership are about traffic that is broken now; leave them at commit.
type PublishPolicy struct {
	// Failover is a change of the writer. With pullRequest the live Services move at once all the same and hold until the merge; until
	// then nothing else of the cluster is committed. Default commit. Source: poolwright.
	Failover string `json:"failover,omitempty" jsonschema:"enum=commit,enum=pullRequest"`
	// Membership is a change of the readers in traffic. With pullRequest a reader that fails or is gone stays in traffic until the merge.
	// Default commit. Source: poolwright.
	Membership string `json:"membership,omitempty" jsonschema:"enum=commit,enum=pullRequest"`
	// Scale is an instance that appears or goes; pullRequest is recommended with a forge. An instance that becomes the writer before its
	// overlay was merged gets no traffic until then. Default commit. Source: poolwright.
	Scale string `json:"scale,omitempty" jsonschema:"enum=commit,enum=pullRequest"`
	// Config is a change of the Cluster file, or of what a new version draws; pullRequest is recommended with a forge. Default commit.
	// Source: poolwright.
	Config string `json:"config,omitempty" jsonschema:"enum=commit,enum=pullRequest"`
}

// Person is a Git identity.
type Person struct {
	// Name of the person or machine. Default poolwright; for the committer the author's. Source: poolwright.
	Name string `json:"name,omitempty"`
	// Email address. Default poolwright@localhost; for the committer the author's. Source: poolwright.
	Email string `json:"email,omitempty"`
}

// GitAuth says where Git credentials come from: over https one of a token, a GitHub App and a password, over ssh a key. Files are read
// and variables looked up anew for each operation.
type GitAuth struct {
	// TokenEnv is the environment variable with a token. Default none. Source: poolwright.
	TokenEnv string `json:"tokenEnv,omitempty"`
	// TokenFile is the file with a token. Default none. Source: poolwright.
	TokenFile string `json:"tokenFile,omitempty"`
	// TokenType is how the token is shown: basic, as the password, which GitHub, GitLab and Bitbucket take; or bearer, for
	// Gitea and others. Default basic. Source: poolwright.
	TokenType string `json:"tokenType,omitempty" jsonschema:"enum=basic,enum=bearer"`
	// App is a GitHub App, as which Git over https logs in; it needs a forge, whose API gives the tokens. Default none. Source: poolwright.
	App *GitHubApp `json:"app,omitempty"`
	// Username goes with the password or the token. Default x-access-token with a token. Source: poolwright.
	Username string `json:"username,omitempty"`
	// PasswordEnv is the environment variable with the password. Default none. Source: poolwright.
	PasswordEnv string `json:"passwordEnv,omitempty"`
	// PasswordFile is the file with the password. Default none. Source: poolwright.
	PasswordFile string `json:"passwordFile,omitempty"`
	// SSHKeyFile is the file with the private key. Default none. Source: poolwright.
	SSHKeyFile string `json:"sshKeyFile,omitempty"`
	// KnownHostsFile is the file with the known host keys. Default none. Source: poolwright.
	KnownHostsFile string `json:"knownHostsFile,omitempty"`
	// CAFile is the file with the certificate authorities for https. Default the system's. Source: poolwright.
	CAFile string `json:"caFile,omitempty"`
}
