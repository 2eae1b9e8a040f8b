package gitsync_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/poolwright/poolwright/gitsync"
	"github.com/poolwright/poolwright/gitsync/githubfake"
	"github.com/poolwright/poolwright/gitsync/gitserver"
	"github.com/poolwright/poolwright/gitsync/gitsynctest"
	"github.com/poolwright/poolwright/gitsync/hub"
)

// hubBed is GitHub with one commit, and a Repo that publishes through its API.
type hubBed struct {
	*githubfake.Server
	git *gitsync.Repo
}

func hubClient(t testing.TB, s *githubfake.Server, auth hub.Auth) *hub.Client {
	t.Helper()
	c := must[*hub.Client](t)(hub.Open(hub.Options{API: s.URL(), Repository: s.Name(), Auth: auth, Pause: -1}))
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func userAuth(s *githubfake.Server) hub.Auth {
	return hub.Fixed(func(context.Context) (string, error) { return s.Token(), nil })
}

func appAuth(t testing.TB, s *githubfake.Server) hub.Auth {
	t.Helper()
	return must[*hub.AppAuth](t)(hub.App(hub.AppOptions{
		API: s.URL(), AppID: githubfake.AppID, Repository: s.Name(), Key: func(context.Context) ([]byte, error) { return s.AppKey(), nil },
	}))
}

func overHub(t testing.TB, s *githubfake.Server, auth hub.Auth, o gitsync.Options) *gitsync.Repo {
	t.Helper()
	o.URL, o.Hub = "https://github.com/"+s.Name(), hubClient(t, s, auth)
	if o.Sleep == nil {
		o.Sleep = noSleep
	}
	return open(t, o)
}

func newHubBed(t *testing.T, f githubfake.Options, o gitsync.Options) *hubBed {
	t.Helper()
	s := githubfake.New(t, f)
	foreign(t, s.Repo(), map[string]*gitserver.File{"README.md": gitserver.Text("hello\n")})
	return &hubBed{s, overHub(t, s, userAuth(s), o)}
}

const (
	moveRef  = "PATCH git/refs/{ref}"
	readRef  = "GET git/ref/{ref}"
	putTree  = "POST git/trees"
	readTree = "GET git/trees/{sha}"
	readBlob = "GET git/blobs/{sha}"
)

func TestContractHub(t *testing.T) {
	t.Parallel()
	gitsynctest.Run(t, func(t *testing.T) gitsynctest.Bed {
		s := githubfake.New(t, githubfake.Options{Racing: true})
		return gitsynctest.Bed{
			Repo: s.Repo(), Unborn: gitsync.ErrUnsupported, Portion: 10,
			Pushes: func() int { return s.Count(moveRef) },
			New: func(t *testing.T) gitsync.Publisher {
				return overHub(t, s, userAuth(s), gitsync.Options{Sleep: pauseBriefly})
			},
		}
	})
}

// pauseBriefly keeps writers that race from beating each other ten times in a row.
func pauseBriefly(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// TestHubCalls: what a publish asks of GitHub, cold, warm, and when somebody else moved the branch.
func TestHubCalls(t *testing.T) {
	t.Parallel()
	b := newHubBed(t, githubfake.Options{}, gitsync.Options{})
	foreign(t, b.Repo(), map[string]*gitserver.File{
		"clusters/a/x": gitserver.Text("0\n"), "clusters/a/deep/y": gitserver.Text("y\n"), "other/z": gitserver.Text("z\n"),
	})
	calls := func() []string {
		var out []string
		for _, r := range b.Log() {
			out = append(out, r.Route)
		}
		b.Reset()
		return out
	}
	push := []string{putTree, "POST git/commits", moveRef}
	for _, c := range []struct {
		name    string
		prepare func()
		want    []string
	}{
		{"cold: the log, the trees on the way, the directory in one call, its two files", func() {}, append([]string{
			readRef, "GET commits", readTree, readTree, readTree, readBlob, readBlob,
		}, push...)},
		{"warm", func() {}, append([]string{readRef}, push...)},
		{"somebody changed another directory", func() {
			foreign(t, b.Repo(), map[string]*gitserver.File{"other/z": gitserver.Text("z2\n")})
		}, append([]string{readRef, "GET commits", readTree}, push...)},
	} {
		c.prepare()
		b.Reset()
		publishOne(t, b.git, write("clusters/a", "x", c.name))
		if d := cmp.Diff(c.want, calls()); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
	must[[]gitsync.Receipt](t)(b.git.Publish(t.Context(), []gitsync.Edit{write("clusters/a", "x", "somebody changed another directory")}))
	if d := cmp.Diff([]string{readRef}, calls()); d != "" {
		t.Errorf("without news (-want +got):\n%s", d)
	}
}

// TestHubAppIsVerified: an App that does not name an author gets commits that GitHub signs. The names of the commits are
// GitHub's then, in receipts and in what is read afterwards.
func TestHubAppIsVerified(t *testing.T) {
	t.Parallel()
	b := newHubBed(t, githubfake.Options{}, gitsync.Options{})
	p := overHub(t, b.Server, appAuth(t, b.Server), gitsync.Options{HubAuthor: true, HubVerified: true})
	for n := range 3 {
		rs := must[[]gitsync.Receipt](t)(p.Publish(t.Context(), []gitsync.Edit{
			write("a", "x", fmt.Sprintf("%d\n", n)), write("b", "y", fmt.Sprintf("%d\n", n)),
		}))
		got := append(slices.Clone(rs[0].Commits), rs[1].Commits...)
		if d := cmp.Diff(strings.Fields(git(t, b.Repo(), "rev-list", "--reverse", "-2", "main")), got); d != "" || rs[0].Head != got[1] {
			t.Fatalf("receipts %+v (-want +got):\n%s", rs, d)
		}
		for _, c := range got {
			if v := must[hub.Commit](t)(hubClient(t, b.Server, userAuth(b.Server)).Commit(t.Context(), c)); !v.Verified {
				t.Errorf("%s is not verified: %s", c, v.VerifiedReason)
			}
		}
		base := must[gitsync.Base](t)(p.Read(t.Context(), "a"))
		if base.Head != got[1] || base.Log[0].Hash != got[1] || base.Log[1].Hash != got[0] || !strings.Contains(base.Log[0].Author.Name, "[bot]") {
			t.Errorf("reads as %+v", base.Log[:2])
		}
	}
	git(t, b.Repo(), "fsck", "--strict")
}

// TestC09HubNotVerified: a commit that GitHub does not verify moves no branch.
func TestC09HubNotVerified(t *testing.T) {
	t.Parallel()
	b := newHubBed(t, githubfake.Options{}, gitsync.Options{HubVerified: true})
	before := b.Repo().Tip("main")
	_, err := b.git.Publish(t.Context(), []gitsync.Edit{write("a", "x", "1\n")})
	if !errors.Is(err, gitsync.ErrRefused) || !strings.Contains(err.Error(), "does not verify") || !strings.Contains(err.Error(), "unsigned") {
		t.Errorf("the error is %v", err)
	}
	if b.Repo().Tip("main") != before || b.Count(moveRef) != 0 {
		t.Errorf("%d moves of the branch", b.Count(moveRef))
	}
}

// TestHubRefuses: a rule of the branch is told after one try, with GitHub's words.
func TestHubRefuses(t *testing.T) {
	t.Parallel()
	b := newHubBed(t, githubfake.Options{}, gitsync.Options{})
	b.SetRules("main", githubfake.Rules{PullRequest: true})
	_, err := b.git.Publish(t.Context(), []gitsync.Edit{write("a", "x", "1\n")})
	if !errors.Is(err, gitsync.ErrRefused) || !strings.Contains(err.Error(), "pull request") || b.Count(moveRef) != 1 {
		t.Errorf("%d moves, the error is %v", b.Count(moveRef), err)
	}
}

// TestHubErrors: each answer of GitHub is the kind that a caller branches on, for a read and for a write.
func TestHubErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, kind string
		fault      githubfake.Fault
		want       error
	}{
		{"the token is revoked", "*", githubfake.Fault{Status: 401, Message: "Bad credentials"}, gitsync.ErrAuth},
		{"the token may not", "write", githubfake.Fault{Status: 403, Message: "Resource not accessible by personal access token"}, gitsync.ErrAuth},
		{"GitHub is down", "*", githubfake.Fault{Status: 502, Body: "<html>"}, gitsync.ErrUnreachable},
		{"the connection breaks", "read", githubfake.Fault{Cut: true}, gitsync.ErrUnreachable},
		{"half an answer", putTree, githubfake.Fault{Half: true}, gitsync.ErrUnreachable},
		{"the repository is gone", "*", githubfake.Fault{Status: 404, Message: "Not Found"}, gitsync.ErrAuth},
		{"GitHub does not take the tree", putTree, githubfake.Fault{Status: 422, Message: "tree.path contains a malformed path component"}, gitsync.ErrRefused},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newHubBed(t, githubfake.Options{}, gitsync.Options{Tries: 2})
			b.Fault(c.kind, 1000, c.fault)
			if _, err := b.git.Publish(t.Context(), []gitsync.Edit{write("a", "x", "1\n")}); !errors.Is(err, c.want) {
				t.Errorf("the error is %v, want %v", err, c.want)
			}
			if b.Repo().Tip("main") == "" || git(t, b.Repo(), "rev-list", "--count", "main") != "1" {
				t.Error("something landed")
			}
		})
	}
}

// TestHubLimited: a rate limit is told at once, with its time, and nothing is asked again.
func TestHubLimited(t *testing.T) {
	t.Parallel()
	b := newHubBed(t, githubfake.Options{}, gitsync.Options{})
	must[gitsync.Base](t)(b.git.Read(t.Context(), "a"))
	b.Limit("write", githubfake.Limit{After: time.Hour})
	_, err := b.git.Publish(t.Context(), []gitsync.Edit{write("a", "x", "1\n")})
	if at, ok := hub.RetryAt(err); !errors.Is(err, gitsync.ErrUnreachable) || !ok || time.Until(at) < 50*time.Minute {
		t.Errorf("the error is %v", err)
	}
	if n := b.Count("write"); n != 1 {
		t.Errorf("%d writes, want 1", n)
	}
}

// TestHubAnswerIsLost: the branch was moved and nobody said so. The commit is found, not made again.
func TestHubAnswerIsLost(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]func(*hubBed){
		"it is seen at once": func(*hubBed) {},
		"and GitHub shows the head from before for a while": func(b *hubBed) { b.Lag(githubfake.Refs, 3) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newHubBed(t, githubfake.Options{}, gitsync.Options{})
			must[gitsync.Base](t)(b.git.Read(t.Context(), "a"))
			after(b)
			b.Fault(moveRef, 1, githubfake.Fault{Carried: true, Cut: true})
			r := publishOne(t, b.git, write("a", "x", "1\n"))
			if ours := git(t, b.Repo(), "rev-list", "main", "--", "a/x"); len(r.Commits) != 1 || r.Commits[0] != ours || r.Head != ours {
				t.Errorf("receipt is %+v, on the branch is %s", r, ours)
			}
		})
	}
}

// TestHubLags: after our own push some servers of GitHub still show the head from before. It is asked again; and a
// person who really takes our commit back is believed.
func TestHubLags(t *testing.T) {
	t.Parallel()
	b := newHubBed(t, githubfake.Options{}, gitsync.Options{})
	before := must[gitsync.Base](t)(b.git.Read(t.Context(), "a")).Head
	b.Lag(githubfake.Refs, 3)
	publishOne(t, b.git, write("a", "x", "1\n"))
	if base := must[gitsync.Base](t)(b.git.Read(t.Context(), "a")); string(base.Files["x"]) != "1\n" {
		t.Errorf("reads as %+v", base)
	}
	b.Lag(githubfake.Refs, 0)
	b.ForcePush("main", before)
	if base := must[gitsync.Base](t)(b.git.Read(t.Context(), "a")); base.Head != before || len(base.Files) != 0 {
		t.Errorf("after the commit was taken back it reads as %+v", base)
	}
}

// TestHubPortions: an urgent edit is a push of its own, before the others. A portion that fails does not take back those
// before it.
func TestHubPortions(t *testing.T) {
	t.Parallel()
	b := newHubBed(t, githubfake.Options{}, gitsync.Options{})
	edits := make([]gitsync.Edit, 25)
	for i := range edits {
		edits[i] = write(fmt.Sprintf("c/%02d", i), "x", "1\n")
	}
	edits[20].Urgent = true
	var heads []string
	b.Fault(moveRef, 3, githubfake.Fault{Before: func() { heads = append(heads, git(t, b.Repo(), "rev-list", "--count", "main")) }})
	rs := must[[]gitsync.Receipt](t)(b.git.Publish(t.Context(), edits))
	if d := cmp.Diff([]string{"1", "2", "12"}, heads); d != "" || b.Count(moveRef) != 4 {
		t.Errorf("%d moves; commits before the first three (-want +got):\n%s", b.Count(moveRef), d)
	}
	for i, r := range rs {
		if len(r.Commits) != 1 || r.Err != nil || r.Head != b.Repo().Tip("main") {
			t.Errorf("receipt %d is %+v", i, r)
		}
	}

	for _, c := range []struct {
		name    string
		fault   githubfake.Fault
		kind    error
		through int // the first edit that lands again
	}{
		{"a refused portion stops no other", githubfake.Fault{Status: http.StatusForbidden, Message: "Repository was archived so is read-only."}, gitsync.ErrRefused, 20},
		{"a token that ends stops those after it", githubfake.Fault{Status: http.StatusForbidden, Message: "Resource not accessible"}, gitsync.ErrAuth, 25},
	} {
		for i := range edits {
			edits[i] = write(fmt.Sprintf("c/%02d", i), "x", c.name)
		}
		b.Fault(moveRef, 1, githubfake.Fault{})
		b.Fault(moveRef, 1, c.fault)
		rs = must[[]gitsync.Receipt](t)(b.git.Publish(t.Context(), edits))
		for i, r := range rs {
			failed := i >= 10 && i < c.through
			if errors.Is(r.Err, c.kind) != failed || (len(r.Commits) == 0) != failed {
				t.Errorf("%s: receipt %d is %+v", c.name, i, r)
			}
		}
	}
}

// TestHubTreesItCannotShow: GitHub shows modes and names in its own way. What does not come out as it is in Git, is not
// written over.
func TestHubTreesItCannotShow(t *testing.T) {
	t.Parallel()
	b := newHubBed(t, githubfake.Options{}, gitsync.Options{})
	blob := b.Repo().Tip("main") + ":README.md"
	tree := must[string](t)(b.Repo().Git("rev-parse", blob))
	odd := oddTree(t, b.Repo(), tree)
	commit := git(t, b.Repo(), "commit-tree", odd, "-p", "main", "-m", "an old tool's")
	git(t, b.Repo(), "update-ref", "refs/heads/main", commit)
	_, err := b.git.Publish(t.Context(), []gitsync.Edit{write("a", "x", "1\n")})
	if !errors.Is(err, gitsync.ErrUnsupported) || !strings.Contains(err.Error(), "publish through Git") || b.Count("write") != 0 {
		t.Errorf("%d writes, the error is %v", b.Count("write"), err)
	}
}

// TestHubTruncated: a directory that is too large for one call is read tree by tree.
func TestHubTruncated(t *testing.T) {
	t.Parallel()
	b := newHubBed(t, githubfake.Options{MaxTree: 13}, gitsync.Options{})
	files := map[string]*gitserver.File{}
	for i := range 12 {
		files[fmt.Sprintf("clusters/%02d/cluster.yaml", i)] = gitserver.Text(fmt.Sprint(i))
	}
	foreign(t, b.Repo(), files) // 12 directories with a file each
	got, _, err := b.git.Glob(t.Context(), "clusters/*/cluster.yaml")
	if err != nil || len(got) != len(files) {
		t.Errorf("%d files, %v", len(got), err)
	}
	if base := must[gitsync.Base](t)(b.git.Read(t.Context(), "clusters")); len(base.Files) != len(files) {
		t.Errorf("%d files are read", len(base.Files))
	}
}

// TestHubFleet: the Cluster files of a fleet take one call for all trees, one for each file, and afterwards only what changed.
func TestHubFleet(t *testing.T) {
	t.Parallel()
	b := newHubBed(t, githubfake.Options{}, gitsync.Options{})
	files := map[string]*gitserver.File{}
	for i := range 20 {
		files[fmt.Sprintf("clusters/%02d/cluster.yaml", i)] = gitserver.Text(fmt.Sprint(i))
		files[fmt.Sprintf("clusters/%02d/other/x", i)] = gitserver.Text("x\n")
	}
	foreign(t, b.Repo(), files)
	find := func(trees, blobs int) {
		t.Helper()
		b.Reset()
		got, _, err := b.git.Glob(t.Context(), "clusters/*/cluster.yaml")
		if err != nil || len(got) != 20 {
			t.Errorf("%d files, %v", len(got), err)
		}
		if b.Count(readTree) != trees || b.Count(readBlob) != blobs {
			t.Errorf("%d trees and %d blobs, want %d and %d", b.Count(readTree), b.Count(readBlob), trees, blobs)
		}
	}
	find(3, 20) // the root, clusters, all below it
	find(0, 0)
	foreign(t, b.Repo(), map[string]*gitserver.File{"clusters/07/cluster.yaml": gitserver.Text("new")})
	find(3, 1)
}

// TestC20HubTokenIsRevoked: an App's token that GitHub refuses is dropped, and the next one used.
func TestC20HubTokenIsRevoked(t *testing.T) {
	t.Parallel()
	b := newHubBed(t, githubfake.Options{}, gitsync.Options{})
	p := overHub(t, b.Server, appAuth(t, b.Server), gitsync.Options{HubAuthor: true})
	publishOne(t, p, write("a", "x", "1\n"))
	b.Revoke(b.InstallationTokens()[0])
	publishOne(t, p, write("a", "x", "2\n"))
	if n := len(b.InstallationTokens()); n != 2 {
		t.Errorf("%d tokens were minted, want 2", n)
	}
}
