package clusters

// Forge is where pull requests are made.
type Forge struct {
	// Type of the forge: github, which is GitHub and GitHub Enterprise. Required. Source: poolwright.
	Type string `json:"type" jsonschema:"enum=github"`
	// API is the URL of its API; for GitHub Enterprise Server https://HOST/api/v3/. https, and http on this machine only.
	// Default https://api.github.com/. Source: poolwright.
	API string `json:"api,omitempty"`
	// Repository is owner/name. Default what publish.repository says, when that is on the same host. Source: poolwright.
	Repository string `json:"repository,omitempty"`
	// Auth is as whom the API is asked. Default the token or App of publish.auth. Source: poolwright.
	Auth ForgeAuth `json:"auth,omitzero"`
	// CAFile is the file with the certificate authorities of the API, beside the system's. Default publish.auth.caFile.
	// Source: poolwright.
	CAFile string `json:"caFile,omitempty"`
}

// ForgeAuth is as whom an API is asked: a token or an App. Files are read and variables looked up anew for each request.
type ForgeAuth struct {
	// TokenEnv is the environment variable with a token. Default none. Source: poolwright.
	TokenEnv string `json:"tokenEnv,omitempty"`
	// TokenFile is the file with a token. Default none. Source: poolwright.
	TokenFile string `json:"tokenFile,omitempty"`
	// App is a GitHub App: what it commits through the API is Verified, and its pull requests start the checks. Default none.
	// Source: poolwright.
	App *GitHubApp `json:"app,omitempty"`
}

// GitHubApp is a GitHub App, whose private key comes from exactly one of keyFile and keyEnv. Tokens are made of it when they are needed.
type GitHubApp struct {
	// AppID is the App's number. Required. Source: poolwright.
	AppID int64 `json:"appID" jsonschema:"minimum=1,maximum=9007199254740991"`
	// InstallationID is that of its installation. Default the one of the repository. Source: poolwright.
	InstallationID int64 `json:"installationID,omitempty" jsonschema:"minimum=1,maximum=9007199254740991"`
	// KeyFile is the file with the private key, PEM. Default none. Source: poolwright.
	KeyFile string `json:"keyFile,omitempty"`
	// KeyEnv is the environment variable with the private key, PEM. Default none. Source: poolwright.
	KeyEnv string `json:"keyEnv,omitempty"`
}

// PullRequest is how a cluster's pull request looks, and who merges it.
type PullRequest struct {
	// Branch of the pull request. Default poolwright/<cluster>. Source: poolwright.
	Branch string `json:"branch,omitempty"`
	// Labels that it gets. Default none. Source: poolwright.
	Labels []string `json:"labels,omitempty"`
	// Reviewers are the logins of people who are asked to review. Default none: CODEOWNERS decides. Source: poolwright.
	Reviewers []string `json:"reviewers,omitempty"`
	// Teams are asked to review, by their slugs, without the organisation. Default none. Source: poolwright.
	Teams []string `json:"teams,omitempty"`
	// Assignees are logins, at most 10. Default none. Source: poolwright.
	Assignees []string `json:"assignees,omitempty"`
	// Draft opens it as a draft, for people to make ready. Default false. Source: poolwright.
	Draft bool `json:"draft,omitempty"`
	// Merge is who merges: byPeople; auto, GitHub's auto-merge as soon as its rules are met; direct, poolwright itself, as an App that
	// may bypass the rules. Default byPeople. Source: poolwright.
	Merge string `json:"merge,omitempty" jsonschema:"enum=byPeople,enum=auto,enum=direct"`
	// Method of a merge that people do not make themselves. Default squash with merge auto and direct. Source: poolwright.
	Method string `json:"method,omitempty" jsonschema:"enum=squash,enum=merge,enum=rebase"`
}

// Signing is with which key every commit is signed. The key comes from exactly one of keyFile and keyEnv, its passphrase from one of
// passphraseFile and passphraseEnv, or it has none.
type Signing struct {
	// Format of the signature: ssh or openpgp. Required. Source: poolwright.
	Format string `json:"format" jsonschema:"enum=ssh,enum=openpgp"`
	// KeyFile is the file with the private key. Default none. Source: poolwright.
	KeyFile string `json:"keyFile,omitempty"`
	// KeyEnv is the environment variable with the private key. Default none. Source: poolwright.
	KeyEnv string `json:"keyEnv,omitempty"`
	// PassphraseFile is the file with the key's passphrase. Default none. Source: poolwright.
	PassphraseFile string `json:"passphraseFile,omitempty"`
	// PassphraseEnv is the environment variable with the key's passphrase. Default none. Source: poolwright.
	PassphraseEnv string `json:"passphraseEnv,omitempty"`
}
