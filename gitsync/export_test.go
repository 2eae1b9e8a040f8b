package gitsync

// Waiting is how many calls wait for their turn.
func Waiting(r *Repo) int {
	r.turn.mu.Lock()
	defer r.turn.mu.Unlock()
	return len(r.turn.urgent) + len(r.turn.routine)
}
