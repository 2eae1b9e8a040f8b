package gitsync

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// commit is a parsed commit with what the API does not show.
type commit struct {
	Commit
	tree    hash
	parents []hash
}

// encodeCommit writes a commit object.
func encodeCommit(tree, parent hash, author, committer Identity, when time.Time, message string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "tree %s\n", tree)
	if !parent.IsZero() {
		fmt.Fprintf(&b, "parent %s\n", parent)
	}
	fmt.Fprintf(&b, "author %s %d +0000\n", author.header(), when.Unix())
	fmt.Fprintf(&b, "committer %s %d +0000\n\n", committer.header(), when.Unix())
	b.WriteString(message)
	return b.Bytes()
}

// signed is a commit with the signer's signature, in the header gpgsig, which Git keeps as the last one.
func signed(ctx context.Context, by Signer, raw []byte) ([]byte, error) {
	armored, err := by.Sign(ctx, raw)
	armored = strings.Trim(armored, "\n")
	switch {
	case err == nil && armored == "":
		err = errors.New("the signature is empty")
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, &fault{kind: ErrAuth, text: "signing the commit", cause: err}
	}
	head, message, _ := bytes.Cut(raw, []byte("\n\n"))
	sig := strings.ReplaceAll(armored, "\n", "\n ")
	return fmt.Appendf(nil, "%s\ngpgsig %s\n\n%s", head, sig, message), nil
}

// header is "Name <email>" without the characters that would end it, as git itself strips them.
func (i Identity) header() string {
	strip := func(s string) string {
		return strings.TrimSpace(strings.Map(func(r rune) rune {
			if r < ' ' || r == '<' || r == '>' || r == 0x7f {
				return -1
			}
			return r
		}, s))
	}
	return strip(i.Name) + " <" + strip(i.Email) + ">"
}

var errMessage = errors.New("a commit needs a message and a time")

// normalise makes a message as git stores it: LF, no NUL, no blank lines at its ends, one newline last.
func normalise(message string) (string, error) {
	m := strings.NewReplacer("\r\n", "\n", "\x00", "").Replace(strings.ToValidUTF8(message, "�"))
	m = strings.Trim(m, "\n\t ")
	if m == "" {
		return "", errMessage
	}
	return m + "\n", nil
}

var errCommit = errors.New("malformed commit")

// parseCommit reads what we need of a commit: unknown headers and signatures are passed over.
func parseCommit(h hash, raw []byte) (commit, error) {
	c := commit{Commit: Commit{Hash: h.String()}}
	head, message, _ := strings.Cut(string(raw), "\n\n")
	for line := range strings.SplitSeq(head, "\n") {
		key, value, _ := strings.Cut(line, " ")
		switch key {
		case "tree":
			c.tree = hashOf(value)
		case "parent":
			c.parents = append(c.parents, hashOf(value))
		case "author":
			c.Author, _ = parseIdentity(value)
		case "committer":
			_, c.When = parseIdentity(value)
		}
	}
	if c.tree.IsZero() {
		return c, errCommit
	}
	c.Subject, c.Body, c.Trailers = splitMessage(strings.ToValidUTF8(message, "�"))
	return c, nil
}

func parseIdentity(s string) (Identity, time.Time) {
	name, rest, _ := strings.Cut(s, "<")
	email, stamp, _ := strings.Cut(rest, ">")
	seconds, _, _ := strings.Cut(strings.TrimSpace(stamp), " ")
	n, _ := strconv.ParseInt(seconds, 10, 64)
	return Identity{strings.TrimSpace(name), email}, time.Unix(n, 0).UTC()
}

// splitMessage takes a message apart: its first paragraph is the subject, its last one the trailers
// when every line of it looks like one.
func splitMessage(m string) (subject, body string, trailers map[string]string) {
	m = strings.Trim(strings.ReplaceAll(m, "\r\n", "\n"), "\n ")
	subject, body, _ = strings.Cut(m, "\n\n")
	subject, body = strings.Join(strings.Fields(subject), " "), strings.Trim(body, "\n")
	last := strings.LastIndex(body, "\n\n")
	block := strings.Trim(body[max(last, 0):], "\n")
	if trailers = parseTrailers(block); trailers != nil {
		body = strings.TrimRight(body[:max(last, 0)], "\n")
	}
	return subject, body, trailers
}

// parseTrailers is nil when the paragraph is not a block of trailers.
func parseTrailers(block string) map[string]string {
	out, key := map[string]string{}, ""
	for line := range strings.SplitSeq(block, "\n") {
		if strings.HasPrefix(line, "(cherry picked from commit ") {
			continue
		}
		if key != "" && strings.HasPrefix(line, " ") {
			out[key] += " " + strings.TrimSpace(line)
			continue
		}
		k, v, ok := strings.Cut(line, ":")
		if !ok || !trailerKey(k) {
			return nil
		}
		key = k
		out[key] = strings.TrimSpace(v)
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

func trailerKey(k string) bool {
	return k != "" && !strings.ContainsFunc(k, func(r rune) bool {
		return r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}
