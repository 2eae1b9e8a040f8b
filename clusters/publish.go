package clusters

// Publish is where the generated files go and how. Without a repository nothing is published.
type Publish struct {
	// Repository is a URL (file, http, https, ssh), an scp-like address or a path, without credentials, query and fragment.
	// Default empty: nothing is published. Source: poolwright.
	Repository string `json:"repository,omitempty"`
	// Branch that the GitOps tool follows. Default main. Source: poolwright.
	Branch string `json:"branch,omitempty"`
	// Path is the cluster's directory in the repository. Default clusters/<name>. Source: poolwright.
	Path string `json:"path,omitempty"`
	// BatchWindow is how long changes of class membership, scale and config wait for each other to share a commit,
	// a Go duration. Default 0s. Source: poolwright.
	BatchWindow Duration `json:"batchWindow,omitempty"`
	// Auth says where Git credentials come from. Default none. Source: poolwright.
	Auth GitAuth `json:"auth,omitzero"`
	// Author of the commits. Default poolwright <poolwright@localhost>. Source: poolwright.
	Author Person `json:"author,omitzero"`
	// Committer of the commits. Default the author. Source: poolwright.
	Committer Person `json:"committer,omitzero"`
	// Trailers are added to every commit message. Default none. Source: poolwright.
	Trailers map[string]string `json:"trailers,omitempty"`
	// Policy is how each class of change goes in. Default commit. Source: poolwright.
	Policy PublishPolicy `json:"policy,omitzero"`
}

// PublishPolicy is how each class of change goes in. pullRequest needs a forge, which this version does not have: it is refused.
type PublishPolicy struct {
	// Failover is a change of the writer. Default commit. Source: poolwright.
	Failover string `json:"failover,omitempty" jsonschema:"enum=commit,enum=pullRequest"`
	// Membership is a change of the readers in traffic. Default commit. Source: poolwright.
	Membership string `json:"membership,omitempty" jsonschema:"enum=commit,enum=pullRequest"`
	// Scale is an instance that appears or goes. Default commit. Source: poolwright.
	Scale string `json:"scale,omitempty" jsonschema:"enum=commit,enum=pullRequest"`
	// Config is a change of the Cluster file. Default commit. Source: poolwright.
	Config string `json:"config,omitempty" jsonschema:"enum=commit,enum=pullRequest"`
}

// Person is a Git identity.
type Person struct {
	// Name of the person or machine. Default poolwright; for the committer the author's. Source: poolwright.
	Name string `json:"name,omitempty"`
	// Email address. Default poolwright@localhost; for the committer the author's. Source: poolwright.
	Email string `json:"email,omitempty"`
}

// GitAuth says where Git credentials come from. Files are read and variables looked up anew for each operation.
type GitAuth struct {
	// TokenEnv is the environment variable with a token. Default none. Source: poolwright.
	TokenEnv string `json:"tokenEnv,omitempty"`
	// TokenFile is the file with a token. Default none. Source: poolwright.
	TokenFile string `json:"tokenFile,omitempty"`
	// TokenType is how the token is shown: basic, as the password, which GitHub, GitLab and Bitbucket take; or bearer, for
	// Gitea and others. Default basic. Source: poolwright.
	TokenType string `json:"tokenType,omitempty" jsonschema:"enum=basic,enum=bearer"`
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
