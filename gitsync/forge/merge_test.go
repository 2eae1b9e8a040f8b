package forge_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/poolwright/poolwright/gitsync/forge"
	"github.com/poolwright/poolwright/gitsync/githubfake"
	"github.com/poolwright/poolwright/gitsync/gitserver"
	"github.com/poolwright/poolwright/gitsync/hub"
)

// TestTheTree: what people did on the base and on the branch is in the tree of our merge as git itself has it.
func TestTheTree(t *testing.T) {
	t.Parallel()
	type files = map[string]*gitserver.File
	text := gitserver.Text
	for sentence, c := range map[string]struct{ base, branch files }{
		"nobody did anything":          {},
		"the base has news, next door": {base: files{"clusters/other/x.yaml": text("new\n"), "apps/web/app.yaml": nil}},
		"the branch has a file":        {branch: files{"docs/notes.md": text("notes\n")}},
		"the branch has an executable and a link": {branch: files{
			"run.sh": {Mode: "100755", Content: "#!/bin/sh\n"}, "link": {Mode: "120000", Content: "README.md"},
		}},
		"the branch removed a directory":         {base: files{"README.md": text("moved\n")}, branch: files{"apps/web/app.yaml": nil}},
		"the branch moved into the parent":       {base: files{"README.md": text("moved\n")}, branch: files{"clusters/README.md": text("read\n")}},
		"both changed a directory, not one file": {base: files{"apps/api/a.yaml": text("a\n")}, branch: files{"apps/web/app.yaml": text("web 2\n")}},
		"both began a directory":                 {base: files{"new/a": text("a\n")}, branch: files{"new/b": text("b\n")}},
		"both did the same":                      {base: files{"README.md": text("same\n")}, branch: files{"README.md": text("same\n")}},
		"a foreign file of the directory, branch": {base: files{"README.md": text("moved\n")}, branch: files{
			dir + "/custom/new.yaml": text("n\n"), dir + "/cluster.yaml": text("2\n"),
		}},
		"a foreign file of the directory, base":    {base: files{dir + "/cluster.yaml": text("2\n"), dir + "/custom/cm.yaml": nil}},
		"a foreign file of the directory, removed": {base: files{"README.md": text("moved\n")}, branch: files{dir + "/custom/cm.yaml": nil}},
		"a submodule came on the branch": {base: files{"README.md": text("moved\n")}, branch: files{
			"vendor/lib": {Mode: "160000", Content: "1234567890123456789012345678901234567890"},
		}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, nil)
			b.files = epoch(2, "b")
			b.tick()
			if c.base != nil {
				b.hub.PushAsPerson("main", "base", c.base)
			}
			if c.branch != nil {
				b.hub.PushAsPerson(branch, "branch", c.branch)
			}
			merged := b.git("merge-tree", "--write-tree", "main", branch)
			b.files = grown(3, "c")
			b.ticks(2, forge.Proposed)
			b.holds(true)
			got := strings.FieldsSeq(b.git("diff", "--name-only", merged, branch))
			for path := range got {
				if _, ok := b.files[strings.TrimPrefix(path, dir+"/")]; !ok {
					t.Errorf("%s is not as git merges it", path)
				}
			}
			b.git("fsck", "--strict")
		})
	}
}

// TestAfterASquash: the branch may not be deleted, and what was merged came to the base as another commit. What was
// reverted there since does not come back with the next pull request.
func TestAfterASquash(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	b.hub.SetRules("poolwright/*", githubfake.Rules{NoForce: true, NoDeletion: true})
	b.files = epoch(2, "b")
	b.tick()
	b.push(branch, "docs/notes.md", "theirs\n")
	b.hub.MergePull(1, "alice", "squash")
	b.ticks(3, forge.None)
	b.hub.PushAsPerson("main", "Revert the notes", map[string]*gitserver.File{"docs/notes.md": nil})
	b.files = epoch(3, "c")
	if s := b.ticks(3, forge.Proposed); s.Number != 2 {
		t.Errorf("%+v", s)
	}
	b.holds(true)
	if got := b.git("diff", "--name-only", "main", branch); strings.Contains(got, "docs") {
		t.Errorf("the pull request changes %s", got)
	}
}

// TestLooseEnds: what lies in the way of a file is never written over or through.
func TestLooseEnds(t *testing.T) {
	t.Parallel()
	for sentence, c := range map[string]struct {
		there map[string]*gitserver.File
		want  string
	}{
		"a link for a file":      {map[string]*gitserver.File{dir + "/services.yaml": {Mode: "120000", Content: "x"}}, "there is something else"},
		"a link for a directory": {map[string]*gitserver.File{dir + "/instances": {Mode: "120000", Content: "x"}}, "is not a directory"},
		"a file for clusters":    {map[string]*gitserver.File{"clusters": gitserver.Text("x")}, "is not a directory"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, nil)
			b.hub.PushAsPerson("main", "in the way", c.there)
			b.files = grown(2, "c")
			if _, err := b.try(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v", err)
			}
			if w := b.hub.Writes(); len(w) > 0 {
				t.Errorf("writes %q", w)
			}
		})
	}
}

// TestDirect: merged by us when it may be, and not while a check is missing, nor in a hot loop.
func TestDirect(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	b.hub.SetRules("main", githubfake.Rules{PullRequest: true, Checks: []string{"render"}})
	b.shape = func(w *forge.Wish) { w.Merge = forge.Direct }
	b.files = epoch(2, "b")
	for range 10 { // 30 s
		s := b.tick()
		b.state(s, forge.Proposed)
		if s.Detail == "" {
			t.Error("it is not said why")
		}
		b.now = b.now.Add(3 * time.Second)
	}
	if n := b.hub.Count("PUT pulls/{number}/merge"); n != 1 {
		t.Errorf("%d tries in 30 s", n)
	}
	b.push("main", "README.md", "moved\n")
	b.tick() // with the base in it
	b.hub.SetChecks(b.hub.Repo().Tip(branch), githubfake.Check{Name: "render"})
	b.now = b.now.Add(time.Minute)
	unread := b.wish()
	b.state(b.tick(), forge.Merged)
	if s, err := b.keep.Keep(t.Context(), unread); err != nil || s.State != forge.Merged {
		t.Errorf("%+v, %v", s, err)
	}
	b.ticks(3, forge.None)
	if got := b.read("main", "services.yaml"); got != header+"writer: b\n" {
		t.Errorf("the base has %q", got)
	}
}

// TestDirectNotOverPeople: with a person's commit as the newest, people merge.
func TestDirectNotOverPeople(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	b.hub.SetRules("main", githubfake.Rules{PullRequest: true, Approvals: 1})
	b.shape = func(w *forge.Wish) { w.Merge = forge.Direct }
	b.files = epoch(2, "b")
	b.tick()
	b.push(branch, "docs/notes.md", "wait for me\n")
	b.hub.Approve(1, "alice")
	b.now = b.now.Add(time.Minute)
	b.ticks(3, forge.Proposed)
}

// TestAuto: GitHub is asked once. A person who takes it back is not contradicted.
func TestAuto(t *testing.T) {
	t.Parallel()
	off := func(o *githubfake.Options) { o.NoAutoMerge = true }
	for sentence, c := range map[string]struct {
		options func(*githubfake.Options)
		rules   githubfake.Rules
		want    forge.State
		auto    string
	}{
		"requirements to wait for":      {nil, githubfake.Rules{PullRequest: true, Approvals: 1}, forge.Proposed, "squash"},
		"nothing to wait for":           {nil, githubfake.Rules{PullRequest: true}, forge.None, ""},
		"the branch goes with a merge":  {func(o *githubfake.Options) { o.DeleteMerged = true }, githubfake.Rules{PullRequest: true}, forge.None, ""},
		"no requirements: people merge": {nil, githubfake.Rules{}, forge.Proposed, ""},
		"the repository has it off":     {off, githubfake.Rules{PullRequest: true, Approvals: 1}, forge.Proposed, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, c.options)
			b.hub.SetRules("main", c.rules)
			b.shape = func(w *forge.Wish) { w.Merge = forge.Auto }
			b.files = epoch(2, "b")
			s := b.tick()
			if p := b.hub.Pull(1); p.AutoMerge != c.auto || p.Merged != (c.want == forge.None) {
				t.Errorf("%+v, %+v", p, s)
			}
			if c.auto == "" && c.want == forge.Proposed && !strings.Contains(s.Detail, "auto-merge") {
				t.Errorf("the detail is %q", s.Detail)
			}
			b.ticks(5, c.want)
			if n := b.hub.Count("POST graphql"); n != 0 {
				t.Errorf("asked %d times more", n)
			}
		})
	}
}

// TestAskedOnce: labels and people that were taken away stay away. Who cannot review is said, and stops nothing.
func TestAskedOnce(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	b.shape = func(w *forge.Wish) {
		w.Labels, w.Assignees, w.Reviewers, w.Draft = []string{"database"}, []string{"robot"}, []string{"robot"}, true
	}
	b.files = epoch(2, "b")
	if s := b.tick(); !strings.Contains(s.Detail, "reviewers") { // nobody reviews what is their own
		t.Errorf("%+v", s)
	}
	if p := b.hub.Pull(1); !p.Draft || len(p.Labels) != 1 || len(p.Assignees) != 1 {
		t.Errorf("%+v", p)
	}
	b.restart()
	b.ticks(3, forge.Proposed)
}

// TestRetargeted: the open pull request of our branch leads to another base. It is a person's, and nothing is opened
// beside it until it is closed.
func TestRetargeted(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	b.push("release", "README.md", "release\n")
	b.hub.ForcePush("release", b.hub.Repo().Tip("main"))
	b.push(branch, "README.md", "x\n")
	b.hub.ForcePush(branch, b.hub.Repo().Tip("main"))
	b.push(branch, "docs/notes.md", "theirs\n")
	if _, err := b.client.OpenPull(t.Context(), hub.NewPull{Branch: branch, Base: "release", Title: "mine"}); err != nil {
		t.Fatal(err)
	}
	b.files = epoch(3, "c")
	if s := b.ticks(3, forge.Stopped); !strings.Contains(s.Detail, "leads to release") {
		t.Errorf("%+v", s)
	}
	if n := len(b.hub.AllPulls()); n != 1 || len(b.hub.Pull(1).Comments) != 1 {
		t.Errorf("%d pull requests", n)
	}
	b.hub.ClosePull(1, "alice")
	if s := b.ticks(3, forge.Proposed); s.Number != 2 {
		t.Errorf("%+v", s)
	}
	b.holds(true)
}

// TestReopened: a person reopens what we closed. Nothing is wished, so it is closed again, once each time.
func TestReopened(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	b.hub.SetRules("poolwright/*", githubfake.Rules{NoDeletion: true})
	b.files = epoch(2, "b")
	b.tick()
	b.hub.ClosePull(1, "alice")
	b.ticks(2, forge.Declined)
	b.hub.ReopenPull(1, "alice")
	if s := b.ticks(2, forge.Proposed); s.Number != 1 { // a person who reopens says yes
		t.Errorf("%+v", s)
	}
	b.files = nil
	b.ticks(3, forge.Closed)
}

// TestWishesThatCannotBe: each is an error before anything is asked.
func TestWishesThatCannotBe(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	b.files = epoch(2, "b")
	for sentence, change := range map[string]func(*forge.Wish){
		"the base as the branch": func(w *forge.Wish) { w.Branch = "main" },
		"no branch":              func(w *forge.Wish) { w.Branch = "" },
		"no head":                func(w *forge.Wish) { w.Head = "" },
		"a key of two words":     func(w *forge.Wish) { w.Key = "a b" },
		"no key":                 func(w *forge.Wish) { w.Key = "" },
		"no title":               func(w *forge.Wish) { w.Title = "" },
		"a path out of it":       func(w *forge.Wish) { w.Put["../x"] = nil },
		"a path into .git":       func(w *forge.Wish) { w.Put["x/.Git/config"] = nil },
	} {
		t.Run(sentence, func(t *testing.T) {
			w := b.wish()
			change(&w)
			if s, err := b.keep.Keep(t.Context(), w); err == nil || errors.Is(err, hub.ErrUnreachable) {
				t.Errorf("%+v, %v", s, err)
			}
		})
	}
	if got := b.hub.Requests(); len(got) > 0 {
		t.Errorf("requests %q", got)
	}
}
