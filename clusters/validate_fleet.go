package clusters

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func (r *report) fleet(f Fleet) {
	const at = "spec"
	if f.Metadata.Name != "" && !objectName.MatchString(f.Metadata.Name) {
		r.wrong("metadata.name", "is not a name", "lower case letters, digits, hyphens and dots, first and last a letter or digit")
	}
	r.publishTo(at+".publish", f.Spec.Publish)
	if p := f.Spec.Publish; p.Repository == "" && p.Forge == nil && r.given(at+".publish") {
		r.wrong(at+".publish.repository", "is required", "the repository with the Cluster files")
	}
	r.pattern(at+".clusters", f.Spec.Clusters)
	r.hooks(at+".hooks", f.Spec.Hooks)
}

// pattern wants a path that something in a repository can have.
func (r *report) pattern(at, text string) {
	const hint = "a path from the root of the repository, such as clusters/*/cluster.yaml or **/cluster.yaml"
	if text == "" {
		return
	}
	parts := strings.Split(text, "/")
	bad := func(part string) bool {
		_, err := path.Match(part, "")
		return err != nil || strings.EqualFold(part, ".git") || part != "**" && strings.Contains(part, "**")
	}
	switch last := parts[len(parts)-1]; {
	case !fs.ValidPath(text) || text == "." || slices.ContainsFunc(parts, bad) || hasControl(text):
		r.wrong(at, "is not a pattern for files of a repository", hint)
	case last == "**":
		r.wrong(at, "ends in directories and not in a file", hint)
	}
}

func (r *report) hooks(at string, h Hooks) {
	all := []source{{"cloudevents", h.CloudEvents != nil}, {"github", h.GitHub != nil}, {"sns", h.SNS != nil}}
	hooked := slices.ContainsFunc(all, func(s source) bool { return s.set })
	switch {
	case hooked && h.Listen == "":
		r.wrong(at+".listen", "is required with hooks", "the address to listen at, such as :8443")
	case !hooked && h.Listen != "":
		r.wrong(at+".listen", "has nothing to listen to", "github, sns or cloudevents")
	case h.Listen != "":
		r.listen(at+".listen", h.Listen)
	}
	if g := h.GitHub; g != nil {
		r.secret(at+".github", "secret", g.SecretEnv, g.SecretFile)
	}
	if c := h.CloudEvents; c != nil {
		r.secret(at+".cloudevents", "token", c.TokenEnv, c.TokenFile)
	}
	if h.SNS != nil {
		r.each(at+".sns.topics", h.SNS.Topics, topicARN, "is not the ARN of a topic", "arn:aws:sns:REGION:ACCOUNT:NAME")
	}
}

// listen wants host:port or :port.
func (r *report) listen(at, address string) {
	host, port, ok := splitAddress(address)
	if rest, bare := strings.CutPrefix(address, ":"); bare {
		host, port, ok = "", rest, true
	}
	if n, err := strconv.Atoi(port); !ok || err != nil || n < 1 || n > 65535 || host != "" && !hostName.MatchString(host) {
		r.wrong(at, "is not host:port or :port", "such as :8443, or 127.0.0.1:8443 behind a proxy")
	}
}

// secret wants a secret from one place: nobody else may be believed.
func (r *report) secret(at, what, env, file string) {
	r.variable(at+"."+what+"Env", env)
	if len(r.oneSource(at, []source{{what + "Env", env != ""}, {what + "File", file != ""}})) == 0 {
		r.wrong(at, "has no "+what, "set "+what+"Env or "+what+"File")
	}
}

// topicARN is opaque but for its form: no region and no partition is read from it.
var topicARN = regexp.MustCompile(`^arn:[a-z0-9-]+:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]{1,256}(\.fifo)?$`)
