// Package githubfake is a strict stub of GitHub for tests: the documented REST API of one repository, version
// 2022-11-28, and the GraphQL mutation enablePullRequestAutoMerge, over a real bare repository on disk. What
// a client makes through the API is there for git: fsck, log and merge-base see it, and gitserver can serve the same
// repository. What somebody pushes is there for the API.
//
// It needs git on the machine. It does what GitHub documents and refuses what it does not know: an unknown
// route, query parameter or field of a body, a header that GitHub asks for and that is missing, a request without
// a credential, two writes of one credential at once, a request that comes before a limit lets it. Each of these
// is an error of the test.
//
// # Rules, in the order in which they apply to a request
//
//  1. It is held against the protocol: route, User-Agent, Accept, X-GitHub-Api-Version, one write at a time.
//  2. A [Fault] that the test asked for: something happens first, the answer is another one, half of one, or none.
//  3. Requests are served one after the other, each of them whole.
//  4. What happened to the branches without the API (a push, a person) happens to the pull requests: a head that moved,
//     a branch that is gone (closed), a head that is in its base (merged), an automatic merge that may be done.
//  5. Credential: unknown, revoked or expired is 401. A repository that it may not see is 404.
//  6. Limits: 403 or 429, as the test asks with [Server.Limit], or when the hour's requests are used up.
//  7. A repository that was renamed: 301, for writes 307. An archived one refuses writes with 403.
//     A permission that the credential does not have is 403. Git data of an empty repository is 409.
//  8. A read that lags ([Server.Lag]) sees what was before the last change; other reads see what is.
//  9. A write is checked as GitHub checks it, rules of the branch included ([Rules]), and done with git.
//  10. Lists are cut into pages with a Link header. A read has an ETag; with it in If-None-Match it is 304 and costs
//     nothing of the limit.
//
// # What is simpler than GitHub
//
// One repository, no forks, no review comments. Files of a comparison have no counts of lines. Permissions
// are those of the route, not of single fields. Signatures are not checked: a commit that GitHub itself makes, or an
// App without naming an author, is verified; of others [Options.Verify] is asked.
package githubfake
