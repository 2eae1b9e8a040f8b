package gitsync

import (
	"context"
	"time"
)

// Files maps slash-separated paths to contents: below a directory of the repository, or from its root.
type Files map[string][]byte

// Identity is a Git author or committer.
type Identity struct{ Name, Email string }

// Base is what a directory looked like at a head: what a change is drawn on.
type Base struct {
	// Head is the commit, "" when the branch does not exist yet.
	Head string
	// Files of the directory, complete, at any depth. A symlink or submodule in it is listed in Odd, not here.
	Files Files
	Odd   []string
	// Log is the newest commits of the branch, newest first, as far as known (at least LogDepth back when they exist).
	Log []Commit
}

// Commit is one commit as the log shows it.
type Commit struct {
	Hash     string
	Subject  string
	Body     string // message without subject and trailers
	Trailers map[string]string
	Author   Identity
	When     time.Time
}

// Change is what to do to one directory in one commit. Put and Delete are paths below Dir.
// An empty change, or one whose tree equals the base's, makes no commit.
type Change struct {
	Dir     string
	Put     Files
	Delete  []string
	Message string
	// When is the commit's time.
	When time.Time
}

// Draw makes changes on a base. It is called again on each new head: that is how a
// conflict is resolved. Returning no changes means there is nothing to say on that base.
// An error stops only this edit, not the others of the batch.
type Draw func(Base) ([]Change, error)

// Edit is one cluster's wish to change its directory.
type Edit struct {
	Dir  string
	Draw Draw
	// Urgent edits are drawn and committed first.
	Urgent bool
}

// Receipt tells what became of an edit: the commits that now stand on the branch, oldest first
// (none when nothing differed), or why not.
type Receipt struct {
	Commits []string
	// Head is the branch after the push (or as read when nothing differed).
	Head string
	Err  error
}

// Signer signs commits.
type Signer interface {
	// Sign returns the armored signature of a commit object, which is given as it is without one.
	Sign(ctx context.Context, commit []byte) (armored string, err error)
}

// Publisher makes directories the declared state of a repository.
// Its implementations pass the suite in gitsynctest.
type Publisher interface {
	// Read returns dir at the branch's present head, after asking the remote.
	Read(ctx context.Context, dir string) (Base, error)
	// Glob returns the files at the branch's present head whose paths match the pattern (that of path.Match for each
	// component, ** for any number of directories), by path, and that head.
	Glob(ctx context.Context, pattern string) (files Files, head string, err error)
	// Publish draws, commits and pushes all edits with at most one push when nobody
	// interferes; receipts are in the order of the edits. err is about the remote as a whole.
	Publish(ctx context.Context, edits []Edit) ([]Receipt, error)
}
