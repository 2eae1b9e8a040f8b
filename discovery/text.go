package discovery

import (
	"fmt"
	"slices"
	"strings"
)

// enum is a closed set whose values are the indexes of words. An empty first
// word means that the zero value is "not given".
type enum interface {
	~uint8
	words() []string
}

func (Role) words() []string { return []string{"unknown", "writer", "reader"} }

func (Provider) words() []string { return []string{"", "aurora", "postgres"} }

func (Mode) words() []string { return []string{"regional", "global-secondary"} }

func (MetadataState) words() []string { return []string{"off", "fresh", "stale"} }

func (Fault) words() []string {
	return []string{"", "not-asked", "unreachable", "timeout", "denied", "starting-up", "broken", "wrong-node"}
}

func (DoubtCode) words() []string {
	return []string{
		"", "blind", "no-rows", "duplicate-id", "empty-id", "no-writer",
		"two-writers", "mixed-answer", "writer-unproven",
	}
}

func (NoteCode) words() []string {
	return []string{
		"", "stale-row", "not-a-member", "stale-claim", "metadata-stale", "no-answer",
		"lag-sentinel", "endpoint-lag", "unusable-view", "unexpected-writer",
	}
}

// word is the text of e; an e outside its set shows its type and number.
func word[E enum](e E) string {
	if words := e.words(); int(e) < len(words) {
		return words[e]
	}
	return fmt.Sprintf("%T(%d)", e, uint8(e))
}

func marshal[E enum](e E) ([]byte, error) {
	if int(e) >= len(e.words()) {
		return nil, fmt.Errorf("%T %d is outside its set", e, uint8(e))
	}
	return []byte(word(e)), nil
}

func unmarshal[E enum](e *E, text []byte) error {
	words := (*e).words()
	i := slices.Index(words, string(text))
	if i < 0 {
		known := slices.DeleteFunc(words, func(w string) bool { return w == "" })
		return fmt.Errorf("%q is not one of %s", text, strings.Join(known, ", "))
	}
	*e = E(i)
	return nil
}

// String returns "unknown", "writer" or "reader".
func (r Role) String() string { return word(r) }

// MarshalText returns String, or an error outside the set.
func (r Role) MarshalText() ([]byte, error) { return marshal(r) }

// UnmarshalText reads what String gives.
func (r *Role) UnmarshalText(text []byte) error { return unmarshal(r, text) }

// String returns "aurora" or "postgres"; "" for the zero value.
func (p Provider) String() string { return word(p) }

// MarshalText returns String, or an error outside the set.
func (p Provider) MarshalText() ([]byte, error) { return marshal(p) }

// UnmarshalText reads what String gives.
func (p *Provider) UnmarshalText(text []byte) error { return unmarshal(p, text) }

// String returns "regional" or "global-secondary".
func (m Mode) String() string { return word(m) }

// MarshalText returns String, or an error outside the set.
func (m Mode) MarshalText() ([]byte, error) { return marshal(m) }

// UnmarshalText reads what String gives.
func (m *Mode) UnmarshalText(text []byte) error { return unmarshal(m, text) }

// String returns "off", "fresh" or "stale".
func (s MetadataState) String() string { return word(s) }

// MarshalText returns String, or an error outside the set.
func (s MetadataState) MarshalText() ([]byte, error) { return marshal(s) }

// UnmarshalText reads what String gives.
func (s *MetadataState) UnmarshalText(text []byte) error { return unmarshal(s, text) }

// String returns the fault's word; "" for None.
func (f Fault) String() string { return word(f) }

// MarshalText returns String, or an error outside the set.
func (f Fault) MarshalText() ([]byte, error) { return marshal(f) }

// UnmarshalText reads what String gives.
func (f *Fault) UnmarshalText(text []byte) error { return unmarshal(f, text) }

// String returns the doubt's word.
func (c DoubtCode) String() string { return word(c) }

// MarshalText returns String, or an error outside the set.
func (c DoubtCode) MarshalText() ([]byte, error) { return marshal(c) }

// UnmarshalText reads what String gives.
func (c *DoubtCode) UnmarshalText(text []byte) error { return unmarshal(c, text) }

// String returns the note's word.
func (c NoteCode) String() string { return word(c) }

// MarshalText returns String, or an error outside the set.
func (c NoteCode) MarshalText() ([]byte, error) { return marshal(c) }

// UnmarshalText reads what String gives.
func (c *NoteCode) UnmarshalText(text []byte) error { return unmarshal(c, text) }

// String is the doubt as one line for people: code, instance, detail.
func (d Doubt) String() string { return line(d.Code.String(), d.Instance, d.Detail) }

// String is the note as one line for people: code, instance, detail.
func (n Note) String() string { return line(n.Code.String(), n.Instance, n.Detail) }

func line(code, instance, detail string) string {
	if instance != "" {
		code += " " + instance
	}
	if detail != "" {
		code += ": " + detail
	}
	return code
}
