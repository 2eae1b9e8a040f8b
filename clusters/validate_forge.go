package clusters

import (
	"cmp"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// gitHubAPI is the default of forge.api.
const gitHubAPI = "https://api.github.com/"

const forgeHint = "say where the API is: forge: {type: github}"

func (r *report) policies(at string, p Publish) {
	for _, policy := range [][2]string{
		{"config", p.Policy.Config}, {"failover", p.Policy.Failover}, {"membership", p.Policy.Membership}, {"scale", p.Policy.Scale},
	} {
		if policy[1] == "pullRequest" && p.Forge == nil {
			r.wrong(at+".policy."+policy[0], "is pullRequest, and there is no forge to make one", forgeHint+" in spec.publish, or use commit")
		}
	}
}

// forge checks everything that stands or falls with the forge.
func (r *report) forge(at string, p PublishTo) {
	switch {
	case p.Forge != nil:
		r.forgeItself(at, *p.Forge, p)
	case p.Via == "github":
		r.wrong(at+".via", "is github, and there is no forge", forgeHint)
	case p.Auth.App != nil:
		r.wrong(at+".auth.app", "needs a forge, whose API gives its tokens", forgeHint)
	}
	if p.Via == "github" {
		r.throughAPI(at, p)
	}
	if p.Auth.App != nil {
		r.app(at+".auth.app", *p.Auth.App)
		r.appLogsIn(at+".auth.app", p)
	}
	if p.Signing != nil {
		r.signing(at+".signing", *p.Signing)
	}
}

// appLogsIn: an App's token is a password over HTTP, and no SSH key.
func (r *report) appLogsIn(at string, p PublishTo) {
	overHTTP := strings.HasPrefix(p.Repository, "https://") || strings.HasPrefix(p.Repository, "http://")
	if p.Via != "github" && p.Repository != "" && !overHTTP {
		r.wrong(at, "logs in over https only, and the repository is reached otherwise", "use its https URL, or sshKeyFile here and the App in forge.auth")
	}
}

func (r *report) forgeItself(at string, f Forge, p PublishTo) {
	if p.Repository == "" {
		r.wrong(at+".repository", "is required with a forge", "the repository that the pull requests are for")
	}
	r.api(at+".forge.api", f.API)
	switch {
	case f.Repository != "" && !isOwnerAndName(f.Repository):
		r.wrong(at+".forge.repository", "is not owner/name", "such as platform/databases, without host and .git")
	case f.Repository == "" && p.Repository != "" && ownerAndName(apiOf(f), p.Repository) == "":
		r.wrong(at+".forge.repository", "is required: publish.repository is no owner/name on the host of the API",
			"such as platform/databases; forge.api is "+gitHubAPI+" unless given")
	}
	r.forgeAuth(at, f.Auth, p.Auth)
}

// forgeAuth wants one token or App: the forge's own, else that of Git.
func (r *report) forgeAuth(at string, own ForgeAuth, git GitAuth) {
	r.variable(at+".forge.auth.tokenEnv", own.TokenEnv)
	used := r.oneSource(at+".forge.auth", own.sources())
	if len(used) == 0 && git.forForge() == (ForgeAuth{}) {
		r.wrong(at+".forge.auth", "is required: publish.auth has neither a token nor an App", "auth: {tokenFile: ...} or auth: {app: {appID: ..., keyFile: ...}}")
	}
	if own.App != nil {
		r.app(at+".forge.auth.app", *own.App)
	}
}

func (a ForgeAuth) sources() []source {
	return []source{{"tokenEnv", a.TokenEnv != ""}, {"tokenFile", a.TokenFile != ""}, {"app", a.App != nil}}
}

// forForge are the credentials that an API takes too.
func (a GitAuth) forForge() ForgeAuth {
	return ForgeAuth{TokenEnv: a.TokenEnv, TokenFile: a.TokenFile, App: a.App}
}

func (r *report) app(at string, a GitHubApp) { r.key(at, a.KeyFile, a.KeyEnv) }

// key wants a private key from one place.
func (r *report) key(at, file, env string) {
	r.variable(at+".keyEnv", env)
	if len(r.oneSource(at, []source{{"keyFile", file != ""}, {"keyEnv", env != ""}})) == 0 {
		r.wrong(at, "has no private key", "set keyFile or keyEnv")
	}
}

func (r *report) signing(at string, s Signing) {
	r.key(at, s.KeyFile, s.KeyEnv)
	r.variable(at+".passphraseEnv", s.PassphraseEnv)
	r.oneSource(at, []source{{"passphraseFile", s.PassphraseFile != ""}, {"passphraseEnv", s.PassphraseEnv != ""}})
}

// throughAPI refuses what only a push needs, so that none is silently without effect.
func (r *report) throughAPI(at string, p PublishTo) {
	if p.Signing != nil {
		r.wrong(at+".signing", "does not go with via: github", "GitHub signs what an App commits: take it out, or use via: git")
	}
	for _, s := range []source{{"passwordEnv", p.Auth.PasswordEnv != ""}, {"passwordFile", p.Auth.PasswordFile != ""}, {"sshKeyFile", p.Auth.SSHKeyFile != ""}} {
		if s.set {
			r.wrong(at+".auth."+s.key, "has no meaning with via: github", "the API takes a token or an App: take it out, or use via: git")
		}
	}
}

// api wants a URL that no credential travels to in the clear.
func (r *report) api(at, text string) {
	if text == "" {
		return
	}
	const hint = gitHubAPI + ", or https://HOST/api/v3/ for GitHub Enterprise Server"
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http" || !isPort(u.Port()):
		r.wrong(at, "is not the URL of an API", hint)
	case u.User != nil:
		r.wrong(at, holdsCredential, "take what stands before the @ out and use forge.auth")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.Contains(text, "#"):
		r.wrong(at, "has a query or a fragment", hint)
	case u.Scheme == "http" && !isLoopback(u.Hostname()):
		r.wrong(at, "would send credentials in the clear", "use https; http is for this machine only")
	case strings.EqualFold(u.Hostname(), "github.com"):
		r.wrong(at, "is the site, and not its API", hint)
	}
}

func isPort(port string) bool {
	n, err := strconv.Atoi(port)
	return port == "" || err == nil && n >= 1 && n <= 65535
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// apiOf is the URL of the API, with the slash at its end that relative addresses need.
func apiOf(f Forge) string {
	return strings.TrimRight(cmp.Or(f.API, gitHubAPI), "/") + "/"
}

var (
	ownerName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*/[A-Za-z0-9_.-]+$`)
	scpLike   = regexp.MustCompile(`^(?:[^@/:]+@)?([^@/:]+):([^/].*)$`)
)

func isOwnerAndName(text string) bool {
	name := path.Base(text)
	return ownerName.MatchString(text) && name != "." && name != ".." && !strings.HasSuffix(name, ".git")
}

// ownerAndName reads owner/name off a repository's address, "" when that is not on the host of the API: HOST, or api.HOST.
func ownerAndName(api, repository string) string {
	var host, rest string
	if m := scpLike.FindStringSubmatch(repository); m != nil && !strings.Contains(repository, "://") {
		host, rest = m[1], m[2]
	} else if u, err := url.Parse(repository); err == nil && u.Host != "" {
		host, rest = u.Hostname(), u.Path
	}
	u, err := url.Parse(api)
	if err != nil || host == "" {
		return ""
	}
	host, at := strings.TrimPrefix(strings.ToLower(host), "ssh."), strings.ToLower(u.Hostname())
	name := strings.TrimSuffix(strings.Trim(rest, "/"), ".git")
	if host != at && "api."+host != at || !isOwnerAndName(name) {
		return ""
	}
	return name
}

func (r *report) pullRequest(at string, p Publish, cluster string) {
	if p.Forge == nil {
		if r.given(at) {
			r.wrong(at, "needs a forge", forgeHint+" in spec.publish")
		}
		return
	}
	q := p.PullRequest
	r.branch(at+".branch", q.Branch)
	r.pullBranch(at+".branch", cmp.Or(q.Branch, "poolwright/"+cluster), p.Branch)
	r.each(at+".labels", q.Labels, label, "is not a label", "one line of at most 50 characters")
	r.each(at+".reviewers", q.Reviewers, login, "is not a login", "the name alone, without @; teams have their own key")
	r.each(at+".teams", q.Teams, slug, "is not a team's slug", "as in its address, without @ and organisation: database-admins")
	r.each(at+".assignees", q.Assignees, login, "is not a login", "the name alone, without @")
	if len(q.Assignees) > maxAssignees {
		r.wrong(at+".assignees", "are more than GitHub takes", "at most "+strconv.Itoa(maxAssignees))
	}
	byPeople := q.Merge == "" || q.Merge == "byPeople"
	if q.Draft && !byPeople {
		r.wrong(at+".merge", "does not go with draft: nobody can merge a draft", "take draft out, or use byPeople")
	}
	if q.Method != "" && byPeople {
		r.wrong(at+".method", "has no meaning when people merge: they choose", "take it out, or set merge to auto or direct")
	}
}

const maxAssignees = 10

var (
	label = regexp.MustCompile(`^[^[:cntrl:]]{1,50}$`)
	login = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$`)
	slug  = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,254}$`)
)

// each checks the items of a list, which has none twice.
func (r *report) each(at string, list []string, valid *regexp.Regexp, message, hint string) {
	for i, item := range list {
		where := at + "[" + strconv.Itoa(i) + "]"
		switch {
		case !valid.MatchString(item) || strings.TrimSpace(item) == "":
			r.wrong(where, message, hint)
		case slices.Contains(list[:i], item):
			r.wrong(where, "is in the list already", "")
		}
	}
}

// pullBranch: Git has no branch below the name of another one.
func (r *report) pullBranch(at, name, followed string) {
	switch {
	case name == followed:
		r.wrong(at, "is the branch that the GitOps tool follows", "a branch of its own, such as poolwright/example-pg")
	case strings.HasPrefix(name, followed+"/") || strings.HasPrefix(followed, name+"/"):
		r.wrong(at, "cannot exist beside publish.branch, because one is the directory of the other", "choose another first part")
	}
}
