package forge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/poolwright/poolwright/gitsync"
	"github.com/poolwright/poolwright/gitsync/hub"
	"github.com/poolwright/poolwright/gitsync/review"
)

// Options say where and when.
type Options struct {
	Hub *hub.Client
	// Base is the branch that the GitOps tool follows.
	Base string
	// Now is the clock. Default: the system's.
	Now func() time.Time
}

// Merge is who merges a pull request. The zero value is ByPeople.
type Merge uint8

// The ways to be merged.
const (
	ByPeople Merge = iota // "people"
	Auto                  // "auto": GitHub, when its requirements are met
	Direct                // "direct": we, as soon as it may be merged
)

// String returns "people", "auto" or "direct".
func (m Merge) String() string {
	if words := [...]string{"people", "auto", "direct"}; int(m) < len(words) {
		return words[m]
	}
	return fmt.Sprintf("(%d)", uint8(m))
}

// Wish is what a pull request of one cluster is to say. Put and Delete are relative to the base branch's head: both
// empty mean that Git is as wished.
type Wish struct {
	Cluster string
	// Dir is the cluster's directory in the repository, "" for its root.
	Dir string
	// Branch of the pull request, such as poolwright/example-pg.
	Branch string
	// Head of the base branch, which Put and Delete were drawn on.
	Head string
	// Put and Delete are paths below Dir.
	Put    gitsync.Files
	Delete []string
	// Key is the wished content's: one word, the same for the same content. A pull request with this Key that a person
	// closed means no.
	Key string
	// Message is the commit's. Trailers that say what it is are added to those it has.
	Message string
	// Title and Body of the pull request, in Markdown. A comment that nobody sees is added.
	Title, Body string
	// Owned tells of a file in Dir whether it is ours: a person's edit of one stops us. nil: only what Put and Delete name.
	Owned func(path string, data []byte) bool
	// Labels, Reviewers, Teams and Assignees are asked for once per pull request.
	Labels, Reviewers, Teams, Assignees []string
	Draft                               bool
	Merge                               Merge
	// Method is merge, squash or rebase. Default squash.
	Method string
	// Urgent says what is live ahead of Git already, in one sentence, "" when nothing is. It is repeated where we stop.
	Urgent string
}

// State is how a wish stands: nothing wished, proposed, merged and not yet read, declined, stopped, closed.
type State = review.State

// The states.
const (
	None     = review.None
	Proposed = review.Proposed
	Merged   = review.Merged
	Declined = review.Declined
	Stopped  = review.Stopped
	Closed   = review.Closed
)

// ChecksSeen is what is seen of the checks that the base requires.
type ChecksSeen struct {
	// Required are their names, sorted.
	Required []string
	// Missing are those of them that have not started for the head, sorted. A check suite is no sign of one: GitHub
	// makes an empty one for each App that may check.
	Missing []string
	// Waiting is how long one has been missing, 0 when none is.
	Waiting time.Duration
}

// Standing is what is seen after Keep.
type Standing struct {
	State State
	// Number, URL and Head are the pull request's and the branch's; zero when there is none.
	Number int
	URL    string
	Head   string
	// Since is when the pull request was opened, or closed, or merged.
	Since  time.Time
	Checks ChecksSeen
	// Verified is GitHub's word about the signature of our newest commit on the branch, VerifiedReason its reason. Both
	// are zero when no pull request is open.
	Verified       bool
	VerifiedReason string
	// Detail is one line for people, "" when there is nothing to add.
	Detail string
}

// Keeper keeps the pull requests of one repository. Its methods may be called at the same time, for the same branch one
// after the other.
type Keeper struct {
	hub  *hub.Client
	base string
	now  func() time.Time

	mu    sync.Mutex
	known map[string]*memory // by branch
}

// memory is what spares requests and bridges answers that lag. Nothing rests on it.
type memory struct {
	mu      sync.Mutex
	number  int    // of our newest pull request
	barred  string // the branch head that GitHub refused to delete
	merging time.Time
	owed    *comment // could not be made
	note    string   // a line for people about the newest pull request
	lines   lines    // the newest
}

// comment is one that is to be made.
type comment struct {
	number int
	text   string
}

// New makes a keeper. It does not speak to GitHub.
func New(o Options) *Keeper {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Keeper{hub: o.Hub, base: o.Base, now: o.Now, known: map[string]*memory{}}
}

func (k *Keeper) memory(branch string) *memory {
	k.mu.Lock()
	defer k.mu.Unlock()
	m, ok := k.known[branch]
	if !ok {
		m = &memory{}
		k.known[branch] = m
	}
	return m
}

// Keep brings the pull request of w's branch to what is wished, as far as people let it. An error is one of package hub's
// kinds, unless the wish itself is at fault; what is known of the standing is returned with it.
func (k *Keeper) Keep(ctx context.Context, w Wish) (Standing, error) {
	if err := w.check(k.base); err != nil {
		return Standing{}, fmt.Errorf("keeping the pull request of %s: %w", w.Cluster, err)
	}
	if w.Method == "" {
		w.Method = "squash"
	}
	m := k.memory(w.Branch)
	m.mu.Lock()
	defer m.mu.Unlock()
	r := &run{Keeper: k, Wish: w, memory: m}
	err := r.keep(ctx)
	if err != nil {
		err = fmt.Errorf("keeping the pull request of %s: %w", w.Cluster, err)
	}
	return r.standing, err
}

// check refuses a wish that would be written wrongly.
func (w Wish) check(base string) error {
	switch {
	case w.Branch == "" || w.Branch == base:
		return fmt.Errorf("the branch is %q", w.Branch)
	case w.Head == "":
		return errors.New("the base branch has no commit yet")
	case !w.empty() && (w.Key == "" || strings.ContainsFunc(w.Key, func(r rune) bool { return r <= ' ' || r > '~' })):
		return fmt.Errorf("the key is %q", w.Key)
	case !w.empty() && (w.Title == "" || w.Message == ""):
		return errors.New("there is no title or no message")
	}
	for path := range w.Put {
		if !writable(path) {
			return fmt.Errorf("refusing to write %q", path)
		}
	}
	return nil
}

func (w Wish) empty() bool { return len(w.Put) == 0 && len(w.Delete) == 0 }

// writable knows the paths that may be written; what a tree has at them is looked at later.
func writable(path string) bool {
	if !fs.ValidPath(path) || path == "." || strings.Contains(path, `\`) {
		return false
	}
	for name := range strings.SplitSeq(path, "/") {
		if strings.EqualFold(name, ".git") {
			return false
		}
	}
	return true
}
