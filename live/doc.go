// Package live runs ahead of Git. In a failover it moves the two role Services at
// once, keeps them there whoever puts them back, and hands them back, provably, when
// the GitOps tool has applied the commit that says the same.
//
// It never computes a selector: a [Want] brings it. It never reverts on a timer: age
// only alerts. It writes Services of this cluster (by label) and the control
// ConfigMap, nothing else; the nudges of other people's objects are optional.
//
// # What is decided
//
// [Next] is a pure function of what is seen ([Sight]), what is wanted ([Want]) and the
// time. Its rules, in the order in which they apply:
//
//  1. The [Record] of an override stands on each Service that was moved, and in the control ConfigMap, which survives the
//     replacement of a Service. The newest one counts. A record that cannot be read counts as none, and is said. A ConfigMap
//     of that name that is somebody else's (by label) says nothing, and is not written.
//  2. The target is what is wanted. While the decision is held, a record that is newer than Git, or has another writer, stands: its selectors
//     are the target, so that a doubt, a restart, or a person's revert in Git does not undo what was decided. So does a record that came after
//     the decision, whatever its epoch: a person, or another process, knew more, and the next decision knows of it; and one of a higher epoch
//     with the same writer, until Git has been read since. Where the decision says otherwise than a record it goes beyond that record's epoch, so that no copy
//     of it counts for more. What a person's `release` took back ([Recall]) stands against nothing: what is wanted counts,
//     and while nothing may be decided everything of ours goes, whatever Git says. A pause stops every write, also one that no decision knows of yet.
//  3. An override begins with a decided failover, unless a newer one was applied meanwhile, or when Git names another writer than a Service which
//     the tool has not brought to that commit: the patch was lost in a crash. Git must have been read since the tool last came. Nothing else
//     begins one: outside of an override Git owns the Services, and what differs is only said.
//  4. A first move waits for a ready pod of the new writer, unless the old one has none either or a person ordered it. What has been
//     moved before is put back in any case.
//  5. Writer first, then the Reader. A Service that is missing or not ours is said, never written.
//  6. A Service that is elsewhere is moved: one JSON Patch that tests uid and the old selector, replaces the keys of poolwright's
//     domain and keeps all others, and records why. It is an Update of [FieldManager], never an Apply: releasing an Apply would
//     delete the selector. When Flux owns it and has not applied our commit, the same patch freezes it for Flux.
//  7. Moved before and elsewhere now: somebody put it back. It is moved again, and the field manager is named.
//  8. At the target, with its own receipt at the epoch or beyond, and Git saying so: released. One patch takes the annotations
//     and our entry among the managers away, guarded by the resource version. The Service is Git's: if the
//     tool found the selector equal and never had to apply it, the same patch gives it the ownership.
//  9. At the target, and Git said otherwise until now: it gets a record too, so that the tool does not undo what happens to be right.
//  10. The receipt in the topology ConfigMap at the epoch: the tool has applied our commit while the Service was frozen. It is
//     unfrozen. Only who froze unfreezes, by the record or by the field manager: a person's freeze is said.
//  11. The record is mirrored after the Services, and forgotten when nothing of ours is left on them.
//  12. A second failover is another target in the same machine: only the newest epoch is waited for. So is a fail-back to what Git
//     says anyway: the receipts are there already, and the Services are released as soon as Git has been read since: a commit
//     that says otherwise may be there, or under way.
//
// Receipts are epochs on the live objects. Neither Flux's lastAppliedRevision nor Argo CD's sync.revision is proof: a frozen
// Service is skipped while they advance.
//
// # What is done about it
//
// [Keeper] watches the objects, takes the newest Want, and makes Next's writes in order. It needs get, list and watch of each
// object by name, and of the cluster's pods. A pod that becomes ready counts a second later, when the EndpointSlice controller
// knows of it too: a Service that is moved to it before would have nobody for a moment.
package live
