package webhook

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Kind is the closed set of events that are passed on.
type Kind uint8

// The kinds.
const (
	Ping        Kind = iota + 1 // "ping": the webhook was set up
	Push                        // "push": a branch or tag was moved, made or deleted
	PullRequest                 // "pull_request": anything became of a pull request
)

const kindWords = ",ping,push,pull_request"

// String returns GitHub's name of the event: "ping", "push" or "pull_request".
func (k Kind) String() string {
	words := strings.Split(kindWords, ",")
	if int(k) >= len(words) {
		return fmt.Sprintf("(%d)", k)
	}
	return words[k]
}

func kindOf(event string) (Kind, bool) {
	for k := Ping; k <= PullRequest; k++ {
		if k.String() == event {
			return k, true
		}
	}
	return 0, false
}

// Event is a reason to look at a repository.
type Event struct {
	Kind Kind
	// Repository is its full name, "owner/name". Empty for a ping from the webhook of an organisation.
	Repository string
	// Ref is what was pushed: "refs/heads/main", "refs/tags/v1". Empty for other kinds.
	Ref string
	// Branch is the branch of Ref, empty for a tag; for a pull request the branch it is to be merged into.
	Branch string
	// Head is the branch that a pull request comes from. It may be one of another repository.
	Head string
	// Number is the pull request's.
	Number int
}

// payload is what is needed of GitHub's events.
type payload struct {
	Repository *struct {
		FullName string `json:"full_name"`
	} `json:"repository"`
	Ref         string `json:"ref"`
	Number      int    `json:"number"`
	PullRequest *struct {
		Base tip `json:"base"`
		Head tip `json:"head"`
	} `json:"pull_request"`
	HookID int64 `json:"hook_id"`
}

type tip struct {
	Ref string `json:"ref"`
}

var fullName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,99}/[A-Za-z0-9._-]{1,100}$`)

func parse(kind Kind, text []byte) (Event, error) {
	var p payload
	if err := json.Unmarshal(text, &p); err != nil {
		return Event{}, errors.New("the payload is not the JSON of an event") // the cause would repeat what a stranger sent
	}
	e := Event{Kind: kind}
	if p.Repository != nil {
		e.Repository = p.Repository.FullName
	}
	if !fullName.MatchString(e.Repository) && (kind != Ping || p.Repository != nil) {
		return Event{}, errors.New("the payload names no repository")
	}
	switch kind {
	case Push:
		return push(e, p)
	case PullRequest:
		return pull(e, p)
	}
	if p.HookID == 0 {
		return Event{}, errors.New("the ping names no hook")
	}
	return e, nil
}

func push(e Event, p payload) (Event, error) {
	if name, ok := strings.CutPrefix(p.Ref, "refs/"); !ok || name == "" {
		return Event{}, errors.New("the push names no ref")
	}
	e.Ref = p.Ref
	if branch, ok := strings.CutPrefix(p.Ref, "refs/heads/"); ok {
		e.Branch = branch
	}
	return e, nil
}

func pull(e Event, p payload) (Event, error) {
	if p.Number <= 0 || p.PullRequest == nil || p.PullRequest.Base.Ref == "" || p.PullRequest.Head.Ref == "" {
		return Event{}, errors.New("the payload names no pull request")
	}
	e.Number, e.Branch, e.Head = p.Number, p.PullRequest.Base.Ref, p.PullRequest.Head.Ref
	return e, nil
}
