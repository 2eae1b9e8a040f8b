// Package cmd is the command line: the grammar, the loop, and the one place
// where signals, clocks and clients are made. It decides nothing about roles.
//
// # Rules
//
//  1. Main parses, runs one verb and turns what came of it into an exit code.
//     No verb calls os.Exit.
//  2. Results go to standard output: text for people, -o json or yaml for
//     machines. Notes and errors go to standard error.
//  3. An error is one line, "poolwright: <what was being done>: <cause>", and
//     where one thing is certain to help a second line, "hint: <what to type>".
//  4. Exit codes: 0 fine, 1 differs or findings, 2 usage and unusable input,
//     3 untrusted topology, 4 refused until a person acts, 5 unreachable.
//  5. The same input gives the same output, to the byte: no clock, no
//     environment, no order of a map. A verb that judges a snapshot takes the
//     snapshot's own time for now.
//  6. A verb that cannot finish changes nothing: everything is drawn, and written
//     beside its place, before the first file is replaced. Only renaming and
//     deleting come after that; the same command typed again completes them.
//  7. What a database or a snapshot said is escaped in text for people: no control
//     characters, no marks of writing direction.
//
// # The loop: run and demo
//
//  1. One goroutine a cluster makes rounds along the line: the Cluster file is read, every instance is asked,
//     the answers are judged, a decision is made. Rounds follow each other by the declared interval, or by
//     FastInterval while the failover window is open.
//  2. The window opens when the connection to the writer breaks, and when the writer changes or goes out of
//     sight. It is prolonged while the writer is unknown, up to MaxWindow.
//  3. Nothing in a round waits for Git. A read and a push may be under way beside it, one of each.
//  4. A push decides anew: [propose] runs on the head that the push is built on, with the newest evidence, and
//     again on each head that comes in between. What the round decided is only the reason to push.
//  5. Clusters of one repository and branch share a lane: what comes while a push is under way goes into the
//     next one; a failover goes first and alone; what is refused together is tried one by one.
//  6. Whatever fails is tried again with backoff, up to 30 s, and said once and every five minutes. A cluster that cannot be
//     declared or read back stands still, by itself: others go on.
//  7. A place in a repository has one Cluster file. The first that names it keeps it.
//  8. Where Kubernetes is in reach, each round tells the live side where the Services belong, before anything is drawn or
//     published; it moves them by itself, and what becomes of Git does not matter to it. While Git has not been read
//     since the start, what the GitOps tool has applied last stands for it, for the Services only. What people said there, such as a
//     pause, is waited for once after the start, up to 10 s, before anything is committed; then Git goes on alone, and that is said.
//  9. A change that Kubernetes shows (a pod is ready, a person gave an order) makes a round at once, at most one each FastInterval.
//  10. Only the holder of the Lease patches. Where another process is known to hold it, this one publishes nothing either; where the
//     API server gives no answer, it does: the push is a compare-and-swap. The Lease tells which clusters its holder keeps: who
//     stands by for a cluster that is not among them says that nobody keeps it.
//  11. What needs a review is not committed. When nothing else is to be, all that is wished is one pull request, looked after beside the
//     rounds: when the wish or the base is another, and every 30 s. A merge is seen in Git, as any commit.
//  12. The Cluster files of a fleet are read from its repository, every 15 s or when a hook says that it has moved.
//  13. What a hook says is a reason to look, never evidence.
//  14. When asked to stop, the push under way is waited for, up to 20 s; then the Lease is given back.
package cmd
