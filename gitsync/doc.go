// Package gitsync makes directories the declared state of a branch of a Git repository, in commits that cost what
// changed and not what the repository holds.
//
// There is no clone, no worktree and no index. A [Repo] knows the trees of the branch head (5 MB for 50,000
// files) and the files of the directories it was asked about. A commit is a few blobs, the trees on the way to them
// spliced byte by byte, and one push. Everything else in the repository stays as it is to the bit, because nothing
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
//     author and committer are the caller's; the zone is UTC.
//  6. One pack, one push, from the head that was drawn on: the server compares and swaps. There is no force.
//  7. Refused, and the branch has moved: from 1. again, after a random pause that grows, up to ten times; then
//     [ErrMoved]. Refused, and it has not moved: [ErrRefused] with what the hooks said. A locked reference is tried
//     again, a full disk is [ErrUnreachable]: another time.
//  8. No answer to a push: the next try looks whether its commits stand on the branch. They are reported, not made
//     again.
//
// # Errors
//
// An error about the remote is one of the kinds in this package, by errors.Is, each naming who has to act: try again
// later, a person, a new credential. No error and no URL carries a credential; an address with one is refused.
//
// # Transports
//
// HTTP(S), SSH and git on this machine carry the same conversation (wire.go, protocol version 0, over go-git's
// packp), so what is said is written once. HTTP keeps its connection by reading every answer to its end. SSH keeps
// one connection and opens a channel per service, with the handshake under the context and the host key algorithms of
// known_hosts. Not spoken: SHA-256 repositories, multi_ack (Azure DevOps), the dumb protocol.
//
// # What is bounded
//
// An advertisement (64 MB), a warm fetch (rule 2), a cold pack (4 GB; over 8 MB it is read from an unlinked temporary
// file), the files of a directory (100,000), a remote's text (1,000 bytes), the cache: when it has doubled, what the head no
// longer leads to is dropped. A pack is indexed by go-git; its objects are checked against their names.
package gitsync
