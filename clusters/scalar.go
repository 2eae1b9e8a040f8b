package clusters

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"
)

// Duration is a Go duration in JSON and YAML: "3s", "1m30s".
type Duration time.Duration

// UnmarshalJSON reads "3s".
func (d *Duration) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return errors.New(`a duration is a string such as "3s"`)
	}
	v, err := time.ParseDuration(s)
	if err != nil {
		return fmt.Errorf(`a duration is a string such as "3s", not %q`, s)
	}
	*d = Duration(v)
	return nil
}

// MarshalJSON writes "3s".
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

// Scalar is a value of pgbouncer.ini, as it will be written: 6432, "6432" and true are "6432", "6432" and "1".
// Numbers keep the digits of the file.
type Scalar string

// UnmarshalJSON reads a string, a number (keeping its digits) or a boolean (true is "1", false is "0").
func (s *Scalar) UnmarshalJSON(b []byte) error {
	var text string
	switch {
	case bytes.Equal(b, []byte("true")):
		text = "1"
	case bytes.Equal(b, []byte("false")):
		text = "0"
	case len(b) > 0 && b[0] == '"':
		if err := json.Unmarshal(b, &text); err != nil {
			return err
		}
	case json.Valid(b) && plainNumber.Match(b):
		text = string(b)
	default:
		return errors.New("a value is a string, a plain decimal number or a boolean")
	}
	*s = Scalar(text)
	return nil
}

// plainNumber is a number that every reader reads the same: no exponent, octal, hexadecimal or separator.
var plainNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`)

// Object is a piece of Kubernetes API, copied as it is into generated objects. Its keys and types are checked
// against the schema of the Kubernetes type. Values are string, int64, bool, []any and map[string]any.
type Object map[string]any

// UnmarshalJSON keeps whole numbers whole.
func (o *Object) UnmarshalJSON(b []byte) error {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var m map[string]any
	if err := dec.Decode(&m); err != nil {
		return err
	}
	for k, v := range m {
		m[k] = whole(v)
	}
	*o = m
	return nil
}

func whole(v any) any {
	switch v := v.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}
		return v.String()
	case []any:
		for i := range v {
			v[i] = whole(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = whole(v[k])
		}
	}
	return v
}
