// Package hub is a client of GitHub's REST API for one repository, on github.com and on an Enterprise Server: git objects
// and branches, pull requests, checks, and what a credential may do. Types and paths are go-github's; what goes over the
// wire, and what an answer means, is decided here.
//
// # Rules, in the order in which they apply
//
//  1. A call that GitHub has said it will not take does not go out: it is [ErrLimited] at once, with the time from which
//     on it is taken ([RetryAt]).
//  2. Writes go out one after the other, with a pause between them. Reads wait for nobody.
//  3. The token is asked for anew for each request ([Fixed]), or minted with a margin ([App]). After a 401 it is dropped,
//     and the request is made once more if there is another. Nothing else is repeated here: a caller looks
//     again first.
//  4. A read carries the ETag of what was answered before. "Not modified" costs nothing of the limit.
//  5. A redirect is followed for reads on the same host (a repository that was renamed). A write is [ErrRefused], and the
//     text names where it would have gone.
//  6. An answer is read to its end before anything is made of it, 32 MB at most. One that breaks off, is no JSON, or lacks
//     what it is about is [ErrUnreachable]: an empty list is only what GitHub says is one.
//  7. A limit (429; 403 with Retry-After, without anything remaining, or in words) closes the gate of rule 1: until the
//     time that it names, or else for a minute, twice as long each time up to 15.
//  8. Every other error is one of the kinds of this package, by status and, where GitHub has no code for it, by its words.
//     A 4xx that does not speak as GitHub does comes from something in between: [ErrUnreachable].
//  9. A 404 of a branch or a pull request is believed when the repository itself can be seen. A credential that lost its
//     access gets the same 404, and that is [ErrAuth].
//
// # What is bounded
//
// An answer (32 MB), a request (30 s), a list (5,000 entries), the answers kept for rule 4 (16 MB), a text of GitHub in an
// error (1,000 bytes, no control characters). No error carries a token: it is cut out of what GitHub says.
package hub
