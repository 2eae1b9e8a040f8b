package clusters

import (
	"strings"
	"testing"
)

// publishWith is a file with keys below spec.publish, in a flow mapping on line 10.
func publishWith(keys string) string { return base + "  publish: {" + keys + "}\n" }

const (
	onGitHub = "repository: 'https://github.com/platform/databases', "
	anApp    = "auth: {app: {appID: 1, keyFile: /key}}, "
	aToken   = "auth: {tokenEnv: TOKEN}, "
	aForge   = "forge: {type: github}, "
)

func TestTheRepositoryOfTheForge(t *testing.T) {
	for _, c := range []struct{ repository, api, want string }{
		{"https://github.com/platform/databases.git", "", "platform/databases"},
		{"https://GitHub.com/platform/databases/", "", "platform/databases"},
		{"git@github.com:platform/databases.git", "", "platform/databases"},
		{"ssh://git@github.com/platform/databases", "", "platform/databases"},
		{"ssh://git@ssh.github.com:443/platform/databases.git", "", "platform/databases"},
		{"https://git.example.com/platform/my.databases", "https://git.example.com/api/v3/", "platform/my.databases"},
		{"https://acme.ghe.com/platform/databases", "https://api.acme.ghe.com", "platform/databases"},
		{"http://127.0.0.1:3000/platform/databases.git", "http://127.0.0.1:3001/", "platform/databases"},
		{"https://git.example.com/platform/databases", "", ""},
		{"https://github.com/platform/databases", "https://git.example.com/api/v3/", ""},
		{"https://github.com/platform", "", ""},
		{"https://github.com/platform/databases/tree", "", ""},
		{"https://github.com/platform/..", "", ""},
		{"/srv/git/platform/databases.git", "", ""},
		{"file:///srv/git/databases.git", "", ""},
	} {
		api := ""
		if c.api != "" {
			api = ", api: '" + c.api + "'"
		}
		text := publishWith("repository: '" + c.repository + "', forge: {type: github, auth: {tokenEnv: T}" + api + "}")
		if c.want == "" {
			problemAt(t, text, "spec.publish.forge.repository")
			continue
		}
		f := mustLoad(t, text).Spec.Publish.Forge
		if f.Repository != c.want || !strings.HasSuffix(f.API, "/") || strings.HasSuffix(f.API, "//") {
			t.Errorf("%+v: %s at %s", c, f.Repository, f.API)
		}
	}
	f := mustLoad(t, publishWith("repository: /srv/git/x.git, forge: {type: github, repository: platform/databases, auth: {tokenFile: /t}}")).Spec.Publish.Forge
	if f.Repository != "platform/databases" || f.API != "https://api.github.com/" {
		t.Error(f)
	}
}

func TestTheForgeIsAskedAsWhomGitLogsIn(t *testing.T) {
	p := mustLoad(t, publishWith(onGitHub+aForge+"auth: {app: {appID: 7, keyEnv: KEY}, caFile: /ca}")).Spec.Publish
	if p.Forge.Auth.App == nil || p.Forge.Auth.App.AppID != 7 || p.Forge.CAFile != "/ca" || p.Auth.Username != "" {
		t.Errorf("%+v of %+v", p.Forge, p.Auth)
	}
	p = mustLoad(t, publishWith(onGitHub+aToken+"forge: {type: github, caFile: /other, auth: {tokenFile: /other}}")).Spec.Publish
	if p.Forge.Auth != (ForgeAuth{TokenFile: "/other"}) || p.Forge.CAFile != "/other" || p.Auth.TokenEnv != "TOKEN" {
		t.Errorf("%+v of %+v", p.Forge, p.Auth)
	}
	problemAt(t, publishWith(onGitHub+aForge+"auth: {username: a, passwordEnv: P}"), "spec.publish.forge.auth")
}

func TestHowAPullRequestLooks(t *testing.T) {
	for keys, want := range map[string]PullRequest{
		aForge:                                {Branch: "poolwright/example-pg", Merge: "byPeople"},
		aForge + "pullRequest: {}":            {Branch: "poolwright/example-pg", Merge: "byPeople"},
		aForge + "pullRequest: {merge: auto}": {Branch: "poolwright/example-pg", Merge: "auto", Method: "squash"},
		aForge + "pullRequest: {merge: direct, method: merge, branch: b/c}": {Branch: "b/c", Merge: "direct", Method: "merge"},
	} {
		got := mustLoad(t, publishWith(onGitHub+aToken+keys)).Spec.Publish.PullRequest
		if got.Branch != want.Branch || got.Merge != want.Merge || got.Method != want.Method {
			t.Errorf("%s: %+v", keys, got)
		}
	}
	if p := mustLoad(t, publishWith(onGitHub)).Spec.Publish; p.PullRequest.Branch != "" || p.Forge != nil || p.Via != "git" {
		t.Errorf("without a forge: %+v", p)
	}
}

func TestForgeFieldsThatCannotBe(t *testing.T) {
	git := onGitHub + aToken
	for _, c := range []struct{ path, keys string }{
		{"policy.scale", git + "policy: {scale: pullRequest}"},
		{"policy.failover", git + "policy: {failover: pullRequest, scale: commit}"},
		{"pullRequest", git + "pullRequest: {draft: true}"},
		{"via", git + "via: github"},
		{"via", git + aForge + "via: api"},
		{"auth.app", onGitHub + anApp},
		{"auth.app", "repository: 'git@github.com:a/b', " + aForge + anApp},
		{"auth.app", onGitHub + aForge + "auth: {app: {appID: 1}}"},
		{"auth.app.appID", onGitHub + aForge + "auth: {app: {keyFile: /key}}"},
		{"auth.app.appID", onGitHub + aForge + "auth: {app: {appID: -1, keyFile: /key}}"},
		{"auth.app.keyEnv", onGitHub + aForge + "auth: {app: {appID: 1, keyFile: /key, keyEnv: KEY}}"},
		{"auth.app.keyEnv", onGitHub + aForge + "auth: {app: {appID: 1, keyEnv: 'a key'}}"},
		{"auth.app.key", onGitHub + aForge + "auth: {app: {appID: 1, keyEnv: K, key: hunter2}}"},
		{"auth.app", onGitHub + aForge + "auth: {tokenEnv: T, app: {appID: 1, keyFile: /key}}"},
		{"auth.username", onGitHub + aForge + "auth: {username: me, app: {appID: 1, keyFile: /key}}"},
		{"auth.tokenFile", onGitHub + "auth: {tokenFile: ghp_hunter2hunter2hunter2hunter2hunt}"},
		{"auth.tokenFile", onGitHub + "auth: {tokenFile: github_pat_hunter2hunter2hunter2_hunter2}"},
		{"repository", aToken + aForge},
		{"forge.type", git + "forge: {api: 'https://api.github.com/'}"},
		{"forge.type", git + "forge: {type: gitea}"},
		{"forge.repository", git + "forge: {type: github, repository: databases}"},
		{"forge.repository", git + "forge: {type: github, repository: platform/databases.git}"},
		{"forge.repository", git + "forge: {type: github, repository: 'https://github.com/platform/databases'}"},
		{"forge.auth", onGitHub + aForge},
		{"forge.auth.tokenFile", git + "forge: {type: github, auth: {tokenEnv: T, tokenFile: /t}}"},
		{"forge.auth.app", git + "forge: {type: github, auth: {tokenEnv: T, app: {appID: 1, keyFile: /key}}}"},
		{"forge.auth.app", git + "forge: {type: github, auth: {app: {appID: 1}}}"},
		{"forge.auth.tokenEnv", git + "forge: {type: github, auth: {tokenEnv: 'a b'}}"},
		{"forge.auth.password", git + "forge: {type: github, auth: {password: hunter2}}"},
		{"forge.api", git + "forge: {type: github, api: 'http://api.github.com/'}"},
		{"forge.api", git + "forge: {type: github, api: 'http://10.0.0.1/'}"},
		{"forge.api", git + "forge: {type: github, api: 'https://github.com/'}"},
		{"forge.api", git + "forge: {type: github, api: api.github.com}"},
		{"forge.api", git + "forge: {type: github, api: 'https://'}"},
		{"forge.api", git + "forge: {type: github, api: 'https://a:0/'}"},
		{"forge.api", git + "forge: {type: github, api: 'https://hunter2@api.github.com/'}"},
		{"forge.api", git + "forge: {type: github, api: 'https://a:hunter2@api.github.com/'}"},
		{"forge.api", git + "forge: {type: github, api: 'https://api.github.com/?token=hunter2'}"},
		{"forge.api", git + "forge: {type: github, api: 'https://api.github.com/#'}"},
		{"signing", git + "signing: {format: ssh}"},
		{"signing.format", git + "signing: {keyFile: /key}"},
		{"signing.format", git + "signing: {format: gpg, keyFile: /key}"},
		{"signing.keyEnv", git + "signing: {format: ssh, keyFile: /key, keyEnv: KEY}"},
		{"signing.keyEnv", git + "signing: {format: ssh, keyEnv: '-----BEGIN OPENSSH PRIVATE KEY-----'}"},
		{"signing.passphraseEnv", git + "signing: {format: ssh, keyFile: /key, passphraseFile: /p, passphraseEnv: P}"},
		{"signing.passphrase", git + "signing: {format: ssh, keyFile: /key, passphrase: hunter2}"},
		{"signing", git + aForge + "via: github, signing: {format: ssh, keyFile: /key}"},
		{"auth.sshKeyFile", onGitHub + "via: github, auth: {sshKeyFile: /key}, forge: {type: github, auth: {tokenEnv: T}}"},
		{"auth.passwordEnv", onGitHub + "via: github, auth: {username: a, passwordEnv: P}, forge: {type: github, auth: {tokenEnv: T}}"},
		{"pullRequest.branch", git + aForge + "pullRequest: {branch: main}"},
		{"pullRequest.branch", git + aForge + "pullRequest: {branch: main/poolwright}"},
		{"pullRequest.branch", git + aForge + "branch: poolwright"},
		{"pullRequest.branch", git + aForge + "branch: poolwright/example-pg/live"},
		{"pullRequest.branch", git + aForge + "pullRequest: {branch: 'a b'}"},
		{"pullRequest.labels[0]", git + aForge + "pullRequest: {labels: [' ']}"},
		{"pullRequest.labels[1]", git + aForge + "pullRequest: {labels: [a, a]}"},
		{"pullRequest.labels[0]", git + aForge + `pullRequest: {labels: ["a\nb"]}`},
		{"pullRequest.reviewers[0]", git + aForge + "pullRequest: {reviewers: ['@octocat']}"},
		{"pullRequest.reviewers[0]", git + aForge + "pullRequest: {reviewers: [platform/dba]}"},
		{"pullRequest.teams[0]", git + aForge + "pullRequest: {teams: [platform/dba]}"},
		{"pullRequest.assignees[0]", git + aForge + "pullRequest: {assignees: ['a b']}"},
		{"pullRequest.assignees", git + aForge + "pullRequest: {assignees: [a, b, c, d, e, f, g, h, i, j, k]}"},
		{"pullRequest.merge", git + aForge + "pullRequest: {draft: true, merge: auto}"},
		{"pullRequest.merge", git + aForge + "pullRequest: {merge: bySomebody}"},
		{"pullRequest.method", git + aForge + "pullRequest: {method: squash}"},
		{"revertHold", git + "revertHold: 1"},
		{"revertHold", git + "revertHold: -1h"},
	} {
		p := problemAt(t, publishWith(c.keys), "spec.publish."+c.path)
		if p.Line != 10 || strings.Contains(p.String(), "hunter2") || strings.Contains(p.Message, "\n") {
			t.Errorf("%s: %v", c.keys, p)
		}
	}
}

func TestPlainHTTPIsForThisMachineOnly(t *testing.T) {
	for _, host := range []string{"localhost:8080", "127.0.0.1", "127.8.8.8:1", "[::1]:8080"} {
		mustLoad(t, publishWith(onGitHub+aToken+"forge: {type: github, repository: a/b, api: 'http://"+host+"/'}"))
	}
	for _, host := range []string{"localhost.example.com", "127.0.0.1.example.com", "10.1.2.3", "[::2]"} {
		problemAt(t, publishWith(onGitHub+aToken+"forge: {type: github, repository: a/b, api: 'http://"+host+"/'}"), "spec.publish.forge.api")
	}
}

func TestC25TokensOfForgesAreCredentials(t *testing.T) {
	for _, token := range []string{"ghp_", "gho_", "ghs_", "ghu_", "ghr_", "github_pat_", "glpat-"} {
		p := problemAt(t, publishWith("trailers: {Made-By: 'x "+token+"hunter2hunter2hunter2hunter2'}"), "spec.publish.trailers.Made-By")
		if p.Message != holdsCredential || strings.Contains(p.String(), "hunter2") {
			t.Error(p)
		}
	}
	mustLoad(t, publishWith(onGitHub+"auth: {tokenFile: /run/secrets/github_pat/token}, trailers: {Made-By: ghp_short}"))
}
