package hub

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/google/go-github/v66/github"
)

// Commit is a commit as GitHub sees it.
type Commit struct {
	SHA, Tree         string
	Parents           []string
	Message           string
	Author, Committer Who
	Login             string // of the author's account; "" when the email belongs to none
	Verified          bool
	VerifiedReason    string // such as valid, unsigned, unknown_key
}

// Comparison is what head has that base has not.
type Comparison struct {
	Ahead, Behind int
	MergeBase     string
	Files         []string // sorted; of a rename both names
	Commits       []Commit // the oldest first
	// Cut: there are more Files than the 300 that GitHub names, so that one that is missing there may have changed.
	Cut bool
}

// maxFiles is how many files GitHub names in a comparison.
const maxFiles = 300

// Commit reads one commit.
func (c *Client) Commit(ctx context.Context, sha string) (Commit, error) {
	if err := checkNames(sha); err != nil {
		return Commit{}, explain(ctx, err, "reading a commit")
	}
	// The files, which are paginated, are of no interest.
	got, _, err := c.gh.Repositories.GetCommit(ctx, c.owner, c.name, sha, &github.ListOptions{PerPage: 1})
	var commit Commit
	if err == nil {
		commit, err = commitOf(got)
	}
	return commit, explain(ctx, err, "reading commit "+sha)
}

// Log is the newest n commits from sha on, the newest first.
func (c *Client) Log(ctx context.Context, sha string, n int) ([]Commit, error) {
	if n <= 0 {
		return nil, nil
	}
	got, err := pages(n, func(page github.ListOptions) ([]*github.RepositoryCommit, *github.Response, error) {
		return c.gh.Repositories.ListCommits(ctx, c.owner, c.name, &github.CommitsListOptions{SHA: sha, ListOptions: page})
	})
	var log []Commit
	if err == nil {
		log, err = commitsOf(got)
	}
	return log, explain(ctx, err, "reading the log of "+printable(sha))
}

// MergeInto merges head, a branch or a commit, into branch by a merge commit of GitHub's making, and returns that; ""
// when there was nothing to merge. A conflict is [ErrRefused].
func (c *Client) MergeInto(ctx context.Context, branch, head, message string) (string, error) {
	if err := checkNames(branch, head); err != nil {
		return "", explain(ctx, err, "merging into a branch")
	}
	doing := fmt.Sprintf("merging %s into %s", head, branch)
	made, resp, err := c.gh.Repositories.Merge(ctx, c.owner, c.name, &github.RepositoryMergeRequest{
		Base: &branch, Head: &head, CommitMessage: &message,
	})
	switch {
	case err != nil:
		return "", explain(ctx, err, doing, verdict{409, "was modified", ErrMoved}, verdict{409, "", ErrRefused})
	case resp.StatusCode == http.StatusNoContent:
		return "", nil
	}
	return hashed(ctx, made.GetSHA(), doing)
}

// Compare tells what head, a branch or a commit, has that base has not.
func (c *Client) Compare(ctx context.Context, base, head string) (Comparison, error) {
	if err := checkNames(base, head); err != nil {
		return Comparison{}, explain(ctx, err, "comparing")
	}
	var first *github.CommitsComparison
	commits, err := pages(0, func(page github.ListOptions) ([]*github.RepositoryCommit, *github.Response, error) {
		got, resp, err := c.gh.Repositories.CompareCommits(ctx, c.owner, c.name, base, head, &page)
		if err != nil {
			return nil, resp, err
		}
		if first == nil {
			first = got // only the first page has the files
		}
		return got.Commits, resp, nil
	})
	var cmp Comparison
	if err == nil {
		cmp, err = comparisonOf(first, commits)
	}
	return cmp, explain(ctx, err, fmt.Sprintf("comparing %s with %s", head, base))
}

func comparisonOf(first *github.CommitsComparison, commits []*github.RepositoryCommit) (Comparison, error) {
	if first.AheadBy == nil || first.BehindBy == nil || first.GetMergeBaseCommit().GetSHA() == "" {
		return Comparison{}, half("the distance")
	}
	log, err := commitsOf(commits)
	if err != nil {
		return Comparison{}, err
	}
	if len(log) != first.GetAheadBy() {
		return Comparison{}, half("every commit")
	}
	var files []string
	for _, f := range first.Files {
		files = append(files, f.GetFilename())
		if f.GetPreviousFilename() != "" {
			files = append(files, f.GetPreviousFilename())
		}
	}
	slices.Sort(files)
	return Comparison{
		Ahead: first.GetAheadBy(), Behind: first.GetBehindBy(), MergeBase: first.GetMergeBaseCommit().GetSHA(),
		Files: slices.Compact(files), Commits: log, Cut: len(first.Files) >= maxFiles,
	}, nil
}

func commitsOf(all []*github.RepositoryCommit) ([]Commit, error) {
	log := make([]Commit, 0, len(all))
	for _, r := range all {
		c, err := commitOf(r)
		if err != nil {
			return nil, err
		}
		log = append(log, c)
	}
	return log, nil
}

func commitOf(r *github.RepositoryCommit) (Commit, error) {
	c := r.GetCommit()
	if r.GetSHA() == "" || c.GetTree().GetSHA() == "" {
		return Commit{}, half("the commit's hash and tree")
	}
	var parents []string
	for _, p := range r.Parents {
		parents = append(parents, p.GetSHA())
	}
	return Commit{
		SHA: r.GetSHA(), Tree: c.GetTree().GetSHA(), Parents: parents, Message: c.GetMessage(),
		Author: ours(c.GetAuthor()), Committer: ours(c.GetCommitter()), Login: r.GetAuthor().GetLogin(),
		Verified: c.GetVerification().GetVerified(), VerifiedReason: c.GetVerification().GetReason(),
	}, nil
}

func ours(a *github.CommitAuthor) Who {
	return Who{Name: a.GetName(), Email: a.GetEmail(), At: a.GetDate().UTC()}
}
