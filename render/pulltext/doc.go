// Package pulltext writes the title and the body of a pull request, so that a reviewer can approve it from
// the description alone. [Write] is a pure function of a [Draft]: it does no IO and reads no clock, everything
// is sorted, and the same facts give the same bytes.
//
// # The rules, in the order in which they are applied
//
//  1. The title is the subject of the commit: [render.Message] writes both. It has at most [MaxTitle] characters, and none that
//     a forge gives a meaning to: pull requests that are squashed have it as their commit's subject.
//  2. What is said of objects, replicas, pools and pods that are replaced is read from what kustomize built before and
//     after, not from the declaration: custom/ counts. Without a build it is "not known", and never guessed.
//  3. What a reviewer needs first comes first: the verdict in two sentences, whether it is live already, why, who serves whom
//     before and after, and the difference key by key with what moves traffic on top. Evidence, objects, connections,
//     checks and ways back follow. The unified diff is last, and folded.
//  4. The connections an instance can get are computed as PgBouncer does it: pods × the sum over databases of pool and
//     reserve × users, capped by max_db_connections. A factor that is not known stays a unit ("a user", "a database"); what
//     is known may be too much already. max_user_connections could only lower the number, and is left out. The number is
//     compared with max_connections where that is known; only what was not so before is an alarm.
//  5. Text that is not ours is foreign: details, names, contents of files, checks, commands. The type markdown is what may
//     stand in a body, and only prose, opening, span and fenced make it out of foreign text. Controls and marks of the writing
//     direction become visible escapes, Markdown's and HTML's characters are escaped, and a fence is longer than any in it.
//  6. What a forge reads out of text wherever it stands is broken with a zero width space: mentions, references to issues,
//     keywords that close them, words that skip checks, hidden comments, and the sentence of a revert. Code is no shelter
//     from that: the body can become a commit's message, in which there is no code.
//  7. Each part has a limit in bytes and is cut between lines, with a sentence that counts what is missing. The diff gets the
//     room that is left of [MaxBody], and a command shows the rest.
//  8. The last paragraph is trailers, so that a squash whose message is this body still tells poolwright what it is.
package pulltext
