// Package aurorasim is a simulated Aurora PostgreSQL cluster: instances that
// speak PostgreSQL's wire protocol on loopback, restart, fail over, and break
// in the ways that Aurora's users have reported. It is the engine of the demo
// and the fault injector of tests. It is strict: it answers the statements that
// it knows as Aurora does and refuses all others, so that a client that passes
// here asks for nothing that was not thought of.
//
// # The model
//
// One mutex guards one truth: the instances, and who the shared storage takes
// writes from. What a client sees is computed from that truth at the moment of
// the answer, so a change is seen by all at once, unless a fault says otherwise.
//
//  1. An instance is up, starting (57P03) or down (its port refuses). Each end
//     of its process begins a new life: sessions of an older life are reset.
//  2. A lost writer is replaced by the first live instance, in the order of
//     creation, FailoverDelay later. The promoted one restarts: its sessions
//     are reset too. When nobody is left, the first that comes up is the writer.
//     Until then the views of the others still name the old writer, and its row ages.
//  3. aurora_replica_status() has one row an instance: MASTER_SESSION_ID on the
//     writer's; last_update_timestamp NULL on the own row, 100 ms old for a live
//     instance, the moment of its loss for another.
//  4. The names of the cluster endpoints lead to one instance each. The writer's
//     follows a promotion after DNSLag; PinEndpoint holds either where it is.
//  5. Faults are judged in the order of their constants: the port, the login, the
//     statement, the answer. Those of a view are applied to it one after another.
//  6. Nothing is sent before the silence of an instance is over (pass). A
//     session reads ahead of itself, so it notices its client's end even then.
//
// # Clients
//
// A pgx client plugs in Lookup and Dial and uses the endpoints' names, with
// sslmode up to verify-full (CA). Others, psql for instance, connect to Addr.
// The simple and the extended protocol work, in text and binary formats; prepared
// statements take no parameters. Any database name is accepted.
//
// # Not simulated
//
// Data (a write is answered and forgotten), storage lag, replication slots, promotion
// tiers, the survivable restarts of readers, global databases, channel
// binding, SSL by ALPN, LISTEN and COPY.
package aurorasim
