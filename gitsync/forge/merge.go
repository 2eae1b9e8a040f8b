package forge

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/gitsync/hub"
)

// merger brings what a branch changed since a fork onto a base, for all but one directory. It works on trees: what is
// the same in two of three is not looked into.
type merger struct {
	*forest
	except string
	// takes are what to change in the base's tree.
	takes []hub.Entry
	// conflicts are paths that base and branch changed in two ways. The base's version stays.
	conflicts []string
}

// trio is the same place in three trees.
type trio struct{ fork, base, branch hub.Entry }

// merge looks at three trees, "" where there is none.
func (m *merger) merge(ctx context.Context, dir, fork, base, branch string) error {
	three, err := m.level(ctx, fork, base, branch)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(three)) {
		if err := m.place(ctx, below(dir, name), three[name]); err != nil {
			return err
		}
	}
	return nil
}

func (m *merger) level(ctx context.Context, fork, base, branch string) (map[string]trio, error) {
	out := map[string]trio{}
	for i, tree := range [...]string{fork, base, branch} {
		list, err := m.entries(ctx, tree)
		if err != nil {
			return nil, err
		}
		for _, e := range list {
			t := out[e.Path]
			*[...]*hub.Entry{&t.fork, &t.base, &t.branch}[i] = e
			out[e.Path] = t
		}
	}
	return out, nil
}

func (m *merger) place(ctx context.Context, path string, t trio) error {
	switch {
	case path == m.except, same(t.branch, t.fork), same(t.branch, t.base):
		return nil
	case !same(t.base, t.fork), strings.HasPrefix(m.except, path+"/"):
		if !directory(t.fork) || !directory(t.base) || !directory(t.branch) {
			m.conflicts = append(m.conflicts, path)
			return nil
		}
		return m.merge(ctx, path, t.fork.SHA, t.base.SHA, t.branch.SHA)
	case t.branch.SHA == "":
		return m.remove(ctx, path, t.base)
	}
	m.takes = append(m.takes, hub.Entry{Path: path, Mode: t.branch.Mode, Kind: t.branch.Kind, SHA: t.branch.SHA})
	return nil
}

func same(a, b hub.Entry) bool { return a.SHA == b.SHA && a.Mode == b.Mode }

// directory tells whether it is one, or may become one because there is nothing.
func directory(e hub.Entry) bool { return e.Kind == "tree" || e.SHA == "" }

// remove takes away a file, or a directory file by file.
func (m *merger) remove(ctx context.Context, path string, e hub.Entry) error {
	if e.Kind != "tree" {
		m.takes = append(m.takes, hub.Entry{Path: path, Mode: e.Mode, Kind: e.Kind, Gone: true})
		return nil
	}
	list, err := m.entries(ctx, e.SHA)
	if err != nil {
		return fmt.Errorf("removing %s: %w", path, err)
	}
	for _, e := range list {
		if err := m.remove(ctx, below(path, e.Path), e); err != nil {
			return err
		}
	}
	return nil
}
