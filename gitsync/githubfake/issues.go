package githubfake

import (
	"net/http"
	"slices"
	"strings"
)

// collaborates tells whether a login may be asked for something in the repository.
func (s *Server) collaborates(login string) bool {
	u, ok := s.users[login]
	return ok && u.Access != Hidden
}

// issue is a pull request as an issue.
func (s *Server) issue(p *Pull) doc {
	state := map[bool]string{true: "open", false: "closed"}[p.Open]
	return doc{
		"id": 7000 + p.Number, "node_id": nodeID(p.Number), "number": p.Number, "title": p.Title, "body": orNull(p.Body), "state": state,
		"user": s.account(p.Author), "labels": s.labels(p), "assignees": s.accounts(p.Assignees), "comments": len(p.Comments),
		"closed_by": s.account(p.ClosedBy), "created_at": stamp(p.CreatedAt), "updated_at": stamp(p.UpdatedAt), "closed_at": stamp(p.ClosedAt),
		"url": s.address("issues/%d", p.Number), "html_url": s.page("pull/%d", p.Number), "locked": false,
		"pull_request": doc{"url": s.address("pulls/%d", p.Number), "html_url": s.page("pull/%d", p.Number)},
	}
}

func (s *Server) labels(p *Pull) []doc {
	all := []doc{}
	for _, name := range p.Labels {
		all = append(all, doc{"id": s.id("label " + name), "name": name, "color": "ededed", "default": false})
	}
	return all
}

func getIssue(c *call) answer {
	p := c.pull()
	if p == nil {
		return missing()
	}
	return ok(c.s.issue(p))
}

func (s *Server) comment(p *Pull, i int) doc {
	m := p.Comments[i]
	return doc{
		"id": p.Number*1000 + i, "node_id": "IC_test", "body": m.Body, "user": s.account(m.Author), "created_at": stamp(m.At),
		"updated_at": stamp(m.At), "html_url": s.page("pull/%d#issuecomment-%d", p.Number, p.Number*1000+i),
		"url": s.address("issues/comments/%d", p.Number*1000+i), "issue_url": s.address("issues/%d", p.Number),
	}
}

func listComments(c *call) answer {
	p := c.pull()
	if p == nil {
		return missing()
	}
	all := []doc{}
	for i := range p.Comments {
		all = append(all, c.s.comment(p, i))
	}
	return ok(page(c, all, 30))
}

func createComment(c *call) answer {
	var in struct {
		Body string `json:"body"`
	}
	p := c.pull()
	if p == nil {
		return missing()
	}
	if a, ok := c.read(&in); !ok {
		return a
	}
	if in.Body == "" {
		return field("IssueComment", "body", "missing_field")
	}
	if a, long := tooLong("IssueComment", "body", in.Body, mostBody); long {
		return a
	}
	p.Comments = append(slices.Clip(p.Comments), Comment{c.who.login, in.Body, c.now})
	p.UpdatedAt = c.now
	return created(c.s.comment(p, len(p.Comments)-1))
}

// addLabels takes an object, as documented, or the list alone, as go-github sends it.
func addLabels(c *call) answer {
	var in struct {
		Labels []string `json:"labels"`
	}
	p := c.pull()
	if p == nil {
		return missing()
	}
	if strings.HasPrefix(strings.TrimSpace(string(c.body)), "[") {
		c.body = []byte(`{"labels":` + string(c.body) + `}`)
	}
	if a, ok := c.read(&in); !ok {
		return a
	}
	if slices.Contains(in.Labels, "") {
		return field("Label", "name", "missing_field")
	}
	p.Labels, p.UpdatedAt = union(p.Labels, in.Labels), c.now
	return ok(c.s.labels(p))
}

// addAssignees leaves out, without a word, who cannot be assigned.
func addAssignees(c *call) answer {
	var in struct {
		Assignees []string `json:"assignees"`
	}
	p := c.pull()
	if p == nil {
		return missing()
	}
	if a, ok := c.read(&in); !ok {
		return a
	}
	able := slices.DeleteFunc(in.Assignees, func(login string) bool { return !c.s.collaborates(login) })
	p.Assignees, p.UpdatedAt = union(p.Assignees, able), c.now
	return answer{http.StatusCreated, c.s.issue(p)}
}
