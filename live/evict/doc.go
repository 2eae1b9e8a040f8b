// Package evict takes clients off the pods of an instance that was the writer. To
// move a Service cuts nobody: a client that is connected stays where it is, and is
// told at every write that the transaction is read-only, for as long as its pool keeps
// the connection.
//
// # When an eviction begins
//
// An eviction is an entry in the control ConfigMap ([live.Eviction]). It begins when the Writer Service selects an instance that
// is not the one of the last entry, and belongs there: by the record of the override, else by what is wanted. So it begins as well when
// the GitOps tool moved the Service; it does not when the tool, or a person, puts it back for a moment.
//
//  1. The first entry of a cluster is over as it is written: nobody is cut because poolwright was installed.
//  2. The demoted are the instance of the last entry and, when that one is not over, its demoted; not the new writer. So A→B→C
//     clears A and B, and A→B→A clears B and puts A right at once.
//  3. The entry is written before anything is disabled. One that cannot be written lets nobody be disabled: clients are cut by their ids
//     once the data plane has moved (since PgBouncer 1.24), or not at all, and that is said. It names the databases that may be disabled:
//     PgBouncer hides a database of an entry * as soon as it has no pool, which KILL takes away, and keeps what it was told of it.
//  4. The entry is over when every pod is. Until then every leader that comes takes it up from the start: each step below is
//     found done, or is done again.
//  5. A person's pause begins nothing. In an open eviction it cuts nobody, and what was disabled is enabled at once; the rest comes when it is lifted.
//  6. Clients that came to the old instance while somebody had put the Service back during an override are evicted like the first, at
//     most every 10 s.
//
// # What is done on one pod
//
// [Next] is a pure function of what is known of one pod ([View]) and of the eviction ([Moment]). Its rules, in the order in which they apply:
//
//  1. A pod of a demoted instance is deleted with grace 0 in the mode deletePods, and when its console has failed for a second in the
//     mode console. Only a pod that was there when the eviction began: what came later has no client from before.
//  2. Nothing is done on a pod whose console fails. It is asked again, ever more slowly.
//  3. A pod of the new writer is put right if something of ours may be on it, and each database that had been used there before, or that the
//     demoted pods serve, is told RECONNECT once: PgBouncer repeats to new clients what the server said when it was a standby.
//  4. Where nobody is to be cut (a pause, the end of this process, an instance that is wanted as the writer again, the mode none), and where
//     the pod has been opened since the data plane moved, what is ours is put right: paused → RESUME, disabled → ENABLE.
//  5. ENABLE is not said within a second of a KILL: a login that was in flight would go on with freed memory, and crash PgBouncer.
//  6. Nothing is done while the entry is being written.
//  7. A data plane that has not moved within the bound keeps nobody refused: the pod is put right, and drained when it moves.
//  8. It is opened when the data plane has moved, the margin is over, and nobody is left in a database that was disabled; should
//     somebody be left for long, then all the same.
//  9. Else it is drained. First DISABLE for each database, also one whose name appears later: nobody comes in any more, and the
//     logins under way fail before they touch a pool. Then whoever is in is cut: since 1.24 by KILL_CLIENT, before by KILL and RESUME, by
//     name, and only after this very connection has answered DISABLE: a process that was restarted has forgotten it.
//
// Readers of a demoted instance are refused from DISABLE to ENABLE: until the EndpointSlices of the Writer Service name none of its
// pods, and the propagation margin after it. Where they cannot be read, the time since the Service was seen moved must do, and that is said.
//
// What a person has paused or disabled on a pod, when nothing of ours could be there, stays so. After a crash in an open eviction that
// cannot be told apart, and is put right: a blocked pod is worse.
//
// A database is what SHOW DATABASES lists, what a client is in, and what the entry names. PgBouncer hides a database of an entry * when
// nobody uses it, and remembers what it was told and what its server said. It goes on to hide one into which a client
// got by a login that took longer than a third of a second.
//
// # Who does it
//
// [Runner] has a worker with a console of its own for each pod, all at once; none waits for another, and nobody waits for the Runner: not
// the Service, not the commit. Each command asks again whether this process holds the cluster and whether what it was decided on is still so.
// A process that ends, or loses the Lease, has two seconds, in which no other can hold it, to put right what is ours; the entry
// stays open for the next one. There is no request at all while no eviction is open.
//
// It is used like this: [New], then [Runner.Run] in a goroutine of its own; [Runner.See] after every change of what is seen or wanted,
// [Runner.Wake] when this process has come to hold the cluster or lost it, [Runner.State] for the status, and [Publicise] for
// what Config.Tell receives.
//
// In the namespace of the cluster it needs create of ConfigMaps, get and patch of the control ConfigMap, as [live] does; list of EndpointSlices and
// delete of pods are optional, and a condition says what is missed. It reads no Secret: Config.Console brings the credentials.
package evict
