package hub

import (
	"context"
	"net/http"
	"strings"

	"github.com/google/go-github/v66/github"
)

// MergePull merges a pull request whose head is the given commit, by method merge, squash or rebase. [ErrMoved]: the
// head, or the base while GitHub looked, is another. [ErrRefused]: it is not mergeable, by a conflict or a rule.
func (c *Client) MergePull(ctx context.Context, number int, head, method, title string) (string, error) {
	doing := "merging pull request " + numbered(number)
	got, _, err := c.gh.PullRequests.Merge(ctx, c.owner, c.name, number, "", &github.PullRequestOptions{
		CommitTitle: title, SHA: head, MergeMethod: method,
	})
	if err == nil && !got.GetMerged() {
		err = faultf(ErrRefused, got.GetMessage())
	}
	if err != nil {
		return "", explain(ctx, err, doing)
	}
	return hashed(ctx, got.GetSHA(), doing)
}

const enableAutoMerge = `mutation($input: EnablePullRequestAutoMergeInput!) {
  enablePullRequestAutoMerge(input: $input) { pullRequest { number } }
}`

// AutoMerge lets GitHub merge p, at its Head, when everything that is required is there. [ErrRefused]: the repository
// does not allow it, or p could be merged at once, for which there is [Client.MergePull].
func (c *Client) AutoMerge(ctx context.Context, p Pull, method string) error {
	input := map[string]any{"pullRequestId": p.NodeID, "mergeMethod": strings.ToUpper(method)}
	if p.Head != "" {
		input["expectedHeadOid"] = p.Head
	}
	err := c.mutate(ctx, enableAutoMerge, map[string]any{"input": input})
	return explain(ctx, err, "enabling auto-merge of "+numbered(p.Number))
}

// problem is an error of GraphQL, whose answers are 200 all the same.
type problem struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

func (c *Client) mutate(ctx context.Context, query string, variables map[string]any) error {
	req, err := c.gh.NewRequest(http.MethodPost, c.graph(), map[string]any{"query": query, "variables": variables})
	if err != nil {
		return err
	}
	var got struct {
		Data   map[string]any `json:"data"`
		Errors []problem      `json:"errors"`
	}
	if _, err := c.gh.Do(ctx, req, &got); err != nil {
		return err
	}
	if len(got.Errors) > 0 {
		return faultf(got.Errors[0].kind(), got.Errors[0].Message)
	}
	if len(got.Data) == 0 {
		return half("data")
	}
	return nil
}

// graph is where GraphQL is: beside the versioned API of an Enterprise Server, below that of github.com.
func (c *Client) graph() string {
	if base, ok := strings.CutSuffix(c.gh.BaseURL.Path, "/api/v3/"); ok {
		return base + "/api/graphql"
	}
	return "graphql"
}

func (p problem) kind() error {
	switch p.Type {
	case "FORBIDDEN", "INSUFFICIENT_SCOPES":
		return ErrAuth
	case "NOT_FOUND":
		return ErrNotFound
	case "STALE_DATA":
		return ErrMoved
	case "UNPROCESSABLE":
		if strings.Contains(strings.ToLower(p.Message), "was modified") {
			return ErrMoved
		}
	case "", "INTERNAL", "SERVICE_UNAVAILABLE":
		return ErrUnreachable
	}
	return ErrRefused
}
