package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// badText reports what must not get into a file: a control character or one of Unicode's line
// separators could start a line of its own, which in a comment becomes a key, and a byte order mark
// or no UTF-8 turns text into something else.
func badText(s string) bool {
	return !utf8.ValidString(s) || strings.ContainsFunc(s, breaksText)
}

// breaksText covers U+0085 too: it is a control character.
func breaksText(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp) || r >= 0xFFFE && r&0xFFFE == 0xFFFE || r == '\uFEFF'
}

// plainText is what no reader of YAML takes for anything but a string, unless it is a keyword: it starts
// with a letter or a slash, and no colon in it ends a key.
var plainText = regexp.MustCompile(`^[A-Za-z/]([A-Za-z0-9._/:@-]*[A-Za-z0-9._/@-])?$`)

// keywords of YAML 1.1, which Kubernetes reads, in lower case.
var keywords = []string{"false", "n", "no", "null", "off", "on", "true", "y", "yes"}

// str is a YAML scalar that reads back as the string s, quoted when there is any doubt.
func str(s string) (string, error) {
	if plainText.MatchString(s) && !slices.Contains(keywords, strings.ToLower(s)) {
		return s, nil
	}
	return quote(s)
}

// quote is a YAML scalar in double quotes. JSON's escapes are YAML's.
func quote(v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(fmt.Sprint(v))
	return strings.TrimSuffix(b.String(), "\n"), err
}

// block is v as a YAML block that follows "key:" or "-": a line break and lines indented by n, or
// the value itself after a space.
func block(n int, v any) (string, error) {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(plain(v)); err != nil {
		return "", err
	}
	out := strings.TrimSuffix(b.String(), "\n")
	if scalar(v) {
		return " " + out, nil
	}
	pad := "\n" + strings.Repeat(" ", n)
	return pad + strings.ReplaceAll(out, "\n", pad), nil
}

func scalar(v any) bool {
	switch v := plain(v).(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return true
}

// plain turns what a JSON or YAML reader gave into maps, lists and scalars that are written the
// way a person writes them: 1000000, not 1e+06.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = plain(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = plain(e)
		}
		return out
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int64(v)
		}
	}
	return v
}
