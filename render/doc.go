// Package render draws the state of a cluster as a tree of files, and reads a tree back as a state.
//
// # The tree
//
//	kustomization.yaml        the namespace; topology, services, each instance; custom/ when it is there
//	topology.yaml             ConfigMap <cluster>-topology: the state itself, receipt and memory
//	services.yaml             Writer and Reader
//	base/                     Deployment, Service, PodDisruptionBudget that all instances share
//	instances/<name>/         kustomization.yaml and pgbouncer.ini
//
// # The rules, in order
//
//  1. A state that no tree can say is refused: no members, a slot twice, an endpoint that moves, a name that no instance
//     has, text that would not stay on its line.
//  2. Selectors are a pure function of the state (Select). The Writer selects one instance. The Reader
//     selects the cluster without the slots that are listed: every pod carries, from its template and
//     for life, the label out for each slot but its own. No pod is ever relabelled.
//  3. Whatever moves in a failover is in services.yaml and topology.yaml (DrawSwitch). Nothing else
//     that is drawn depends on who is what.
//  4. An overlay takes base/ and patches into it, by explicit patches only, its name, its label, its
//     own slot and its own ini. It names nothing of another's. Only features that Kustomize 4.5 to
//     5.8 agree on are used.
//  5. Selectors of Deployments, Services and PodDisruptionBudgets of an instance are its cluster and
//     its name, and never change. A person's labels go to metadata and pod templates only; on conflict
//     poolwright's win.
//  6. An ini is defaults < yours < forced, sorted, with values escaped. What could be a second setting,
//     or a credential, is refused.
//  7. Each ini is a ConfigMap of its own, with a hash in its name: a changed ini rolls exactly that
//     instance. Argo CD prunes the ConfigMap before last of all (PruneLast). Flux prunes it at once:
//     pods that run keep the files they have; a pod of the old ReplicaSet that is created anew before
//     the rollout is over waits, and the new ReplicaSet takes its place.
//  8. Every file starts with a line that marks it as poolwright's. Only such files are overwritten or
//     deleted, and an overlay that holds another one is not deleted (Changes, Foreign, Pinned).
//  9. Same facts, same bytes: no clock, no map order, no version in any file.
//
// ReadBack is the inverse of Draw for the state. It refuses the topology of another cluster, and a tree of ours whose
// topology.yaml is missing: a first tree drawn over it would move pods that run. ReadLive reads the same
// state from the topology ConfigMap that is applied. Message, Summary and Unified say a change to people.
package render
