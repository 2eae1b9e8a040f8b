package gitsync

import "context"

// remote is the other side of a [Repo] as reading and the publishing loop need it: Git's own conversation
// ([gitRemote]) or GitHub's API ([hubRemote]). It fills the view it was made with. Its methods are not called at once.
type remote interface {
	// contact asks where the branch is, zero when the repository is empty. With toPush the conversation can go on with
	// a push, for which authority may be needed that reading does without.
	contact(ctx context.Context, toPush bool) (hash, conversation, error)
	// refresh brings the view to the commit tip of the branch, with the files that are wished for. errStale: look again
	// where the branch is.
	refresh(ctx context.Context, tip hash, w wish) error
	close() error
}

// conversation is a contact that is not over yet.
type conversation interface {
	// push makes the draft's commits stand on the branch if it is still at the draft's head: the remote compares and
	// swaps. A no is a *refusal. For other errors see [unclear].
	push(ctx context.Context, d *draft) error
	close()
}

// wish is which files of a commit are wanted.
type wish struct {
	// dirs are wanted whole, with each .gitattributes above them.
	dirs []string
	// globs stand for the files that match them.
	globs []glob
}
