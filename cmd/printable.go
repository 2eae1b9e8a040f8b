package cmd

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// printable escapes what would move the cursor, colour the terminal, turn the
// writing direction or be unseen: databases and snapshots are not trusted with that.
func printable(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch size := utf8.RuneLen(r); {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case !unseen(r):
			b.WriteRune(r)
		case size == 1:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// unseen are controls, formats (which bidi marks are) and separators of lines.
func unseen(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs)
}

// bareWord is what every shell takes as one word, unquoted.
var bareWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// commandLine is a command of poolwright's as it can be typed.
func commandLine(words ...string) string {
	line := []string{"poolwright"}
	for _, w := range words {
		line = append(line, quoted(w))
	}
	return strings.Join(line, " ")
}

// quoted is one word for a shell.
func quoted(w string) string {
	if bareWord.MatchString(w) {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}
