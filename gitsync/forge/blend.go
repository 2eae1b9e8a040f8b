package forge

import (
	"context"
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/gitsync/hub"
)

// blend says how the directory is to be: our files as wished, everybody else's merged three ways.
func (s *survey) blend(ctx context.Context) error {
	s.want = listing{}
	for _, path := range paths(s.dirs.base, s.dirs.head, s.puts) {
		want, err := s.file(ctx, path)
		if err != nil {
			return err
		}
		if want.sha != "" {
			s.want[path] = want
		}
	}
	return nil
}

// file is how one file is to be, zero when it is not to be.
func (s *survey) file(ctx context.Context, path string) (leaf, error) {
	base, head := s.dirs.base[path], s.dirs.head[path]
	if put, ok := s.puts[path]; ok {
		if base.sha != "" {
			put.mode = base.mode
		}
		return s.fit(path, put, head), nil
	}
	if slices.Contains(s.Delete, path) {
		return s.fit(path, leaf{}, head), nil
	}
	if head == base {
		return base, nil
	}
	owned, err := s.owns(ctx, path)
	switch {
	case err != nil:
		return leaf{}, err
	case owned:
		return s.fit(path, base, head), nil
	}
	return s.foreign(path), nil
}

// fit notes a file of ours that is not as wished on the branch.
func (s *survey) fit(path string, want, head leaf) leaf {
	if want.sha != head.sha {
		s.unfit = append(s.unfit, path)
	}
	return want
}

// foreign merges a file of a person's.
func (s *survey) foreign(path string) leaf {
	switch fork, base, head := s.dirs.fork[path], s.dirs.base[path], s.dirs.head[path]; {
	case head == fork:
		return base
	case base == fork:
		return head
	default:
		s.torn = append(s.torn, below(s.Dir, path))
		return base
	}
}

// owns asks whether a file that no wish names is ours: by its content on the base, or else on the branch.
func (s *survey) owns(ctx context.Context, path string) (bool, error) {
	at, ok := s.dirs.base[path]
	if !ok {
		at = s.dirs.head[path]
	}
	if s.Owned == nil || !at.regular() {
		return false, nil
	}
	data, err := s.Keeper.hub.Blob(ctx, at.sha)
	if err != nil {
		return false, fmt.Errorf("reading %s: %w", below(s.Dir, path), err)
	}
	return s.Owned(path, data), nil
}

// entriesOf are the changes of the directory, relative to the base's tree.
func (s *survey) entriesOf() (out []hub.Entry) {
	for _, path := range paths(s.dirs.base, s.want) {
		base, want := s.dirs.base[path], s.want[path]
		e := hub.Entry{Path: below(s.Dir, path), Mode: want.mode, Kind: "blob", SHA: want.sha}
		switch {
		case want == base:
			continue
		case want.sha == "":
			e.Mode, e.SHA, e.Gone = base.mode, "", true
		case s.puts[path].sha != "":
			e.SHA, e.Content = "", s.Put[path]
		}
		if e.Mode == "160000" {
			e.Kind = "commit"
		}
		out = append(out, e)
	}
	return out
}

// edits are files of ours that are not as wished because a person's commit, newer than ours, changed them.
func (s *survey) edits(ctx context.Context) (out []string, err error) {
	touched, ours, err := s.walk(ctx)
	if err != nil {
		return nil, err
	}
	if len(ours) == 0 {
		ours = []listing{s.dirs.fork}
	}
	for _, path := range s.unfit {
		asWeWroteIt := slices.ContainsFunc(ours, func(l listing) bool { return l[path].sha == s.dirs.head[path].sha })
		if touched[path] && !asWeWroteIt {
			out = append(out, below(s.Dir, path))
		}
	}
	return out, nil
}

// walk goes from the branch's head back to our newest commits, or to the base. It returns what people's commits touched
// on the way, and how the directory looks in ours.
func (s *survey) walk(ctx context.Context) (touched map[string]bool, ours []listing, err error) {
	touched = map[string]bool{}
	for todo, seen := []string{s.head}, map[string]bool{}; len(todo) > 0; {
		c, ok := s.ahead[todo[0]]
		todo = todo[1:]
		if !ok || seen[c.SHA] {
			continue
		}
		seen[c.SHA] = true
		dir, err := s.dirOf(ctx, c.SHA)
		if err != nil {
			return nil, nil, err
		}
		if readStamp(c.Message).tree == dir.digest() {
			ours = append(ours, dir)
			continue
		}
		if err := s.touch(ctx, c, dir, touched); err != nil {
			return nil, nil, err
		}
		todo = append(todo, c.Parents...)
	}
	return touched, ours, nil
}

// touch notes the files that a commit has otherwise than each of its parents.
func (s *survey) touch(ctx context.Context, c hub.Commit, dir listing, touched map[string]bool) error {
	var parents []listing
	for _, p := range c.Parents {
		l, err := s.dirOf(ctx, p)
		if err != nil {
			return err
		}
		parents = append(parents, l)
	}
	for _, path := range paths(append(parents, dir)...) {
		if !slices.ContainsFunc(parents, func(p listing) bool { return p[path].sha == dir[path].sha }) {
			touched[path] = true
		}
	}
	return nil
}

// dirOf lists the directory in a commit.
func (s *survey) dirOf(ctx context.Context, commit string) (listing, error) {
	root, err := s.root(ctx, commit)
	if err != nil {
		return nil, err
	}
	return s.files(ctx, root, s.Dir)
}
