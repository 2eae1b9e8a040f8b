package clusters

import (
	"regexp"
	"strings"
)

// Names as Kubernetes wants them.
var (
	labelName    = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)                                   // DNS-1123 label
	serviceName  = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)                                      // DNS-1035 label
	objectName   = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`) // DNS-1123 subdomain
	qualified    = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`)                        // label value, last part of a label key
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)                                          // environment variable
	domainName   = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)                                     // end of a DNS name
	hostName     = regexp.MustCompile(`^[A-Za-z0-9_:.%-]+$`)                                               // one DNS name or IP address
)

const (
	maxLabel  = 63  // of a DNS label, and of a label's value
	maxObject = 253 // of a DNS subdomain
)

const labelHint = "lower case letters, digits and hyphens, at most 63, first and last a letter or digit"

// label checks a DNS-1123 label; empty is for the schema to refuse.
func (r *report) label(at, name string) {
	if name != "" && (len(name) > maxLabel || !labelName.MatchString(name)) {
		r.wrong(at, "is not a DNS label", labelHint)
	}
}

// object checks the optional name of another Kubernetes object.
func (r *report) object(at, name string) {
	if name != "" && (len(name) > maxObject || !objectName.MatchString(name)) {
		r.wrong(at, "is not the name of a Kubernetes object", "lower case letters, digits, hyphens and dots, first and last a letter or digit")
	}
}

// labels checks keys and values; keys checks what is left for annotations.
func (r *report) labels(at string, m map[string]string) {
	r.labelKeys(at, m)
	for _, k := range keys(m) {
		if v := m[k]; v != "" && (len(v) > maxLabel || !qualified.MatchString(v)) {
			r.wrong(join(at, k), "is not the value of a label", "letters, digits, '-', '_' and '.', at most 63, first and last a letter or digit")
		}
	}
}

func (r *report) labelKeys(at string, m map[string]string) {
	for _, k := range keys(m) {
		prefix, name, hasPrefix := strings.Cut(k, "/")
		if !hasPrefix {
			prefix, name = "", k
		}
		switch {
		case len(name) > maxLabel || !qualified.MatchString(name) || hasPrefix && (len(prefix) > maxObject || !objectName.MatchString(prefix)):
			r.wrong(join(at, k), "is not a label or annotation key", "[domain/]name with letters, digits, '-', '_' and '.'")
		case prefix == "poolwright.dev" || strings.HasSuffix(prefix, ".poolwright.dev"):
			r.wrong(join(at, k), "is in poolwright's own domain", "poolwright.dev keys carry selectors and receipts; choose another domain")
		}
	}
}
