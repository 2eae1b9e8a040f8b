// Package test drives poolwright from outside, against real parts.
//
// # Rules
//
//  1. Only package cmd and test beds are imported: what is proven here is what
//     a user gets.
//  2. The beds are real: PostgreSQL in pgcluster, git over HTTP and SSH in
//     gitsync/gitserver. Only Aurora is simulated, in discovery/aurorasim.
//  3. The import law of the design is a test here, and is itself tested on
//     planted breaches.
//  4. CASES.md lists the public cases that have no test yet, with the reason, and
//     what tests each failure mode of the hand-over.
//  5. What needs a Kubernetes is in e2e, and not part of `go test`.
package test
