package forge_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/poolwright/poolwright/gitsync/forge"
	"github.com/poolwright/poolwright/gitsync/githubfake"
)

// TestC14AHumanCommit: a person's commit stays, below ours and in the tree.
func TestC14AHumanCommit(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	b.files = epoch(2, "b")
	b.tick()
	h := b.push(branch, dir+"/custom/cm.yaml", "theirs\n")
	b.push("main", "apps/web/app.yaml", "web 2\n")
	b.ticks(3, forge.Proposed)
	b.files = epoch(3, "c")
	b.ticks(3, forge.Proposed)
	b.holds(true)
	if !b.ancestor(h, branch) || b.read(branch, "custom/cm.yaml") != "theirs\n" {
		t.Error("the commit is lost")
	}
	b.files = epoch(1, "a") // back: the branch keeps the person's work, and none of ours
	b.ticks(3, forge.Closed)
	if got := b.git("diff", "--name-only", "main", branch); got != dir+"/custom/cm.yaml" {
		t.Errorf("left on the branch: %s", got)
	}
}

// TestC14AHumanEdit: a person edits a file of ours. One comment, no push, until it is taken back or says what is wished.
func TestC14AHumanEdit(t *testing.T) {
	t.Parallel()
	for sentence, amend := range map[string]bool{"a commit on top": false, "ours amended": true} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, nil)
			b.files = epoch(2, "b")
			b.shape = func(w *forge.Wish) { w.Urgent = "already serving b." }
			ours := b.tick().Head
			h := b.edit(ours, amend)
			b.files = epoch(3, "c")
			s := b.ticks(5, forge.Stopped)
			if got := b.hub.Repo().Tip(branch); got != h {
				t.Error("pushed over an edit")
			}
			p := b.hub.Pull(1)
			if len(p.Comments) != 1 || !strings.Contains(p.Comments[0].Body, dir+"/services.yaml") ||
				!strings.Contains(p.Comments[0].Body, "already serving b.") {
				t.Errorf("%+v", p.Comments)
			}
			if !strings.Contains(s.Detail, dir+"/services.yaml") || strings.Contains(s.Detail, "topology") && !amend {
				t.Errorf("the detail is %q", s.Detail)
			}
			b.restart()
			b.ticks(3, forge.Stopped) // not even after a restart
			if len(b.hub.Pull(1).Comments) != 1 {
				t.Error("said twice")
			}
			b.push(branch, dir+"/services.yaml", header+"writer: b\n") // taken back
			if amend {
				b.push(branch, dir+"/topology.yaml", header+"epoch: 3\n") // what an amended commit says is all a person's
				b.push(branch, dir+"/services.yaml", header+"writer: c\n")
			}
			b.ticks(3, forge.Proposed)
			b.holds(true)
			if !b.ancestor(h, branch) {
				t.Error("a commit is lost")
			}
		})
	}
}

// edit changes a file of ours by hand, in a commit or in ours.
func (b *bed) edit(ours string, amend bool) string {
	b.t.Helper()
	h := b.push(branch, dir+"/services.yaml", header+"writer: by hand\n")
	if !amend {
		return h
	}
	message := b.git("log", "-1", "--format=%B", ours)
	h = b.git("commit-tree", h+"^{tree}", "-p", ours+"^", "-m", message)
	b.hub.ForcePush(branch, h)
	return h
}

// TestC14TheBaseMerged: "Update branch" brings the base's newer version of our files. That is nobody's edit.
func TestC14TheBaseMerged(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	b.files = grown(2, "c")
	b.tick()
	b.push("main", dir+"/services.yaml", header+"writer: z\n")
	m := b.git("commit-tree", b.git("merge-tree", "--write-tree", "main", branch), "-p", branch, "-p", "main", "-m", "Merge branch 'main'")
	b.hub.ForcePush(branch, m)
	b.push("main", dir+"/services.yaml", header+"writer: y\n")
	b.files = map[string]string{"topology.yaml": "epoch: 3\n", "services.yaml": "writer: y\n"}
	b.ticks(3, forge.Proposed)
	b.holds(true)
	if !b.ancestor(m, branch) {
		t.Error("the merge is lost")
	}
}

// TestC14BothChanged: base and branch changed one file of a person's. We do not decide that.
func TestC14BothChanged(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	b.files = epoch(2, "b")
	b.tick()
	b.push(branch, "README.md", "branch\n")
	b.push("main", "README.md", "main\n")
	b.ticks(3, forge.Proposed) // nothing of ours to write
	b.files = epoch(3, "c")
	if s := b.ticks(3, forge.Stopped); !strings.Contains(s.Detail, "README.md") {
		t.Errorf("%+v", s)
	}
}

// TestC15ClosedIsNo: a person closes it. Twenty ticks with the same facts, restarts among them, open nothing; other facts
// open another one, from what is now, which mentions the old one; the old facts are still a no.
func TestC15ClosedIsNo(t *testing.T) {
	t.Parallel()
	for sentence, gone := range map[string]bool{"the branch stays": false, "the branch is deleted": true} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, nil)
			b.files = epoch(2, "b")
			old := b.tick().Head
			b.hub.ClosePull(1, "alice")
			if gone {
				b.hub.DeleteBranch(branch)
			}
			for range 2 {
				if s := b.ticks(10, forge.Declined); s.Number != 1 || !strings.Contains(s.Detail, "#1") {
					t.Errorf("%+v", s)
				}
				b.push("main", "README.md", "moved\n")
				b.restart()
			}
			b.files = epoch(3, "c")
			s := b.ticks(3, forge.Proposed)
			b.holds(true)
			if p := b.hub.Pull(2); s.Number != 2 || p.Head == old || !strings.Contains(p.Body, "Follows #1") {
				t.Errorf("%+v", p)
			}
			b.files = epoch(2, "b")
			if s := b.ticks(3, forge.Declined); s.Number != 1 || len(b.open()) != 0 {
				t.Errorf("%+v", s)
			}
			if c := b.hub.Pull(2).Comments; len(c) != 1 || !strings.Contains(c[0].Body, "declined in #1") {
				t.Errorf("%+v", c)
			}
		})
	}
}

// TestC15ClosedBeforeTheText: what a person closed is also what its newest commit says, and a description without our
// mark changes nothing.
func TestC15ClosedBeforeTheText(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	b.files = epoch(2, "b")
	b.tick()
	b.files = epoch(3, "c")
	b.hub.Fault("PATCH pulls/{number}", 1, githubfake.Fault{Status: http.StatusBadGateway})
	if _, err := b.try(); err == nil {
		t.Fatal("no error")
	}
	body := "no comment"
	b.hub.EditPull(1, nil, &body)
	b.hub.ClosePull(1, "alice")
	b.ticks(3, forge.Declined)
}

// TestC16NoForceNoDelete: five changes in a row, the base moving under each, where nobody may force or delete.
func TestC16NoForceNoDelete(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	b.hub.SetRules("poolwright/*", githubfake.Rules{NoForce: true, NoDeletion: true})
	for n := range 5 {
		b.files = grown(2+n, fmt.Sprintf("i%d", n))
		b.push("main", "apps/web/app.yaml", fmt.Sprintf("web %d\n", n))
		if n == 3 { // the base changes a file of ours as well
			b.push("main", dir+"/services.yaml", header+"writer: other\n")
		}
		s := b.ticks(3, forge.Proposed)
		b.holds(true)
		if s.Number != 1 {
			t.Errorf("%+v", s)
		}
		if got := b.git("diff", "--name-only", "main", branch); strings.Contains(got, "apps/") {
			t.Errorf("the pull request changes %s", got)
		}
	}
	if got := b.git("rev-list", "--count", branch, "--not", "main"); got != "5" {
		t.Errorf("%s commits, want 5", got)
	}
	b.git("merge-tree", "--write-tree", "main", branch)
}

// TestC16TheBranchMovesMeanwhile: a person pushes between our look and our move. The second try has it.
func TestC16TheBranchMovesMeanwhile(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	b.files = epoch(2, "b")
	b.tick()
	var h string
	b.hub.Fault("PATCH git/refs/{ref}", 1, githubfake.Fault{Before: func() { h = b.push(branch, "docs/notes.md", "theirs\n") }})
	b.files = epoch(3, "c")
	b.ticks(2, forge.Proposed)
	b.holds(true)
	if !b.ancestor(h, branch) {
		t.Error("a commit is lost")
	}
}

// TestC22SeenNotAssumed: proposed stays proposed; merged is seen at the next tick, without being told, and waits to be read.
func TestC22SeenNotAssumed(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"merge", "squash", "rebase"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, nil)
			b.files = epoch(2, "b")
			first := b.tick()
			b.now = b.now.Add(time.Hour)
			if s := b.tick(); s.State != forge.Proposed || !s.Since.Equal(first.Since) {
				t.Errorf("%+v", s)
			}
			unread := b.wish()
			b.hub.MergePull(1, "alice", method)
			for range 3 { // Git was not read yet
				s, err := b.keep.Keep(t.Context(), unread)
				if err != nil {
					t.Fatal(err)
				}
				b.state(s, forge.Merged)
			}
			b.ticks(3, forge.None)
			if b.hub.Repo().Tip(branch) != "" {
				t.Error("the branch is left")
			}
			b.files = epoch(3, "c")
			if s := b.ticks(3, forge.Proposed); s.Number != 2 {
				t.Errorf("%+v", s)
			}
			b.holds(true)
		})
	}
}
