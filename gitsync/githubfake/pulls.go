package githubfake

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Pull is a pull request.
type Pull struct {
	Number      int
	Title, Body string
	// Branch is merged into Base. Head is the branch's commit: as it is, or as it was when the pull request ended.
	Branch, Head, Base                      string
	Open, Draft, Merged                     bool
	Author, ClosedBy                        string
	MergeCommit                             string // once merged
	Labels, Assignees, Reviewers, Teams     []string
	Approvals                               []string // logins
	Comments                                []Comment
	AutoMerge                               string // the method, "" when it is off
	CreatedAt, UpdatedAt, ClosedAt          time.Time
	baseHead, autoBy, autoTitle, autoDetail string
}

// Comment is one below a pull request.
type Comment struct {
	Author, Body string
	At           time.Time
}

// outside is who changes branches without the API.
const outside = "somebody"

// settle lets pull requests follow what happened to the branches, by actor.
func (s *Server) settle(actor string) {
	heads := s.heads()
	was := s.now.clone()
	moved := !sameHeads(heads, s.now.heads)
	s.now.heads = heads
	for _, p := range s.now.pulls {
		if p.Open {
			s.follow(p, actor)
		}
		if p.Open && p.AutoMerge != "" && len(s.blocked(p, p.autoBy)) == 0 && s.mergeable(p) {
			s.merge(p, p.autoBy, p.AutoMerge, p.autoTitle, p.autoDetail)
		}
	}
	if moved && actor == outside {
		s.changed(was)
	}
}

func sameHeads(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for name, sha := range a {
		if b[name] != sha {
			return false
		}
	}
	return true
}

// follow is settle for one open pull request.
func (s *Server) follow(p *Pull, actor string) {
	base, head := s.now.heads[p.Base], s.now.heads[p.Branch]
	if base == p.baseHead && head == p.Head {
		return
	}
	contained := base != "" && s.isAncestor(cmp.Or(head, p.Head), base)
	switch {
	case contained && base != p.baseHead:
		p.Head = cmp.Or(head, p.Head)
		s.merged(p, actor, base)
	case base == "", head == "", contained: // deleted, or set back to where there is nothing to merge
		p.Head = cmp.Or(head, p.Head)
		s.closed(p, actor)
	default:
		p.Head, p.baseHead, p.UpdatedAt = head, base, s.clock()
	}
}

func (s *Server) closed(p *Pull, login string) {
	p.Open, p.ClosedBy, p.ClosedAt, p.UpdatedAt, p.AutoMerge = false, login, s.clock(), s.clock(), ""
}

func (s *Server) merged(p *Pull, login, sha string) {
	s.closed(p, login)
	p.Merged, p.MergeCommit = true, sha
}

// shown is a pull request as lists have it; alone adds what only the single one has.
func (s *Server) shown(p *Pull, alone bool) doc {
	state := map[bool]string{true: "open", false: "closed"}[p.Open]
	d := doc{
		"id": 5000 + p.Number, "node_id": nodeID(p.Number), "number": p.Number, "state": state, "locked": false, "title": p.Title,
		"body": orNull(p.Body), "draft": p.Draft, "user": s.account(p.Author), "author_association": "MEMBER",
		"url": s.address("pulls/%d", p.Number), "html_url": s.page("pull/%d", p.Number), "issue_url": s.address("issues/%d", p.Number),
		"created_at": stamp(p.CreatedAt), "updated_at": stamp(p.UpdatedAt), "closed_at": stamp(p.ClosedAt), "merged_at": nil,
		"labels": s.labels(p), "assignees": s.accounts(p.Assignees), "assignee": nil, "milestone": nil,
		"requested_reviewers": s.accounts(p.Reviewers), "requested_teams": teams(p.Teams),
		"head": s.end(p.Branch, p.Head), "base": s.end(p.Base, p.baseHead), "auto_merge": nil,
		"merge_commit_sha": orNull(p.MergeCommit),
	}
	if len(p.Assignees) > 0 {
		d["assignee"] = s.account(p.Assignees[0])
	}
	switch {
	case p.Merged:
		d["merged_at"] = stamp(p.ClosedAt)
	case p.Open: // a trial merge that is on no branch
		d["merge_commit_sha"] = fmt.Sprintf("%x", sha256.Sum256([]byte(p.Head+p.baseHead)))[:40]
	}
	if p.AutoMerge != "" {
		d["auto_merge"] = doc{
			"enabled_by": s.account(p.autoBy), "merge_method": p.AutoMerge, "commit_title": p.autoTitle, "commit_message": p.autoDetail,
		}
	}
	if alone {
		s.showAlone(d, p)
	}
	return d
}

func (s *Server) showAlone(d doc, p *Pull) {
	d["merged"], d["merged_by"], d["mergeable"], d["mergeable_state"] = p.Merged, nil, nil, "unknown"
	d["comments"], d["maintainer_can_modify"] = len(p.Comments), false
	if p.Merged {
		d["merged_by"] = s.account(p.ClosedBy)
	}
	if !p.Open {
		return
	}
	d["commits"] = len(s.between(p.baseHead, p.Head))
	can := s.mergeable(p)
	d["mergeable"] = can
	switch {
	case p.Draft:
		d["mergeable_state"] = "draft"
	case !can:
		d["mergeable_state"] = "dirty"
	case len(s.blocked(p, "")) > 0:
		d["mergeable_state"] = "blocked"
	default:
		d["mergeable_state"] = "clean"
	}
}

func nodeID(number int) string { return "PR_kwDOtest" + strconv.Itoa(number) }

func (s *Server) end(branch, sha string) doc {
	return doc{
		"label": s.owner() + ":" + branch, "ref": branch, "sha": sha, "user": s.account(s.owner()), "repo": s.repository(nil),
	}
}

func (s *Server) accounts(logins []string) []any {
	all := []any{}
	for _, l := range logins {
		all = append(all, s.account(l))
	}
	return all
}

func teams(slugs []string) []doc {
	all := []doc{}
	for _, t := range slugs {
		all = append(all, doc{"slug": t, "name": t})
	}
	return all
}

func listPulls(c *call) answer {
	q := c.r.URL.Query()
	state, head, base := cmp.Or(q.Get("state"), "open"), q.Get("head"), q.Get("base")
	if head != "" && !strings.Contains(head, ":") {
		c.s.t.Errorf("GET pulls: head=%s is no user:branch, GitHub would not filter by it", head)
	}
	if by := cmp.Or(q.Get("sort"), "created"); by != "created" {
		c.s.t.Errorf("GET pulls: sort=%s is not in this stub", by)
	}
	all := []doc{}
	for _, p := range slices.Backward(c.see.pulls) { // the newest first
		if (state == "all" || p.Open == (state == "open")) && (base == "" || p.Base == base) &&
			(head == "" || head == c.s.owner()+":"+p.Branch) {
			all = append(all, c.s.shown(p, false))
		}
	}
	if q.Get("direction") == "asc" {
		slices.Reverse(all)
	}
	return ok(page(c, all, 30))
}

// pull is the one that the path names, as it is now.
func (c *call) pull() *Pull {
	n, err := strconv.Atoi(c.r.PathValue("number"))
	if err != nil {
		return nil
	}
	return c.s.now.pull(n)
}

func getPull(c *call) answer {
	p := c.pull()
	if p == nil {
		return missing()
	}
	if old := c.see.pull(p.Number); old != nil { // one that was not there yet is not kept back
		p = old
	}
	return ok(c.s.shown(p, true))
}

// most is how long a title and a body may be, in characters.
const mostTitle, mostBody = 256, 65536

func tooLong(resource, name, text string, most int) (answer, bool) {
	if len([]rune(text)) <= most {
		return answer{}, false
	}
	return custom(resource, fmt.Sprintf("%s is too long (maximum is %d characters)", name, most)), true
}

// newPull is the body of POST pulls.
type newPull struct {
	Title               string `json:"title"`
	Head                string `json:"head"`
	HeadRepo            string `json:"head_repo"`
	Base                string `json:"base"`
	Body                string `json:"body"`
	Issue               int    `json:"issue"`
	Draft               bool   `json:"draft"`
	MaintainerCanModify bool   `json:"maintainer_can_modify"`
}

func createPull(c *call) answer {
	var in newPull
	if a, ok := c.read(&in); !ok {
		return a
	}
	branch, a, refused := c.checkPull(in)
	if refused {
		return a
	}
	p := &Pull{
		Number: len(c.s.now.pulls) + 1, Title: in.Title, Body: in.Body, Branch: branch, Base: in.Base, Draft: in.Draft,
		Head: c.s.now.heads[branch], baseHead: c.s.now.heads[in.Base], Open: true, Author: c.who.login, CreatedAt: c.now, UpdatedAt: c.now,
	}
	c.s.now.pulls = append(slices.Clip(c.s.now.pulls), p)
	c.header.Set("Location", c.s.address("pulls/%d", p.Number))
	return created(c.s.shown(p, true))
}

func (c *call) checkPull(in newPull) (branch string, a answer, refused bool) {
	const resource = "PullRequest"
	branch = strings.TrimPrefix(in.Head, c.s.owner()+":")
	head, base := c.s.now.heads[branch], c.s.now.heads[in.Base]
	if a, long := tooLong(resource, "title", in.Title, mostTitle); long {
		return "", a, true
	}
	if a, long := tooLong(resource, "body", in.Body, mostBody); long {
		return "", a, true
	}
	switch {
	case in.Title == "":
		a = field(resource, "title", "missing_field")
	case in.HeadRepo != "" || in.Issue != 0:
		c.s.t.Errorf("POST pulls: head_repo and issue are not in this stub")
		a = unprocessable("Validation Failed")
	case head == "":
		a = field(resource, "head", "invalid")
	case base == "":
		a = field(resource, "base", "invalid")
	case in.Draft && c.s.o.NoDrafts:
		a = unprocessable("Draft pull requests are not supported in this repository.")
	case c.s.standing(branch, in.Base) != nil:
		a = custom(resource, "A pull request already exists for "+c.s.owner()+":"+branch+".")
	case len(c.s.between(base, head)) == 0:
		a = custom(resource, "No commits between "+in.Base+" and "+branch)
	}
	return branch, a, a.status != 0
}

// standing is the open pull request of a branch into another.
func (s *Server) standing(branch, base string) *Pull {
	for _, p := range s.now.pulls {
		if p.Open && p.Branch == branch && p.Base == base {
			return p
		}
	}
	return nil
}

func updatePull(c *call) answer {
	var in struct {
		Title               *string `json:"title"`
		Body                *string `json:"body"`
		State               *string `json:"state"`
		Base                *string `json:"base"`
		MaintainerCanModify *bool   `json:"maintainer_can_modify"`
	}
	p := c.pull()
	if p == nil {
		return missing()
	}
	if a, ok := c.read(&in); !ok {
		return a
	}
	if in.Base != nil && *in.Base != p.Base {
		c.s.t.Errorf("PATCH pulls: another base is not in this stub")
	}
	if in.Title != nil {
		if a, long := tooLong("PullRequest", "title", *in.Title, mostTitle); long {
			return a
		}
	}
	if in.Body != nil {
		if a, long := tooLong("PullRequest", "body", *in.Body, mostBody); long {
			return a
		}
	}
	if in.State != nil {
		if problem := c.s.setState(p, *in.State, c.who.login); problem != "" {
			return invalid(doc{"resource": "PullRequest", "field": "state", "code": "invalid", "message": problem})
		}
	}
	if in.Title != nil {
		p.Title = *in.Title
	}
	if in.Body != nil {
		p.Body = *in.Body
	}
	p.UpdatedAt = c.now
	return ok(c.s.shown(p, true))
}

// setState closes or opens again; the problem is in GitHub's words.
func (s *Server) setState(p *Pull, state, login string) (problem string) {
	head := s.now.heads[p.Branch]
	switch {
	case p.Open == (state == "open"):
	case state == "closed":
		s.closed(p, login)
	case p.Merged:
		return "state cannot be changed. The pull request cannot be reopened."
	case head == "":
		return "state cannot be changed. The " + p.Branch + " branch has been deleted."
	case !s.isAncestor(p.Head, head):
		return "state cannot be changed. The " + p.Branch + " branch was force-pushed or recreated."
	case s.standing(p.Branch, p.Base) != nil:
		return "state cannot be changed. There is already an open pull request from " + p.Branch + " to " + p.Base + "."
	default:
		p.Open, p.ClosedBy, p.ClosedAt, p.Head, p.baseHead = true, "", time.Time{}, head, s.now.heads[p.Base]
	}
	return ""
}

func requestReview(c *call) answer {
	var in struct {
		Reviewers     []string `json:"reviewers"`
		TeamReviewers []string `json:"team_reviewers"`
	}
	p := c.pull()
	if p == nil {
		return missing()
	}
	if a, ok := c.read(&in); !ok {
		return a
	}
	if slices.Contains(in.Reviewers, p.Author) {
		return unprocessable("Review cannot be requested from pull request author.")
	}
	for _, login := range in.Reviewers {
		if !c.s.collaborates(login) {
			return unprocessable("Reviews may only be requested from collaborators. One or more of the users or teams you specified " +
				"is not a collaborator of the " + c.s.name + " repository.")
		}
	}
	p.Reviewers, p.Teams = union(p.Reviewers, in.Reviewers), union(p.Teams, in.TeamReviewers)
	p.UpdatedAt = c.now
	return answer{http.StatusCreated, c.s.shown(p, false)}
}
