// Package pooler speaks to one PgBouncer at a time: as its administrator
// ([Console]), and as an application does ([Prove]).
//
//  1. Everything is one message of the simple protocol and its answer. The console knows no other, and a Ping, which
//     drivers send by themselves, is an invalid command there.
//  2. A connection sends no startup parameter but application_name: PgBouncer refuses those that it does not know.
//  3. Whatever the peer does, a call ends by Config.Timeout: also when it accepts and never speaks, when it never stops speaking,
//     and when what it says is no PgBouncer's. Then the connection is not to be used any more.
//  4. Columns are found by their names: each version has others. One that is needed and missing is Garbled.
//  5. A database is named by a quoted identifier, never by *, and never left out: since 1.25 a KILL without a name means all.
//     PgBouncer takes 63 bytes; a longer name would be cut, and is refused here.
//  6. A command that finds done what it asks for has succeeded: RESUME of a database that runs, KILL_CLIENT of a client that has gone.
//  7. A proof is a new connection each time: a kept one stays on the pod it was made to, whatever the Service says by now.
//     A writer has proved itself when it says that it is not in recovery and not read-only, or has written. SELECT 1 is proof of nothing:
//     a demoted node answers it for days.
//
// How the versions 1.18, 1.24 and 1.26 answer was seen on real ones; the tests ask them again.
package pooler
