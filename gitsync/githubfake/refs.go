package githubfake

import (
	"net/http"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

func (c *call) reference(branch, sha string) doc {
	return doc{
		"ref": "refs/heads/" + branch, "node_id": "REF_" + branch, "url": c.s.address("git/refs/heads/%s", branch),
		"object": doc{"type": "commit", "sha": sha, "url": c.s.address("git/commits/%s", sha)},
	}
}

// branch is the one that the path names; only branches are references here.
func (c *call) branch() string {
	branch, ok := strings.CutPrefix(c.r.PathValue("ref"), "heads/")
	if !ok {
		c.s.t.Errorf("%s: %q is not heads/BRANCH; this stub has no other references", c.route.name, c.r.PathValue("ref"))
	}
	return branch
}

func getRef(c *call) answer {
	branch := c.branch()
	sha, found := c.see.heads[branch]
	if !found {
		return missing()
	}
	return ok(c.reference(branch, sha))
}

func createRef(c *call) answer {
	var in struct {
		Ref string `json:"ref"`
		SHA string `json:"sha"`
	}
	if a, ok := c.read(&in); !ok {
		return a
	}
	branch, isBranch := strings.CutPrefix(in.Ref, "refs/heads/")
	if _, valid := c.s.says("check-ref-format", in.Ref); !isBranch || !valid {
		return unprocessable("Reference name is not valid")
	}
	if _, exists := c.s.now.heads[branch]; exists {
		return unprocessable("Reference already exists")
	}
	if c.s.store.kind(in.SHA) != plumbing.CommitObject {
		return unprocessable("Object does not exist")
	}
	if broken := c.s.broken(c.who.login, branch, "", in.SHA); len(broken) > 0 {
		return unprocessable(violations(broken))
	}
	if !c.s.move(branch, "", in.SHA) {
		return unprocessable("Reference update failed")
	}
	return created(c.reference(branch, in.SHA))
}

func updateRef(c *call) answer {
	var in struct {
		SHA   string `json:"sha"`
		Force bool   `json:"force"`
	}
	branch := c.branch()
	if a, ok := c.read(&in); !ok {
		return a
	}
	old, exists := c.s.now.heads[branch]
	switch {
	case !exists:
		return unprocessable("Reference does not exist")
	case c.s.store.kind(in.SHA) != plumbing.CommitObject:
		return unprocessable("Object does not exist")
	case !in.Force && !c.s.isAncestor(old, in.SHA):
		return unprocessable("Update is not a fast forward")
	}
	if broken := c.s.broken(c.who.login, branch, old, in.SHA); len(broken) > 0 {
		return unprocessable(violations(broken))
	}
	if !c.s.move(branch, old, in.SHA) {
		return unprocessable("Reference update failed")
	}
	return ok(c.reference(branch, in.SHA))
}

func deleteRef(c *call) answer {
	branch := c.branch()
	old, exists := c.s.now.heads[branch]
	if !exists {
		return unprocessable("Reference does not exist")
	}
	if r := c.s.rulesOf(branch); r.NoDeletion && !slices.Contains(r.Bypass, c.who.login) {
		return unprocessable(violations([]string{"Cannot delete this branch"}))
	}
	if !c.s.move(branch, old, "") {
		return unprocessable("Reference update failed")
	}
	return answer{status: http.StatusNoContent}
}
