// Package pgcluster is a test bed: a handful of real PostgreSQL servers with
// streaming replication on loopback, for the tests of any package.
//
//	c := pgcluster.Start(t, pgcluster.Options{Nodes: []string{"a", "b", "c"}})
//	c.Stop("a", pgcluster.Immediate)
//	c.Promote("b") // c follows b
//	c.Rejoin("a")  // a comes back as a standby of b
//
// How it works, in the order in which it happens:
//
//  1. The binaries are those of PostgreSQL 15, else of the newest version
//     installed. Without them the test fails, naming "make deps"; it never
//     skips. PostgreSQL refuses to run as root, so root runs it as the system
//     user postgres.
//  2. initdb runs once for each version and user: its result is kept in the
//     user's cache directory, and every data directory is a copy of it. A copy
//     of a cleanly stopped server is a valid standby of another copy, so the
//     nodes start all at once, with no base backup.
//  3. Every node has an address of its own in 127.0.0.0/8 and all nodes of a
//     cluster share one port, as the instances of an Aurora cluster do.
//  4. The first node is the primary. Start returns when each standby streams
//     from it and has replayed what Start wrote.
//  5. Promote repoints the other standbys at the new primary before it is
//     promoted. They cascade from it at that moment, so that none can be ahead
//     of the point where the new timeline begins.
//  6. Rejoin is a fresh base backup from the primary. pg_rewind would be no
//     faster for a database of this size, and it fails in more ways.
//  7. When the test ends, every server is stopped by its process id and the
//     directory is removed. Should the test process be killed, the kernel
//     stops the servers (Linux).
//
// fsync is off: a cluster survives the death of its servers, not of the machine.
//
// A Cluster belongs to the goroutine of its test.
package pgcluster
