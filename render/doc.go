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
//     or a credential, is refused. Where a console is declared, admin_users is yours and its user; where the applications'
//     timeout is, query_wait_timeout is below it.
//  7. Each ini is a ConfigMap of its own, with a hash in its name: a changed ini rolls exactly that
//     instance. Argo CD prunes the ConfigMap before last of all (PruneLast). Flux prunes it at once:
//     pods that run keep the files they have; a pod of the old ReplicaSet that is created anew before
//     the rollout is over waits, and the new ReplicaSet takes its place.
//  8. Every file starts with a line that marks it as poolwright's. Only such files are overwritten or
//     deleted, and an overlay that holds another one is not deleted (Changes, Foreign, Pinned).
//  9. Same facts, same bytes: no clock, no map order, no version in any file.
//
// # A pod that leaves
//
// A preStop hook keeps the process running for spec.pgbouncer.drain: the endpoints lose the pod, new connections go elsewhere,
// clients leave when their pools renew connections, and the console goes on answering, so that a failover in the middle of a
// rollout still evicts whoever is left. Then SIGINT: transactions end, none begins, the process exits and clients come back
// elsewhere, each with at most one error that was no commit; whoever asks for another transaction meanwhile gets it at once, before
// 1.23 when the last transaction ends. SIGTERM, which Kubernetes sends by itself, means an immediate
// end before PgBouncer 1.23 and, since then, closed listeners, no console, and waiting for the last client until SIGKILL comes in
// the middle of a transaction; so the hook outlives the process, and SIGTERM meets only what takes longer than
// the grace period. SIGINT means the same from 1.18 to 1.26, and one hook is right for all. It needs sh, sleep and kill in the image, and
// PgBouncer as process 1 (no shareProcessNamespace). Kubernetes records FailedPreStopHook for it: a hook dies with its container. A rollout
// never promises that no client sees an error, and a role change is no rollout: there clients are cut at once (live/evict).
//
// # What is not drawn
//
// [peers], which carries a cancel request to the process that has the query, needs an address and a peer_id for each process. The
// pods of a Deployment have neither: one ini serves them all, and they have no names. A StatefulSet has names, and takes a pod
// away before it brings the new one. So peers are yours to declare; with more than one replica check says that some cancel requests are lost.
//
// The Secret with userlist.txt is mounted as a directory and nothing of it, no hash either, is in any file: its rotation is no commit
// and no rollout. The kubelet brings the new file into the pods, and PgBouncer reads it at a RELOAD, without losing a client. A Secret
// of a new name (authFileSecretRef) is a change of the pod template, and rolls each pooler once.
//
// # Reading back
//
// ReadBack is the inverse of Draw for the state. It refuses the topology of another cluster, and a tree of ours whose
// topology.yaml is missing: a first tree drawn over it would move pods that run. ReadLive reads the same
// state from the topology ConfigMap that is applied. Message, Summary and Unified say a change to people.
package render
