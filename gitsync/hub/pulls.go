package hub

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-github/v66/github"
)

// Pull is a pull request.
type Pull struct {
	Number              int
	NodeID, URL         string // URL is the page for people
	Title, Body         string
	Branch, Head        string // the branch it comes from, and that branch's commit as the pull request knows it
	Base                string
	Open, Merged, Draft bool
	MergeCommit         string // what it became; "" unless Merged
	Author              string // login
	ClosedBy            string // login; only from Client.Pull, "" while open
	Labels              []string
	CreatedAt, ClosedAt time.Time
	AutoMerge           bool
}

// NewPull is what OpenPull opens.
type NewPull struct {
	Branch, Base, Title, Body string
	Draft                     bool
}

// PullEdit is what EditPull changes; nil leaves a text as it is.
type PullEdit struct {
	Title, Body *string
	Close       bool
}

// Pulls are all pull requests, open and closed, from this branch of this repository, the newest first.
func (c *Client) Pulls(ctx context.Context, branch string) ([]Pull, error) {
	if err := checkNames(branch); err != nil {
		return nil, explain(ctx, err, "listing the pull requests of a branch")
	}
	doing := "listing the pull requests of " + branch
	got, moved, err := c.listPulls(ctx, c.owner, branch)
	if err == nil && moved {
		// The repository answers to a new name, but the filter names the owner.
		var r *github.Repository
		if r, _, err = c.gh.Repositories.Get(ctx, c.owner, c.name); err == nil {
			got, _, err = c.listPulls(ctx, r.GetOwner().GetLogin(), branch)
		}
	}
	if err != nil {
		return nil, explain(ctx, err, doing)
	}
	pulls := make([]Pull, 0, len(got))
	for _, p := range got {
		if !from(p, branch) {
			continue
		}
		pull, err := pullOf(p)
		if err != nil {
			return nil, explain(ctx, err, doing)
		}
		pulls = append(pulls, pull)
	}
	slices.SortStableFunc(pulls, func(a, b Pull) int { return b.Number - a.Number })
	return pulls, nil
}

// listPulls also tells whether the answer came by way of a redirect.
func (c *Client) listPulls(ctx context.Context, owner, branch string) (all []*github.PullRequest, moved bool, err error) {
	asked := fmt.Sprintf("/repos/%s/%s/pulls", c.owner, c.name)
	all, err = pages(0, func(page github.ListOptions) ([]*github.PullRequest, *github.Response, error) {
		some, resp, err := c.gh.PullRequests.List(ctx, c.owner, c.name, &github.PullRequestListOptions{
			State: "all", Head: owner + ":" + branch, Sort: "created", Direction: "desc", ListOptions: page,
		})
		if err == nil && !strings.HasSuffix(resp.Request.URL.Path, asked) {
			moved = true
		}
		return some, resp, err
	})
	return all, moved, err
}

// from leaves out the branch of the same name in a fork that belongs to the same owner, and everything when GitHub did
// not filter.
func from(p *github.PullRequest, branch string) bool {
	head, base := p.GetHead(), p.GetBase()
	return head.GetRef() == branch && (head.Repo == nil || head.Repo.GetFullName() == base.GetRepo().GetFullName())
}

func pullOf(p *github.PullRequest) (Pull, error) {
	if p.GetNumber() == 0 || p.GetState() == "" || p.GetHead().GetRef() == "" || p.GetBase().GetRef() == "" {
		return Pull{}, half("the pull request's number, state and branches")
	}
	merged := p.GetMerged() || !p.GetMergedAt().IsZero() // lists have only the time
	var labels []string
	for _, l := range p.Labels {
		labels = append(labels, l.GetName())
	}
	slices.Sort(labels)
	pull := Pull{
		Number: p.GetNumber(), NodeID: p.GetNodeID(), URL: p.GetHTMLURL(), Title: p.GetTitle(), Body: p.GetBody(),
		Branch: p.GetHead().GetRef(), Head: p.GetHead().GetSHA(), Base: p.GetBase().GetRef(),
		Open: p.GetState() == "open", Merged: merged, Draft: p.GetDraft(),
		Author: p.GetUser().GetLogin(), Labels: labels, AutoMerge: p.AutoMerge != nil,
		CreatedAt: p.GetCreatedAt().UTC(), ClosedAt: p.GetClosedAt().UTC(),
	}
	if merged {
		pull.MergeCommit, pull.ClosedBy = p.GetMergeCommitSHA(), p.GetMergedBy().GetLogin()
	}
	return pull, nil
}

// Pull reads one pull request. [ErrNotFound]: the repository can be seen and has no such pull request.
func (c *Client) Pull(ctx context.Context, number int) (Pull, error) {
	doing := "reading pull request " + numbered(number)
	got, _, err := c.gh.PullRequests.Get(ctx, c.owner, c.name, number)
	if err != nil {
		return Pull{}, c.unlessBlind(ctx, explain(ctx, err, doing))
	}
	pull, err := pullOf(got)
	if err == nil && !pull.Open && !pull.Merged {
		// Who closed it is only known to the issue of the same number.
		var issue *github.Issue
		if issue, _, err = c.gh.Issues.Get(ctx, c.owner, c.name, number); err == nil {
			pull.ClosedBy = issue.GetClosedBy().GetLogin()
		}
	}
	return pull, explain(ctx, err, doing)
}

func numbered(n int) string { return "#" + strconv.Itoa(n) }

// OpenPull opens a pull request: [ErrExists] when there is an open one of the branch, [ErrRefused] when the branch has
// nothing that base has not, [ErrNotFound] when GitHub sees no such branch (yet).
func (c *Client) OpenPull(ctx context.Context, n NewPull) (Pull, error) {
	if err := checkNames(n.Branch, n.Base); err != nil {
		return Pull{}, explain(ctx, err, "opening a pull request")
	}
	got, _, err := c.gh.PullRequests.Create(ctx, c.owner, c.name, &github.NewPullRequest{
		Title: &n.Title, Body: &n.Body, Head: &n.Branch, Base: &n.Base, Draft: &n.Draft,
	})
	return pullAfter(ctx, got, err, "opening a pull request of "+n.Branch)
}

// EditPull changes the texts of a pull request, or closes it.
func (c *Client) EditPull(ctx context.Context, number int, e PullEdit) (Pull, error) {
	edit := &github.PullRequest{Title: e.Title, Body: e.Body}
	if e.Close {
		edit.State = new("closed")
	}
	got, _, err := c.gh.PullRequests.Edit(ctx, c.owner, c.name, number, edit)
	return pullAfter(ctx, got, err, "editing pull request "+numbered(number))
}

func pullAfter(ctx context.Context, got *github.PullRequest, err error, doing string) (Pull, error) {
	var pull Pull
	if err == nil {
		pull, err = pullOf(got)
	}
	return pull, explain(ctx, err, doing)
}
