package clusters

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

func (r *report) publish(p Publish, cluster string) {
	const at = "spec.publish"
	r.publishTo(at, p.PublishTo)
	r.directory(at+".path", p.Path)
	r.trailers(at+".trailers", p.Trailers)
	r.policies(at, p)
	r.pullRequest(at+".pullRequest", p, cluster)
}

// publishTo checks what a Fleet says for all its clusters.
func (r *report) publishTo(at string, p PublishTo) {
	r.repository(at+".repository", p.Repository)
	r.branch(at+".branch", p.Branch)
	r.person(at+".author", p.Author)
	r.person(at+".committer", p.Committer)
	r.gitAuth(at+".auth", p.Auth)
	r.forge(at, p)
}

// repository allows the transports there are. Userinfo is a credential over http, a login name over ssh.
func (r *report) repository(at, url string) {
	scheme, rest, isURL := strings.Cut(url, "://")
	host, _, _ := strings.Cut(rest, "/")
	switch {
	case strings.ContainsAny(url, " ") || strings.HasPrefix(url, "-"):
		r.wrong(at, "is not a repository's address", "a URL with https, http, ssh or file, an scp-like address, or a path")
	case isURL && !slices.Contains([]string{"file", "http", "https", "ssh"}, scheme):
		r.wrong(at, "has an unknown transport", "https, http, ssh or file")
	case isURL && strings.ContainsAny(rest, "?#"):
		r.wrong(at, "has a query or a fragment, which no Git server reads", "end it before the ? or #; credentials belong into spec.publish.auth")
	case strings.HasPrefix(scheme, "http") && isURL && strings.Contains(host, "@"):
		r.wrong(at, "holds a credential, and this file goes to Git", "take what stands before the @ out and use spec.publish.auth")
	}
}

// badBranch is what Git refuses in the name of a reference.
var badBranch = regexp.MustCompile(`^[-/.]|[/.]$|\.\.|//|/\.|@\{|^@$|[ ~^:?*\[\\]|\.lock(/|$)`)

func (r *report) branch(at, name string) {
	if badBranch.MatchString(name) {
		r.wrong(at, "is not the name of a branch", "such as main, without refs/heads/")
	}
}

// directory wants a path below the repository's root, which never can be Git's own.
func (r *report) directory(at, dir string) {
	if dir == "" {
		return
	}
	isGit := func(part string) bool { return strings.EqualFold(part, ".git") }
	if dir == "." || !fs.ValidPath(dir) || strings.Contains(dir, `\`) || slices.ContainsFunc(strings.Split(dir, "/"), isGit) {
		r.wrong(at, "is not a directory below the repository's root", "relative, with slashes, without . and ..: clusters/example-pg")
	}
}

func (r *report) person(at string, p Person) {
	if strings.ContainsAny(p.Name, "<>") {
		r.wrong(at+".name", "must not have angle brackets", "the email address has its own key")
	}
	if strings.ContainsAny(p.Email, "<> ") {
		r.wrong(at+".email", "is not an email address", "without angle brackets and spaces")
	}
}

var trailerKey = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]*$`)

func (r *report) trailers(at string, trailers map[string]string) {
	for _, k := range keys(trailers) {
		switch {
		case !trailerKey.MatchString(k):
			r.wrong(join(at, k), "is not the key of a trailer", "letters, digits and hyphens")
		case strings.HasPrefix(strings.ToLower(k), "poolwright-"):
			r.wrong(join(at, k), "is one of poolwright's own trailers", "choose another key")
		case hasControl(trailers[k]) || strings.TrimSpace(trailers[k]) == "":
			r.wrong(join(at, k), "must be one line of text", "")
		}
	}
}

func (r *report) gitAuth(at string, a GitAuth) {
	r.variable(at+".tokenEnv", a.TokenEnv)
	r.variable(at+".passwordEnv", a.PasswordEnv)
	r.oneSource(at, []source{
		{"tokenEnv", a.TokenEnv != ""},
		{"tokenFile", a.TokenFile != ""},
		{"app", a.App != nil},
		{"passwordEnv", a.PasswordEnv != ""},
		{"passwordFile", a.PasswordFile != ""},
	})
	if a.App != nil && a.Username != "" {
		r.wrong(at+".username", "does not go with an App", "take it out")
	}
	if a.TokenType == "bearer" && a.Username != "" {
		r.wrong(at+".username", "does not go with a bearer token", "remove it, or set tokenType: basic")
	}
	if a.TokenType != "" && a.TokenEnv == "" && a.TokenFile == "" {
		r.wrong(at+".tokenType", "says how to show a token, and there is none", "set tokenEnv or tokenFile")
	}
	if a.Username == "" && (a.PasswordEnv != "" || a.PasswordFile != "") {
		r.wrong(at+".username", "is required with a password", "")
	}
}
