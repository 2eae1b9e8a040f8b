package hub

import (
	"context"
	"strings"

	"github.com/google/go-github/v66/github"
)

// Comment is one of the conversation of a pull request. Author is a login.
type Comment struct{ Author, Body string }

// Comments are those of the conversation, the oldest first; not those of reviews.
func (c *Client) Comments(ctx context.Context, number int) ([]Comment, error) {
	got, err := pages(0, func(page github.ListOptions) ([]*github.IssueComment, *github.Response, error) {
		return c.gh.Issues.ListComments(ctx, c.owner, c.name, number, &github.IssueListCommentsOptions{ListOptions: page})
	})
	if err != nil {
		return nil, explain(ctx, err, "reading the comments of "+numbered(number))
	}
	comments := make([]Comment, 0, len(got))
	for _, i := range got {
		comments = append(comments, Comment{Author: i.GetUser().GetLogin(), Body: i.GetBody()})
	}
	return comments, nil
}

// Comment adds one to the conversation.
func (c *Client) Comment(ctx context.Context, number int, body string) error {
	_, _, err := c.gh.Issues.CreateComment(ctx, c.owner, c.name, number, &github.IssueComment{Body: &body})
	return explain(ctx, err, "commenting on "+numbered(number))
}

// Label adds labels; one that the repository does not have is made. Nothing is asked of GitHub when there are none.
func (c *Client) Label(ctx context.Context, number int, labels []string) error {
	if len(labels) == 0 {
		return nil
	}
	_, _, err := c.gh.Issues.AddLabelsToIssue(ctx, c.owner, c.name, number, labels)
	return explain(ctx, err, "labelling "+numbered(number))
}

// Assign adds assignees. GitHub leaves out, without a word, who has no access.
func (c *Client) Assign(ctx context.Context, number int, logins []string) error {
	if len(logins) == 0 {
		return nil
	}
	_, _, err := c.gh.Issues.AddAssignees(ctx, c.owner, c.name, number, logins)
	return explain(ctx, err, "assigning "+numbered(number))
}

// AskReview asks people and teams for a review. A team is its slug, or organisation/slug as CODEOWNERS has it. Who is not
// allowed to review, such as the author, is [ErrRefused] for all of them.
func (c *Client) AskReview(ctx context.Context, number int, logins, teams []string) error {
	if len(logins)+len(teams) == 0 {
		return nil
	}
	ask := github.ReviewersRequest{Reviewers: logins}
	for _, t := range teams {
		ask.TeamReviewers = append(ask.TeamReviewers, t[strings.LastIndex(t, "/")+1:])
	}
	_, _, err := c.gh.PullRequests.RequestReviewers(ctx, c.owner, c.name, number, ask)
	return explain(ctx, err, "asking for a review of "+numbered(number))
}
