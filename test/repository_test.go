package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/discovery/aurorasim"
	"github.com/poolwright/poolwright/gitsync/gitserver"
	"github.com/poolwright/poolwright/test/driver"
)

// quick lets who is gone go at once, its files after a second.
const quick = "  topologyPolicy: {removeAfterMissingCount: 1, removeAfterMissingSeconds: 0, removedInstanceRetention: 1s}"

// theirs is what others keep in the repository, in our directory too.
func theirs() map[string]*gitserver.File {
	files := map[string]*gitserver.File{
		".gitattributes":                    gitserver.Text("*.png filter=lfs diff=lfs merge=lfs -text\n*.bat text eol=crlf\n* text=auto\n"),
		".gitmodules":                       gitserver.Text("[submodule \"m\"]\n\tpath = m\n\turl = https://unreachable.invalid/m.git\n"),
		"m":                                 {Mode: "160000", Content: strings.Repeat("ab", 20)},
		"logo.png":                          gitserver.Text("version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat("0", 64) + "\nsize 12345\n"),
		"link":                              {Mode: "120000", Content: "clusters/story"},
		"clusters/story/README.md":          gitserver.Text("ours\r\n"),
		"clusters/story/base/notes.txt":     gitserver.Text("notes\n"),
		"clusters/story/instances/c/patch":  gitserver.Text("a person's\n"),
		"clusters/story/run.sh":             {Mode: "100755", Content: "#!/bin/sh\n"},
		"clusters/story.yaml":               gitserver.Text("sorts beside our directory\n"),
		"clusters/other/kustomization.yaml": gitserver.Text("resources: []\n"),
	}
	for i := range 40 {
		files[fmt.Sprintf("apps/%02d.yaml", i)] = gitserver.Text("a: b\n")
	}
	return files
}

// TestC04C05D18OnlyOwnedFilesAreTouched: instances come, go and fail over in a repository that is full of other
// things. A person's file in an overlay keeps it until it is taken out; then overlay and entry go in one commit. No
// commit touches a file of others, and the directory passes `poolwright check` at each.
func TestC04C05D18OnlyOwnedFilesAreTouched(t *testing.T) {
	t.Parallel()
	sim, discovery := simulated(t, "a", "b", "c")
	r := driver.NewRemote(t)
	_, err := r.Commit("main", "somebody else", theirs())
	check(t, err)
	before := r.MustGit("ls-tree", "-r", "main")
	file := driver.ClusterFile(t, discovery, r.URL, quick)
	p := driver.Start(t, "run", "-f", file)
	r.AwaitSubject(2, "first tree")

	check(t, sim.AddInstance("d"))
	text := driver.ClusterFile(t, discovery+"- "+flow(sim.Addr("d"), "d"), r.URL, quick)
	check(t, os.Rename(text, file))
	r.Await("d serving readers", func() bool { return strings.Contains(last(r), "readers gain d") })
	check(t, sim.Kill("a"))
	r.Await("the failover", func() bool { return strings.Contains(strings.Join(r.Subjects(), "\n"), "writer a → ") })
	check(t, sim.Restart("a"))
	r.Await("a serving readers", func() bool { return strings.Contains(last(r), "readers gain a") })

	check(t, sim.RemoveInstance("c"))
	p.AwaitLine("c: ", "person's file in its overlay")
	p.Kill()
	if got := r.MustGit("ls-tree", "-r", "main", "clusters/story/instances/c"); !strings.Contains(got, "pgbouncer.ini") {
		t.Errorf("left of c is %q, want all of it beside a person's file", got)
	}
	for line := range strings.SplitSeq(before, "\n") {
		if !strings.Contains(r.MustGit("ls-tree", "-r", "main"), line) {
			t.Errorf("%s is gone or changed", line)
		}
	}

	_, err = r.Commit("main", "somebody else takes the patch out", map[string]*gitserver.File{"clusters/story/instances/c/patch": nil})
	check(t, err)
	p = driver.Start(t, "run", "-f", file)
	r.Await("c removed", func() bool { return strings.Contains(last(r), "remove c") })
	p.Stop()
	if got := r.ChangedFiles("main"); !slices.Contains(got, "clusters/story/kustomization.yaml") || !slices.Contains(got, "clusters/story/instances/c/pgbouncer.ini") {
		t.Errorf("the removal changes %q, want overlay and entry", got)
	}
	r.WantSoundHistory()
	wantEachChecked(t, r, file)
}

func last(r *driver.Remote) string {
	all := r.Subjects()
	return all[len(all)-1]
}

// wantEachChecked wants each commit of poolwright's to pass check, and to touch no file of others.
func wantEachChecked(t *testing.T, r *driver.Remote, file string) {
	t.Helper()
	for _, c := range r.Commits() {
		if r.MustGit("show", "-s", "--format=%(trailers:key=Poolwright-Cluster,valueonly)", c) == "" {
			continue
		}
		for _, name := range r.ChangedFiles(c) {
			if theirs()[name] != nil || !strings.HasPrefix(name, "clusters/story/") {
				t.Errorf("commit %s touches %s", c, name)
			}
		}
		tree := t.TempDir()
		r.MustGit("--work-tree="+tree, "checkout", c, "--", "clusters/story")
		dir := filepath.Join(tree, "clusters", "story")
		data, err := os.ReadFile(file)
		check(t, err)
		write(t, filepath.Join(dir, "cluster.yaml"), string(data))
		if out, said, code := driver.Once(t, "check", dir); code != 0 {
			t.Errorf("check of commit %s: exit code %d\n%s%s", c, code, out, said)
		}
	}
}

// TestC08AGitRevertIsRespected: a person reverts the failover with git itself. It is held and said, also after a
// restart; the next failover is a new fact.
func TestC08AGitRevertIsRespected(t *testing.T) {
	t.Parallel()
	sim, discovery := simulated(t, "a", "b", "c")
	r := driver.NewRemote(t)
	file := driver.ClusterFile(t, discovery, r.URL)
	p := driver.Start(t, "run", "-f", file)
	r.AwaitSubject(1, "first tree")
	check(t, sim.Kill("a"))
	r.AwaitSubject(2, "writer a → ")
	p.Kill()
	work := filepath.Join(t.TempDir(), "work")
	r.MustGit("clone", "-q", r.Dir, work)
	gitIn(t, work, "revert", "--no-edit", "HEAD")
	gitIn(t, work, "push", "-q", "origin", "main")

	p = driver.Start(t, "run", "-f", file)
	p.AwaitLine("hold", "revert")
	r.AwaitSubject(3, "Revert")
	now := sim.State().Writer
	check(t, sim.Promote(map[string]string{"b": "c", "c": "b"}[now]))
	r.Await("another failover", func() bool { return len(r.Subjects()) > 3 })
	p.Stop()
	if got := r.Subjects()[3]; !strings.Contains(got, "writer a → ") || strings.Contains(got, "→ "+now) {
		t.Errorf("got %q, want the new writer, not %s", got, now)
	}
}

// gitIn runs git as a person would, in a clone.
func gitIn(t *testing.T, dir string, args ...string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "git", args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=P", "GIT_AUTHOR_EMAIL=p@example.com", "GIT_COMMITTER_NAME=P", "GIT_COMMITTER_EMAIL=p@example.com")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

// TestC18F05OneClusterDoesNotStandInAnothersWay: one process keeps two declarations of one topology at two paths, a
// declaration that is broken and one whose databases hang. Both trees of the first are written, and both fail over.
func TestC18F05OneClusterDoesNotStandInAnothersWay(t *testing.T) {
	t.Parallel()
	sim, discovery := simulated(t, "a", "b", "c")
	stuck, elsewhere := simulated(t, "x", "y")
	for _, n := range []string{"x", "y"} {
		check(t, stuck.Inject(n, aurorasim.Hang))
	}
	r := driver.NewRemote(t)
	broken := driver.ClusterFile(t, discovery, r.URL, "  monitoring: {interval: 1s}")
	p := driver.Start(t, "run", "-f", broken, "-f", driver.ClusterFile(t, elsewhere, r.URL, "    path: clusters/stuck"),
		"-f", driver.ClusterFile(t, discovery, r.URL), "-f", driver.ClusterFile(t, discovery, r.URL, "    path: another/place"))
	at := func(dir string) []string { return driver.Selector(r.At("main", dir, "services.yaml"), "writer") }
	both := func(writer string) func() bool {
		return func() bool {
			want := "poolwright.dev/instance: " + writer
			return slices.Contains(at("clusters/story"), want) && slices.Contains(at("another/place"), want)
		}
	}
	r.Await("both first trees", both("a"))
	p.AwaitLine("standing", broken, "monitoring")
	p.AwaitLine("doubted", "blind")
	check(t, sim.Promote("b"))
	r.Await("both failovers", both("b"))
	p.Stop()
	if got := r.MustGit("ls-tree", "--name-only", "main", "clusters/"); got != "clusters/story" {
		t.Errorf("there are directories %q, want none of what cannot be seen", got)
	}
}

// TestC25NoPasswordReachesGitOrALog: one stands in a Cluster file, which is refused; the same is in use with the
// databases and with the repository.
func TestC25NoPasswordReachesGitOrALog(t *testing.T) {
	t.Parallel()
	const password = "hunter2-in-use"
	sim, discovery := simulatedAs(t, aurorasim.Config{Name: "story", Instances: []string{"a", "b", "c"}, User: "story", Password: password})
	secrets := t.TempDir()
	write(t, filepath.Join(secrets, "username"), "story\n")
	write(t, filepath.Join(secrets, "password"), password+"\n")
	discovery += "credentials: {file: {directory: " + secrets + "}}\n"
	r := driver.NewRemote(t)
	r.WantPassword(password)
	auth := "    auth: {username: story, passwordFile: " + filepath.Join(secrets, "password") + "}"
	file := driver.ClusterFile(t, discovery, r.URL, auth)
	good, err := os.ReadFile(file)
	check(t, err)
	write(t, file, strings.Replace(string(good), "    authFileSecretRef", "    config: {databases: {app: {password: "+password+"}}}\n    authFileSecretRef", 1))

	p := driver.Start(t, "run", "-f", file)
	p.AwaitLine("standing", "spec.pgbouncer.config.databases")
	if got := r.MustGit("count-objects"); got != "0 objects, 0 kilobytes" {
		t.Errorf("the refused file left %s", got)
	}
	write(t, file, string(good))
	r.AwaitSubject(1, "first tree")
	check(t, sim.Kill("a"))
	r.Await("the failover", func() bool { return len(r.Subjects()) > 1 })
	p.Stop()
	if objects := r.MustGit("cat-file", "--batch-all-objects", "--batch"); strings.Contains(objects, password) || !strings.Contains(objects, "[pgbouncer]") {
		t.Error("the password is in an object of the repository, or nothing is")
	}
	if strings.Contains(p.Text(), password) {
		t.Error("the password is in the log")
	}
}
