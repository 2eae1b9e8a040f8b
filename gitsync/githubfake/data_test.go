package githubfake_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-github/v66/github"
	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/gitsync/githubfake"
	"github.com/poolwright/poolwright/gitsync/gitserver"
)

type m = map[string]any

// TestACommitThroughTheAPIIsOneForGit goes the whole way with go-github.
func TestACommitThroughTheAPIIsOneForGit(t *testing.T) {
	b := start(t, githubfake.Options{})
	ctx, gh := context.Background(), b.client().Git
	ref, _, err := gh.GetRef(ctx, "acme", "platform", "heads/main")
	if err != nil {
		t.Fatal(err)
	}
	head := ref.GetObject().GetSHA()
	old, _, err := gh.GetCommit(ctx, "acme", "platform", head)
	if err != nil {
		t.Fatal(err)
	}
	blob, _, err := gh.CreateBlob(ctx, "acme", "platform", &github.Blob{Content: new("AAEC/w=="), Encoding: new("base64")})
	if err != nil {
		t.Fatal(err)
	}
	tree, _, err := gh.CreateTree(ctx, "acme", "platform", old.GetTree().GetSHA(), []*github.TreeEntry{
		{Path: new("deep/er/file"), Mode: new("100644"), Type: new("blob")}, // goes, and its directory with it
		{Path: new("deep/new/bin"), Mode: new("100644"), Type: new("blob"), SHA: blob.SHA},
		{Path: new("top"), Mode: new("100755"), Content: new("text\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))
	commit, _, err := gh.CreateCommit(ctx, "acme", "platform", &github.Commit{
		Message: new("by hand\n\nTrailer: yes"), Tree: tree, Parents: []*github.Commit{{SHA: &head}},
		Author: &github.CommitAuthor{Name: new("A"), Email: new("a@example.com"), Date: &github.Timestamp{Time: at}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := gh.UpdateRef(ctx, "acme", "platform", &github.Reference{
		Ref: new("refs/heads/main"), Object: &github.GitObject{SHA: commit.SHA},
	}, false); err != nil {
		t.Fatal(err)
	}
	got := b.git("ls-tree", "-r", "--format=%(objectmode) %(path)", "main")
	want := "100644 README.md\n100644 deep/new/bin\n100644 deep/other\n120000 link\n160000 module\n100755 run.sh\n100755 top"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
	if got := b.git("log", "-1", "--format=%an %ae %aI %cn %B", "main"); got != "A a@example.com 2026-01-02T03:04:05+01:00 A by hand\n\nTrailer: yes" {
		t.Errorf("git log has %q", got)
	}
	if out := b.git("fsck", "--strict"); out != "" {
		t.Errorf("git fsck says %s", out)
	}
	data, _, err := gh.GetBlobRaw(ctx, "acme", "platform", blob.GetSHA())
	if string(data) != "\x00\x01\x02\xff" || err != nil {
		t.Errorf("the blob is %q, %v", data, err)
	}
	if diff := cmp.Diff([]string{
		"POST git/blobs", "POST git/trees", "POST git/commits", "PATCH git/refs/heads/main",
	}, b.Writes()); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

// TestRefusals are answers that GitHub documents, each to one request.
func TestRefusals(t *testing.T) {
	b := start(t, githubfake.Options{
		Users: []githubfake.User{
			{Login: "robot", Token: "tok"},
			{Login: "reader", Token: "reads", Access: githubfake.Read},
			{Login: "stranger", Token: "strange", Access: githubfake.Hidden},
		},
	})
	main := b.Repo().Tip("main")
	tree := b.git("rev-parse", "main^{tree}")
	side := b.branch("side", "x", "1\n")
	other := b.branch("other", "x", "2\n")
	b.pull("open")
	entry := func(e m) m { return m{"base_tree": tree, "tree": []m{e}} }
	for name, c := range map[string]struct {
		ask    string
		body   any
		status int
		text   string
		header []string
	}{
		"a branch that is not there": {"GET git/ref/heads/none", nil, 404, "Not Found", nil},
		"a branch that is there already": {
			"POST git/refs", m{"ref": "refs/heads/side", "sha": main}, 422, "Reference already exists", nil,
		},
		"a branch at no commit":   {"POST git/refs", m{"ref": "refs/heads/n", "sha": tree}, 422, "Object does not exist", nil},
		"a branch that git hates": {"POST git/refs", m{"ref": "refs/heads/a..b", "sha": main}, 422, "Reference name", nil},
		"a branch below a branch": {"POST git/refs", m{"ref": "refs/heads/side/b", "sha": main}, 422, "Reference update failed", nil},
		"not a fast-forward": {
			"PATCH git/refs/heads/side", m{"sha": other, "force": false}, 422, "Update is not a fast forward", nil,
		},
		"an update of no branch":   {"PATCH git/refs/heads/none", m{"sha": main}, 422, "Reference does not exist", nil},
		"a deletion of no branch":  {"DELETE git/refs/heads/none", nil, 422, "Reference does not exist", nil},
		"an unknown parent":        {"POST git/commits", m{"message": "x", "tree": tree, "parents": []string{tree}}, 422, "Parent SHA", nil},
		"an unknown tree":          {"POST git/commits", m{"message": "x", "tree": main}, 422, "Tree SHA does not exist", nil},
		"a commit without a text":  {"POST git/commits", m{"tree": tree}, 422, "message", nil},
		"a base tree that is none": {"POST git/trees", m{"base_tree": main, "tree": []m{{"path": "a"}}}, 422, "base_tree", nil},
		"a tree of nothing":        {"POST git/trees", m{"base_tree": tree, "tree": []m{}}, 422, "Invalid tree info", nil},
		"a deletion of no file": {
			"POST git/trees", entry(m{"path": "deep/none", "mode": "100644", "type": "blob", "sha": nil}), 422, "GitRPC::BadObjectState", nil,
		},
		"both content and name": {
			"POST git/trees", entry(m{"path": "a", "mode": "100644", "sha": tree, "content": "x"}), 422, "Must supply either", nil,
		},
		"neither content nor name": {"POST git/trees", entry(m{"path": "a", "mode": "100644"}), 422, "Must supply either", nil},
		"a path that leads up":     {"POST git/trees", entry(m{"path": "a/../b", "mode": "100644", "content": ""}), 422, "malformed path", nil},
		"a path into .git":         {"POST git/trees", entry(m{"path": ".git/config", "mode": "100644", "content": ""}), 422, "malformed path", nil},
		"an odd mode":              {"POST git/trees", entry(m{"path": "a", "mode": "100664", "content": ""}), 422, "mode", nil},
		"a blob that is a tree":    {"POST git/trees", entry(m{"path": "a", "mode": "100644", "sha": tree}), 422, "not a valid blob", nil},
		"no Base64":                {"POST git/blobs", m{"content": "%", "encoding": "base64"}, 422, "Base64", nil},
		"C12 a pull request that exists": {
			"POST pulls", m{"title": "x", "head": "open", "base": "main"}, 422, "A pull request already exists for acme:open.", nil,
		},
		"C13 nothing to merge": {
			"POST pulls", m{"title": "x", "head": "main", "base": "main"}, 422, "No commits between main and main", nil,
		},
		"a pull request of no branch":   {"POST pulls", m{"title": "x", "head": "none", "base": "main"}, 422, `"field":"head"`, nil},
		"a pull request without a name": {"POST pulls", m{"head": "side", "base": "main"}, 422, `"field":"title"`, nil},
		"a body that is too long": {
			"POST pulls", m{"title": "x", "head": "side", "base": "main", "body": strings.Repeat("ü", 65537)}, 422, "body is too long", nil,
		},
		"a pull request that is not there": {"GET pulls/99", nil, 404, "Not Found", nil},
		"a merge of another head": {
			"PUT pulls/1/merge", m{"sha": side}, 409, "Head branch was modified. Review and try the merge again.", nil,
		},
		"a review by its author":        {"POST pulls/1/requested_reviewers", m{"reviewers": []string{"robot"}}, 422, "author", nil},
		"a review by a stranger":        {"POST pulls/1/requested_reviewers", m{"reviewers": []string{"nobody"}}, 422, "collaborators", nil},
		"branches in conflict":          {"POST merges", m{"base": "side", "head": "other"}, 409, "Merge conflict", nil},
		"a merge into no branch":        {"POST merges", m{"base": "none", "head": "side"}, 404, "Base does not exist", nil},
		"a merge of no branch":          {"POST merges", m{"base": "side", "head": "none"}, 404, "Head does not exist", nil},
		"a comparison with nothing":     {"GET compare/main...none", nil, 404, "Not Found", nil},
		"an unknown credential":         {"GET pulls", nil, 401, "Bad credentials", []string{"Authorization", "Bearer no"}},
		"a repository that is not seen": {"GET pulls", nil, 404, "Not Found", []string{"Authorization", "Bearer strange"}},
		"a write by a reader": {
			"POST git/blobs", m{"content": "x"}, 403, "Resource not accessible by personal access token", []string{"Authorization", "token reads"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			method, path, _ := strings.Cut(c.ask, " ")
			b.ask(method, path, c.body, c.header...).want(t, c.status, c.text)
		})
	}
}

func text(path, content string) m {
	return m{"path": path, "mode": "100644", "type": "blob", "content": content}
}

// TestMisuse are requests that fail the test which makes them.
func TestMisuse(t *testing.T) {
	for name, c := range map[string]struct {
		ask    string
		body   any
		header []string
		want   string
	}{
		"an unknown route":          {"GET releases", nil, nil, "GitHub has no GET /repos/acme/platform/releases"},
		"an unknown parameter":      {"GET pulls?branch=x", nil, nil, `GET pulls has no parameter "branch"`},
		"an unknown field":          {"POST git/blobs", m{"content": "x", "colour": "red"}, nil, `unknown field "colour"`},
		"a filter that is none":     {"GET pulls?head=side", nil, nil, "head=side is no user:branch"},
		"no credential":             {"GET pulls", nil, []string{"Authorization", ""}, "GET pulls without a credential"},
		"a password":                {"GET pulls", nil, []string{"Authorization", "Basic eDp5"}, `scheme "Basic"`},
		"no version of the API":     {"GET pulls", nil, []string{"X-GitHub-Api-Version", ""}, "X-GitHub-Api-Version"},
		"no media type":             {"GET pulls", nil, []string{"Accept", "*/*"}, "application/vnd.github+json"},
		"a client without a name":   {"GET pulls", nil, []string{"User-Agent", ""}, "User-Agent"},
		"a body of no type":         {"POST git/blobs", m{"content": "x"}, []string{"Content-Type", "text/plain"}, "Content-Type"},
		"a path twice":              {"POST git/trees", m{"tree": []m{text("a", "1"), text("a", "2")}}, nil, "a is there twice"},
		"a reference of other kind": {"GET git/ref/tags/v1", nil, nil, "is not heads/BRANCH"},
		"a query without an end":    {"POST /graphql", m{"query": "mutation {"}, nil, "POST graphql"},
		"a field that GraphQL lacks": {
			"POST /graphql", m{"query": "mutation { enablePullRequestAutoMerge(input: {pullRequestId: \"x\"}) { colour } }"}, nil, "colour",
		},
	} {
		t.Run(name, func(t *testing.T) {
			tb := &complaints{TB: t}
			b := bed{Server: githubfake.New(tb, githubfake.Options{}), t: t}
			b.PushAsPerson("main", "begin", map[string]*gitserver.File{"a": gitserver.Text("1")})
			method, path, _ := strings.Cut(c.ask, " ")
			b.ask(method, path, c.body, c.header...)
			if !strings.Contains(tb.text(), c.want) {
				t.Errorf("it said %q, want %q in it", tb.text(), c.want)
			}
		})
	}
}

func TestAnEmptyRepositoryHasNoGitData(t *testing.T) {
	b := bed{Server: githubfake.New(t, githubfake.Options{}), t: t}
	b.ask("GET", "", nil).want(t, 200, `"default_branch":"main"`)
	b.ask("GET", "git/ref/heads/main", nil).want(t, 409, "Git Repository is empty.")
	b.ask("POST", "git/blobs", m{"content": "x"}).want(t, 409, "Git Repository is empty.")
	b.ask("GET", "branches/main", nil).want(t, 404, "Branch not found")
}

func TestATreeIsShownOneLevelOrWhole(t *testing.T) {
	b := start(t, githubfake.Options{MaxTree: 6})
	paths := func(r reply) (all []string) {
		for _, e := range r.want(t, 200, "").at(t, "tree").([]any) {
			all = append(all, e.(m)["path"].(string))
		}
		return all
	}
	tree := b.git("rev-parse", "main^{tree}")
	one := b.ask("GET", "git/trees/"+tree, nil)
	if diff := cmp.Diff([]string{"README.md", "deep", "link", "module", "run.sh"}, paths(one)); diff != "" {
		t.Errorf("one level (-want +got):\n%s", diff)
	}
	if one.at(t, "truncated") != false {
		t.Error("one level is truncated")
	}
	// Any value of the parameter asks for all of it.
	whole := b.ask("GET", "git/trees/"+b.Repo().Tip("main")+"?recursive=false", nil)
	if diff := cmp.Diff([]string{"README.md", "deep", "deep/er", "deep/er/file", "deep/other", "link"}, paths(whole)); diff != "" {
		t.Errorf("whole (-want +got):\n%s", diff)
	}
	if whole.at(t, "truncated") != true {
		t.Error("six of eight entries are not called truncated")
	}
}

func TestListsComeInPages(t *testing.T) {
	b := start(t, githubfake.Options{MaxPage: 2})
	for i := range 4 {
		b.branch("main", "n", fmt.Sprintln(i))
	}
	var links []string
	for page := 1; page <= 3; page++ {
		r := b.ask("GET", fmt.Sprintf("commits?sha=main&per_page=100&page=%d", page), nil).want(t, 200, "")
		if n := len(r.at(t, "").([]any)); n > 2 {
			t.Errorf("page %d has %d entries", page, n)
		}
		links = append(links, strings.ReplaceAll(r.header.Get("Link"), b.URL(), "/"))
	}
	base := "</repos/acme/platform/commits?page=%d&per_page=100&sha=main>; rel=%q"
	l := func(n int, rel string) string { return fmt.Sprintf(base, n, rel) }
	want := []string{
		l(2, "next") + ", " + l(3, "last"), l(1, "prev") + ", " + l(3, "next") + ", " + l(3, "last") + ", " + l(1, "first"),
		l(2, "prev") + ", " + l(1, "first"),
	}
	if diff := cmp.Diff(want, links); diff != "" {
		t.Errorf("links (-want +got):\n%s", diff)
	}
	all, _, err := b.client().Repositories.ListCommits(context.Background(), "acme", "platform", nil)
	if err != nil || len(all) != 2 || all[0].GetSHA() != b.Repo().Tip("main") {
		t.Errorf("go-github has %d commits of the first page, %v", len(all), err)
	}
}

func TestAComparisonTellsBothSides(t *testing.T) {
	b := start(t, githubfake.Options{})
	common := b.Repo().Tip("main")
	first := b.branch("side/way", "a", "1\n")
	second := b.branch("side/way", "deep/er/file", "other\n")
	b.branch("main", "m", "1\n")
	got, _, err := b.client().Repositories.CompareCommits(context.Background(), "acme", "platform", "main", "side/way", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.GetStatus() != "diverged" || got.GetAheadBy() != 2 || got.GetBehindBy() != 1 || got.GetMergeBaseCommit().GetSHA() != common {
		t.Errorf("got %s, ahead %d, behind %d of %s", got.GetStatus(), got.GetAheadBy(), got.GetBehindBy(), got.GetMergeBaseCommit().GetSHA())
	}
	var files, commits []string
	for _, f := range got.Files {
		files = append(files, f.GetStatus()+" "+f.GetFilename())
	}
	for _, c := range got.Commits {
		commits = append(commits, c.GetSHA())
	}
	if diff := cmp.Diff([]string{"added a", "modified deep/er/file"}, files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if !slices.Equal(commits, []string{first, second}) {
		t.Errorf("commits are %v, want the older first", commits)
	}
	b.ask("GET", "compare/main...main", nil).want(t, 200, `"status":"identical"`)
}

func TestAMergeOfBranchesIsACommitOrNothing(t *testing.T) {
	b := start(t, githubfake.Options{})
	side := b.branch("side", "a", "1\n")
	main := b.branch("main", "m", "1\n")
	sha := b.ask("POST", "merges", m{"base": "side", "head": "main", "commit_message": "take main in"}).want(t, 201, "").at(t, "sha").(string)
	if got := b.git("log", "-1", "--format=%P %cn %s", "side"); got != side+" "+main+" GitHub take main in" || b.Repo().Tip("side") != sha {
		t.Errorf("git has %q", got)
	}
	b.ask("POST", "merges", m{"base": "side", "head": "main"}).want(t, 204, "")
	b.ask("GET", "commits/"+sha, nil).want(t, 200, `"reason":"valid"`)
}

// TestTreesAreWhatGitMakesOfThem draws changes and compares with git's own index.
func TestTreesAreWhatGitMakesOfThem(t *testing.T) {
	b := start(t, githubfake.Options{})
	names := rapid.SampledFrom([]string{"a", "a.b", "a0", "b", "c-d"})
	path := rapid.Custom(func(rt *rapid.T) string {
		return strings.Join(rapid.SliceOfN(names, 1, 3).Draw(rt, "segments"), "/")
	})
	base := b.git("rev-parse", "main^{tree}")
	rapid.Check(t, func(rt *rapid.T) {
		puts := rapid.MapOfN(path, rapid.StringMatching("[a-z]{0,5}"), 1, 5).Draw(rt, "files")
		var stream strings.Builder
		stream.WriteString("feature force\nreset refs/heads/drawn\nfrom refs/heads/main^0\n\n" +
			"commit refs/heads/drawn\ncommitter S <s@example.com> 1700000000 +0000\ndata 0\n")
		entries := []m{}
		for p, content := range puts {
			for q := range puts {
				if strings.HasPrefix(q, p+"/") {
					rt.Skip("a file that is a directory too")
				}
			}
			fmt.Fprintf(&stream, "M 100644 inline %s\ndata %d\n%s\n", p, len(content), content)
			entries = append(entries, text(p, content))
		}
		if err := b.Repo().Import(strings.NewReader(stream.String())); err != nil {
			rt.Fatal(err)
		}
		want := b.ask("GET", "git/commits/"+b.Repo().Tip("drawn"), nil).at(t, "tree.sha")
		r := b.ask("POST", "git/trees", m{"base_tree": base, "tree": entries}).want(t, 201, "")
		if got := r.at(t, "sha"); got != want {
			rt.Fatalf("tree %v, git has %v", got, want)
		}
	})
}
