package render

import (
	"errors"

	"github.com/poolwright/poolwright/clusters"
	"github.com/poolwright/poolwright/plan"
)

var errTODO = errors.New("not built yet")

// Tree maps slash-separated paths below the cluster directory to contents. Owned files only.
type Tree = map[string][]byte

// Selectors of the two role Services.
type Selectors struct {
	Writer map[string]string // nil: no Writer Service (global-secondary)
	Reader map[string]string
}

// Select computes the selectors of a state: no IO, no kustomize.
func Select(cluster string, s plan.State) Selectors { return Selectors{} }

// Draw draws the whole tree of a state.
func Draw(c clusters.Cluster, s plan.State) (Tree, error) { return nil, errTODO }

// DrawSwitch draws only what a failover may touch: services.yaml and topology.yaml.
func DrawSwitch(c clusters.Cluster, s plan.State) (Tree, error) { return nil, errTODO }

// ReadBack reads a tree's state; a tree without topology.yaml is the zero State.
func ReadBack(t Tree) (plan.State, error) { return plan.State{}, errTODO }
