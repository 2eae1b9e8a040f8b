package gitsync_test

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/gitsync/gitserver"
)

// bigRepo makes the repository once per machine, in the temporary directory. Its branch seed stays where it is.
func bigRepo(b *testing.B, files int) (string, *gitserver.Repo) {
	b.Helper()
	root := filepath.Join(os.TempDir(), fmt.Sprintf("poolwright-bench-%d", files))
	repo := &gitserver.Repo{Dir: filepath.Join(root, "mono.git"), Name: "mono.git"}
	if _, err := os.Stat(filepath.Join(root, "done")); err == nil {
		return root, repo
	}
	_ = os.RemoveAll(root)
	repo = must[*gitserver.Repo](b)(gitserver.CreateRepo(root, "mono.git"))
	r, w := io.Pipe()
	go func() { _ = w.CloseWithError(generate(w, files)) }()
	if err := repo.Import(r); err != nil {
		b.Fatal(err)
	}
	for _, args := range [][]string{{"repack", "-adbq"}, {"commit-graph", "write", "--reachable"}, {"pack-refs", "--all"}} {
		must[string](b)(repo.Git(args...))
	}
	writeFile(b, filepath.Join(root, "done"), "")
	return root, repo
}

// importStream is a fast-import stream of a monorepo.
type importStream struct {
	*bufio.Writer
	rnd *rand.Rand
}

// generate writes a monorepo of 5 environments, 20 applications a team and 5 files of 1 to 4 KB each, as many teams as the
// number of files takes, and what else such repositories hold: a submodule, LFS pointers, files with CRLF line ends by
// attribute, symlinks. It has 5,000 commits.
func generate(w io.Writer, files int) error {
	s := importStream{bufio.NewWriterSize(w, 1<<20), rand.New(rand.NewPCG(1, 2))}
	var paths []string
	for _, env := range []string{"prod-eu", "prod-us", "staging", "dev", "lab"} {
		for team := range files / (5 * 20 * 5) {
			for app := range 20 {
				for _, f := range []string{"deployment", "service", "configmap", "kustomization", "values"} {
					paths = append(paths, fmt.Sprintf("clusters/%s/team-%03d/app-%02d/%s.yaml", env, team, app, f))
				}
			}
		}
	}
	s.commit(0, "import")
	s.zoo()
	for _, p := range paths {
		s.put("100644", p, yamlText(s.rnd, p))
	}
	for n := 1; n < 5000; n++ {
		s.commit(n, fmt.Sprintf("bump %d", n))
		for range 1 + s.rnd.IntN(4) {
			p := paths[s.rnd.IntN(len(paths))]
			s.put("100644", p, yamlText(s.rnd, p))
		}
	}
	return s.Flush()
}

func (s importStream) commit(n int, message string) {
	fmt.Fprintf(s, "commit refs/heads/seed\ncommitter Gen <gen@example.com> %d +0000\ndata %d\n%s\n", 1_600_000_000+3600*n, len(message), message)
}

func (s importStream) put(mode, path, text string) {
	fmt.Fprintf(s, "M %s inline %s\ndata %d\n%s\n", mode, path, len(text), text)
}

// zoo is what is not to be touched.
func (s importStream) zoo() {
	s.put("100644", ".gitattributes", "* text=auto\n*.png filter=lfs diff=lfs merge=lfs -text\n*.bat text eol=crlf\n")
	s.put("100644", ".gitmodules", "[submodule \"modules/charts\"]\n\tpath = modules/charts\n\turl = https://unreachable.invalid/charts.git\n")
	fmt.Fprintf(s, "M 160000 %s modules/charts\n", strings.Repeat("ab", 20))
	for n := range 100 {
		oid := fmt.Sprintf("%064x", n)
		s.put("100644", fmt.Sprintf("assets/%03d.png", n), "version https://git-lfs.github.com/spec/v1\noid sha256:"+oid+"\nsize 12345\n")
		s.put("100755", fmt.Sprintf("tools/%03d.bat", n), "@echo off\r\n") // in the repository as no git would put it there
		s.put("120000", fmt.Sprintf("links/%03d", n), fmt.Sprintf("../clusters/dev/team-%03d", n))
	}
}

func yamlText(rnd *rand.Rand, path string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\ndata:\n", path, filepath.Base(filepath.Dir(path)))
	for i := 0; b.Len() < 1024+rnd.IntN(3072); i++ {
		fmt.Fprintf(&b, "  key-%03d: \"%016x\"\n", i, rnd.Uint64())
	}
	return b.String()
}
