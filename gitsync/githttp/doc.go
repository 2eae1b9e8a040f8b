// Package githttp serves one bare repository over Git's smart HTTP protocol,
// version 0, in Go alone: no git binary. It is the remote of the demo and of
// tests; it has no authentication and belongs on the loopback interface.
//
// # Rules
//
//  1. A push is a compare-and-swap: a ref moves only from the value that the
//     client says it has. There is no other check, as with git's own defaults.
//  2. A fetch gives what is reachable from the wants and not from the haves.
//     Commits that the client calls shallow have no parents, on both sides.
//  3. A depth cuts the history after so many commits and says where; the filter
//     blob:none leaves the blobs away. Any other filter is refused.
//  4. The repository is opened anew for each request, so that a push through
//     the file system by somebody else is seen at once.
package githttp
