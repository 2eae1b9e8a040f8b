package clusters

import (
	"encoding/json"
	"fmt"
	"time"
)

// Duration is a Go duration in JSON and YAML: "3s".
type Duration time.Duration

// UnmarshalJSON reads "3s".
func (d *Duration) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("a duration is a string such as \"3s\": %w", err)
	}
	v, err := time.ParseDuration(s)
	if err != nil {
		return fmt.Errorf("a duration is a string such as \"3s\", not %q", s)
	}
	*d = Duration(v)
	return nil
}

// MarshalJSON writes "3s".
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

// Scalar is a value of pgbouncer.ini, as it will be written: 6432, "6432" and true are "6432", "6432" and "1".
type Scalar string
