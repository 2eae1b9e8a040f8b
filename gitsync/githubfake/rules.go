package githubfake

import (
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
)

// Rules are what a branch asks for. They are shown by rules/branches and kept when a reference moves.
type Rules struct {
	// PullRequest: the branch moves by pull requests only, which need so many Approvals.
	PullRequest bool
	Approvals   int
	// Signatures: new commits are verified.
	Signatures bool
	// Checks are the names that have to be successful.
	Checks []string
	// NoForce refuses what is not a fast-forward, NoDeletion deleting the branch.
	NoForce, NoDeletion bool
	// Classic makes it branch protection of the old kind: shown by branches/BRANCH, not by rules/branches.
	Classic bool
	// Bypass are the logins that the rules do not bind.
	Bypass []string
}

type ruleset struct {
	pattern string
	Rules
}

// SetRules sets the rules of the branches that a pattern matches, as path.Match has it. Later ones win; one set of
// rules holds for a branch.
func (s *Server) SetRules(pattern string, r Rules) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = append(s.rules, ruleset{pattern, r})
}

// AppLogin is the login of the App, as [Rules.Bypass] and authors have it.
const AppLogin = botLogin

func (s *Server) rulesOf(branch string) Rules {
	for _, r := range slices.Backward(s.rules) {
		if match, err := path.Match(r.pattern, branch); match && err == nil {
			return r.Rules
		}
	}
	return Rules{}
}

// any tells whether there are rules at all.
func (r Rules) any() bool {
	return r.PullRequest || r.Signatures || len(r.Checks) > 0 || r.NoForce || r.NoDeletion
}

// broken are the rules that a direct update of a branch breaks.
func (s *Server) broken(login, branch, old, sha string) (all []string) {
	r := s.rulesOf(branch)
	if slices.Contains(r.Bypass, login) {
		return nil
	}
	if r.NoForce && old != "" && !s.isAncestor(old, sha) {
		all = append(all, "Cannot force-push to this branch")
	}
	if r.PullRequest && old != "" {
		all = append(all, "Changes must be made through a pull request.")
	}
	fresh := []string{sha, "--not", "--all"} // what no branch has yet
	if old != "" {
		fresh = []string{sha, "^" + old}
	}
	return append(all, s.unfit(r, fresh, sha)...)
}

// unfit are the rules about commits and checks that do not hold.
func (s *Server) unfit(r Rules, fresh []string, sha string) (all []string) {
	if r.Signatures {
		var bad []string
		for commit := range strings.FieldsSeq(s.git(append([]string{"rev-list"}, fresh...)...)) {
			if c, ok := s.store.commit(commit); ok && !s.verdict(c).verified {
				bad = append(bad, commit)
			}
		}
		if n := len(bad); n > 0 {
			noun := map[bool]string{true: "violation", false: "violations"}[n == 1]
			all = append(all, fmt.Sprintf("Commits must have verified signatures.\nFound %d %s:\n\n%s", n, noun, strings.Join(bad, "\n")))
		}
	}
	for _, name := range r.Checks {
		switch s.contextState(sha, name) {
		case "success":
		case "":
			all = append(all, fmt.Sprintf("Required status check %q is expected.", name))
		case "pending":
			all = append(all, fmt.Sprintf("Required status check %q is in progress.", name))
		default:
			all = append(all, fmt.Sprintf("Required status check %q is failing.", name))
		}
	}
	return all
}

func violations(all []string) string {
	return "Repository rule violations found\n\n" + strings.Join(all, "\n\n") + "\n\n"
}

// blocked is why a pull request may not be merged by somebody.
func (s *Server) blocked(p *Pull, login string) (all []string) {
	r := s.rulesOf(p.Base)
	if slices.Contains(r.Bypass, login) {
		return nil
	}
	if n := r.Approvals; r.PullRequest && len(p.Approvals) < n {
		noun := map[bool]string{true: "review is", false: "reviews are"}[n == 1]
		all = append(all, fmt.Sprintf("At least %d approving %s required by reviewers with write access.", n, noun))
	}
	return append(all, s.unfit(r, []string{p.Head, "^" + s.now.heads[p.Base]}, p.Head)...)
}

func getRules(c *call) answer {
	r := c.s.rulesOf(c.r.PathValue("branch"))
	all := []doc{}
	add := func(kind string, parameters doc) {
		d := doc{"type": kind, "ruleset_source_type": "Repository", "ruleset_source": c.s.name, "ruleset_id": 42}
		if parameters != nil {
			d["parameters"] = parameters
		}
		all = append(all, d)
	}
	if r.Classic {
		return ok(all)
	}
	if r.NoDeletion {
		add("deletion", nil)
	}
	if r.NoForce {
		add("non_fast_forward", nil)
	}
	if r.Signatures {
		add("required_signatures", nil)
	}
	if r.PullRequest {
		add("pull_request", doc{
			"required_approving_review_count": r.Approvals, "dismiss_stale_reviews_on_push": false, "require_code_owner_review": false,
			"require_last_push_approval": false, "required_review_thread_resolution": false,
		})
	}
	if len(r.Checks) > 0 {
		checks := []doc{}
		for _, name := range r.Checks {
			checks = append(checks, doc{"context": name})
		}
		add("required_status_checks", doc{"required_status_checks": checks, "strict_required_status_checks_policy": false})
	}
	return ok(page(c, all, 30))
}

func getBranch(c *call) answer {
	branch := c.r.PathValue("branch")
	sha, found := c.see.heads[branch]
	if !found {
		return refuse(http.StatusNotFound, "Branch not found")
	}
	r := c.s.rulesOf(branch)
	required := doc{"enforcement_level": "off", "contexts": []string{}, "checks": []doc{}}
	if r.Classic && len(r.Checks) > 0 {
		checks := []doc{}
		for _, name := range r.Checks {
			checks = append(checks, doc{"context": name, "app_id": nil})
		}
		required = doc{"enforcement_level": "non_admins", "contexts": r.Checks, "checks": checks}
	}
	return ok(doc{
		"name": branch, "commit": c.s.repoCommits([]string{sha})[0], "protected": r.any(),
		"protection":     doc{"enabled": r.Classic, "required_status_checks": required},
		"protection_url": c.s.address("branches/%s/protection", branch),
		"_links":         doc{"self": c.s.address("branches/%s", branch), "html": c.s.page("tree/%s", branch)},
	})
}

func getRepository(c *call) answer {
	pushes := c.who.user.Access == Write && !c.who.bot() // of an App this field says nothing: it has permissions
	return ok(c.s.repository(doc{
		"admin": false, "maintain": false, "push": pushes, "triage": pushes, "pull": !c.who.bot(),
	}))
}

// repository is the repository, with what the caller may do in it; nil leaves that out.
func (s *Server) repository(permissions doc) doc {
	_, name, _ := strings.Cut(s.name, "/")
	d := doc{
		"id": 1296269, "node_id": "R_1296269", "name": name, "full_name": s.name, "owner": s.account(s.owner()), "private": true,
		"visibility": "private", "html_url": s.page(""), "url": s.address(""), "fork": false, "archived": s.archived, "disabled": false,
		"default_branch": s.o.Base, "clone_url": s.page("") + ".git",
	}
	if permissions != nil {
		d["permissions"] = permissions
		for _, m := range []string{"merge", "squash", "rebase"} {
			d["allow_"+map[string]string{"merge": "merge_commit", "squash": "squash_merge", "rebase": "rebase_merge"}[m]] = slices.Contains(s.o.Methods, m)
		}
		d["allow_auto_merge"], d["delete_branch_on_merge"] = !s.o.NoAutoMerge, s.o.DeleteMerged
	}
	return d
}
