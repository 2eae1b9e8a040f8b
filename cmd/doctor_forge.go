package cmd

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/poolwright/poolwright/clusters"
	"github.com/poolwright/poolwright/gitsync/hub"
	"github.com/poolwright/poolwright/gitsync/sign"
)

// publishing asks on a quiet day what would stand in the way of a commit or a pull request on another.
func (e *exam) publishing(ctx context.Context) {
	if e.declared == nil || e.declared.Cluster.Spec.Publish.Repository == "" {
		return
	}
	p := e.declared.Cluster.Spec.Publish
	b, err := openBranch(p.PublishTo, e.world.Now)
	if err != nil {
		e.fail("publish", "", "%v", err)
		return
	}
	if b.key != nil {
		e.signing(ctx, b.key)
	}
	if b.hub == nil {
		return
	}
	defer func() { _ = b.hub.Close() }()
	access, err := b.hub.Access(ctx, p.Branch)
	if err != nil {
		e.fail("forge", forgeHint(err), "%v", err)
		return
	}
	e.mayWrite(access, p)
	e.mayMerge(ctx, b.hub, access, p)
	e.forgeClock(access, p)
}

// signing tries the signing key.
func (e *exam) signing(ctx context.Context, key *sign.Signer) {
	err := key.Check(ctx, e.world.Now())
	public, _ := key.Public(ctx)
	switch _, soon := errors.AsType[*sign.ExpiryError](err); {
	case soon:
		e.warn("signing", "have its successor ready, and known to the forge", "%v", err)
	case err != nil:
		e.fail("signing", "nothing is published until the key can sign: mend spec.publish.signing", "%v", err)
	default:
		e.ok("signing", "commits are signed with %s", public)
	}
}

// mayWrite tells whether the credential can change the branch.
func (e *exam) mayWrite(a hub.Access, p clusters.Publish) {
	name := p.Forge.Repository
	switch {
	case a.Archived:
		e.fail("forge", "unarchive it, or publish elsewhere", "repository %s is archived: nobody can write to it", name)
	case !a.Push:
		e.fail("forge", "give it write access to contents and pull requests", "the credential may not write to %s", name)
	default:
		e.ok("forge", "the credential may write to %s", name)
	}
	if a.RenamedTo != "" {
		e.warn("forge", "set spec.publish.repository and spec.publish.forge.repository to it", "repository %s is called %s now; redirects end when somebody takes the old name", name, a.RenamedTo)
	}
}

// mayMerge tells whether the branch's rules let in what is to be committed, and what is to be proposed.
func (e *exam) mayMerge(ctx context.Context, h *hub.Client, a hub.Access, p clusters.Publish) {
	if by := committed(*e.declared); a.NeedsPull && len(by) > 0 {
		e.fail("rules", "set spec.publish.policy to pullRequest for them, or let this App bypass the rule",
			"branch %s takes changes by pull request only, and %s are to be committed", p.Branch, strings.Join(by, ", "))
	}
	app := p.Forge.Auth.App != nil
	switch signed := app && p.Via == "github" || p.Via == "git" && p.Signing != nil; {
	case a.NeedsSignature && !signed:
		e.fail("rules", "set spec.publish.signing, or publish via: github as an App", "branch %s takes signed commits only, and commits are not signed", p.Branch)
	case a.NeedsSignature && !app && byReview(*e.declared):
		e.fail("rules", "make pull requests as an App (spec.publish.forge.auth.app)", "branch %s takes signed commits only, and those of pull requests are verified for an App alone", p.Branch)
	}
	e.checks(ctx, h, a, p)
}

// checks tells whether the required ones start at all.
func (e *exam) checks(ctx context.Context, h *hub.Client, a hub.Access, p clusters.Publish) {
	if len(a.RequiredChecks) == 0 {
		return
	}
	required := strings.Join(a.RequiredChecks, ", ")
	head, err := h.Head(ctx, p.Branch)
	if err != nil || head == "" {
		return // the branch is missing or away, which was said
	}
	seen, err := h.Checks(ctx, head)
	switch {
	case err != nil:
		e.warn("checks", "give it read access to checks and commit statuses", "branch %s requires %s, and whether they start cannot be seen: %v", p.Branch, required, err)
	case seen.Suites == 0 && len(seen.Contexts) == 0:
		e.warn("checks", "commits made with a workflow's own GITHUB_TOKEN start none: use a GitHub App", "branch %s requires %s, and none has started for its newest commit", p.Branch, required)
	default:
		e.ok("checks", "branch %s requires %s, and checks start", p.Branch, required)
	}
}

// appSkew is how far a clock may be off before GitHub refuses what an App signs.
const appSkew = time.Minute

// forgeClock compares this machine's clock with GitHub's: an App's tokens rest on it.
func (e *exam) forgeClock(a hub.Access, p clusters.Publish) {
	off := e.world.Now().Sub(a.ServerTime).Abs().Round(time.Second)
	switch {
	case a.ServerTime.IsZero() || off <= skewed:
	case off > appSkew && p.Forge.Auth.App != nil:
		e.fail("clock", "synchronise it (NTP)", "the clock of this machine is %s off GitHub's, which takes no token of an App then", off)
	default:
		e.warn("clock", "synchronise it (NTP)", "the clock of this machine is %s off GitHub's", off)
	}
}

// committed are the classes of change that go in without a pull request.
func committed(d declaration) (names []string) {
	for _, c := range classes {
		if !reviewedIn(d)[c] {
			names = append(names, c.String())
		}
	}
	return names
}

// forgeHint says who has to act on an error of the forge.
func forgeHint(err error) string {
	switch {
	case errors.Is(err, hub.ErrAuth):
		return "renew the credential of spec.publish.forge.auth"
	case errors.Is(err, hub.ErrNotFound):
		return "look at spec.publish.forge.repository; GitHub says the same of a repository that the credential may not see"
	}
	return ""
}
