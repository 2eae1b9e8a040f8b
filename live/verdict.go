package live

// Verdict is what one look comes to.
type Verdict struct {
	Phase Phase
	// Record is the override that stands or begins, nil when there is none.
	Record     *Record
	Conditions []Condition
	// Writes are to be made in this order; the first one of a Service that fails ends the pass.
	Writes []Write
	// Nudge asks the GitOps tool to look now; nil when there is nothing to hurry.
	Nudge *Nudge
}

// Write is one write to one object.
type Write struct {
	Kind WriteKind
	// Role of the Service, "" for the control ConfigMap.
	Role Role
	// Name of the object.
	Name string
	// Patch is a JSON Patch for a Service; it begins with what must still be true.
	Patch []Op
	// Record is what to mirror (Kind Mirror).
	Record *Record
	// Reverter is the field manager that is undone (Kind Reassert).
	Reverter string
}

// Op is one operation of a JSON Patch (RFC 6902).
type Op struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// Nudge hurries the GitOps tool. It is never needed: the tools poll.
type Nudge struct {
	Owner Owner
	// Key tells one nudge from the next: a commit, or a commit and "unfrozen".
	Key string
}
