package gitsync

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/google/go-cmp/cmp"

	"github.com/poolwright/poolwright/gitsync/hub"
)

func TestLocation(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"/srv/git/x.git":                     "file  | /srv/git/x.git",
		"../x.git":                           "file  | ../x.git",
		"file:///srv/x.git":                  "file  | /srv/x.git",
		"https://example.com/a/b.git/":       "https  example.com|https://example.com/a/b.git",
		"http://example.com:8080/a":          "http  example.com:8080|http://example.com:8080/a",
		"ssh://git@example.com/a/b.git":      "ssh git example.com:22|ssh://git@example.com:22/a/b.git",
		"ssh://example.com:2222/a":           "ssh git example.com:2222|ssh://git@example.com:2222/a",
		"ssh://me@[::1]/~me/a":               "ssh me [::1]:22|ssh://me@[::1]:22/~me/a",
		"git@github.com:org/repo.git":        "ssh git github.com:22|ssh://git@github.com:22/org/repo.git",
		"example.com:repo.git":               "ssh git example.com:22|ssh://git@example.com:22/repo.git",
		"":                                   "error",
		"ftp://example.com/x":                "error",
		"https://u:s3cret@example.com/x":     "error",
		"https://s3cret@example.com/x":       "error",
		"ssh://git:s3cret@example.com/x":     "error",
		"https://example.com/x?token=s3cret": "error",
		"git:s3cret@example.com:x":           "error",
		"https:///x":                         "error",
		"ssh://example.com":                  "error",
		"ssh://-oProxyCommand=s3cret/x":      "error",
		"https://s3cret%zz@example.com/":     "error",
	} {
		l, err := parseLocation(in)
		got := fmt.Sprintf("%s %s %s|%s", l.scheme, l.user, l.host, l)
		if l.scheme == "file" {
			got = "file  | " + l.path
		}
		if err != nil {
			got = "error"
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%s: the error shows the secret: %v", in, err)
			}
		}
		if got != want {
			t.Errorf("%s is %q, want %q", in, got, want)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	me := Identity{"P", "p@example.com"}
	for name, o := range map[string]Options{
		"no URL":                  {Author: me},
		"no author":               {URL: "/x"},
		"no email":                {URL: "/x", Author: Identity{Name: "P"}},
		"a branch of dots":        {URL: "/x", Author: me, Branch: "a..b"},
		"a branch with a space":   {URL: "/x", Author: me, Branch: "a b"},
		"a branch named .lock":    {URL: "/x", Author: me, Branch: "a.lock"},
		"a branch like a flag":    {URL: "/x", Author: me, Branch: "-f"},
		"negative tries":          {URL: "/x", Author: me, Tries: -1},
		"a file with a token":     {URL: "/x", Author: me, Auth: Token(nil)},
		"https with an SSH key":   {URL: "https://x/y", Author: me, Auth: SSHKey{}},
		"ssh with a token":        {URL: "ssh://x/y", Author: me, Auth: Token(nil)},
		"ssh without known hosts": {URL: "ssh://x/y", Author: me, Auth: SSHKey{Key: func(context.Context) ([]byte, []byte, error) { return nil, nil, nil }}},
		"a CA that is none":       {URL: "https://x/y", Author: me, CA: []byte("hello")},
		"nobody who mints":        {URL: "https://x/y", Author: me, Auth: Minted{}},
		"a signer for the API":    {URL: "https://x/y", Author: me, Hub: &hub.Client{}, Sign: unable{}},
		"a token beside the API":  {URL: "https://x/y", Author: me, Hub: &hub.Client{}, Auth: Token(nil)},
		"verified without an API": {URL: "https://x/y", Author: me, HubVerified: true},
		"GitHub as author of Git": {URL: "https://x/y", Author: me, HubAuthor: true},
	} {
		if _, err := Open(o); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	if r, err := Open(Options{URL: "/x", Author: me, Branch: "release/v1.2"}); err != nil || r.opts.Tries != 10 || r.opts.LogDepth != 500 || r.opts.Committer != me {
		t.Errorf("%v, %+v", err, r)
	}
}

// unable is a signer that is never asked.
type unable struct{}

func (unable) Sign(context.Context, []byte) (string, error) { panic("asked") }

func TestPaths(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"a", "a/b.yaml", ".gitignore", "a/.github/x", "größe", "a b", "...", "git", "x.git"} {
		if err := checkPath(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"", "/", "/a", "a/", "a//b", ".", "..", "a/../b", "./a", ".git", "a/.git/b", ".GIT", ".git.", ".git ", "git~1", ".git::$INDEX_ALLOCATION", ".g\u200cit", "a\x00b", "a\nb", "a\\b", "\xff", strings.Repeat("a", 5000)} {
		if err := checkPath(bad); !errors.Is(err, ErrPath) {
			t.Errorf("%q is taken", bad)
		}
	}
	for in, want := range map[string]string{"": "", ".": "", "./": "", "a": "a", "a/": "a", "./a/b": "a/b"} {
		if got, err := cleanDir(in); err != nil || got != want {
			t.Errorf("%q becomes %q, %v", in, got, err)
		}
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"one":                    "one\n",
		"\n\none\r\n\r\ntwo\n\n": "one\n\ntwo\n",
		"nul\x00 and \xff":       "nul and �\n",
	} {
		if got, err := normalise(in); err != nil || got != want {
			t.Errorf("%q becomes %q, %v", in, got, err)
		}
	}
	for _, none := range []string{"", "\n \n", "\x00"} {
		if _, err := normalise(none); err == nil {
			t.Errorf("%q is taken", none)
		}
	}
}

func TestCommitsReadBack(t *testing.T) {
	t.Parallel()
	tree := plumbing.ComputeHash(plumbing.TreeObject, nil)
	raw := encodeCommit(tree, tree, Identity{"A <x>\n", "a@b>c"}, Identity{"C", "c@d"}, time.Unix(1_700_000_000, 0), "Subject\ngoes on\n\nBody.\n\nSome: not a trailer\nof course\n\nKey: value\nOther: more\n of it\n")
	c, err := parseCommit(hash{}, raw)
	if err != nil || c.tree != tree || len(c.parents) != 1 || c.Author != (Identity{"A x", "a@bc"}) || !c.When.Equal(time.Unix(1_700_000_000, 0)) {
		t.Errorf("%v, %+v", err, c)
	}
	if c.Subject != "Subject goes on" || c.Body != "Body.\n\nSome: not a trailer\nof course" {
		t.Errorf("subject %q, body %q", c.Subject, c.Body)
	}
	if d := cmp.Diff(map[string]string{"Key": "value", "Other": "more of it"}, c.Trailers); d != "" {
		t.Errorf("trailers (-want +got):\n%s", d)
	}
	signed := strings.Replace(string(raw), "\n\n", "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n tree ffff\n -----END PGP SIGNATURE-----\nmergetag object x\n\n", 1)
	if c, err := parseCommit(hash{}, []byte(signed)); err != nil || c.tree != tree || c.Subject != "Subject goes on" {
		t.Errorf("signed: %v, %+v", err, c)
	}
	if c, err := parseCommit(hash{}, fmt.Appendf(nil, "tree %s\n\nonly: this\n", tree)); err != nil || c.Subject != "only: this" || c.Trailers != nil {
		t.Errorf("subject alone: %v, %+v", err, c)
	}
	if _, err := parseCommit(hash{}, []byte("parent x\n\nm")); err == nil {
		t.Error("a commit without a tree is taken")
	}
}

// TestC08ReversalsOf in sentences; the log is written oldest first, commit n has the hash nnnn….
func TestC08ReversalsOf(t *testing.T) {
	t.Parallel()
	const ours, other, human = "P: one", "P: two", ""
	type line struct {
		trailer string
		reverts int // 0 for none
	}
	for _, c := range []struct {
		name string
		log  []line
		want string
	}{
		{"nothing of ours", []line{{human, 0}, {other, 0}}, "no"},
		{"our commit stands", []line{{ours, 0}}, "no"},
		{"a person reverts it", []line{{ours, 0}, {human, 1}}, "2 reverts 1"},
		{"with other commits between", []line{{ours, 0}, {other, 0}, {human, 0}, {human, 1}, {human, 0}}, "4 reverts 1"},
		{"the revert is reverted", []line{{ours, 0}, {human, 1}, {human, 2}}, "no"},
		{"and that too", []line{{ours, 0}, {human, 1}, {human, 2}, {human, 3}}, "2 reverts 1"},
		{"we commit again", []line{{ours, 0}, {human, 1}, {ours, 0}}, "no"},
		{"and are reverted again", []line{{ours, 0}, {human, 1}, {ours, 0}, {human, 3}}, "4 reverts 3, 2 reverts 1"},
		{"an older commit is reverted, the newest stands", []line{{ours, 0}, {ours, 0}, {human, 1}}, "no"},
		{"both are reverted", []line{{ours, 0}, {ours, 0}, {human, 2}, {human, 1}}, "3 reverts 2, 4 reverts 1"},
		{"another cluster's is reverted", []line{{ours, 0}, {other, 0}, {human, 2}}, "no"},
		{"reverted twice", []line{{ours, 0}, {human, 1}, {human, 2}, {human, 1}}, "4 reverts 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			sha := func(n int) string { return strings.Repeat(fmt.Sprintf("%04x", n), 10) }
			var log []Commit
			for i, l := range c.log {
				m := "Subject\n\nText.\n"
				if l.reverts > 0 {
					m = "Revert \"Subject\"\n\nThis reverts commit " + sha(l.reverts) + ".\n\nBecause it hurt.\n"
				}
				if l.trailer != "" {
					m += "\n" + l.trailer + "\n"
				}
				x := Commit{Hash: sha(i + 1)}
				x.Subject, x.Body, x.Trailers = splitMessage(m)
				log = append(log, x)
			}
			slices.Reverse(log)
			var found []string
			for _, r := range ReversalsOf(log, "P", "one") {
				found = append(found, fmt.Sprintf("%s reverts %s", strings.TrimLeft(r.By.Hash[:4], "0"), strings.TrimLeft(r.Of.Hash[:4], "0")))
			}
			if len(found) == 0 {
				found = []string{"no"}
			}
			if got := strings.Join(found, ", "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestC08AButtonRevertsAPullRequest: GitHub's button names the pull request, whose commit was squashed.
func TestC08AButtonRevertsAPullRequest(t *testing.T) {
	t.Parallel()
	ours := func(number int) string { return fmt.Sprintf("one: add c (#%d)\n\nText.\n\nP: one\n", number) }
	button := func(what, number int) string {
		return fmt.Sprintf("Revert \"one: add c\" (#%d)\n\nReverts acme/fleet#%d\n", number, what)
	}
	for says, c := range map[string]struct {
		log  []string // oldest first
		want int
	}{
		"its pull request is reverted":       {[]string{ours(7), button(7, 8)}, 1},
		"another one is":                     {[]string{ours(7), button(17, 18)}, 0},
		"the revert is reverted by a button": {[]string{ours(7), button(7, 8), button(8, 9)}, 0},
		"the number is only spoken of":       {[]string{ours(7), "x\n\nThis is better than what Reverts acme/fleet#7 says.\n"}, 0},
	} {
		var log []Commit
		for i, m := range c.log {
			x := Commit{Hash: strings.Repeat(fmt.Sprint(i+1), 40)}
			x.Subject, x.Body, x.Trailers = splitMessage(m)
			log = append(log, x)
		}
		slices.Reverse(log)
		if got := ReversalsOf(log, "P", "one"); len(got) != c.want {
			t.Errorf("%s: %d reversals, want %d", says, len(got), c.want)
		}
	}
}

func TestConversion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ rules, path, content, want string }{
		{"", "a/x.yaml", "x\n", ""},
		{"* text=auto\n", "a/x.yaml", "x\n", ""},
		{"* text=auto\n", "a/x.yaml", "x\r\n", "text but CRLF"},
		{"* -text\n", "a/x.yaml", "x\r\n", ""},
		{"*.yaml filter=lfs diff=lfs merge=lfs -text\n", "a/x.yaml", "x\n", "filter=lfs"},
		{"*.png filter=lfs\n", "a/x.yaml", "x\n", ""},
		{"a/** filter=git-crypt\na/x.yaml !filter\n", "a/x.yaml", "x\n", ""},
		{"*.yaml eol=crlf\n", "a/x.yaml", "x\n", "eol=crlf"},
		{"*.yaml eol=lf\n", "a/x.yaml", "x\n", ""},
		{"*.yaml working-tree-encoding=UTF-16\n", "a/x.yaml", "x\n", "working-tree-encoding=UTF-16"},
		{"[attr]secret filter=git-crypt diff=git-crypt\n*.yaml secret\n", "a/x.yaml", "x\n", "filter=git-crypt"},
		{"# a comment\n\n\"unclosed filter=lfs\n=bad\n*.yaml filter=lfs\n", "a/x.yaml", "x\n", "filter=lfs"},
	} {
		v := newView()
		root := plant(v, map[string]string{attributesFile: c.rules, "a/other": ""})
		err := v.checkAttributes(root, Change{Dir: "a", Put: Files{"x.yaml": []byte(c.content)}})
		if (err == nil) != (c.want == "") || err != nil && (!errors.Is(err, ErrPath) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("with %q the error is %v, want %q", c.rules, err, c.want)
		}
	}
}

// TestAttributesOfTheDirectoryItself win over those above it.
func TestAttributesOfTheDirectoryItself(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		above, here string
		refused     bool
	}{
		{"*.yaml filter=lfs\n", "*.yaml -filter\n", false},
		{"*.yaml -filter\n", "*.yaml filter=lfs\n", true},
	} {
		v := newView()
		root := plant(v, map[string]string{attributesFile: c.above, "a/b/" + attributesFile: c.here})
		err := v.checkAttributes(root, Change{Dir: "a", Put: Files{"b/x.yaml": []byte("x\n")}})
		if errors.Is(err, ErrPath) != c.refused {
			t.Errorf("with %q above and %q the error is %v", c.above, c.here, err)
		}
	}
}

// plant puts files into a store and returns their tree.
func plant(v *view, files map[string]string) hash {
	c := Change{Put: Files{}}
	for p, text := range files {
		c.Put[p] = []byte(text)
	}
	d := v.draft(Options{})
	e, err := planEdits(c)
	if err != nil {
		panic(err)
	}
	root, err := splicer{d.tree, d.add}.splice(hash{}, e, "")
	if err != nil {
		panic(err)
	}
	return root
}

// TestRefusalWords: what each text of receive-pack asks of the caller.
func TestRefusalWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		refusal
		want error
	}{
		{refusal{reason: "pre-receive hook declined", remote: "GH006"}, ErrRefused},
		{refusal{reason: "pre-receive hook declined", remote: "No space left on device"}, ErrUnreachable},
		{refusal{reason: "protected branch hook declined", remote: ""}, ErrRefused},
		{refusal{reason: "deny updating a hidden ref", remote: ""}, ErrRefused},
		{refusal{reason: "branch is currently checked out", remote: ""}, ErrRefused},
		{refusal{reason: "failed to update ref", remote: "cannot lock ref"}, ErrMoved},
		{refusal{reason: "missing necessary objects", remote: ""}, errStale},
		{refusal{reason: "unpack: unpack-objects abnormal exit", remote: "fatal: write error: No space left on device"}, ErrUnreachable},
		{refusal{reason: "unpack: index-pack abnormal exit", remote: "error: fsck error in packed object"}, ErrRefused},
		{refusal{reason: "unpack: unpack-objects abnormal exit", remote: ""}, ErrUnreachable},
	} {
		if got := c.kind(); !errors.Is(got, c.want) {
			t.Errorf("%v is %v, want %v", c.refusal, got, c.want)
		}
	}
}

// TestPauses stay in their range and grow.
func TestPauses(t *testing.T) {
	t.Parallel()
	for try := 1; try < 70; try++ {
		for _, took := range []time.Duration{0, 100 * time.Millisecond, time.Minute} {
			if d := pause(try, took); d < 0 || d >= maxPause {
				t.Errorf("pause %d after %v is %v", try, took, d)
			}
			if d := pause(1, took); d > max(took, minPause) {
				t.Errorf("the first pause after %v is %v", took, d)
			}
		}
	}
}

// TestSleepEndsWithItsContext on a clock that is not waited for.
func TestSleepEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if err := sleep(t.Context(), time.Hour); err != nil || time.Since(start) != time.Hour {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := sleep(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error is %v", err)
		}
	})
}

func TestTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var turn turn
		if err := turn.take(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		var served []string
		wait := func(ctx context.Context, name string, urgent bool) {
			go func() {
				if err := turn.take(ctx, urgent); err != nil {
					served = append(served, name+" left")
					return
				}
				served = append(served, name)
				turn.give()
			}()
			synctest.Wait()
		}
		impatient, leave := context.WithCancel(t.Context())
		wait(t.Context(), "first", false)
		wait(impatient, "impatient", false)
		wait(t.Context(), "second", false)
		wait(t.Context(), "urgent", true)
		leave()
		synctest.Wait()
		turn.give()
		synctest.Wait()
		if d := cmp.Diff([]string{"impatient left", "urgent", "first", "second"}, served); d != "" {
			t.Errorf("served (-want +got):\n%s", d)
		}
		if turn.taken || turn.take(t.Context(), false) != nil {
			t.Error("the turn is not free")
		}
	})
}
