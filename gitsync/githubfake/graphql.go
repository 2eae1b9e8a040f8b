package githubfake

import (
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator"
)

// schema is the part of GitHub's that is served.
const schema = `
type Query { viewer: User! }
type Mutation {
  enablePullRequestAutoMerge(input: EnablePullRequestAutoMergeInput!): EnablePullRequestAutoMergePayload
}
scalar DateTime
scalar GitObjectID
scalar URI
enum PullRequestMergeMethod { MERGE REBASE SQUASH }
input EnablePullRequestAutoMergeInput {
  authorEmail: String
  clientMutationId: String
  commitBody: String
  commitHeadline: String
  expectedHeadOid: GitObjectID
  mergeMethod: PullRequestMergeMethod = MERGE
  pullRequestId: ID!
}
interface Actor { login: String! }
type User implements Actor { login: String! }
type AutoMergeRequest {
  authorEmail: String
  commitBody: String
  commitHeadline: String
  enabledAt: DateTime
  enabledBy: Actor
  mergeMethod: PullRequestMergeMethod!
}
type PullRequest { id: ID! number: Int! title: String! url: URI! autoMergeRequest: AutoMergeRequest }
type EnablePullRequestAutoMergePayload { actor: Actor clientMutationId: String pullRequest: PullRequest }
`

const mutation = "enablePullRequestAutoMerge"

// graphql answers 200 whatever happens, with "errors" in the body: that is the protocol.
func graphql(c *call) answer {
	var in struct {
		Query         string         `json:"query"`
		Variables     map[string]any `json:"variables"`
		OperationName string         `json:"operationName"`
	}
	if a, ok := c.read(&in); !ok {
		return a
	}
	served := gqlparser.MustLoadSchema(&ast.Source{Name: "github", Input: schema})
	query, problems := gqlparser.LoadQueryWithRules(served, in.Query, nil)
	if len(problems) > 0 {
		c.s.t.Errorf("POST graphql: %v", problems)
		return failed("", problems.Error())
	}
	op := query.Operations.ForName(in.OperationName)
	if op == nil || op.Operation != ast.Mutation {
		c.s.t.Errorf("POST graphql: this stub has one mutation and nothing to query")
		return failed("", "no such operation")
	}
	vars, err := validator.VariableValues(served, op, in.Variables)
	if err != nil {
		c.s.t.Errorf("POST graphql: %v", err)
		return failed("", err.Error())
	}
	data := doc{}
	for _, selected := range op.SelectionSet {
		f, ok := selected.(*ast.Field)
		if !ok {
			continue
		}
		input, _ := f.ArgumentMap(vars)["input"].(doc)
		result, kind, problem := c.enableAutoMerge(input)
		if problem != "" {
			return failed(kind, problem)
		}
		data[f.Alias] = selection(result, f.SelectionSet)
	}
	return ok(doc{"data": data})
}

func failed(kind, message string) answer {
	e := doc{"message": message, "path": []string{mutation}}
	if kind != "" {
		e["type"] = kind
	}
	return ok(doc{"data": doc{mutation: nil}, "errors": []doc{e}})
}

// selection is what of a value was asked for.
func selection(value any, set ast.SelectionSet) any {
	from, ok := value.(doc)
	if !ok || len(set) == 0 {
		return value
	}
	to := doc{}
	for _, selected := range set {
		if f, ok := selected.(*ast.Field); ok {
			to[f.Alias] = selection(from[f.Name], f.SelectionSet)
		}
	}
	return to
}

func (c *call) enableAutoMerge(input doc) (result doc, kind, problem string) {
	text := func(key string) string {
		v, _ := input[key].(string)
		return v
	}
	var p *Pull
	for _, one := range c.s.now.pulls {
		if nodeID(one.Number) == text("pullRequestId") {
			p = one
		}
	}
	if p == nil {
		return nil, "NOT_FOUND", "Could not resolve to a node with the global id of '" + text("pullRequestId") + "'"
	}
	method := strings.ToLower(text("mergeMethod"))
	if problem := c.s.noAutoMerge(p, method, text("expectedHeadOid"), c.who.login); problem != "" {
		return nil, "UNPROCESSABLE", problem
	}
	p.AutoMerge, p.autoBy, p.autoTitle, p.autoDetail = method, c.who.login, text("commitHeadline"), text("commitBody")
	actor := doc{"login": c.who.login, "__typename": "User"}
	return doc{
		"clientMutationId": input["clientMutationId"], "actor": actor,
		"pullRequest": doc{
			"id": nodeID(p.Number), "number": p.Number, "title": p.Title, "url": c.s.page("pull/%d", p.Number), "__typename": "PullRequest",
			"autoMergeRequest": doc{
				"enabledAt": stamp(c.now), "enabledBy": actor, "mergeMethod": text("mergeMethod"),
				"commitHeadline": orNull(p.autoTitle), "commitBody": orNull(p.autoDetail), "authorEmail": orNull(text("authorEmail")),
			},
		},
	}, "", ""
}

// noAutoMerge is why a pull request cannot be merged automatically, in GitHub's words.
func (s *Server) noAutoMerge(p *Pull, method, head, login string) string {
	can := s.mergeable(p)
	switch {
	case s.o.NoAutoMerge:
		return "Pull request Auto merge is not allowed for this repository"
	case !p.Open:
		return "Pull request is closed"
	case head != "" && head != p.Head:
		return "Head branch was modified. Review and try the merge again."
	case !slices.Contains(s.o.Methods, method):
		return "Merge method " + method + " is not allowed on this repository"
	case !s.rulesOf(p.Base).any():
		return "Pull request Protected branch rules not configured for this branch"
	case p.Draft:
		return "Pull request is in draft status"
	case can && len(s.blocked(p, login)) == 0:
		return "Pull request Pull request is in clean status"
	}
	return ""
}
