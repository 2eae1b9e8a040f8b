package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/google/go-github/v66/github"
)

// verdict says what an answer means for a caller.
type verdict struct {
	status int
	word   string // in lower case; "" for any
	kind   error
}

// verdicts are tried in order. The words are GitHub's: most of these cases have no code of their own.
var verdicts = []verdict{
	{401, "", ErrAuth},
	{403, "archived", ErrRefused},
	{403, "protected branch", ErrRefused},
	{403, "rule violation", ErrRefused},
	{403, "access blocked", ErrRefused},
	{403, "", ErrAuth},
	{404, "", ErrNotFound},
	{410, "", ErrNotFound},
	{405, "base branch was modified", ErrMoved},
	{409, "rule violation", ErrRefused},
	{409, "is empty", ErrRefused},
	{409, "merge conflict", ErrRefused},
	{409, "", ErrMoved},
	{422, "reference already exists", ErrExists},
	{422, "pull request already exists", ErrExists},
	{422, "not a fast forward", ErrMoved},
	{422, "reference does not exist", ErrNotFound},
	{422, "no commit found", ErrNotFound},
	{422, "pullrequest head invalid", ErrNotFound},
	{422, "pullrequest base invalid", ErrNotFound},
	// An object that was made a moment ago and has not reached every server.
	{422, "does not exist", ErrUnreachable},
	{422, "is not a valid blob", ErrUnreachable},
	{422, "is not a valid tree", ErrUnreachable},
}

// explain says what was being done and what a caller can do about it. The verdicts of the call itself come first.
func explain(ctx context.Context, err error, doing string, own ...verdict) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, judge(ctx, err, own))
}

// judge finds the kind of an error of go-github, whose answer it reads: once. An error that has its kind stays as it is.
func judge(ctx context.Context, err error, own []verdict) error {
	if f, ok := errors.AsType[*fault](err); ok {
		return f // without the url.Error around it
	}
	resp := responseOf(err) //nolint:bodyclose // it is in memory
	if resp == nil {
		return unreachable(ctx, withoutURL(err))
	}
	body, err := io.ReadAll(resp.Body) // from memory
	if err != nil {
		return unreachable(ctx, err)
	}
	said := complain(resp, body)
	return faultf(said.kind(resp.StatusCode, append(own, verdicts...)), said.text)
}

// responseOf is the answer that go-github made an error of; nil when there is none.
func responseOf(err error) *http.Response {
	var plain *github.ErrorResponse
	var second *github.TwoFactorAuthError
	switch {
	case errors.As(err, &plain):
		return plain.Response
	case errors.As(err, &second):
		return second.Response
	}
	return nil
}

// withoutURL leaves the address away that net/http puts before an error.
func withoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// complaint is what GitHub says of an error.
type complaint struct {
	text  string // with the status; printable
	words bool   // it is GitHub that speaks, and not something in between
}

// complain reads the answer of an error, whose details are a list of objects, a list of texts, or a text.
func complain(resp *http.Response, body []byte) complaint {
	var said struct {
		Message string          `json:"message"`
		Errors  json.RawMessage `json:"errors"`
	}
	if err := json.Unmarshal(body, &said); err != nil {
		said.Message = ""
	}
	parts := append([]string{said.Message}, details(said.Errors)...)
	text := strings.Join(strings.Fields(strconv.Itoa(resp.StatusCode)+" "+strings.Join(parts, "; ")), " ")
	if at := resp.Header.Get("Location"); at != "" && resp.StatusCode < http.StatusBadRequest {
		text += " to " + location(at)
	}
	return complaint{text: printable(text), words: said.Message != ""}
}

func location(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return "an address that cannot be read"
	}
	return bare(u)
}

func details(raw json.RawMessage) (said []string) {
	var list []github.Error
	if json.Unmarshal(raw, &list) != nil {
		var text string
		if json.Unmarshal(raw, &text) == nil && text != "" {
			said = append(said, text)
		}
		return said
	}
	for _, e := range list {
		field := strings.Trim(strings.Join([]string{e.Resource, e.Field, e.Code}, " "), " ")
		switch {
		case e.Message != "":
			said = append(said, e.Message)
		case field != "":
			said = append(said, field)
		}
	}
	return said
}

// kind of an answer. What is not in the tables: a client error is refused, and what GitHub did not say itself (a proxy's
// page) or could not do is another time.
func (c complaint) kind(status int, table []verdict) error {
	if status >= 300 && status < 400 && status != http.StatusNotModified {
		return ErrRefused // the repository has another name, and a write does not go there by itself
	}
	if status < 400 || status >= 500 || !c.words {
		return ErrUnreachable
	}
	low := strings.ToLower(c.text)
	for _, v := range table {
		if v.status == status && strings.Contains(low, v.word) {
			return v.kind
		}
	}
	return ErrRefused
}

// half is an answer that lacks what it is about.
func half(what string) error { return faultf(ErrUnreachable, "an answer without "+what) }

// maxPages bounds a list. A part is never taken for the whole.
const maxPages = 50

const pageSize = 100 // the most that GitHub gives

// pages reads a list to its end, or to limit when that is positive.
func pages[T any](limit int, get func(github.ListOptions) ([]T, *github.Response, error)) ([]T, error) {
	var all []T
	opts := github.ListOptions{Page: 1, PerPage: pageSize}
	if limit > 0 {
		opts.PerPage = min(limit, pageSize)
	}
	for range maxPages {
		some, resp, err := get(opts)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
		if limit > 0 && len(all) >= limit {
			return all[:limit], nil
		}
		if resp.NextPage <= opts.Page {
			return all, nil
		}
		opts.Page = resp.NextPage
	}
	return nil, faultf(ErrRefused, fmt.Sprintf("a list of more than %d pages", maxPages))
}
