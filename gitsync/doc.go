// Package gitsync makes directories the declared state of a branch of a Git repository, in commits that cost what
// changed and not what the repository holds.
//
// There is no clone, no worktree and no index. A [Repo] knows the trees of the branch head (5 MB for 50,000
// files) and the files it was asked about, by directory or by pattern ([Repo.Glob]). A commit is a few blobs, the trees on
// the way to them spliced byte by byte, and one push. Everything else in the repository stays as it is to the bit, because nothing
// decodes and encodes it: modes, symlinks, submodules, LFS pointers, odd names.
//
// What is drawn is not known here: a caller gives a [Draw], which turns what a directory is into what it should
// become. It is called again on each new head. That is the whole of conflict resolution.
//
// # Rules, in the order in which they apply
//
//  1. Read asks upload-pack, Publish asks receive-pack where the branch is; the latter is also the conversation the push
//     belongs to. A branch that is missing among others is an error, one that is missing in an empty repository is
//     begun.
//  2. The head that is known: nothing is fetched. A newer one: what differs, by "have" and "shallow" of the old head and
//     no "deepen" (with "deepen 1" a server sends the whole snapshot again; without "shallow" it sends too little).
//     No head, or more than four times the bytes of a cold start (a rewritten branch), or a tree that is missing
//     afterwards: a cold start, which is depth 1 without blobs, and the newest messages without trees.
//  3. The files of the edits' directories, and each .gitattributes above them, are fetched by name in one request.
//     A server that cannot leave blobs out or hand them out gives packs that come whole, and what is wanted is picked
//     from them.
//  4. Edits are drawn one after the other, the urgent ones first, each on the commits of those before it. One that
//     fails, or asks for a path that is never written, leaves no trace and does not stop the others.
//  5. A change becomes a commit of its own, unless the tree stays the same: then it becomes nothing. Time,
//     author and committer are the caller's; the zone is UTC. A signer ([Options].Sign) signs each commit; when it
//     cannot, nothing is pushed.
//  6. One pack, one push, from the head that was drawn on: the server compares and swaps. There is no force.
//  7. Refused, and the branch has moved: from 1. again, after a random pause that grows, up to ten times; then
//     [ErrMoved]. Refused, and it has not moved: [ErrRefused] with what the hooks said. A locked reference is tried
//     again, a full disk is [ErrUnreachable]: another time.
//  8. No answer to a push: the next try looks whether its commits stand on the branch. They are reported, not made
//     again.
//
// # Through GitHub's API
//
// With [Options].Hub the same loop speaks to GitHub's REST API ([hubRemote]); the rules are the same but for
//
//  1. Where the branch is comes from its reference. Some servers of GitHub lag: while one shows the head that we moved the
//     branch away from, it is asked again, up to five times within some seconds. The tries of rule 7 do the rest.
//  2. Commits come from the log, back to one that is known. Trees and blobs come when they are needed: the trees
//     on the way, a directory with all below it in one call, a blob in a call of its own. What is known stays known, by
//     its name. A tree that GitHub does not show as Git has it (an old tool's modes, names that are not UTF-8) is
//     [ErrUnsupported]: what is not seen to the bit is not written over.
//  3. A commit is stored in two calls: its tree, as what differs from the tree before it, and itself. GitHub's name of the
//     tree must be the one that was drawn. Commits that no branch leads to are left to GitHub to sweep.
//  4. The push is one move of the branch, fast forward only. The first commit's parent is the head that was drawn on: that
//     makes it a comparison and a swap.
//  5. With HubAuthor GitHub is left to say who and when. It then signs an App's commits, whose names are not those drawn:
//     receipts have GitHub's. With HubVerified a commit that it calls unverified is [ErrRefused] before the branch moves.
//  6. Writes are a second apart, as GitHub asks. So the urgent edits are a push of their own, and the others go ten at a time,
//     which an urgent one may come between. Fifty clusters take some two minutes: who has that many, publishes through Git.
//  7. A rate limit is ErrUnreachable at once, with its end for hub.RetryAt, and no try is lost on it.
//  8. An empty repository is read as empty and not published to: GitHub answers 409 to the whole Git database API until there
//     is a commit, and documents one way out, PUT contents, which makes a commit of a single file. A person makes the first
//     commit, or Git does.
//
// # Errors
//
// An error about the remote is one of the kinds in this package, by errors.Is, each naming who has to act: try again
// later, a person, a new credential. No error and no URL carries a credential; an address with one is refused.
//
// # Transports
//
// HTTP(S), SSH and git on this machine carry the same conversation (wire.go, protocol version 0, over go-git's
// packp), so what is said is written once. HTTP keeps its connection by reading every answer to its end; a password
// that was minted ([Minted]) and is answered with 401 is dropped, and the request made once more. SSH keeps
// one connection and opens a channel per service, with the handshake under the context and the host key algorithms of
// known_hosts. Not spoken: SHA-256 repositories, multi_ack (Azure DevOps), the dumb protocol.
//
// # What is bounded
//
// An advertisement (64 MB), a warm fetch (rule 2), a cold pack (4 GB; over 8 MB it is read from an unlinked temporary
// file), the files of a directory (100,000), a remote's text (1,000 bytes), the cache: when it has doubled, what the head no
// longer leads to is dropped. A pack is indexed by go-git; its objects are checked against their names.
package gitsync
