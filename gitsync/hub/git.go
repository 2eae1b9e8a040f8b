package hub

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/go-github/v66/github"
)

// Who is an author or a committer, and when.
type Who struct {
	Name, Email string
	At          time.Time
}

// Entry is a line of a tree. Path is below the tree that was asked for.
type Entry struct {
	Path string
	Mode string // such as 100644; for PutTree the default
	Kind string // blob, tree or commit; for PutTree it follows from Mode
	SHA  string
	// Content is for PutTree: with neither SHA nor Gone, the entry is a file that holds this.
	Content []byte
	// Gone is for PutTree: what base has at Path is left out.
	Gone bool
}

// NewCommit is what PutCommit makes.
type NewCommit struct {
	Tree    string
	Parents []string
	Message string
	// Author and Committer. Without both, GitHub writes the credential's account and signs the commit when that is
	// an App: such a commit is Verified. With either, it is not.
	Author, Committer *Who
}

// Head is the commit that a branch points to; "" without an error when the repository has no commit at all.
// [ErrNotFound]: the repository can be seen and has no such branch.
func (c *Client) Head(ctx context.Context, branch string) (string, error) {
	doing := "reading the head of " + branch
	if err := checkNames(branch); err != nil {
		return "", explain(ctx, err, "reading the head of a branch")
	}
	ref, _, err := c.gh.Git.GetRef(ctx, c.owner, c.name, "heads/"+branch)
	if said := explain(ctx, err, doing, verdict{409, "is empty", errEmpty}); said != nil {
		if errors.Is(said, errEmpty) {
			return "", nil
		}
		return "", c.unlessBlind(ctx, said)
	}
	if ref.GetRef() != "refs/heads/"+branch {
		return "", explain(ctx, half("the branch"), doing)
	}
	return hashed(ctx, ref.GetObject().GetSHA(), doing)
}

var errEmpty = errors.New("the repository has no commit")

// hashed is s when that is the name of an object.
func hashed(ctx context.Context, s, doing string) (string, error) {
	if raw, err := hex.DecodeString(s); err != nil || len(raw) != sha1.Size && len(raw) != sha256.Size {
		return "", explain(ctx, half("a hash"), doing)
	}
	return s, nil
}

// unlessBlind keeps ErrNotFound for when the repository can be seen: a credential that lost its access gets
// the same 404.
func (c *Client) unlessBlind(ctx context.Context, said error) error {
	if !errors.Is(said, ErrNotFound) {
		return said
	}
	_, _, err := c.gh.Repositories.Get(ctx, c.owner, c.name)
	err = explain(ctx, err, "reading the repository")
	if errors.Is(err, ErrNotFound) {
		return faultf(ErrAuth, "the repository does not exist, or this credential may not see it")
	}
	if err != nil {
		return err
	}
	return said
}

// Tree is one level of a tree, in GitHub's order.
func (c *Client) Tree(ctx context.Context, sha string) ([]Entry, error) {
	entries, whole, err := c.tree(ctx, sha, false)
	if err == nil && !whole {
		err = explain(ctx, faultf(ErrRefused, "the directory is larger than GitHub lists"), "reading tree "+sha)
	}
	if err != nil {
		return nil, err
	}
	return entries, nil
}

// Subtree is a tree and all below it. It is false when GitHub left some out (more than 100,000 entries or 7 MB).
func (c *Client) Subtree(ctx context.Context, sha string) ([]Entry, bool, error) {
	return c.tree(ctx, sha, true)
}

func (c *Client) tree(ctx context.Context, sha string, recursive bool) ([]Entry, bool, error) {
	if err := checkNames(sha); err != nil {
		return nil, false, explain(ctx, err, "reading a tree")
	}
	doing := "reading tree " + sha
	t, _, err := c.gh.Git.GetTree(ctx, c.owner, c.name, sha, recursive)
	if err == nil && t.GetSHA() == "" {
		err = half("the tree's hash")
	}
	if err != nil {
		return nil, false, explain(ctx, err, doing)
	}
	entries := make([]Entry, 0, len(t.Entries))
	for _, e := range t.Entries {
		if e.GetPath() == "" || e.GetSHA() == "" {
			return nil, false, explain(ctx, half("an entry's path and hash"), doing)
		}
		entries = append(entries, Entry{Path: e.GetPath(), Mode: e.GetMode(), Kind: e.GetType(), SHA: e.GetSHA()})
	}
	return entries, !t.GetTruncated(), nil
}

// Blob is a file's content, which is checked against its hash. At most some 20 MB.
func (c *Client) Blob(ctx context.Context, sha string) ([]byte, error) {
	if err := checkNames(sha); err != nil {
		return nil, explain(ctx, err, "reading a blob")
	}
	doing := "reading blob " + sha
	b, _, err := c.gh.Git.GetBlob(ctx, c.owner, c.name, sha)
	if err != nil {
		return nil, explain(ctx, err, doing)
	}
	data, err := decode(b)
	if err == nil && nameOf(data, len(sha)) != sha {
		err = half("what the hash names")
	}
	return data, explain(ctx, err, doing)
}

func decode(b *github.Blob) ([]byte, error) {
	if b.GetEncoding() != "base64" {
		return []byte(b.GetContent()), nil
	}
	return base64.StdEncoding.DecodeString(strings.ReplaceAll(b.GetContent(), "\n", ""))
}

// nameOf is git's name of a blob, in digits hexadecimal digits.
func nameOf(data []byte, digits int) string {
	h := sha1.New()
	if digits == 2*sha256.Size {
		h = sha256.New()
	}
	fmt.Fprintf(h, "blob %d\x00", len(data))
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil))
}

// PutBlob stores a file's content.
func (c *Client) PutBlob(ctx context.Context, data []byte) (string, error) {
	doing := "storing a blob"
	b, _, err := c.gh.Git.CreateBlob(ctx, c.owner, c.name, &github.Blob{
		Content: new(base64.StdEncoding.EncodeToString(data)), Encoding: new("base64"),
	})
	if err != nil {
		return "", explain(ctx, err, doing)
	}
	return hashed(ctx, b.GetSHA(), doing)
}

// PutTree stores a tree that is base with the entries changed, whose paths may lead into directories. Without base it
// is the entries alone. Content that is not text is stored as a blob first, a call each.
func (c *Client) PutTree(ctx context.Context, base string, entries []Entry) (string, error) {
	doing := "storing a tree"
	put := make([]*github.TreeEntry, 0, len(entries))
	for _, e := range entries {
		t, err := c.treeEntry(ctx, e)
		if err != nil {
			return "", err
		}
		put = append(put, t)
	}
	t, _, err := c.gh.Git.CreateTree(ctx, c.owner, c.name, base, put)
	if err != nil {
		return "", explain(ctx, err, doing)
	}
	return hashed(ctx, t.GetSHA(), doing)
}

func (c *Client) treeEntry(ctx context.Context, e Entry) (*github.TreeEntry, error) {
	mode := e.Mode
	if mode == "" {
		mode = "100644"
	}
	t := &github.TreeEntry{Path: &e.Path, Mode: &mode, Type: new(kindOfMode(mode))}
	switch {
	case e.Gone: // neither a hash nor content is how GitHub is told
	case e.SHA != "":
		t.SHA = &e.SHA
	case utf8.Valid(e.Content) && !strings.ContainsRune(string(e.Content), 0):
		t.Content = new(string(e.Content))
	default:
		sha, err := c.PutBlob(ctx, e.Content)
		if err != nil {
			return nil, err
		}
		t.SHA = &sha
	}
	return t, nil
}

func kindOfMode(mode string) string {
	switch mode {
	case "040000":
		return "tree"
	case "160000":
		return "commit"
	}
	return "blob"
}

// PutCommit stores a commit, which no branch points to yet.
func (c *Client) PutCommit(ctx context.Context, n NewCommit) (string, error) {
	doing := "storing a commit"
	commit := &github.Commit{
		Message: &n.Message, Tree: &github.Tree{SHA: &n.Tree},
		Author: n.Author.theirs(), Committer: n.Committer.theirs(),
	}
	for _, p := range n.Parents {
		commit.Parents = append(commit.Parents, &github.Commit{SHA: &p})
	}
	made, _, err := c.gh.Git.CreateCommit(ctx, c.owner, c.name, commit, nil)
	if err != nil {
		return "", explain(ctx, err, doing)
	}
	return hashed(ctx, made.GetSHA(), doing)
}

func (w *Who) theirs() *github.CommitAuthor {
	if w == nil {
		return nil
	}
	at := github.Timestamp{Time: w.At.UTC().Truncate(time.Second)}
	return &github.CommitAuthor{Name: &w.Name, Email: &w.Email, Date: &at}
}

// CreateBranch makes a branch; [ErrExists] when it is there, wherever it points to.
func (c *Client) CreateBranch(ctx context.Context, branch, sha string) error {
	if err := checkNames(branch, sha); err != nil {
		return explain(ctx, err, "creating a branch")
	}
	_, _, err := c.gh.Git.CreateRef(ctx, c.owner, c.name, reference(branch, sha))
	return explain(ctx, err, "creating branch "+branch)
}

// MoveBranch moves a branch forward: [ErrMoved] when sha does not lead to where it is now, [ErrRefused] when a rule
// forbids it, [ErrNotFound] when there is no such branch. There is no force.
func (c *Client) MoveBranch(ctx context.Context, branch, sha string) error {
	if err := checkNames(branch, sha); err != nil {
		return explain(ctx, err, "moving a branch")
	}
	ref, _, err := c.gh.Git.UpdateRef(ctx, c.owner, c.name, reference(branch, sha), false)
	if err == nil && ref.GetObject().GetSHA() != sha {
		err = half("the new head")
	}
	return explain(ctx, err, "moving branch "+branch)
}

// DeleteBranch removes a branch; [ErrNotFound] when there is none.
func (c *Client) DeleteBranch(ctx context.Context, branch string) error {
	if err := checkNames(branch); err != nil {
		return explain(ctx, err, "deleting a branch")
	}
	_, err := c.gh.Git.DeleteRef(ctx, c.owner, c.name, "heads/"+branch)
	return explain(ctx, err, "deleting branch "+branch)
}

func reference(branch, sha string) *github.Reference {
	return &github.Reference{Ref: new("refs/heads/" + branch), Object: &github.GitObject{SHA: &sha}}
}
