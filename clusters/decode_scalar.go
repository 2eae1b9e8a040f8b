package clusters

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// scalar reads a node by the format, else the type of its schema.
func (d *decoder) scalar(n *yaml.Node, s *schema, at string) (any, bool) {
	switch {
	case n.Kind != yaml.ScalarNode:
		d.wrongType(n, wanted(s), at)
		return nil, false
	case isNull(n):
		d.unread(at, "has no value", noValueHint(s))
		return nil, false
	}
	switch s.Format {
	case "ini-scalar":
		return d.iniScalar(n, at)
	case "quantity":
		return d.quantity(n, at)
	case "int-or-string":
		if n.Tag == "!!int" {
			return d.integer(n, s, at)
		}
		return d.text(n, s, at)
	case "go-duration":
		return d.duration(n, at)
	}
	switch s.Type {
	case "integer":
		return d.integer(n, s, at)
	case "boolean":
		return d.boolean(n, at)
	}
	return d.text(n, s, at)
}

func wanted(s *schema) string {
	switch {
	case s.Format == "go-duration":
		return "a duration such as 3s"
	case s.Format != "":
		return "text or a number"
	case s.Type == "integer":
		return "a whole number"
	case s.Type == "boolean":
		return "true or false"
	}
	return "text"
}

func noValueHint(s *schema) string {
	if s.Format == "ini-scalar" {
		return `write "" for an empty value, or take the key out`
	}
	return "give it a value, or take the key out"
}

func isText(n *yaml.Node) bool { return n.Tag == "!!str" || n.Tag == "!!timestamp" }

func (d *decoder) text(n *yaml.Node, s *schema, at string) (any, bool) {
	switch {
	case !isText(n):
		d.wrongType(n, wanted(s), at)
		return nil, false
	case len(n.Value) < s.MinLength:
		d.unread(at, "must not be empty", "")
		return nil, false
	case s.Enum != nil && !slices.Contains(s.Enum, n.Value):
		d.unread(at, oneOf(s.Enum), enumHint(n.Value, s, at))
		return nil, false
	}
	return n.Value, true
}

func oneOf(words []string) string {
	if len(words) == 1 {
		return "must be " + words[0]
	}
	return "must be one of " + strings.Join(words, ", ")
}

func enumHint(value string, s *schema, at string) string {
	if hint := kindHints[value]; at == "kind" && hint != "" {
		return hint
	}
	if hint := suggest(value, slices.Clone(s.Enum)); strings.HasPrefix(hint, "did you mean") {
		return hint
	}
	return ""
}

// kindHints are for files of another kind than was asked for.
var kindHints = map[string]string{
	importKind: "poolwright import makes a Cluster file of it",
	Kind:       "this is the file of one cluster; a Fleet file names many",
	FleetKind:  "this file is of many clusters; a Cluster file is of one",
}

// integer reads a plain decimal number. Our own fields end in int32 fields of Kubernetes.
func (d *decoder) integer(n *yaml.Node, s *schema, at string) (any, bool) {
	huge := n.Tag == "!!float" && digits.MatchString(n.Value) // YAML has no whole number beyond 64 bits
	if n.Tag != "!!int" && !huge {
		d.wrongType(n, "a whole number", at)
		return nil, false
	}
	low, high := int64(math.MinInt64), int64(math.MaxInt64)
	if s.Minimum != nil {
		low, high = *s.Minimum, math.MaxInt32
	}
	if s.Maximum != nil {
		high = *s.Maximum
	}
	v, err := strconv.ParseInt(n.Value, 10, 64)
	switch {
	case !plainNumber.MatchString(n.Value):
		d.unread(at, "is a number that readers of YAML do not agree about", "write a plain decimal number")
	case v == 0 && low > 0:
		d.refuse(at, fmt.Sprintf("must be at least %d", low), "")
		d.bad[at] = true
	case err != nil || v < low || v > high:
		d.unread(at, bounds(s, low, high, strings.HasPrefix(n.Value, "-")), "")
	default:
		return v, true
	}
	return nil, false
}

var digits = regexp.MustCompile(`^-?[0-9]+$`)

// bounds says which bound a number breaks; both when both are the field's own.
func bounds(s *schema, low, high int64, negative bool) string {
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		return fmt.Sprintf("must be from %d to %d", low, high)
	case negative && s.Minimum != nil:
		return fmt.Sprintf("must be at least %d", low)
	case negative:
		return fmt.Sprintf("needs a whole number down to %d", low)
	}
	return fmt.Sprintf("needs a whole number up to %d", high)
}

func (d *decoder) boolean(n *yaml.Node, at string) (any, bool) {
	if n.Tag != "!!bool" {
		d.wrongType(n, "true or false", at)
		return nil, false
	}
	return strings.EqualFold(n.Value, "true"), true
}

// iniScalar keeps the text of numbers, refuses the ones that YAML would read as another number, and everything that could
// start a new line of pgbouncer.ini.
func (d *decoder) iniScalar(n *yaml.Node, at string) (any, bool) {
	switch {
	case n.Tag == "!!bool" && strings.EqualFold(n.Value, "true"):
		return "1", true
	case n.Tag == "!!bool":
		return "0", true
	case !isText(n) && !plainNumber.MatchString(n.Value):
		d.unread(at, "is a number that readers of YAML do not agree about", "write it in quotes, as PgBouncer should read it")
	case hasControl(n.Value):
		d.unread(at, "has a control character", "a value of pgbouncer.ini is one line")
	default:
		return n.Value, true
	}
	return nil, false
}

func hasControl(s string) bool { return strings.ContainsFunc(s, unicode.IsControl) }

var quantity = regexp.MustCompile(`^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$`)

func (d *decoder) quantity(n *yaml.Node, at string) (any, bool) {
	if !quantity.MatchString(n.Value) {
		d.unread(at, "needs a Kubernetes quantity such as 500m or 1Gi", "")
		return nil, false
	}
	return n.Value, true
}

func (d *decoder) duration(n *yaml.Node, at string) (any, bool) {
	if !isText(n) {
		d.unread(at, "needs a duration such as 3s, has "+kind(n), "durations have a unit: ms, s, m or h")
		return nil, false
	}
	v, err := time.ParseDuration(n.Value)
	switch {
	case err != nil:
		d.unread(at, "needs a duration such as 3s or 1m30s", "durations have a unit: ms, s, m or h")
	case v < 0:
		d.unread(at, "must not be negative", "")
	default:
		return v.String(), true
	}
	return nil, false
}
