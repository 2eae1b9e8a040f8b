package live

import (
	"maps"
	"strings"
)

// IsOurKey reports whether a selector key is of poolwright's label domain.
func IsOurKey(key string) bool {
	domain, _, ok := strings.Cut(key, "/")
	return ok && (domain == "poolwright.dev" || strings.HasSuffix(domain, ".poolwright.dev"))
}

// OurKeys are the keys of poolwright's domain in a selector; all others are other people's.
func OurKeys(selector map[string]string) map[string]string {
	ours := maps.Clone(selector)
	maps.DeleteFunc(ours, func(k, _ string) bool { return !IsOurKey(k) })
	return ours
}
