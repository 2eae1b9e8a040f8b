package plan

import (
	"fmt"
	"slices"
	"strings"
)

// The words of each enum in the order of its values.
const (
	actionWords   = "keep,hold,publish,failover"
	classWords    = ",failover,membership,scale,config"
	outWords      = "in,unproven,unhealthy,missing,deleting,disabled"
	fallbackWords = "writer,none,only-when-absent"
)

// word returns e's word, or a number in brackets for a value that is none.
func word[E ~uint8](words string, e E) string {
	list := strings.Split(words, ",")
	if int(e) >= len(list) {
		return fmt.Sprintf("(%d)", e)
	}
	return list[e]
}

// setWord reads a word into e.
func setWord[E ~uint8](e *E, words, what string, text []byte) error {
	i := slices.Index(strings.Split(words, ","), string(text))
	if i < 0 {
		return fmt.Errorf("reading %s: %q is not one of %s", what, text, strings.TrimPrefix(words, ","))
	}
	*e = E(i)
	return nil
}

// String returns "keep", "hold", "publish" or "failover".
func (a Action) String() string { return word(actionWords, a) }

// MarshalText writes the word of String.
func (a Action) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads the word of String.
func (a *Action) UnmarshalText(text []byte) error { return setWord(a, actionWords, "action", text) }

// String returns "", "failover", "membership", "scale" or "config".
func (c Class) String() string { return word(classWords, c) }

// MarshalText writes the word of String.
func (c Class) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads the word of String.
func (c *Class) UnmarshalText(text []byte) error {
	return setWord(c, classWords, "class of change", text)
}

// String returns "in", "unproven", "unhealthy", "missing", "deleting" or "disabled".
func (o Out) String() string { return word(outWords, o) }

// MarshalText writes the word of String.
func (o Out) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads the word of String.
func (o *Out) UnmarshalText(text []byte) error {
	return setWord(o, outWords, "reason to be out", text)
}

// leaving reports whether retention runs: the overlay goes when it is over.
func (o Out) leaving() bool { return o == Missing || o == Deleting || o == Disabled }

// String returns "writer", "none" or "only-when-absent".
func (f FallbackPolicy) String() string { return word(fallbackWords, f) }

// MarshalText writes the word of String.
func (f FallbackPolicy) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText reads the word of String.
func (f *FallbackPolicy) UnmarshalText(text []byte) error {
	return setWord(f, fallbackWords, "fallback policy", text)
}
