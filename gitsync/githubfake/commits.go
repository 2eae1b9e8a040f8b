package githubfake

import (
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// verdict is what GitHub thinks of a commit's signature.
type verdict struct {
	verified bool
	reason   string
}

// SetVerified sets what GitHub says about the signature of a commit, whatever there is.
func (s *Server) SetVerified(sha string, verified bool, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.signed[sha] = verdict{verified, reason}
}

// SetSigning tells whether GitHub signs the commits that it makes itself or for the App; it does by default.
func (s *Server) SetSigning(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unsigned = !on
}

// verdict is what is set, or what the signature that is there leads to.
func (s *Server) verdict(c *object.Commit) verdict {
	if v, ok := s.signed[c.Hash.String()]; ok {
		return v
	}
	if c.PGPSignature == "" {
		return verdict{false, "unsigned"}
	}
	reason := s.o.Verify(payload(c), c.PGPSignature)
	return verdict{reason == "valid", reason}
}

// payload is what a commit's signature is about.
func payload(c *object.Commit) string {
	o := &plumbing.MemoryObject{}
	if err := c.EncodeWithoutSignature(o); err != nil {
		return ""
	}
	r, err := o.Reader()
	if err != nil {
		return ""
	}
	defer r.Close()
	var b strings.Builder
	if _, err := io.Copy(&b, r); err != nil {
		return ""
	}
	return b.String()
}

// github is who commits what GitHub makes.
func github(at time.Time) object.Signature {
	return object.Signature{Name: "GitHub", Email: "noreply@github.com", When: at.Truncate(time.Second)}
}

// self is the caller as an author.
func (c *call) self() object.Signature { return c.s.as(c.who.login, c.now) }

func (s *Server) as(login string, at time.Time) object.Signature {
	return object.Signature{Name: login, Email: s.email(login), When: at.Truncate(time.Second)}
}

// putCommit writes a commit; signs makes it one that GitHub signed.
func (s *Server) putCommit(c *object.Commit, signs bool) (string, error) {
	sha, err := s.store.put(c.Encode)
	if _, known := s.signed[sha]; err == nil && signs && !s.unsigned && !known {
		s.signed[sha] = verdict{true, "valid"}
	}
	return sha, err
}

func (s *Server) verification(c *object.Commit) doc {
	v := s.verdict(c)
	d := doc{"verified": v.verified, "reason": v.reason, "signature": orNull(c.PGPSignature), "payload": nil, "verified_at": nil}
	if c.PGPSignature != "" {
		d["payload"] = payload(c)
	}
	if v.verified {
		d["verified_at"] = stamp(c.Committer.When)
	}
	return d
}

func signature(p object.Signature) doc {
	return doc{"name": p.Name, "email": p.Email, "date": stamp(p.When)}
}

// gitCommit is a commit as Git data shows it.
func (s *Server) gitCommit(c *object.Commit) doc {
	sha := c.Hash.String()
	parents := []doc{}
	for _, p := range c.ParentHashes {
		parents = append(parents, doc{
			"sha": p.String(), "url": s.address("git/commits/%s", p), "html_url": s.page("commit/%s", p),
		})
	}
	return doc{
		"sha": sha, "node_id": "C_" + sha, "url": s.address("git/commits/%s", sha), "html_url": s.page("commit/%s", sha),
		"author": signature(c.Author), "committer": signature(c.Committer), "message": c.Message, "parents": parents,
		"tree":         doc{"sha": c.TreeHash.String(), "url": s.address("git/trees/%s", c.TreeHash)},
		"verification": s.verification(c),
	}
}

// repoCommit is a commit as the rest of the API shows it: the same below "commit", beside the accounts.
func (s *Server) repoCommit(c *object.Commit) doc {
	sha := c.Hash.String()
	inner := s.gitCommit(c)
	parents := inner["parents"]
	for _, key := range []string{"sha", "node_id", "html_url", "parents"} {
		delete(inner, key)
	}
	inner["comment_count"] = 0
	return doc{
		"sha": sha, "node_id": "C_" + sha, "commit": inner, "parents": parents, "url": s.address("commits/%s", sha),
		"html_url": s.page("commit/%s", sha), "comments_url": s.address("commits/%s/comments", sha),
		"author": s.account(s.loginOf(c.Author.Email)), "committer": s.account(s.loginOf(c.Committer.Email)),
	}
}

func getGitCommit(c *call) answer {
	commit, found := c.s.store.commit(c.r.PathValue("sha"))
	if !found {
		return missing()
	}
	return ok(c.s.gitCommit(commit))
}

// resolve is the commit of a branch, of "heads/BRANCH", or of a commit's name.
func (c *call) resolve(name string) (string, bool) {
	for _, branch := range []string{name, strings.TrimPrefix(name, "heads/"), strings.TrimPrefix(name, "refs/heads/")} {
		if sha, ok := c.see.heads[branch]; ok {
			return sha, true
		}
	}
	return name, c.s.store.kind(name) == plumbing.CommitObject
}

func getCommit(c *call) answer {
	sha, found := c.resolve(c.r.PathValue("sha"))
	if !found {
		return unprocessable("No commit found for SHA: " + c.r.PathValue("sha"))
	}
	commit, _ := c.s.store.commit(sha)
	body, parent := c.s.repoCommit(commit), emptyTree
	if len(commit.ParentHashes) > 0 {
		parent = commit.ParentHashes[0].String()
	}
	body["files"] = page(c, c.s.files(parent, sha), 300)
	return ok(body)
}

func listCommits(c *call) answer {
	from := c.r.URL.Query().Get("sha")
	if from == "" {
		from = c.s.o.Base
	}
	sha, found := c.resolve(from)
	if !found {
		return missing()
	}
	return ok(c.s.repoCommits(page(c, strings.Fields(c.s.git("rev-list", sha)), 30)))
}

func (s *Server) repoCommits(shas []string) []doc {
	all := []doc{}
	for _, sha := range shas {
		if commit, ok := s.store.commit(sha); ok {
			all = append(all, s.repoCommit(commit))
		}
	}
	return all
}

// files are the differences between two trees or commits.
func (s *Server) files(from, to string) []doc {
	out := s.git("diff-tree", "-r", "-M", "--raw", "-z", "--no-commit-id", from, to)
	fields := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	all := []doc{}
	for i := 0; i+1 < len(fields); i += 2 {
		meta := strings.Fields(fields[i]) // :mode mode sha sha status
		d := doc{"sha": meta[3], "filename": fields[i+1]}
		switch meta[4][0] {
		case 'A':
			d["status"] = "added"
		case 'D':
			d["status"] = "removed"
			d["sha"] = meta[2]
		case 'R':
			d["status"], d["previous_filename"], d["filename"] = "renamed", fields[i+1], fields[i+2]
			i++
		case 'T':
			d["status"] = "changed"
		default:
			d["status"] = "modified"
		}
		all = append(all, d)
	}
	return all
}

func compare(c *call) answer {
	base, head, _ := strings.Cut(c.r.PathValue("basehead"), "...")
	from, ok1 := c.resolve(base)
	to, ok2 := c.resolve(head)
	if !ok1 || !ok2 {
		return missing()
	}
	common, related := c.s.says("merge-base", from, to)
	if !related {
		return refuse(http.StatusNotFound, "No common ancestor between "+base+" and "+head+".")
	}
	ahead, behind := c.s.between(from, to), len(c.s.between(to, from))
	status := map[[2]bool]string{
		{false, false}: "identical", {true, false}: "ahead", {false, true}: "behind", {true, true}: "diverged",
	}[[2]bool{len(ahead) > 0, behind > 0}]
	oldest := reversed(ahead)
	body := doc{
		"url": c.s.address("compare/%s...%s", base, head), "html_url": c.s.page("compare/%s...%s", base, head),
		"status": status, "ahead_by": len(ahead), "behind_by": behind, "total_commits": len(ahead),
		"base_commit": c.s.repoCommits([]string{from})[0], "merge_base_commit": c.s.repoCommits([]string{common})[0],
		"commits": c.s.repoCommits(page(c, oldest, 250)),
	}
	if number(c.r.URL.Query(), "page", 1) == 1 { // files come with the first page only, 300 at most
		files := c.s.files(common, to)
		body["files"] = files[:min(len(files), 300)]
	}
	return ok(body)
}
