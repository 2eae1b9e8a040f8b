package discovery

import (
	"encoding"
	"fmt"
	"strings"
	"testing"
)

type text interface {
	encoding.TextMarshaler
	fmt.Stringer
}

func roundTrip[E interface {
	comparable
	enum
	text
}](t *testing.T, read func(*E, []byte) error,
) {
	t.Helper()
	seen := map[string]bool{}
	for i := range E(0).words() {
		e := E(i)
		b, err := e.MarshalText()
		var back E
		if err != nil || string(b) != e.String() || read(&back, b) != nil || back != e || seen[e.String()] {
			t.Errorf("%T %d is %q, reads as %v (%v)", e, i, b, back, err)
		}
		seen[e.String()] = true
	}
	outside, back := E(len(E(0).words())), E(0)
	if _, err := outside.MarshalText(); err == nil || !strings.Contains(outside.String(), "(") {
		t.Errorf("%T: %v is outside its set", outside, outside)
	}
	if err := read(&back, []byte("nonsense")); err == nil || !strings.Contains(err.Error(), "nonsense") || back != 0 {
		t.Errorf("%T: reads nonsense as %v: %v", back, back, err)
	}
}

func TestEnumsAreText(t *testing.T) {
	roundTrip(t, func(e *Role, b []byte) error { return e.UnmarshalText(b) })
	roundTrip(t, func(e *Provider, b []byte) error { return e.UnmarshalText(b) })
	roundTrip(t, func(e *Mode, b []byte) error { return e.UnmarshalText(b) })
	roundTrip(t, func(e *MetadataState, b []byte) error { return e.UnmarshalText(b) })
	roundTrip(t, func(e *Fault, b []byte) error { return e.UnmarshalText(b) })
	roundTrip(t, func(e *DoubtCode, b []byte) error { return e.UnmarshalText(b) })
	roundTrip(t, func(e *NoteCode, b []byte) error { return e.UnmarshalText(b) })
}

// The words are part of the snapshot format and of messages; the constants have theirs.
func TestWordsBelongToTheirConstants(t *testing.T) {
	for e, want := range map[fmt.Stringer]string{
		Unknown: "unknown", Writer: "writer", Reader: "reader", Aurora: "aurora", Postgres: "postgres",
		Regional: "regional", GlobalSecondary: "global-secondary",
		MetadataOff: "off", MetadataFresh: "fresh", MetadataStale: "stale",
		None: "", NotAsked: "not-asked", WrongNode: "wrong-node", StartingUp: "starting-up",
		Blind: "blind", WriterUnproven: "writer-unproven", MixedAnswer: "mixed-answer",
		StaleRow: "stale-row", EndpointLag: "endpoint-lag", UnexpectedWriter: "unexpected-writer",
	} {
		if e.String() != want {
			t.Errorf("%T is %q, want %q", e, e, want)
		}
	}
}

func TestDoubtsAndNotesAreOneLine(t *testing.T) {
	if got := (Doubt{TwoWriters, "a", "a, b"}).String(); got != "two-writers a: a, b" {
		t.Error(got)
	}
	if got := (Note{Code: MetadataIsOld}).String(); got != "metadata-stale" {
		t.Error(got)
	}
}
