package pulltext

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// markdown is text that may stand in a body. Foreign text becomes markdown by prose, opening, span and fenced alone.
type markdown string

// say fills a sentence. Strings among args are foreign.
func say(format string, args ...any) markdown {
	filled := make([]any, len(args))
	for i, a := range args {
		filled[i] = a
		if s, foreign := a.(string); foreign {
			filled[i] = prose(s)
		}
	}
	return markdown(fmt.Sprintf(format, filled...))
}

// The lengths in characters at which foreign text is cut.
const (
	longestText = 300 // a detail, a check
	longestName = 80  // a name, a zone
	longestLine = 400 // a line of a file
)

// prose is foreign text in a sentence, a list item or a table's cell.
func prose(s string) markdown {
	s = inert(visible(oneLine(clipped(s, longestText))))
	for _, a := range addresses {
		s = a.ReplaceAllString(s, apart)
	}
	return markdown(escaped(s))
}

// addresses become links by themselves: URLs, hosts that begin with www, email addresses.
var addresses = []*regexp.Regexp{
	regexp.MustCompile(`(:)(//)`),
	regexp.MustCompile(`(?i)(www)(\.)`),
	regexp.MustCompile(`(@)([0-9A-Za-z])`),
}

// escaped has a backslash before each character that Markdown, HTML or a forge's extensions would read where it stands.
func escaped(s string) string {
	var b strings.Builder
	for i, r := range s {
		inWord := i > 0 && i+1 < len(s) && isWord(s[i-1]) && isWord(s[i+1])
		if strings.ContainsRune("\\`*[]<>~&$", r) || r == '_' && !inWord {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// opening is prose at the beginning of a line or a list item, where a few more characters have a meaning.
func opening(s string) markdown {
	return markdown(openers.ReplaceAllString(string(prose(s)), `$1\$2`))
}

var openers = regexp.MustCompile(`^([0-9]*)([#+=.)-])`)

func isWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// span is foreign text as code inside a sentence or a table's cell.
func span(s string) markdown {
	s = inert(visible(oneLine(clipped(s, longestName))))
	if strings.TrimSpace(s) == "" {
		return "(no name)"
	}
	ticks := fenceFor(s, 1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return markdown(ticks + s + ticks)
}

// fenceFor is a run of at least n backticks that does not occur in s.
func fenceFor(s string, n int) string {
	longest := 0
	for _, run := range backticks.FindAllString(s, -1) {
		longest = max(longest, len(run))
	}
	return strings.Repeat("`", max(n, longest+1))
}

var backticks = regexp.MustCompile("`+")

// codeLine is a foreign line in a fenced block.
func codeLine(s string) string {
	return inert(visible(clipped(s, longestLine)))
}

// clipped is s, or its first n characters and an ellipsis.
func clipped(s string, n int) string {
	if len(s) <= n || utf8.RuneCountInString(s) <= n {
		return s
	}
	for i := range s {
		if n--; n == 0 {
			return s[:i] + "…"
		}
	}
	return s
}

// oneLine has blanks for what ends a line.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// visible escapes what is unseen, moves a cursor or turns the writing direction, and bytes that are no UTF-8.
func visible(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\t' || !unseen(r):
			b.WriteRune(r)
		case r == '\r':
			b.WriteString(`\r`)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

func unseen(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs)
}

// apart puts a zero width space between two groups.
const apart = "${1}\u200b${2}"

// triggers are what a forge or Git acts on wherever it stands.
var triggers = []*regexp.Regexp{
	regexp.MustCompile(`((?:^|[^0-9A-Za-z])@)([0-9A-Za-z])`), // a mention; an email address and an image's digest stay
	regexp.MustCompile(`(#)([0-9])`),
	regexp.MustCompile(`(?i)(\bgh-)([0-9])`),
	regexp.MustCompile(`(?i)(\b(?:clos|fix|resolv)(?:e|es|ed)?)([\s:]+https?://)`),
	regexp.MustCompile(`(?i)(\[)((?:skip|no)[ -]?(?:ci|actions|checks)|(?:ci|actions)[ -]skip)`),
	regexp.MustCompile(`(?i)(skip-checks)(:)`),
	regexp.MustCompile(`(<)(!--)`),
	regexp.MustCompile(`(?i)(this reverts)(\s+commit)`),
}

// inert breaks what would act.
func inert(s string) string {
	for _, t := range triggers {
		s = t.ReplaceAllString(s, apart)
	}
	return s
}
