// Package forge keeps one pull request a cluster. A caller says what Git is to become ([Wish]); [Keeper.Keep] looks at
// the branch and its pull request, takes the steps that package review asks for, and says how the wish stands
// ([Standing]). It is called at every tick with whatever is wished then. Nothing has to survive between two calls:
// what a restart needs is in the commits' trailers and in a comment in the description that nobody sees.
//
// # The branch
//
//  1. It is never forced. What is wished is one more commit on it. When the base has commits that the branch lacks,
//     that commit is a merge of both. When the branch has nothing of its own, it goes on from the base.
//  2. The tree of that commit is the base's, with our files as wished and everybody else's as a three-way merge has
//     them. The point where they parted is the merge base; after a merge it is what was merged, so that what the base
//     took in another form (squash, rebase) or took back since does not come again.
//  3. Ours is a file that the wish writes or deletes, or that [Wish.Owned] knows. Whatever else is in the directory is a
//     person's.
//  4. A commit is ours when its trailer says so and says how the directory looks in it. An amended one is a person's.
//  5. A person's commit on it, newer than the newest of ours, that changed a file of ours to something that is neither
//     what is wished nor what we wrote, stops us while the pull request is open. So does a file of a person's that base
//     and branch changed in two ways. Without an open pull request the wish, and then the base, is right.
//  6. Moving the branch is a compare-and-swap. When it has moved, everything is looked at anew.
//
// # The pull request
//
//  7. It is found by the branch. One that a list does not show yet is found by the number that we remember, or by the
//     answer that it exists.
//  8. Closed by us is what its description says since the request that closed it. Any other one that is closed and not
//     merged is a person's no to the content that its description or its newest commit names.
//  9. Merged is read when the head that the wish was drawn on has the merge commit, or 10 minutes after: then the base was
//     rewritten.
//  10. An error is returned as it is and ends the call. Nothing is concluded from it.
//
// What cannot be seen of checks for want of a permission, and what is refused to [Wish.Labels], [Wish.Reviewers] and the
// like, is a detail of the standing and no error: the pull request is good without it.
package forge
