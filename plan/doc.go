// Package plan decides what is to be done about a cluster. [Decide] is a pure
// function of what was counted ([Memory]), what is seen and declared ([Observation]),
// a person's policies ([Rules]) and the time. It reads no clock, does no IO and
// makes no error: each action, each refusal and each thing waited for is a
// [Reason] out of a closed enum.
//
// # The rules, in the order in which Decide applies them
//
//  1. Counting. A trusted observation counts once, told by its time: a decision can be made again on another Git head with the
//     same outcome. Of an instance's probes at most one counts per ProbeInterval, in a failover window each. An answer of an
//     instance with a role is good, any fault is bad, not asked is nothing. Another machine under the same name, or another role,
//     starts from zero. A doubtful observation counts for nothing but the report of rule 2.
//  2. Doubt holds: nothing changes anywhere. One reason a doubt, and discovery-failing from DiscoveryFailureThreshold in a row.
//  3. A declared state that contradicts itself holds: nothing is built on it.
//  4. Paused holds. Counting goes on, so that a resume acts on what is known.
//  5. A topology without instances holds, with or without consent. Who wants to remove everything deletes the directory.
//  6. A topology without a writer holds, unless the mode is global-secondary. In that mode there is no Writer Service, and
//     an instance that is promoted stays a reader until a person changes the mode.
//  7. The first tree is one commit: an overlay for everybody who is neither disabled nor being deleted, traffic for readers that
//     answer now. Nobody has been sent anywhere yet, so an empty Reader Service would be the worse start.
//  8. Another writer is a failover. Monitoring has no vote.
//     a. A disabled instance does not become the writer: hold, a person said both.
//     b. Without an overlay there is nothing to switch to: the overlay is published first, alone.
//     c. Without a ready pod the switch waits, unless the old writer has none either. Where Kubernetes is not in reach, it does not wait.
//     d. The failover changes the writer, and who is out: the new writer is in; the old one stays a member and has to prove
//     itself as a reader. All else comes in the next step, so that only services.yaml and topology.yaml change.
//     e. A writer is replaced by none only when the mode becomes global-secondary, and with AllowShrink.
//  9. While the writer stays, each member is judged.
//     a. The writer is in. It never loses traffic for failed probes, and cannot be disabled; both are said.
//     b. Disabled is out at once. Being deleted is out at once and for good: when metadata goes stale it does not come back. Only
//     another machine does, told by its identity or by having been gone in between.
//     c. Missing is out after RemoveAfterMissingCount observations and RemoveAfterMissing time.
//     d. Another machine is out until it proves itself, and so is who was enabled again.
//     e. A reader is out after FailureThreshold bad probes in a row, and in after RecoveryThreshold good ones and, where that can be
//     seen, with a ready pod. A pod that is no longer ready takes nobody out: the Service sees to that without a commit.
//     f. Flaps are damped. Each exclusion within 10 min of the one before doubles the good probes asked for, up to 5 min of them.
//     g. The overlay of who is missing, being deleted or disabled is removed Retention after it left or was last seen, unless
//     a person's file is in it. Who is missing and seen again stays out until it proves itself, and is not removed meanwhile.
//  10. Shrinking. When more than half of the members that exist, or of those that serve, would become missing or deleting in one step,
//     these stay as they are and need AllowShrink. So do the overlays when more than half would be removed. The rest of the step goes on.
//     Failed probes are not shrinking (rule 12 covers them), nor is disabling: a person said it.
//  11. A new instance gets an overlay at once, and traffic when it has proved itself. Its slot is the lowest that no declared member
//     has: one that is freed in this step is given away in the next, when the old overlay is gone from Git. When none is free, the overlay
//     that is retained longest goes first; when there is none, the instance waits and the others go on.
//  12. Without a reader that serves, the writer stands in: by default unless all readers there are were disabled on purpose; with
//     only-when-absent if there is no reader at all, be it disabled, unproven or failing; with none never. It is a function of who is there,
//     not of what was before.
//  13. Nothing differs: keep. Metadata that was merely unknown is no difference. It is recorded along with another change, and only of members that are
//     out, because it rolls their pods.
//  14. The epoch is raised by one if and only if a selector changes. Why a member is out may change without.
//  15. A person's revert holds what says the same as the reverted commit (State.Facts), drawings included. Other facts, or an edited declaration, go on.
//  16. Within the batch window the change waits, but for a failover and what prepares it, and the first tree.
//
// # Members and memory
//
// Git is the memory: who is in, who is out, why and since when. [Memory] holds counters only; without them members that are in
// stay in until they fail anew, and members that are out prove themselves anew. A reason to be out is republished only where its time
// matters after a restart: missing, deleting, disabled. Unproven and unhealthy are the same to a selector.
package plan
