package cmd

import (
	"bytes"

	"github.com/poolwright/poolwright/gitsync"
	"github.com/poolwright/poolwright/render"
)

// withoutConfig takes out of a drawing what differs from the base for the declaration's sake only: where such a change needs a person's
// review, it does not go in with another one. drawn is the tree that is wanted, declared the same declaration's for what the base says:
// a file that is the same in both, or in neither, is not what the decision is about. A file that both change goes in whole, and so does a new overlay.
func withoutConfig(base gitsync.Files, drawn, declared render.Tree) render.Tree {
	kept := render.Tree{}
	for name, data := range drawn {
		old, there := base[name]
		same, was := declared[name]
		if there && was && bytes.Equal(same, data) {
			data = old
		}
		kept[name] = data
	}
	for name, data := range base {
		_, is := drawn[name]
		_, was := declared[name]
		if !is && !was && render.Owned(name, data) {
			kept[name] = data
		}
	}
	return kept
}
