// Package discovery says what a cluster looks like, and how far to trust that.
//
// A provider (discovery/aurora, discovery/postgres) asks every instance and
// returns an [Observation]: evidence without judgement, faults included. [Merge] is
// the judgement: a pure function from the evidence to a [Topology], whose
// instances have roles and whose doubts say why it must not be acted on. A
// doubt is a value, not an error; no doubt means trusted. The order of answers
// and rows never matters, and nothing here has a clock: ages come with the rows.
//
// # The rules, in the order in which Merge applies them
//
//  1. An answer counts for the instance that was asked. One that gives another name
//     is the fault wrong-node. Two answers for one instance are the doubt duplicate-id,
//     and neither counts. An answer through a cluster endpoint is never an instance's
//     own word (DNS led there): it is only a view, by which instances are found.
//  2. A row whose age is NULL is the row of the node that answered, and fresh. A row older
//     than 300 s is ignored; an instance that no fresh row names does not exist.
//  3. A view without a fresh row, with an empty or impossible id, or with one id
//     twice, is no view (no-rows, empty-id, duplicate-id): nothing in it counts.
//  4. aurora: fresh metadata that knows members quarantines everybody else: rows, views and claims of
//     a non-member do not count (not-a-member). They are what a clone or a rename leaves behind.
//  5. When nobody answered, that is all there is to say: blind.
//  6. The writer is the instance that says so itself, over a direct connection: not in recovery, not
//     read-only and, on Aurora, called MASTER_SESSION_ID in its own view. Not in recovery but read-only, or
//     not called the writer by its own view, is a mixed answer: a doubt, because it could be the writer.
//     In recovery is not the writer, whatever else it says. default_transaction_read_only has no vote of its own.
//  7. postgres: a claim on an older timeline than another node is on, is stale; where a claimant's timeline is not known, none is.
//     What remains has to be one. Its timeline is the topology's: an old primary that is heard alone is known by it, from what was before.
//  8. aurora: of several claims the one stands which every other view names, and names currently; without
//     another view, none. A view names the newest of its MASTER rows, and every one that is not clearly (> 5 s)
//     older. It names currently when that row is at most 5 s old.
//  9. aurora: a single claim does not stand against a view that currently names another instance which could be running but did not
//     answer: the claim may be that of a fenced-off old writer. Refusing connections or starting up is an
//     answer here: no writer runs there. So a reader's view can hold a move for some seconds, and never makes one.
//  10. Without a standing claim: two-writers when claims compete, no-writer when all are stale (rule 7). Without any claim: writer-unproven
//     when views name somebody, no-writer when nobody does. In mode global-secondary no claim is normal, a standing one only worth a note.
//  11. A view that is none (rule 3) is a doubt, unless the writer is settled and the node is in recovery, or it came through a cluster
//     endpoint: one reader's nonsense does not stand before a failover. It is that reader's fault then.
//  12. aurora: the instances are those that the remaining views name, without the views whose writer claim has
//     lost (who is in no other view is not in the topology). postgres: the host list. An instance that did not answer is in, with its fault, and a reader when a view says so.
//     Only Reader may serve readers: one that lost a claim is Unknown.
//  13. Metadata adds zone, class and physical identity; deleting only when it is fresh.
//
// # Two instances, one of them silent
//
// With two instances and no third view, an old writer that was cut off from its storage but still answers cannot be told from a
// writer whose reader is down. Merge then believes the claim. Aurora ends such a node within seconds.
package discovery
