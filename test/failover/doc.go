// Package failover measures a failover as applications feel it: `make bench-failover`.
//
// # How a round goes
//
//  1. A cell of the matrix ([Cells]) is a namespace in a world of test/bed, with Flux and kube-proxy: real PostgreSQL servers, a real
//     PgBouncer of one version in each pod, poolwright with exactly the rights that `poolwright gitops-config` prints, and applications
//     that write through the Writer Service's cluster IP, again and again.
//  2. A round begins when all is at rest and every application has just written: all of the failover before is applied and handed back,
//     and poolwright looks no more often than at other times, for which failover.window is 5 s. Then the writer is taken away in the
//     cell's way, and another server is promoted. A trial, whose times do not count, begins its next round when the eviction is over, and runs
//     beside the others.
//  3. Zero on every clock of the round is the last moment in which the new writer was known to be a standby. It is asked every
//     millisecond, so that "new writer answers" is early by that at most. All times are taken on the one clock of the machine.
//  4. detected and decided are the times of poolwright's log lines; patched and endpoints are when the events of the bench's own watches
//     arrive; evicted is the time in poolwright's entry in the control ConfigMap; committed is when git's server has carried out the push;
//     synced is the event with the epoch in the topology ConfigMap; back is the event after which nothing of poolwright's is on the Services.
//     Where poolwright is to evict and keeps no such entry, the cell fails before its first round.
//  5. An application is back when it has written on the new writer: what it wrote says on which server. One that has not within
//     [Bound] is stuck. It is counted, and started anew for the next round.
//  6. A round is written down when it has ended: what is in the cell's files is not measured again, so that a run that was ended goes on.
//
// The applications are a pgxpool in this process, libpq/client.c and node/client.js. They have no timeout for a statement and no limit for
// the life of a connection: what helps them is measured, and not they.
//
// The bed's pods are processes and not containers: there is no process 1 to send a signal to, so the drawn preStop hook is taken out of the
// pods. No round stops a pod in order, but for the peer's, which has no such hook.
//
// The files: docs/performance/failover/CELL.rounds.csv and CELL.clients.csv are the raw data; docs/performance/failover.md and failover.svg
// are drawn from them alone.
package failover
