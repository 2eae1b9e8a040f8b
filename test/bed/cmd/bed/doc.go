// Command bed makes private worlds with a real Kubernetes in them, for tests:
// etcd, API server, controller manager, scheduler, a node whose pods become
// Ready at once, a Git server, and when asked Flux, Argo CD and kube-proxy.
//
//	bed build                                     build what is not built yet
//	bed run --with flux,argo -- go test ./test/e2e   run a command in a new world
//	bed run --with flux                           a world until Ctrl-C
//	bed exec --dir D -- kubectl get pods -A       from outside, into a world
//	bed ctl list|stop|start|restart NAME          inside: treat one part badly
//
// How it works, in the order in which it happens:
//
//  1. Every binary is built from pinned modules of the Go module proxy, a set of
//     binaries for each go.mod, into the user's cache. A set's directory is named
//     by the hash of its go.mod, go.sum, sources, flags and Go version, and it
//     appears under that name when it is complete. A set that is there is never
//     looked into again, and no two processes build at once.
//  2. A world is one process in network, mount, PID, IPC and UTS namespaces of
//     its own (root only). It is PID 1 there: when it ends, the kernel ends
//     everything in the world, and when its parent ends, however, the kernel ends
//     it. Nothing needs to be cleaned up, and ports cannot clash with those of
//     another world or of the machine.
//  3. What a world writes is in its directory D; /run is a private tmpfs. Pods
//     have addresses in 10.244.0.0/16, all of which are local to the world's
//     loopback device. They cannot be in 127.0.0.0/8: EndpointSlices refuse it.
//  4. PID 1 sets this up, starts the driver as its child, and from then on only
//     reaps orphans. The driver starts the parts, as early as each can start,
//     and waits until each answers its own health check.
//  5. The API server has its default admission plugins, RBAC, and an audit log at
//     level Metadata in D/audit.log. Every part has a user of its own, so the log
//     tells who did what. Intervals, back-offs and limits are upstream's defaults,
//     but for Argo CD's 3 min between two looks at Git, which are 5 s.
//  6. A part that ends by itself is started again after a second, as a kubelet
//     would do. One that was stopped through `bed ctl` stays down until started.
//  7. The command runs inside, with BED_DIR and KUBECONFIG set and kubectl, bed
//     and kustomize first on its PATH. There is no way out of the world's network.
//     When the command ends, the world ends with its exit code.
package main
