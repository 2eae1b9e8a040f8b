package gitsynctest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/poolwright/poolwright/gitsync"
	"github.com/poolwright/poolwright/gitsync/gitserver"
)

// Run runs the suite. newBed makes a fresh repository for each test.
func Run(t *testing.T, newBed func(t *testing.T) Bed) {
	for _, c := range []struct {
		name string
		test func(*testing.T, Bed)
	}{
		{"a directory is read whole, with what is odd in it and the log", readsWhole},
		{"a branch that does not exist reads as empty and gets its first commit", unbornBranch},
		{"a branch born after it was read as empty is drawn on", bornMeanwhile},
		{"C03 an equal tree makes no commit and no push", equalTree},
		{"a commit says who, when and why as it was told", commitAsTold},
		{"each change is a commit, in order", changesInOrder},
		{"C02 a head that moved is drawn on anew", movedHead},
		{"C02 somebody else's edit of our file is seen before it is written over", movedOurFile},
		{"C04 C05 everything else stays bit by bit", foreignIntact},
		{"a deleted file takes its empty directories along", emptyDirectoriesVanish},
		{"an existing file keeps its mode", modeKept},
		{"C17 a batch is one push", batchOnePush},
		{"C18 the same content in two directories is written to both", sameContentTwice},
		{"urgent edits come first", urgentFirst},
		{"an edit that cannot be drawn does not stop the others", oneEditFails},
		{"paths that are never written are refused, alone", refusedPaths},
		{"C09 each commit is signed, and git verifies it", signedByKey},
		{"C09 a signer that cannot sign stops everything before it is pushed", signerFails},
		{"files are found by a pattern", globFinds},
		{"a pattern finds what is there now", globFollows},
		{"C24 ten writers at once lose nothing", tenWriters},
		{"C24 two writers of one directory agree", twoWritersAgree},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBed(t)
			c.test(t, b)
			if b.Repo.Tip("main") != "" {
				b.sound(t)
			}
		})
	}
}

func readsWhole(t *testing.T, b Bed) {
	b.foreign(t, map[string]*gitserver.File{
		"a/x.yaml":     gitserver.Text("x: 1\n"),
		"a/deep/er/y":  {Mode: "100755", Content: "#!/bin/sh\n"},
		"a/link":       {Mode: "120000", Content: "x.yaml"},
		"a/module":     {Mode: "160000", Content: strings.Repeat("1", 40)},
		"ab/other":     gitserver.Text("not in a\n"),
		"a.yaml":       gitserver.Text("not in a either\n"),
		"a/empty":      gitserver.Text(""),
		"a/.gitignore": gitserver.Text("*.tmp\n"),
	})
	head, err := b.Repo.Commit("main", "bump x\n\nBecause.\n\nPoolwright-Cluster: one\nPoolwright-Epoch: 7\n", map[string]*gitserver.File{"a/x.yaml": gitserver.Text("x: 2\n")})
	if err != nil {
		t.Fatal(err)
	}
	base := read(t, b.New(t), "a")
	if base.Head != head {
		t.Errorf("head is %s, want %s", base.Head, head)
	}
	want := gitsync.Files{"x.yaml": []byte("x: 2\n"), "deep/er/y": []byte("#!/bin/sh\n"), "empty": []byte(""), ".gitignore": []byte("*.tmp\n")}
	if d := cmp.Diff(stringed(want), stringed(base.Files)); d != "" {
		t.Errorf("files (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"link", "module"}, base.Odd); d != "" {
		t.Errorf("odd entries (-want +got):\n%s", d)
	}
	if len(base.Log) != 2 {
		t.Fatalf("the log has %d commits, want 2", len(base.Log))
	}
	c := base.Log[0]
	if c.Hash != head || c.Subject != "bump x" || c.Body != "Because." || c.Trailers["Poolwright-Epoch"] != "7" || c.Author.Name != "Somebody" {
		t.Errorf("the newest commit reads as %+v", c)
	}
	if none := read(t, b.New(t), "no/such"); len(none.Files)+len(none.Odd) != 0 || none.Head != head {
		t.Errorf("a directory that does not exist reads as %+v", none)
	}
}

func stringed(f gitsync.Files) map[string]string {
	out := map[string]string{}
	for k, v := range f {
		out[k] = string(v)
	}
	return out
}

func unbornBranch(t *testing.T, b Bed) {
	p := b.New(t)
	if base := read(t, p, "a"); base.Head != "" || len(base.Files) != 0 {
		t.Fatalf("reads as %+v", base)
	}
	if b.refusesTheFirst(t, p) {
		return
	}
	r := publish(t, p, write("a", "first", put("x", "1\n")))[0]
	if len(r.Commits) != 1 || r.Head != r.Commits[0] || b.Repo.Tip("main") != r.Head {
		t.Errorf("receipt is %+v", r)
	}
	if got := b.git(t, "log", "--format=%P", "main"); got != "" {
		t.Errorf("the first commit has parent %q", got)
	}
	if base := read(t, p, "a"); string(base.Files["x"]) != "1\n" {
		t.Errorf("reads back as %+v", base)
	}
}

func bornMeanwhile(t *testing.T, b Bed) {
	late := b.New(t)
	if base := read(t, late, "a"); base.Head != "" {
		t.Fatalf("reads as %+v", base)
	}
	if b.refusesTheFirst(t, late) {
		b.foreignSaying(t, "somebody was first", map[string]*gitserver.File{"b/y": gitserver.Text("1\n")})
	} else {
		publish(t, b.New(t), write("b", "somebody was first", put("y", "1\n")))
	}
	r := publish(t, late, write("a", "second", put("x", "1\n")))[0]
	if r.Err != nil || b.git(t, "log", "--format=%s", "main") != "second\nsomebody was first" {
		t.Errorf("receipt is %+v, history %q", r, b.git(t, "log", "--format=%s", "main"))
	}
}

func equalTree(t *testing.T, b Bed) {
	b.seed(t)
	p := b.New(t)
	e := write("a", "once", put("x", "1\n"))
	publish(t, p, e)
	pushes := b.Pushes()
	for range 10 {
		if r := publish(t, p, e, gitsync.Edit{Dir: "b", Draw: func(gitsync.Base) ([]gitsync.Change, error) { return nil, nil }}); len(r[0].Commits)+len(r[1].Commits) != 0 {
			t.Fatalf("made %v", r)
		}
	}
	if r := publish(t, b.New(t), e)[0]; len(r.Commits) != 0 || r.Head != b.Repo.Tip("main") {
		t.Errorf("another process got %+v", r)
	}
	if b.count(t) != "2" || b.Pushes() != pushes {
		t.Errorf("%s commits and %d pushes, want 2 and %d", b.count(t), b.Pushes(), pushes)
	}
}

func commitAsTold(t *testing.T, b Bed) {
	b.seed(t)
	publish(t, b.New(t), write("a", "one: writer a → b (epoch 2)\n\nThe evidence.\n\nPoolwright-Cluster: one\n", put("x", "1\n")))
	got := b.git(t, "log", "-1", "--format=%an|%ae|%cI|%s|%b|%(trailers:key=Poolwright-Cluster)", "main")
	want := "Poolwright|poolwright@example.com|2026-11-29T12:00:00+00:00|one: writer a → b (epoch 2)|The evidence.\n\nPoolwright-Cluster: one\n|Poolwright-Cluster: one"
	if got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func changesInOrder(t *testing.T, b Bed) {
	b.seed(t)
	var seen []string
	p := b.New(t)
	rs := publish(t, p, gitsync.Edit{Dir: "a", Draw: func(base gitsync.Base) ([]gitsync.Change, error) {
		seen = append(seen, base.Head)
		return []gitsync.Change{
			{Dir: "a", Put: put("x", "1\n"), Message: "first", When: When},
			{Dir: "a/sub", Put: put("y", "1\n"), Message: "second", When: When},
			{Dir: "a", Put: put("x", "1\n"), Message: "nothing new", When: When},
			{Dir: "a", Delete: []string{"x", "never/there"}, Message: "third", When: When},
		}, nil
	}})
	if len(seen) != 1 {
		t.Errorf("drawn %d times", len(seen))
	}
	if d := cmp.Diff([]string{"first", "second", "third"}, lines(b.git(t, "log", "--reverse", "--format=%s", seen[0]+"..main"))); d != "" {
		t.Errorf("subjects (-want +got):\n%s", d)
	}
	if d := cmp.Diff(lines(b.git(t, "rev-list", "--reverse", seen[0]+"..main")), rs[0].Commits); d != "" {
		t.Errorf("receipt (-want +got):\n%s", d)
	}
}

func movedHead(t *testing.T, b Bed) {
	b.seed(t)
	p := b.New(t)
	var heads []string
	r := publish(t, p, gitsync.Edit{Dir: "a", Draw: func(base gitsync.Base) ([]gitsync.Change, error) {
		if heads = append(heads, base.Head); len(heads) == 1 {
			b.foreign(t, map[string]*gitserver.File{"theirs": gitserver.Text("theirs\n")})
		}
		return []gitsync.Change{{Dir: "a", Put: put("x", "ours\n"), Message: "ours", When: When}}, nil
	}})[0]
	if len(heads) != 2 || heads[0] == heads[1] {
		t.Errorf("drawn on %v, want two heads", heads)
	}
	if b.file(t, "theirs") != "theirs" || b.file(t, "a/x") != "ours" {
		t.Error("one side is lost")
	}
	if got := b.count(t); got != "3" || len(r.Commits) != 1 {
		t.Errorf("%s commits, receipt %+v; want 3 and one", got, r)
	}
}

func movedOurFile(t *testing.T, b Bed) {
	b.seed(t)
	p := b.New(t)
	publish(t, p, write("a", "ours", put("x", "1\n")))
	var saw []string
	publish(t, p, gitsync.Edit{Dir: "a", Draw: func(base gitsync.Base) ([]gitsync.Change, error) {
		if saw = append(saw, string(base.Files["x"])); len(saw) == 1 {
			b.foreign(t, map[string]*gitserver.File{"a/x": gitserver.Text("edited by a person\n")})
		}
		return []gitsync.Change{{Dir: "a", Put: put("x", string(base.Files["x"])+"2\n"), Message: "more", When: When}}, nil
	}})
	if d := cmp.Diff([]string{"1\n", "edited by a person\n"}, saw); d != "" {
		t.Errorf("drawn on (-want +got):\n%s", d)
	}
	if got := b.file(t, "a/x"); got != "edited by a person\n2" {
		t.Errorf("the file is %q", got)
	}
}

// zoo is what repositories hold beside our files.
func zoo() map[string]*gitserver.File {
	files := map[string]*gitserver.File{
		".gitattributes":      gitserver.Text("*.png filter=lfs diff=lfs merge=lfs -text\n*.bat text eol=crlf\n* text=auto\n"),
		".gitmodules":         gitserver.Text("[submodule \"m\"]\n\tpath = m\n\turl = https://unreachable.invalid/m.git\n"),
		"m":                   {Mode: "160000", Content: strings.Repeat("ab", 20)},
		"logo.png":            gitserver.Text("version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat("0", 64) + "\nsize 12345\n"),
		"run.sh":              {Mode: "100755", Content: "#!/bin/sh\n"},
		"link":                {Mode: "120000", Content: "a/ours.yaml"},
		"a/link":              {Mode: "120000", Content: "../elsewhere"},
		"a/module":            {Mode: "160000", Content: strings.Repeat("cd", 20)},
		"a/theirs.yaml":       gitserver.Text("theirs\r\nwith CRLF\r\n"),
		"a/ours.yaml.orig":    gitserver.Text("sorts beside ours.yaml\n"),
		"a/ours/x":            gitserver.Text("a directory beside ours.yaml\n"),
		"a/ours-too":          gitserver.Text("and before it\n"),
		"\"na\\tme\"":         gitserver.Text("a tab in its name\n"),
		"süß/größe.yaml":      gitserver.Text("größe: 1\n"),
		"a/sub/patch.yaml":    gitserver.Text("a person's patch\n"),
		"deep/er/and/deep/er": gitserver.Text("deep\n"),
	}
	for i := range 50 {
		files[fmt.Sprintf("many/%02d", i)] = gitserver.Text("many\n")
	}
	return files
}

func foreignIntact(t *testing.T, b Bed) {
	b.foreign(t, zoo())
	b.foreign(t, map[string]*gitserver.File{"a/ours.yaml": gitserver.Text("v: 0\n"), "a/sub/gone": gitserver.Text("x\n")})
	before := listing(b.git(t, "ls-tree", "-r", "-z", "main"))
	p := b.New(t)
	publish(t, p, gitsync.Edit{Dir: "a", Draw: func(gitsync.Base) ([]gitsync.Change, error) {
		return []gitsync.Change{{Dir: "a", Put: gitsync.Files{"ours.yaml": []byte("v: 1\n"), "sub/new": []byte("n\n")}, Delete: []string{"sub/gone"}, Message: "ours", When: When}}, nil
	}})
	after := listing(b.git(t, "ls-tree", "-r", "-z", "main"))
	for _, ours := range []string{"a/ours.yaml", "a/sub/new", "a/sub/gone"} {
		delete(before, ours)
		delete(after, ours)
	}
	if d := cmp.Diff(before, after); d != "" {
		t.Errorf("what is not ours has changed:\n%s", d)
	}
	if b.file(t, "a/ours.yaml") != "v: 1" || b.file(t, "a/sub/new") != "n" {
		t.Error("our change is not there")
	}
}

// listing maps each path to its mode, type and name.
func listing(z string) map[string]string {
	out := map[string]string{}
	for line := range strings.SplitSeq(strings.TrimRight(z, "\x00"), "\x00") {
		what, path, _ := strings.Cut(line, "\t")
		out[path] = what
	}
	return out
}

func emptyDirectoriesVanish(t *testing.T, b Bed) {
	b.foreign(t, map[string]*gitserver.File{"a/b/c/d": gitserver.Text("d\n"), "a/keep": gitserver.Text("k\n")})
	p := b.New(t)
	drop := func(paths ...string) gitsync.Edit {
		return gitsync.Edit{Dir: "a", Draw: func(gitsync.Base) ([]gitsync.Change, error) {
			return []gitsync.Change{{Dir: "a", Delete: paths, Message: "drop", When: When}}, nil
		}}
	}
	publish(t, p, drop("b/c/d"))
	if got := b.git(t, "ls-tree", "-r", "-t", "--name-only", "main"); got != "a\na/keep" {
		t.Errorf("left are %q", got)
	}
	publish(t, p, drop("keep"))
	if got := b.git(t, "ls-tree", "-r", "-t", "--name-only", "main"); got != "" {
		t.Errorf("left are %q", got)
	}
	publish(t, p, write("a", "again", put("x", "1\n")))
}

func modeKept(t *testing.T, b Bed) {
	b.foreign(t, map[string]*gitserver.File{"a/run": {Mode: "100755", Content: "#!/bin/sh\n"}})
	publish(t, b.New(t), write("a", "edit", gitsync.Files{"run": []byte("#!/bin/sh\necho\n"), "plain": []byte("p\n")}))
	got := listing(b.git(t, "ls-tree", "-r", "-z", "main"))
	if !strings.HasPrefix(got["a/run"], "100755 ") || !strings.HasPrefix(got["a/plain"], "100644 ") {
		t.Errorf("modes are %v", got)
	}
}
