package forge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/poolwright/poolwright/gitsync/hub"
	"github.com/poolwright/poolwright/gitsync/review"
)

// lines is what a survey found. It holds for as long as its key does.
type lines struct {
	key    lineKey
	wanted bool
	branch review.Branch
	// edited are paths in the repository where people stand in the way.
	edited []string
	// ours is our newest commit on the branch.
	ours string
	draw drawing
}

// lineKey is everything that a survey depends on.
type lineKey struct {
	base, head, fork, wish string
	direct, review         bool
}

// drawing is the commit that makes the branch as wished.
type drawing struct {
	tree    string // of the base
	entries []hub.Entry
	parents []string
	digest  string // of the directory
}

// survey compares the branch with the base and the wish.
type survey struct {
	*forest
	*run
	roots struct{ base, head, fork string } // trees
	dirs  struct{ base, head, fork listing }
	puts  listing
	ahead map[string]hub.Commit // what the base does not have
	// want is the directory as it is to be; unfit are our files that are not so on the branch.
	want  listing
	unfit []string
	torn  []string // a person's files that base and branch changed in two ways
}

// lineKey is the key of a survey now. Whose branch is in review, or was when we closed it, is surveyed for edits.
func (r *run) lineKey() lineKey {
	k := lineKey{base: r.Head, head: r.head, wish: r.fingerprint(), direct: r.direct(), review: r.phase() == review.OpenPull || r.mark.closed}
	if r.phase() == review.MergedPull {
		k.fork = r.pull.Head
	}
	return k
}

// fingerprint stands for what is wished.
func (w Wish) fingerprint() string {
	h := sha256.New()
	fmt.Fprintf(h, "%q", w.Dir)
	for _, path := range slices.Sorted(maps.Keys(w.Put)) {
		fmt.Fprintf(h, "%q %s", path, blobSHA(w.Put[path]))
	}
	fmt.Fprintf(h, "%q", slices.Sorted(slices.Values(w.Delete)))
	return hex.EncodeToString(h.Sum(nil))
}

// explore makes r.lines true, from memory when nothing changed.
func (r *run) explore(ctx context.Context) error {
	key := r.lineKey()
	if r.memory.lines.key == key {
		r.lines = r.memory.lines
		return nil
	}
	s := &survey{forest: newForest(r.hub), run: r, puts: listing{}}
	l, err := s.explore(ctx, key)
	if err != nil {
		return err
	}
	r.lines, r.memory.lines = l, l
	return nil
}

func (s *survey) explore(ctx context.Context, key lineKey) (lines, error) {
	l := lines{key: key}
	if err := s.readBase(ctx); err != nil {
		return l, err
	}
	l.wanted = s.wanted()
	l.draw = drawing{tree: s.roots.base, parents: []string{s.Head}}
	if s.head == "" {
		s.dirs.head, s.dirs.fork = s.dirs.base, s.dirs.base
		if err := s.blend(ctx); err != nil {
			return l, err
		}
		l.draw.entries, l.draw.digest = s.entriesOf(), s.want.digest()
		return l, nil
	}
	return l, s.compare(ctx, &l)
}

func (s *survey) readBase(ctx context.Context) (err error) {
	if s.roots.base, err = s.root(ctx, s.Head); err != nil {
		return err
	}
	if s.dirs.base, err = s.files(ctx, s.roots.base, s.Dir); err != nil {
		return err
	}
	for path, data := range s.Put {
		at := s.dirs.base[path]
		if at.sha != "" && !at.regular() {
			return fmt.Errorf("refusing to write %q: there is something else (mode %s)", below(s.Dir, path), at.mode)
		}
		for i, c := range path {
			if c == '/' && s.dirs.base[path[:i]].sha != "" {
				return fmt.Errorf("refusing to write %q: %q is not a directory", below(s.Dir, path), path[:i])
			}
		}
		s.puts[path] = leaf{plainFile, blobSHA(data)}
	}
	return nil
}

// wanted tells whether the base differs from the wish.
func (s *survey) wanted() bool {
	for path, put := range s.puts {
		if s.dirs.base[path].sha != put.sha {
			return true
		}
	}
	return slices.ContainsFunc(s.Delete, func(path string) bool { return s.dirs.base[path].sha != "" })
}

var errMany = errors.New("the branch has more commits than GitHub lists")

// compare looks at a branch that exists.
func (s *survey) compare(ctx context.Context, l *lines) error {
	c, err := s.Keeper.hub.Compare(ctx, s.Head, s.head)
	if err != nil {
		return fmt.Errorf("comparing %s with %s: %w", s.Branch, s.base, err)
	}
	if c.Ahead > len(c.Commits) {
		return errMany
	}
	if err := s.readBranch(ctx, c); err != nil {
		return err
	}
	if err := s.blend(ctx); err != nil {
		return err
	}
	l.branch = review.Branch{There: true, AsWished: len(s.unfit) == 0 && c.Ahead > 0, Behind: c.Behind > 0, OnlyOurs: true}
	s.whose(l, c.Commits)
	if l.branch.AsWished && (!s.direct() || !l.branch.Behind) {
		return nil
	}
	return s.plan(ctx, l, c)
}

func (s *survey) readBranch(ctx context.Context, c hub.Comparison) (err error) {
	s.ahead = map[string]hub.Commit{}
	for _, commit := range c.Commits {
		s.ahead[commit.SHA] = commit
	}
	fork := c.MergeBase
	if s.phase() == review.MergedPull {
		fork = s.pull.Head
	}
	if s.roots.head, err = s.root(ctx, s.head); err != nil {
		return err
	}
	if s.roots.fork, err = s.root(ctx, fork); err != nil {
		return err
	}
	if s.dirs.head, err = s.files(ctx, s.roots.head, s.Dir); err != nil {
		return err
	}
	s.dirs.fork, err = s.files(ctx, s.roots.fork, s.Dir)
	return err
}

// whose says which of the branch's commits are ours.
func (s *survey) whose(l *lines, commits []hub.Commit) {
	var newest time.Time
	for _, c := range commits {
		at := readStamp(c.Message)
		l.branch.OnlyOurs = l.branch.OnlyOurs && at != stamp{}
		if c.SHA == s.head {
			l.branch.OwnHead = at.tree == s.dirs.head.digest()
		}
		if (at != stamp{}) && !c.Committer.At.Before(newest) {
			newest, l.ours = c.Committer.At, c.SHA
		}
	}
}

// plan says what the next commit is, and what stands in its way.
func (s *survey) plan(ctx context.Context, l *lines, c hub.Comparison) error {
	m := &merger{forest: s.forest, except: s.Dir}
	if s.Dir != "" {
		if err := m.merge(ctx, "", s.roots.fork, s.roots.base, s.roots.head); err != nil {
			return err
		}
	}
	l.draw.entries, l.draw.digest = slices.Concat(m.takes, s.entriesOf()), s.want.digest()
	switch {
	case c.Ahead == 0:
	case c.Behind == 0:
		l.draw.parents = []string{s.head}
	default:
		l.draw.parents = []string{s.head, s.Head}
	}
	if !l.key.review {
		return nil
	}
	edits, err := s.edits(ctx)
	l.edited = slices.Sorted(slices.Values(slices.Concat(edits, s.torn, m.conflicts)))
	l.branch.Edited = len(l.edited) > 0
	return err
}
