package live

import (
	"context"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
)

// Config says how a Keeper reaches its objects.
type Config struct {
	Names  Names
	Client kubernetes.Interface
	// Dynamic reads and nudges the GitOps tool's objects; nil never nudges.
	Dynamic dynamic.Interface
	// ArgoNamespace is where Applications are, default "argocd".
	ArgoNamespace string
	// Holds reports whether this process holds the cluster. Without it nothing is written.
	Holds func() bool
	Now   func() time.Time
	// Tell receives what happens, one call each, from Run's goroutine.
	Tell func(Event)
}

// Event is one thing that happened to a cluster's Services. Exactly one field group is set.
type Event struct {
	At time.Time
	// Phase is the new phase, when it changed. Changed is true then.
	Changed bool
	Phase   Phase
	// Wrote is a write that was made, with how long it took, or that failed.
	Wrote *Write
	Took  time.Duration
	Err   error
	// Condition came (Gone false) or went.
	Condition *Condition
	Gone      bool
}

// Keeper keeps the role Services of one cluster at what is wanted.
type Keeper struct {
	config Config
}

// New makes a Keeper. It does nothing before Run.
func New(c Config) *Keeper { return &Keeper{config: c} }

// Run watches and acts until ctx ends. It reads nothing but the objects in
// Config.Names and the pods of the cluster, and lists them once.
func (k *Keeper) Run(ctx context.Context) { <-ctx.Done() }

// Want replaces what is wanted, and returns at once.
func (k *Keeper) Want(Want) {}

// Sight is what is seen now; ok is false until everything has been read once.
func (k *Keeper) Sight() (s Sight, ok bool) { return Sight{}, false }

// Verdict is what the last look came to.
func (k *Keeper) Verdict() Verdict { return Verdict{} }

// Changed receives after something that was seen has changed, so that the cluster can be looked at again at once.
func (k *Keeper) Changed() <-chan struct{} { return nil }
