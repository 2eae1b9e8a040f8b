// Package plan decides what is to be done about a cluster. [Decide] is a pure
// function of what was counted ([Memory]), what is seen and declared ([Observation]),
// a person's policies ([Rules]) and the time. It reads no clock, does no IO and
// makes no error: each action, each refusal and each thing waited for is a
// [Reason] out of a closed enum. The rules follow in the order in which Decide
// applies them.
//
// # What counts, and what holds all else
//
//  1. A trusted observation counts once, told by its time: a decision can be made again on another Git head with the same
//     outcome. Of an instance's probes at most one counts per ProbeInterval, in a failover window each. An answer of an instance
//     with a role is good, a fault is bad, not asked is nothing. Another machine under the same name, or another role, starts from
//     zero. A doubtful observation counts for nothing but the report of rule 2.
//  2. Each doubt is said, whatever is decided, and discovery-failing from DiscoveryFailureThreshold in a row.
//  3. A declared state that contradicts itself holds: nothing is built on it.
//  4. Paused holds. Counting goes on, so that a resume acts on what is known.
//
// # A person's order
//
//  5. Until its end an order says who the writer is. The person has patched the live Services with it, so Git follows: it is above doubt,
//     above a trusted topology that names another, above an older timeline, a disabled instance, readiness and the batch window. A
//     global secondary has no writer to order: it goes on, and says so. A writer without an overlay holds, because Git knows nothing of it.
//  6. Where another writer is declared, the order is a failover as in rule 16. Nothing else changes with it. In doubt, whether the
//     writer stands in for readers rests on the declared members, not on what is seen.
//  7. Where the writer is declared, the order stands: it is said, and the rules that follow take the ordered writer for the writer. When the
//     order is over, they decide as if it had never been: where the databases say another writer, a failover to that one follows.
//
// # What else holds
//
//  8. Doubt holds: nothing changes anywhere.
//  9. A topology without instances holds, with or without consent. Who wants to remove everything deletes the directory.
//  10. A topology without a writer holds, unless the mode is global-secondary. In that mode there is no Writer Service, and
//     an instance that is promoted stays a reader until a person changes the mode.
//
// # The first tree
//
//  11. The first tree is one commit: an overlay for everybody who is neither disabled nor being deleted, and traffic for readers
//     that answer now. Nobody has been sent anywhere yet, so an empty Reader Service would be the worse start. Where scale goes by
//     review, it is held for that: there is nothing else to go on with.
//
// # Another writer is a failover; monitoring has no vote
//
//  12. The mode has become global-secondary: the Writer Service goes, but only with AllowShrink, and by review where membership does.
//     Until then all else is held.
//  13. The new writer is on an older timeline than the declared one was ([State.Timeline]): hold. An old primary has come back. Or it is
//     disabled: hold. A person said one thing and the cluster another.
//  14. It has no overlay: that is published first, in a commit of its own, because there is nothing to switch to before. Whoever decides
//     again on the tree with the overlay gets rule 15: where readiness has no say, the failover can be the next commit of the same push.
//     Where scale goes by review, this overlay does too, failover or not: no review is passed over. Meanwhile the members are judged
//     behind the declared writer; when there is nothing to be done about them, it is a hold.
//  15. It has no ready pod: wait, unless the old writer has none either. Where Kubernetes is not in reach, readiness has no say.
//  16. Otherwise it is the writer now. The old one stays a member and has to prove itself as a reader. Everything else comes
//     with the next decision, so that a failover changes only services.yaml and topology.yaml. Where failovers go by review,
//     it is decided each time anew until a person has merged it ([Plan.ByReview]): the live Services hold it ahead of Git, and nothing else
//     is decided, because Git has another writer until then.
//
// # While the writer stays, its members are judged
//
//  17. The writer is in. It neither loses traffic for failed probes nor can it be disabled; both are said.
//  18. Being deleted is out at once and for good: it does not come back when metadata goes stale. Only another machine
//     does, told by its identity or by having been gone in between.
//  19. Disabled is out at once. Who is enabled again proves itself.
//  20. Missing is out after RemoveAfterMissingCount observations and RemoveAfterMissing time.
//  21. Another machine under the same name is out until it has proved itself.
//  22. While an order stands, whoever a trusted topology calls the writer instead is no reader: it leaves the readers, and a good probe as a
//     writer proves nothing. If the databases are right, the next failover goes to it; if the person is, it serves stale rows.
//  23. A reader is out after FailureThreshold bad probes in a row. It is in after RecoveryThreshold good ones and, where that can
//     be seen, with a ready pod. A pod that is ready no longer takes nobody out: the Service sees to that without a commit.
//  24. Flaps are damped: each exclusion within 10 min of the one before doubles the good probes asked for, up to 5 min of them.
//  25. The overlay of who is missing, being deleted or disabled is removed Retention after it left or was last seen, unless a
//     person's file is in it. Who was missing and is seen again stays out until it has proved itself, and is not removed meanwhile.
//  26. When more than half of the members that exist, or of those that serve, would become missing or deleting in one step, these
//     stay as they are and need AllowShrink. So do the overlays when more than half would be removed. The rest of the step goes on.
//     Failed probes are not shrinking (rule 31 covers them), nor is disabling: a person said it.
//  27. Where membership goes by review, all members stay as they are declared, those who fail, are gone or disabled among them. So does
//     whoever rule 22 is about: it serves readers, against a person's order, until a person has merged that it does not.
//
// # Who comes
//
//  28. A new instance gets an overlay at once, and traffic when it has proved itself. If it did so before its overlay was
//     published, it joins other readers at once, but never ends a fallback before it has pods, and never past a review.
//  29. Its slot is the lowest that no declared member has: one that is freed in this step is given away in the next, when the old
//     overlay is gone from Git. When none is free, the overlay that is retained longest makes way; when there is none, the instance waits
//     and the others go on.
//  30. Where scale goes by review, no overlay comes or goes. Who serves readers is decided all the same: a new overlay that awaits review
//     keeps no failed reader in.
//
// # Fallback
//
//  31. Without a reader that serves, the writer stands in: by default unless all readers that there are were disabled on
//     purpose; with only-when-absent if there is no reader at all, be it disabled, unproven or failing; with none never. It is
//     a function of who is there, not of what was before. Where membership goes by review, it stays as declared.
//
// # What becomes of it
//
//  32. What awaits review is said, one reason for each action that it would be; it holds nothing else. Decided by [Rules.Wish], the same
//     observation comes to all of it: that is what a pull request says.
//  33. Nothing differs: keep, also while one instance waits for a person ([Reason.NeedsPerson]): the rest of the cluster goes on, and
//     so does its configuration. Metadata that was merely unknown is no difference, nor is another timeline of the same writer. It is recorded along with another change, and only of
//     members that are out, because it rolls their pods.
//  34. The epoch is raised if and only if a selector changes: by one, from the newest that any commit of ours carried. A number that was
//     reverted is never used for another membership. Why a member is out may change without.
//  35. A person's revert holds whatever says the same as the reverted commit ([State.Facts]), or as any of several reverted down to the first
//     that stands; a mere drawing and a person's order included. Other facts, an edited declaration or a person's resume, which takes the
//     reverts before it out of [Declared], let it go on. So does time, where RevertHold says so.
//  36. Within the batch window a change waits; not a failover, nor what prepares it, nor the first tree.
//
// # Members and memory
//
// Git is the memory: who is in, who is out, why and since when. [Memory] holds counters only. Without them, members that are in
// stay in until they fail anew, and members that are out prove themselves anew. A reason to be out is republished only where its time
// matters after a restart: missing, deleting, disabled. Unproven and unhealthy are the same to a selector.
package plan
