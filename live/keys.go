package live

import "strings"

// isOurs reports whether a selector key is of poolwright's label domain.
func isOurs(key string) bool {
	domain, _, ok := strings.Cut(key, "/")
	return ok && (domain == "poolwright.dev" || strings.HasSuffix(domain, ".poolwright.dev"))
}
