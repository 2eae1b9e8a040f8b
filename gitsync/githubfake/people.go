package githubfake

import (
	"slices"
	"strings"
	"time"

	"github.com/poolwright/poolwright/gitsync/gitserver"
)

// one is a pull request that has to be there.
func (s *Server) one(number int) *Pull {
	s.t.Helper()
	p := s.now.pull(number)
	if p == nil {
		s.t.Fatalf("there is no pull request %d", number)
	}
	return p
}

// AllPulls are the pull requests as they are, the oldest first.
func (s *Server) AllPulls() []Pull {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle(outside)
	all := make([]Pull, 0, len(s.now.pulls))
	for _, p := range s.now.pulls {
		all = append(all, *p)
	}
	return all
}

// Pull is one pull request as it is.
func (s *Server) Pull(number int) Pull {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle(outside)
	return *s.one(number)
}

// ClosePull closes without merging.
func (s *Server) ClosePull(number int, login string) {
	s.t.Helper()
	s.do(login, func() { s.closed(s.one(number), login) })
}

// ReopenPull opens a closed one again.
func (s *Server) ReopenPull(number int, login string) {
	s.t.Helper()
	s.do(login, func() {
		if problem := s.setState(s.one(number), "open", login); problem != "" {
			s.t.Fatal(problem)
		}
	})
}

// MergePull merges by a method: merge, squash or rebase. The rules do not bind this person. It returns the
// base's new head.
func (s *Server) MergePull(number int, login, method string) (sha string) {
	s.t.Helper()
	s.do(login, func() {
		var problem string
		if sha, problem = s.merge(s.one(number), login, method, "", ""); problem != "" {
			s.t.Fatalf("merging pull request %d: %s", number, problem)
		}
	})
	return sha
}

// Approve gives an approving review.
func (s *Server) Approve(number int, login string) {
	s.t.Helper()
	s.do(login, func() {
		p := s.one(number)
		p.Approvals = union(p.Approvals, []string{login})
	})
}

// Comment writes below a pull request.
func (s *Server) Comment(number int, login, body string) {
	s.t.Helper()
	s.do(login, func() {
		p := s.one(number)
		p.Comments = append(slices.Clip(p.Comments), Comment{login, body, s.clock()})
	})
}

// EditPull changes the title or the body; nil leaves it.
func (s *Server) EditPull(number int, title, body *string) {
	s.t.Helper()
	s.do(outside, func() {
		p := s.one(number)
		if title != nil {
			p.Title = *title
		}
		if body != nil {
			p.Body = *body
		}
	})
}

// PushAsPerson puts a commit of somebody else on a branch, which is made when it is not there; a nil file is deleted.
// Rules do not bind this person. It returns the commit.
func (s *Server) PushAsPerson(branch, message string, files map[string]*gitserver.File) (sha string) {
	s.t.Helper()
	s.do(outside, func() {
		var err error
		if sha, err = s.o.Repo.Commit(branch, message, files); err != nil {
			s.t.Fatal(err)
		}
	})
	return sha
}

// ForcePush sets a branch to a commit, whatever was there.
func (s *Server) ForcePush(branch, sha string) {
	s.t.Helper()
	s.do(outside, func() {
		if !s.move(branch, s.now.heads[branch], sha) {
			s.t.Fatalf("setting %s to %s", branch, sha)
		}
	})
}

// DeleteBranch deletes a branch, which closes its pull requests.
func (s *Server) DeleteBranch(branch string) {
	s.t.Helper()
	s.do(outside, func() {
		if old := s.now.heads[branch]; old == "" || !s.move(branch, old, "") {
			s.t.Fatalf("deleting the branch %s", branch)
		}
	})
}

// Rename gives the repository another name, owner/name; the old one leads to it.
func (s *Server) Rename(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.old, s.name = append(s.old, s.name), name
	s.old = slices.DeleteFunc(s.old, func(n string) bool { return strings.EqualFold(n, name) })
}

// Archive makes the repository read-only, or not any more.
func (s *Server) Archive(archived bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.archived = archived
}

// SetSkew sets how far GitHub's clock is ahead of [Options.Now]. All its times follow: Date, limits, tokens, commits.
func (s *Server) SetSkew(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.skew = d
}
