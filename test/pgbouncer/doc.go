// Package pgbouncer is a test bed: real PgBouncers of several versions on
// loopback, for the tests of any package.
//
//	db := pgcluster.Start(t, pgcluster.Options{})
//	p := pgbouncer.Start(t, pgbouncer.Options{Version: "1.24", Backend: db.Primary().Addr()})
//	conn, err := pgx.Connect(ctx, p.DSN("postgres"))
//	p.Admin(`DISABLE "postgres"`)
//
// How it works, in the order in which it happens:
//
//  1. The programs are those that `make deps` fetched: for each version of
//     [Versions] one, with the shared libraries of its own Debian suite, in
//     poolwright/pgbouncer/ of the user's cache directory. Without it the test
//     fails, naming "make deps"; it never skips.
//  2. PgBouncer refuses to run as root, so root runs a copy of it, in a directory that
//     others may enter, as nobody.
//  3. Every process has an address of its own in 127.0.0.0/8 and all listen on
//     port 6432, as the pods of a cluster do.
//  4. The ini is a short list of defaults, with what Options say over it. The users are
//     in userlist.txt with their passwords in plain, so that PgBouncer can prove them to
//     PostgreSQL, too. User is an administrator of the console.
//  5. Start returns when the port accepts connections. From then on the test decides: a process that
//     ends by itself is not started again, and is no failure: see [Process.Exited].
//  6. When the test ends, the process is killed by its id, and what it wrote is shown if the test failed.
//     Should the test process be killed, the kernel stops it (Linux).
package pgbouncer
