package minisql

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// kind is what a token is.
type kind uint8

const (
	end    kind = iota
	word        // a name or a keyword, folded to lower case
	quoted      // "a name", never a keyword
	number
	text // 'a string'
	symbol
	parameter // $1
)

type token struct {
	kind kind
	text string
	at   int
}

// Error is a refusal with its SQLSTATE.
type Error struct {
	Code    string
	Message string
}

// Error implements error.
func (e *Error) Error() string { return e.Message + " (SQLSTATE " + e.Code + ")" }

func refuse(code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

func syntax(near string) *Error {
	if near == "" {
		return refuse("42601", "syntax error at end of input")
	}
	return refuse("42601", "syntax error at or near %q", near)
}

// lex cuts sql into tokens; the last one is of kind end.
func lex(sql string) ([]token, error) {
	if !utf8.ValidString(sql) {
		return nil, refuse("22021", `invalid byte sequence for encoding "UTF8"`)
	}
	var tokens []token
	for at := 0; ; {
		rest, err := skipSpace(sql[at:])
		if err != nil {
			return nil, err
		}
		at = len(sql) - len(rest)
		if rest == "" {
			return append(tokens, token{kind: end, at: at}), nil
		}
		t, n, err := next(rest)
		if err != nil {
			return nil, err
		}
		t.at = at
		tokens = append(tokens, t)
		at += n
	}
}

func skipSpace(s string) (string, error) {
	for {
		s = strings.TrimLeft(s, " \t\r\n\f\v")
		switch {
		case strings.HasPrefix(s, "--"):
			_, s, _ = strings.Cut(s, "\n")
		case strings.HasPrefix(s, "/*"):
			n := comment(s)
			if n < 0 {
				return "", refuse("42601", "unterminated /* comment")
			}
			s = s[n:]
		default:
			return s, nil
		}
	}
}

// comment returns the length of the comment that s begins with, -1 when it has no end. Comments nest.
func comment(s string) int {
	depth := 0
	for i := 0; i+1 < len(s); i++ {
		switch s[i : i+2] {
		case "/*":
			depth++
			i++
		case "*/":
			depth--
			i++
			if depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

// next reads the token that s begins with and its length. s is not empty and does not begin with white space.
func next(s string) (token, int, error) {
	switch c := s[0]; {
	case letter(c):
		n := span(s, func(c byte) bool { return letter(c) || digit(c) || c == '$' })
		return token{kind: word, text: strings.ToLower(s[:n])}, n, nil
	case digit(c) || c == '.' && len(s) > 1 && digit(s[1]):
		return lexNumber(s)
	case c == '\'':
		return delimited(s, text, "unterminated quoted string")
	case c == '"':
		return delimited(s, quoted, "unterminated quoted identifier")
	case c == '$' && len(s) > 1 && digit(s[1]):
		n := 1 + span(s[1:], digit)
		return token{kind: parameter, text: s[:n]}, n, nil
	}
	for _, op := range []string{"::", "<>", "!=", "<=", ">="} {
		if strings.HasPrefix(s, op) {
			return token{kind: symbol, text: op}, 2, nil
		}
	}
	if strings.IndexByte("(),.;*+-/=<>", s[0]) < 0 {
		_, n := utf8.DecodeRuneInString(s)
		return token{}, 0, syntax(s[:n])
	}
	return token{kind: symbol, text: s[:1]}, 1, nil
}

func lexNumber(s string) (token, int, error) {
	n := span(s, digit)
	if n < len(s) && s[n] == '.' {
		n++
		n += span(s[n:], digit)
	}
	if n < len(s) && letter(s[n]) {
		return token{}, 0, refuse("42601", "trailing junk after numeric literal at or near %q", s[:n+1])
	}
	return token{kind: number, text: s[:n]}, n, nil
}

// delimited reads a text whose delimiter is its first byte and is doubled inside.
func delimited(s string, k kind, unterminated string) (token, int, error) {
	q := s[:1]
	for i := 1; i < len(s); i++ {
		if s[i] != q[0] {
			continue
		}
		if i+1 < len(s) && s[i+1] == q[0] {
			i++
			continue
		}
		return token{kind: k, text: strings.ReplaceAll(s[1:i], q+q, q)}, i + 1, nil
	}
	return token{}, 0, refuse("42601", "%s at or near %q", unterminated, s)
}

func span(s string, in func(byte) bool) int {
	n := 0
	for n < len(s) && in(s[n]) {
		n++
	}
	return n
}

func letter(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

func digit(c byte) bool { return c >= '0' && c <= '9' }
