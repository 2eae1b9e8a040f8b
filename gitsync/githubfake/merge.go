package githubfake

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// mergedTree is the tree of head merged into base, "" for a conflict. There is nothing random in it, so it is kept.
func (s *Server) mergedTree(base, head string) string {
	key := base + head
	if tree, ok := s.merges[key]; ok {
		return tree
	}
	out, clean := s.says("merge-tree", "--write-tree", "--no-messages", base, head)
	if !clean {
		out = ""
	}
	s.merges[key] = out
	return out
}

func (s *Server) mergeable(p *Pull) bool {
	return !p.Draft && s.mergedTree(s.now.heads[p.Base], p.Head) != ""
}

// commitTree writes a commit of GitHub's own making and is its name.
func (s *Server) commitTree(tree string, author object.Signature, message string, signs bool, parents ...string) string {
	c := &object.Commit{
		TreeHash: plumbing.NewHash(tree), Author: author, Committer: github(s.clock()), Message: message,
	}
	for _, p := range parents {
		c.ParentHashes = append(c.ParentHashes, plumbing.NewHash(p))
	}
	sha, err := s.putCommit(c, signs)
	if err != nil {
		s.t.Errorf("writing a commit: %v", err)
	}
	return sha
}

// mergeBranch is POST merges: always a merge commit, even where a fast-forward would do.
func mergeBranch(c *call) answer {
	var in struct {
		Base    string `json:"base"`
		Head    string `json:"head"`
		Message string `json:"commit_message"`
	}
	if a, ok := c.read(&in); !ok {
		return a
	}
	base, exists := c.s.now.heads[in.Base]
	head, found := c.resolve(in.Head)
	switch {
	case !exists:
		return refuse(http.StatusNotFound, "Base does not exist")
	case !found:
		return refuse(http.StatusNotFound, "Head does not exist")
	case c.s.isAncestor(head, base):
		return answer{status: http.StatusNoContent}
	}
	tree := c.s.mergedTree(base, head)
	if tree == "" {
		return refuse(http.StatusConflict, "Merge conflict")
	}
	message := cmp.Or(in.Message, "Merge "+in.Head+" into "+in.Base)
	sha := c.s.commitTree(tree, c.self(), message, true, base, head)
	if broken := c.s.broken(c.who.login, in.Base, base, sha); len(broken) > 0 {
		return refuse(http.StatusConflict, violations(broken))
	}
	if !c.s.move(in.Base, base, sha) {
		return refuse(http.StatusConflict, "Base branch was modified. Review and try the merge again.")
	}
	commit, _ := c.s.store.commit(sha)
	return created(c.s.repoCommit(commit))
}

func mergePull(c *call) answer {
	var in struct {
		Title   string `json:"commit_title"`
		Message string `json:"commit_message"`
		SHA     string `json:"sha"`
		Method  string `json:"merge_method"`
	}
	p := c.pull()
	if p == nil {
		return missing()
	}
	if a, ok := c.read(&in); !ok {
		return a
	}
	method := cmp.Or(in.Method, "merge")
	blocked := c.s.blocked(p, c.who.login)
	refused := func(message string) answer { return refuse(http.StatusMethodNotAllowed, message) }
	switch {
	case !p.Open:
		return refused("Pull Request is not mergeable")
	case in.SHA != "" && in.SHA != p.Head:
		return refuse(http.StatusConflict, "Head branch was modified. Review and try the merge again.")
	case p.Draft:
		return refused("Pull Request is still a draft")
	case !slices.Contains(c.s.o.Methods, method):
		return refused(methodName(method) + " are not allowed on this repository.")
	case len(blocked) > 0 && c.s.rulesOf(p.Base).Classic:
		return refused(strings.Join(blocked, " "))
	case len(blocked) > 0:
		return refused(violations(blocked))
	case !c.s.mergeable(p):
		return refused("Pull Request is not mergeable")
	}
	sha, problem := c.s.merge(p, c.who.login, method, in.Title, in.Message)
	if problem != "" {
		return refused(problem)
	}
	return ok(doc{"sha": sha, "merged": true, "message": "Pull Request successfully merged"})
}

func methodName(method string) string {
	switch method {
	case "squash":
		return "Squash merges"
	case "rebase":
		return "Rebase merges"
	}
	return "Merge commits"
}

// merge merges a pull request, whatever the rules say about it. The problem is in GitHub's words.
func (s *Server) merge(p *Pull, login, method, title, message string) (sha, problem string) {
	base := s.now.heads[p.Base]
	tree := s.mergedTree(base, p.Head)
	if tree == "" {
		return "", "Pull Request is not mergeable"
	}
	switch method {
	case "squash":
		author := s.as(p.Author, s.clock())
		title = cmp.Or(title, fmt.Sprintf("%s (#%d)", p.Title, p.Number))
		sha = s.commitTree(tree, author, joined(title, message), true, base)
	case "rebase":
		if sha = s.rebased(base, p.Head); sha == "" {
			return "", "This branch can't be rebased"
		}
	default:
		title = cmp.Or(title, fmt.Sprintf("Merge pull request #%d from %s/%s", p.Number, s.owner(), p.Branch))
		sha = s.commitTree(tree, s.as(login, s.clock()), joined(title, cmp.Or(message, p.Title)), true, base, p.Head)
	}
	if !s.move(p.Base, base, sha) {
		return "", "Base branch was modified. Review and try the merge again."
	}
	s.merged(p, login, sha)
	s.now.heads = s.heads()
	if s.o.DeleteMerged {
		s.move(p.Branch, p.Head, "")
		s.now.heads = s.heads()
	}
	return sha, ""
}

func joined(title, message string) string {
	if message == "" {
		return title
	}
	return title + "\n\n" + message
}

// rebased applies the commits of head, merges left out, to base one by one. These are not signed, as at GitHub.
func (s *Server) rebased(base, head string) string {
	onto := base
	for _, sha := range reversed(strings.Fields(s.git("rev-list", "--topo-order", "--no-merges", head, "^"+base))) {
		c, ok := s.store.commit(sha)
		if !ok || len(c.ParentHashes) == 0 {
			return ""
		}
		tree := s.picked(onto, c)
		if tree == "" {
			return ""
		}
		onto = s.commitTree(tree, c.Author, c.Message, false, onto)
	}
	return onto
}

// picked is the tree of what one commit changes, on another. Git merges commits that have an ancestor in common, so
// the three trees are given such a history for the purpose.
func (s *Server) picked(onto string, c *object.Commit) string {
	tree := func(sha string) string {
		commit, _ := s.store.commit(sha)
		return commit.TreeHash.String()
	}
	who := github(s.clock())
	common := s.commitTree(tree(c.ParentHashes[0].String()), who, "common", false)
	ours := s.commitTree(tree(onto), who, "ours", false, common)
	theirs := s.commitTree(c.TreeHash.String(), who, "theirs", false, common)
	return s.mergedTree(ours, theirs)
}

func reversed(all []string) []string {
	turned := slices.Clone(all)
	slices.Reverse(turned)
	return turned
}

// union is a with what of b it does not have yet.
func union(a, b []string) []string {
	all := slices.Clone(a)
	for _, x := range b {
		if !slices.Contains(all, x) {
			all = append(all, x)
		}
	}
	return all
}
