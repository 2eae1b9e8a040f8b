package clusters

import (
	"fmt"
	"regexp"
	"strings"
)

// holdsCredential is the message for everything that would put a secret into Git.
const holdsCredential = "holds a credential, and this file goes to Git"

// Shapes of credentials. The first group, where there is one, is the secret itself.
var credentialShapes = []*regexp.Regexp{
	regexp.MustCompile(`(?i)(?:password|passwd|pwd)(?:\s*=|["']\s*[=:])\s*["']?([^\s"'&;,]+)`), // key=value, JSON
	regexp.MustCompile(`(?i)\bpassword\s+'([^']+)'`),                                           // SQL
	regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@]*:([^\s/@]+)@`),                      // URL
	regexp.MustCompile(`\bmd5[0-9a-fA-F]{32}\b|SCRAM-SHA-256\$`),                               // password verifiers
	regexp.MustCompile(`(?m)^\s*"[^"]+"\s+"[^"]+"`),                                            // a line of userlist.txt
	regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY( BLOCK)?-----`),
	regexp.MustCompile(`\b(gh[opsur]|github_pat|glpat)[_-][A-Za-z0-9_-]{20}`), // tokens of forges
}

// secretFlag is a flag of a command line that takes a secret, and the secret when it is in the same word.
var secretFlag = regexp.MustCompile(`(?i)^--?(?:[a-z0-9._-]*[._-])?(?:password|passwd|passphrase|pwd|token|secret[._-]?key|client[._-]?secret|api[._-]?key)(?:=(.*))?$`)

// flagged is the item of a command line that is a flag's secret, when item i is such a flag.
func flagged(list []any, i int) (int, bool) {
	flag, _ := list[i].(string)
	m := secretFlag.FindStringSubmatch(flag)
	if m == nil {
		return i, false
	}
	value := m[1]
	if !strings.Contains(flag, "=") && i+1 < len(list) {
		i++
		value, _ = list[i].(string)
	}
	return i, value != "" && !strings.HasPrefix(value, "-") && !reference.MatchString(value)
}

// reference is a secret by name: a variable of the shell or of Kubernetes, or a parameter of a query.
var reference = regexp.MustCompile(`^\$(\(|\{|[A-Za-z_0-9])`)

// isCredential tells whether a text contains a secret. Every shape needs one of a few characters, which most texts lack.
func isCredential(text string) bool {
	mayBe := func(sign string) bool { return strings.Contains(text, sign) }
	if !strings.ContainsAny(text, `='"@$`) && !mayBe("md5") && !mayBe("-----") && !mayBe("gh") && !mayBe("git") && !mayBe("glpat") {
		return false
	}
	for _, shape := range credentialShapes {
		for _, m := range shape.FindAllStringSubmatch(text, -1) {
			if len(m) == 1 || !reference.MatchString(m[1]) {
				return true
			}
		}
	}
	return false
}

// credentials looks at every text of the file: everything in it ends in Git.
func (r *report) credentials(tree map[string]any) { r.searchMap(tree, "") }

func (r *report) searchMap(m map[string]any, at string) {
	for _, k := range keys(m) {
		r.search(m[k], join(at, k))
	}
}

func (r *report) search(v any, at string) {
	switch v := v.(type) {
	case string:
		if isCredential(v) {
			r.refuse(at, holdsCredential, "name a Secret, a file or an environment variable instead")
			r.bad[at] = true
		}
	case []any:
		for i, item := range v {
			r.search(item, fmt.Sprintf("%s[%d]", at, i))
			if secret, ok := flagged(v, i); ok {
				where := fmt.Sprintf("%s[%d]", at, secret)
				r.wrong(where, holdsCredential, "use a file, or $(VARIABLE) with env.valueFrom.secretKeyRef")
				r.bad[where] = true
			}
		}
	case map[string]any:
		r.searchMap(v, at)
	}
}

// environment looks for variables of sidecars that are passwords by name.
func (r *report) environment(at string, containers []Object) {
	for i, c := range containers {
		env, _ := c["env"].([]any)
		for j, item := range env {
			v, _ := item.(map[string]any)
			name, _ := v["name"].(string)
			value, _ := v["value"].(string)
			if strings.Contains(strings.ToUpper(name), "PASSW") && value != "" && !reference.MatchString(value) {
				r.refuse(fmt.Sprintf("%s[%d].env[%d].value", at, i, j), holdsCredential, "use valueFrom.secretKeyRef")
			}
		}
	}
}
