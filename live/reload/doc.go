// Package reload lets the poolers of a cluster read a Secret that was rotated. PgBouncer reads its auth_file when it begins and at RELOAD;
// without one a new password is refused, and an old one is good, until somebody restarts the pods.
//
//  1. The Secret is watched by its metadata: its content is never asked for. Who may not watch it is told so once; nothing else depends on it.
//  2. Nobody tells when a new content has come into a pod: kubelet takes as long as its sync period and the age of its cache, a
//     minute and a half by default. RELOAD changes nothing where nothing has changed, so it is said five times within two and a half minutes of a change.
//  3. The first sight of a Secret counts as a change: it may have been rotated while nobody watched.
//  4. Only who holds the cluster says it. Every process counts the times, so that whoever takes over goes on.
//  5. All pods at once, each bounded by its console's timeout. What did not reach a pod is told after the last time.
package reload
