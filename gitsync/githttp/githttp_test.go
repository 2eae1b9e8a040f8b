package githttp_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttpclient "github.com/go-git/go-git/v5/plumbing/transport/http"
	"github.com/google/go-cmp/cmp"

	"github.com/poolwright/poolwright/gitsync/githttp"
)

// serve makes an empty repository and serves it.
func serve(t *testing.T) (dir, url string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "repo.git")
	if err := githttp.Init(dir, "main"); err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(githttp.New(dir))
	t.Cleanup(srv.Close)
	return dir, srv.URL
}

// run runs git and wants it to succeed.
func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := try(t, dir, args...)
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(out)
}

func try(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "init.defaultBranch=main"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@example.com", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@example.com")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// clone makes a work tree of url.
func clone(t *testing.T, url string, args ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "work")
	run(t, "", append(append([]string{"clone", "-q"}, args...), url, dir)...)
	return dir
}

// commit writes a file, commits it and returns the commit.
func commit(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, dir, "add", ".")
	run(t, dir, "commit", "-q", "-m", "write "+name)
	return run(t, dir, "rev-parse", "HEAD")
}

// filled is a served repository with three commits.
func filled(t *testing.T) (dir, url, work string) {
	t.Helper()
	dir, url = serve(t)
	work = clone(t, url)
	for _, name := range []string{"a/one", "a/two", "three"} {
		commit(t, work, name, name)
	}
	run(t, work, "push", "-q", "origin", "main")
	return dir, url, work
}

func TestGitPushesIntoAnEmptyRepositoryAndClonesItBack(t *testing.T) {
	dir, url, work := filled(t)
	copied := clone(t, url)
	if got, want := run(t, copied, "rev-parse", "HEAD"), run(t, work, "rev-parse", "HEAD"); got != want {
		t.Errorf("cloned %s, want %s", got, want)
	}
	run(t, dir, "fsck", "--strict")
	run(t, copied, "fsck", "--strict")
	if got := run(t, copied, "rev-list", "--count", "HEAD"); got != "3" {
		t.Errorf("the clone has %s commits, want 3", got)
	}
}

func TestGitFetchesOnlyWhatIsNew(t *testing.T) {
	_, url, work := filled(t)
	copied := clone(t, url)
	head := commit(t, work, "four", "four")
	run(t, work, "push", "-q")
	run(t, copied, "pull", "-q", "--ff-only")
	if got := run(t, copied, "rev-parse", "HEAD"); got != head {
		t.Errorf("pulled %s, want %s", got, head)
	}
	run(t, copied, "pull", "-q", "--ff-only") // and again, with nothing new
	run(t, copied, "fsck", "--strict")
}

func TestGitClonesShallowAndDeepens(t *testing.T) {
	_, url, work := filled(t)
	copied := clone(t, url, "--depth", "1")
	counts := []string{run(t, copied, "rev-list", "--count", "HEAD")}
	commit(t, work, "four", "four")
	run(t, work, "push", "-q")
	run(t, copied, "pull", "-q", "--ff-only")
	counts = append(counts, run(t, copied, "rev-list", "--count", "HEAD"))
	run(t, copied, "fetch", "-q", "--depth", "3")
	counts = append(counts, run(t, copied, "rev-list", "--count", "HEAD"))
	run(t, copied, "fetch", "-q", "--unshallow")
	counts = append(counts, run(t, copied, "rev-list", "--count", "HEAD"))
	if diff := cmp.Diff([]string{"1", "2", "3", "4"}, counts); diff != "" {
		t.Errorf("commits after clone, pull, deepen, unshallow (-want +got):\n%s", diff)
	}
	run(t, copied, "fsck", "--strict")
}

func TestGitClonesWithoutBlobsAndFetchesThemWhenNeeded(t *testing.T) {
	_, url, _ := filled(t)
	copied := clone(t, url, "--filter=blob:none", "--no-checkout")
	if got := run(t, copied, "rev-list", "--objects", "--missing=print", "HEAD"); strings.Count(got, "?") != 3 {
		t.Errorf("want three missing blobs in:\n%s", got)
	}
	if got := run(t, copied, "show", "HEAD:a/two"); got != "a/two" {
		t.Errorf("a/two is %q", got)
	}
}

func TestUnknownFilterIsRefused(t *testing.T) {
	_, url, _ := filled(t)
	out, err := try(t, "", "clone", "--filter=tree:0", url, filepath.Join(t.TempDir(), "x"))
	if err == nil {
		t.Errorf("the clone went through:\n%s", out)
	}
}

func TestPushFromAnOldHeadIsRefused(t *testing.T) {
	_, url, work := filled(t)
	other := clone(t, url)
	commit(t, work, "mine", "mine")
	commit(t, other, "theirs", "theirs")
	run(t, other, "push", "-q")
	if out, err := try(t, work, "push"); err == nil {
		t.Errorf("the push went through:\n%s", out)
	}
}

// A client that lies about the old value, as git itself never does: the swap
// compares with what is there, not with what is said.
func TestPushIsACompareAndSwap(t *testing.T) {
	dir, url, work := filled(t)
	before := run(t, dir, "rev-parse", "main")
	old := run(t, work, "rev-parse", "HEAD~1")
	for name, cmd := range map[string]packp.Command{
		"from an old value": {Old: plumbing.NewHash(old), New: plumbing.NewHash(old)},
		"as a new ref":      {New: plumbing.NewHash(old)},
		"to nowhere":        {Old: plumbing.NewHash(before), New: plumbing.NewHash(strings.Repeat("1", 40))},
	} {
		t.Run(name, func(t *testing.T) {
			cmd.Name = "refs/heads/main"
			if err := push(t.Context(), t, url, &cmd); err == nil {
				t.Error("the push went through")
			}
			if got := run(t, dir, "rev-parse", "main"); got != before {
				t.Errorf("main moved to %s", got)
			}
		})
	}
}

// push sends one command with an empty pack.
func push(ctx context.Context, t *testing.T, url string, cmd *packp.Command) error {
	t.Helper()
	end, err := transport.NewEndpoint(url)
	if err != nil {
		t.Fatal(err)
	}
	session, err := githttpclient.DefaultClient.NewReceivePackSession(end, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	adv, err := session.AdvertisedReferencesContext(ctx)
	if err != nil {
		t.Fatal(err)
	}
	req := packp.NewReferenceUpdateRequestFromCapabilities(adv.Capabilities)
	req.Commands = []*packp.Command{cmd}
	req.Packfile = io.NopCloser(strings.NewReader("PACK\x00\x00\x00\x02\x00\x00\x00\x00\x02\x9d\x08\x82\x3b\xd8\xa8\xea\xb5\x10\xad\x6a\xc7\x5c\x82\x3c\xfd\x3e\xd3\x1e"))
	status, err := session.ReceivePack(ctx, req)
	if err != nil {
		return err
	}
	return status.Error()
}

func TestGoGitClonesAndSeesPushesThroughTheFileSystem(t *testing.T) {
	dir, url, work := filled(t)
	repo, err := git.PlainClone(t.TempDir(), false, &git.CloneOptions{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	head := commit(t, work, "four", "four")
	run(t, work, "push", "-q", dir, "main")
	if err := repo.Fetch(&git.FetchOptions{}); err != nil {
		t.Fatal(err)
	}
	ref, err := repo.Reference("refs/remotes/origin/main", true)
	if err != nil {
		t.Fatal(err)
	}
	if ref.Hash().String() != head {
		t.Errorf("fetched %s, want %s", ref.Hash(), head)
	}
}

func TestNonsenseIsRefused(t *testing.T) {
	_, url := serve(t)
	for _, path := range []string{"/git-upload-pack", "/git-receive-pack"} {
		resp, err := http.Post(url+path, "application/x-git", strings.NewReader("zzzz nonsense"))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: status %d, want 400", path, resp.StatusCode)
		}
	}
	resp, err := http.Get(url + "/info/refs")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("dumb protocol: status %d, want 403", resp.StatusCode)
	}
}
