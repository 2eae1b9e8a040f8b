// Package review decides what is to be done about a pull request. [Next] is a pure function from what is seen of a
// branch and its pull request, and what is wished, to one [Step] out of a closed enum. Whoever carries the step out looks
// again and asks again, until the step is [Rest]. What could not be seen is not decided on: an error of the forge never
// becomes a fact, so no step follows from one.
//
// There is one branch and one pull request a cluster. The branch only ever grows: no step rewrites it, and the only one
// that removes it ([Delete]) needs a pull request that still shows all of its commits.
//
// # Rules, in the order in which they apply
//
//  1. Merged, and the base that the wish was drawn on does not have it yet: nothing is wished on top of what was not
//     read. The branch has done its work and is deleted, when its head is what was merged.
//  2. Git is as wished. An open pull request is closed with that reason. The branch of one that we closed is deleted when
//     all on it is ours. Otherwise it stays, and our files on it go back to what the base says, once, so that nobody
//     merges by hand what nobody wishes any more. A branch that a person closed is left as it is.
//  3. A pull request with this very content was closed by a person: that is a no. Nothing is proposed, and an open pull
//     request with other content, which is not wished any more, is closed.
//  4. A person gave the open pull request another base, or edited a file of ours on its branch to something else than is
//     wished now: stop, and say so in one comment. An edit that happens to be what is wished stops nobody.
//  5. An open pull request without a branch is being merged or closed in this moment: wait for what comes of it, here and
//     in rules 2 and 3.
//  6. No branch, or our files on it are not as wished, or it has nothing that the base does not have: a commit on it. Who
//     merges directly also wants the base's head in it. That the base moved elsewhere is no reason.
//  7. No open pull request: open one.
//  8. Labels, reviewers, assignees and auto-merge are asked for once: what a person takes away stays away.
//  9. Title or description differ: write them.
//  10. Merging directly: when the newest commit is ours and the forge knows the pull request by that commit.
//  11. Otherwise rest.
package review
