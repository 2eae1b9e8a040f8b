package gitsync

// Waiting is how many calls wait for their turn.
func Waiting(r *Repo) int {
	r.turn.mu.Lock()
	defer r.turn.mu.Unlock()
	return len(r.turn.urgent) + len(r.turn.routine)
}

// Cached is how many trees, blobs and commits are kept.
func Cached(r *Repo) (trees, blobs, commits int) {
	return len(r.view.trees), len(r.view.blobs), len(r.view.commits)
}

// Idle makes a kept SSH connection look unused for long.
func Idle(r *Repo) {
	c := r.remote.(*gitRemote).carrier.(*sshCarrier)
	c.used = c.used.Add(-2 * proveAfter)
}
