package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// badText reports what must not get into a file: a control character could start a line of its
// own, and no UTF-8 turns a ConfigMap's text into binary data.
func badText(s string) bool {
	return !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl)
}

// str is a YAML scalar that reads back as the string s, quoted only when it must be.
func str(s string) (string, error) {
	if badText(s) {
		return quote(s)
	}
	n := yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	b, err := yaml.Marshal(&n)
	if out := strings.TrimSuffix(string(b), "\n"); err == nil && !strings.Contains(out, "\n") {
		return out, nil
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
