package hub_test

import (
	"errors"
	"testing"

	"github.com/poolwright/poolwright/gitsync/githubfake"
	"github.com/poolwright/poolwright/gitsync/gitserver"
	"github.com/poolwright/poolwright/gitsync/hub"
)

func TestErrorsSayWhatACallerCanDo(t *testing.T) {
	for name, c := range map[string]struct {
		call func(forge) error
		want error
	}{
		"the head of a branch that is not there": {func(f forge) error {
			return second(f.Head(t.Context(), "none"))
		}, hub.ErrNotFound},
		"a commit that is not there": {func(f forge) error {
			return second(f.Commit(t.Context(), sha1a))
		}, hub.ErrNotFound},
		"a tree that is not there": {func(f forge) error {
			return second(f.Tree(t.Context(), sha1a))
		}, hub.ErrNotFound},
		"a blob that is not there": {func(f forge) error {
			return second(f.Blob(t.Context(), sha1a))
		}, hub.ErrNotFound},
		"a pull request that is not there": {func(f forge) error {
			return second(f.Pull(t.Context(), 99))
		}, hub.ErrNotFound},
		"C01 a branch that exists already": {func(f forge) error {
			return f.CreateBranch(t.Context(), "main", f.head("main"))
		}, hub.ErrExists},
		"C02 a branch that moved": {func(f forge) error {
			mine := f.put(f.head("main"), "x", "1")
			f.fake.PushAsPerson("main", "other", map[string]*gitserver.File{"y": gitserver.Text("2")})
			return f.MoveBranch(t.Context(), "main", mine)
		}, hub.ErrMoved},
		"moving a branch that was deleted": {func(f forge) error {
			return f.MoveBranch(t.Context(), "none", f.head("main"))
		}, hub.ErrNotFound},
		"deleting a branch that was deleted": {func(f forge) error {
			return f.DeleteBranch(t.Context(), "none")
		}, hub.ErrNotFound},
		"a branch that takes only pull requests": {func(f forge) error {
			f.fake.SetRules("main", githubfake.Rules{PullRequest: true})
			return f.MoveBranch(t.Context(), "main", f.put(f.head("main"), "x", "1"))
		}, hub.ErrRefused},
		"C09 a branch that takes only signed commits": {func(f forge) error {
			f.fake.SetRules("main", githubfake.Rules{Signatures: true})
			return f.MoveBranch(t.Context(), "main", f.put(f.head("main"), "x", "1"))
		}, hub.ErrRefused},
		"an archived repository": {func(f forge) error {
			f.fake.Archive(true)
			return second(f.PutBlob(t.Context(), nil))
		}, hub.ErrRefused},
		"an object that has not arrived everywhere": {func(f forge) error {
			return f.CreateBranch(t.Context(), "new", sha1a)
		}, hub.ErrUnreachable},
		"a file that has not arrived everywhere": {func(f forge) error {
			return second(f.PutTree(t.Context(), "", []hub.Entry{{Path: "x", SHA: sha1a}}))
		}, hub.ErrUnreachable},
		"C12 a pull request that exists already": {func(f forge) error {
			f.propose("bot/pg")
			return second(f.OpenPull(t.Context(), hub.NewPull{Branch: "bot/pg", Base: "main", Title: "again"}))
		}, hub.ErrExists},
		"C13 a pull request of nothing": {func(f forge) error {
			if err := f.CreateBranch(t.Context(), "bot/pg", f.head("main")); err != nil {
				return err
			}
			return second(f.OpenPull(t.Context(), hub.NewPull{Branch: "bot/pg", Base: "main", Title: "x"}))
		}, hub.ErrRefused},
		"a pull request of a branch that is not there": {func(f forge) error {
			return second(f.OpenPull(t.Context(), hub.NewPull{Branch: "bot/pg", Base: "main", Title: "x"}))
		}, hub.ErrNotFound},
		"merging a pull request whose head moved": {func(f forge) error {
			p := f.propose("bot/pg")
			return second(f.MergePull(t.Context(), p.Number, f.head("main"), "squash", ""))
		}, hub.ErrMoved},
		"merging a pull request that wants an approval": {func(f forge) error {
			f.fake.SetRules("main", githubfake.Rules{PullRequest: true, Approvals: 1})
			p := f.propose("bot/pg")
			return second(f.MergePull(t.Context(), p.Number, p.Head, "squash", ""))
		}, hub.ErrRefused},
		"merging branches that conflict": {func(f forge) error {
			if err := f.CreateBranch(t.Context(), "bot/pg", f.put(f.head("main"), "x", "1\n")); err != nil {
				return err
			}
			f.fake.PushAsPerson("main", "other", map[string]*gitserver.File{"x": gitserver.Text("2\n")})
			return second(f.MergeInto(t.Context(), "bot/pg", "main", "merge"))
		}, hub.ErrRefused},
		"merging when the base was modified meanwhile": {func(f forge) error {
			p := f.propose("bot/pg")
			f.fake.Fault("PUT pulls/{number}/merge", 1, githubfake.Fault{Status: 405, Message: "Base branch was modified. Review and try the merge again."})
			return second(f.MergePull(t.Context(), p.Number, p.Head, "squash", ""))
		}, hub.ErrMoved},
		"asking the author for a review": {func(f forge) error {
			return f.AskReview(t.Context(), f.propose("bot/pg").Number, []string{"robot"}, nil)
		}, hub.ErrRefused},
		"automatic merges that are not allowed": {func(f forge) error {
			return f.AutoMerge(t.Context(), f.propose("bot/pg"), "squash") // no rules: GitHub has nothing to wait for
		}, hub.ErrRefused},
		"an automatic merge of another head": {func(f forge) error {
			f.fake.SetRules("main", githubfake.Rules{PullRequest: true, Approvals: 1})
			p := f.propose("bot/pg")
			p.Head = sha1a
			return f.AutoMerge(t.Context(), p, "squash")
		}, hub.ErrMoved},
		"an automatic merge of a pull request that is gone": {func(f forge) error {
			return f.AutoMerge(t.Context(), hub.Pull{NodeID: "PR_none"}, "squash")
		}, hub.ErrNotFound},
		"a revoked token": {func(f forge) error {
			f.fake.Revoke(f.fake.Token())
			return second(f.Head(t.Context(), "main"))
		}, hub.ErrAuth},
		"a token that may read only": {func(f forge) error {
			f.fake.AddUser(githubfake.User{Login: "robot", Token: f.fake.Token(), Access: githubfake.Read})
			return second(f.PutBlob(t.Context(), nil))
		}, hub.ErrAuth},
		"a token that lost its access": {func(f forge) error {
			f.fake.AddUser(githubfake.User{Login: "robot", Token: f.fake.Token(), Access: githubfake.Hidden})
			return second(f.Pull(t.Context(), 1))
		}, hub.ErrAuth},
		"histories that have nothing in common": {func(f forge) error {
			orphan, err := f.PutCommit(t.Context(), hub.NewCommit{Tree: f.commit(f.head("main")).Tree, Message: "alone"})
			if err != nil {
				return err
			}
			return second(f.Compare(t.Context(), "main", orphan))
		}, hub.ErrNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.call(begun(t))
			if !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			plain(t, err)
		})
	}
}
