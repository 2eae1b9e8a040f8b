// Package postgres asks the nodes of a PostgreSQL cluster with streaming replication (Patroni, Cloud SQL, RDS Multi-AZ, your own)
// what they are. It returns evidence, faults included, and judges nothing: that is discovery.Merge.
//
//  1. The host list is the membership: nobody is learnt and nobody forgotten.
//  2. Every node is asked directly, all at the same time, one round trip each: recovery, read-only, timeline. A node that hangs is a
//     timeout, and does not delay the answers of the others beyond the deadline.
//  3. A node is named by the host list. A cluster's system identifier is the same on all its nodes, and so is nobody's name.
//  4. The timeline of a primary is that of the WAL it writes now. A standby's is the newest that its WAL receiver (seen by roles with
//     pg_monitor) or its control file (as of its last restartpoint, seen by all) knows of: it can be late, and then proves less, never more. Where
//     these functions were revoked, the timeline is 0, not known.
//  5. Where the observation shows a writer, an idle connection to it is held, whose loss Lost tells.
package postgres
