package render

import (
	"strconv"

	"github.com/poolwright/poolwright/plan"
)

// The labels that selectors are made of. Only this domain is used: Argo CD rewrites
// app.kubernetes.io/instance, and people change the rest.
const (
	LabelCluster  = "poolwright.dev/cluster"
	LabelInstance = "poolwright.dev/instance"
	slotDomain    = "slot.poolwright.dev/"
	// SlotOut is the value of a slot label: this pod is not in that slot.
	SlotOut = "out"
)

// Annotations that are read back from live objects.
const (
	// AnnotationEpoch is the receipt on the role Services.
	AnnotationEpoch = "poolwright.dev/epoch"
)

// SlotLabel is the label that every pod carries with the value out, except the pods of slot n.
func SlotLabel(n int) string { return slotDomain + strconv.Itoa(n) }

// Selectors of the two role Services.
type Selectors struct {
	Writer map[string]string // nil: no Writer Service (global-secondary)
	Reader map[string]string
}

// Select computes the selectors of a state: no IO, no kustomize. The Reader selects everybody
// who is not excluded; with all members excluded it selects nobody.
func Select(cluster string, s plan.State) Selectors {
	sel := Selectors{Reader: map[string]string{LabelCluster: LabelValue(cluster)}}
	if s.Writer != "" {
		sel.Writer = map[string]string{LabelCluster: LabelValue(cluster), LabelInstance: LabelValue(s.Writer)}
	}
	for _, m := range s.Members {
		if !s.ServesReaders(m) {
			sel.Reader[SlotLabel(m.Slot)] = SlotOut
		}
	}
	return sel
}
