package live

import (
	"context"

	"k8s.io/client-go/kubernetes"
)

// Holder says whether this process is the one that acts.
type Holder struct{}

// HolderConfig names the Lease.
type HolderConfig struct {
	Client          kubernetes.Interface
	Namespace, Name string
	// Identity of this process, unique among its rivals.
	Identity string
}

// NewHolder makes a Holder. It holds nothing before Run.
func NewHolder(HolderConfig) *Holder { return &Holder{} }

// Run takes and keeps the Lease until ctx ends, and gives it back then.
func (h *Holder) Run(ctx context.Context) { <-ctx.Done() }

// Holds reports whether this process holds the Lease now: only then may it patch.
func (h *Holder) Holds() bool { return false }

// Other is the identity of another process that is known to hold the Lease; "" when nobody else
// does, or when the API server gives no answer. Git is written unless there is another.
func (h *Holder) Other() string { return "" }

// Changed receives after Holds or Other has changed.
func (h *Holder) Changed() <-chan struct{} { return nil }
