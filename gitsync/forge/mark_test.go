package forge

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestMarkRoundTrip: what a description says of itself is read as it was written, whatever stands before it, and ends no comment.
func TestMarkRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := mark{
			cluster: rapid.String().Draw(t, "cluster"), key: rapid.String().Draw(t, "key"), follows: rapid.IntRange(0, 1<<20).Draw(t, "follows"),
			asked: rapid.Bool().Draw(t, "asked"), closed: rapid.Bool().Draw(t, "closed"),
		}
		text := m.String()
		if got := readMark(rapid.String().Draw(t, "body") + text); got != m {
			t.Fatalf("%s is read as %+v, want %+v", text, got, m)
		}
		if strings.Count(text, ">") != 1 {
			t.Fatalf("%s ends early", text)
		}
	})
}

func FuzzReadMark(f *testing.F) {
	f.Add("text <!-- poolwright?cluster=a&key=b&follows=7&asked=yes -->")
	f.Add("<!-- poolwright?%zz --> <!-- poolwright? -->")
	f.Add("<!-- poolwright?follows=-1 -->\r\n")
	f.Fuzz(func(t *testing.T, body string) {
		if m := readMark(body); readMark(m.String()) != m {
			t.Errorf("%+v is not stable", m)
		}
	})
}

func TestStamp(t *testing.T) {
	t.Parallel()
	at := stamp{"k", "t"}
	const both = "Poolwright-Key: k\nPoolwright-Tree: t\n"
	for message, want := range map[string]string{
		"subject":                                     "subject\n\n" + both,
		"subject\n\nWhat and why.\n":                  "subject\n\nWhat and why.\n\n" + both,
		"subject\n\nPoolwright-Epoch: 8\n":            "subject\n\nPoolwright-Epoch: 8\n" + both,
		"subject\n\nbody\n\nReason: a\n b\nOther: c":  "subject\n\nbody\n\nReason: a\n b\nOther: c\n" + both,
		"a: subject that looks like one, all the day": "a: subject that looks like one, all the day\n\n" + both,
	} {
		got := at.write(message)
		if got != want {
			t.Errorf("%q became %q, want %q", message, got, want)
		}
		if readStamp(got) != at || readStamp(strings.ReplaceAll(got, "\n", "\r\n")) != at {
			t.Errorf("%q is not read", got)
		}
	}
	for _, m := range []string{"", "Poolwright-Key: k", "see Poolwright-Key: k\nPoolwright-Tree: t"} {
		if got := readStamp(m); (got != stamp{}) {
			t.Errorf("%q is read as %+v", m, got)
		}
	}
}

func FuzzReadStamp(f *testing.F) {
	f.Add("subject\n\nPoolwright-Key: k\nPoolwright-Tree: t\n")
	f.Add("subject\n\nPoolwright-Key: k\r\nPoolwright-Key: l\nPoolwright-Tree: t")
	f.Fuzz(func(t *testing.T, message string) {
		at := readStamp(message)
		if (at != stamp{}) && readStamp(at.write("subject")) != at {
			t.Errorf("%+v is not stable", at)
		}
	})
}

func TestWritable(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"a": true, "a/b.yaml": true, ".gitignore": true, "": false, ".": false, "/a": false, "a/": false, "../a": false, "a//b": false,
		"a/../b": false, ".git/config": false, "a/.GIT/x": false, `a\b`: false,
	} {
		if writable(path) != want {
			t.Errorf("%q: want %v", path, want)
		}
	}
}
