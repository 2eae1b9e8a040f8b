package live

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/poolwright/poolwright/render"
)

// FieldManager is the name under which the role Services are patched. It is
// always an Update, never an Apply: releasing an Apply would delete the selector.
// Argo CD's ignoreDifferences.managedFieldsManagers names it.
const FieldManager = "poolwright-failover"

// AnnotationOverride on a role Service holds the Record: this Service is ahead of Git.
const AnnotationOverride = "poolwright.dev/override"

// Flux leaves an object alone, also in pruning, whose live annotation says so.
const (
	annotationFreeze = "kustomize.toolkit.fluxcd.io/reconcile"
	frozen           = "disabled"
)

// recordVersion is the only version of Record that there is.
const recordVersion = 1

// maxEpoch is the greatest epoch that is believed of what is live: Git can go beyond it.
const maxEpoch = render.MaxEpoch / 2

// Record says that the role Services are ahead of Git, and why. It stands as JSON
// in AnnotationOverride of each of them and, so that it survives the replacement
// of a Service, in the control ConfigMap. It holds all that is needed to put the
// Services right again when nobody knows anything else.
type Record struct {
	Version int    `json:"v"`
	Epoch   uint64 `json:"epoch"`
	From    string `json:"from,omitempty"`
	To      string `json:"to"`
	// At is when the Services began to be ahead of Git, whole seconds, UTC. A newer membership keeps it.
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitempty"`
	// By is the person who ordered it, "" when poolwright decided.
	By string `json:"by,omitempty"`
	// Until is when that order ends, zero when there is none or it does not say.
	Until time.Time `json:"until,omitzero"`
	// Froze is true on a Service that this record's patch froze for Flux: whoever froze it unfreezes it.
	Froze bool `json:"froze,omitempty"`
	// Select is what each role selects: keys of poolwright's label domain only.
	Select map[Role]map[string]string `json:"select"`
}

// Role is one of the two Services in front of all poolers.
type Role string

// The roles, in the order in which they are moved.
const (
	Writer Role = "writer"
	Reader Role = "reader"
)

// ParseRecord reads a Record. Anything that poolwright would not have written is an error.
func ParseRecord(text string) (Record, error) {
	var r Record
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return Record{}, fmt.Errorf("reading the override record: %w", err)
	}
	switch {
	case r.Version != recordVersion:
		return Record{}, fmt.Errorf("reading the override record: version %d is not %d", r.Version, recordVersion)
	case r.Epoch == 0 || r.At.IsZero():
		return Record{}, fmt.Errorf("reading the override record: epoch or time is missing")
	case r.Epoch > maxEpoch:
		return Record{}, fmt.Errorf("reading the override record: epoch %d is beyond %d", r.Epoch, uint64(maxEpoch))
	case len(r.Select) == 0:
		return Record{}, fmt.Errorf("reading the override record: it does not say what is selected")
	}
	for role, keys := range r.Select {
		if role != Writer && role != Reader {
			return Record{}, fmt.Errorf("reading the override record: %q is no role", role)
		}
		if keys[render.LabelCluster] == "" {
			return Record{}, fmt.Errorf("reading the override record: the %s selects pods of every cluster", role)
		}
		for key := range keys {
			if !IsOurKey(key) {
				return Record{}, fmt.Errorf("reading the override record: %q is not poolwright's key", key)
			}
		}
	}
	return r, nil
}

// isOf reports what is wrong with a record that stands on an object of a cluster: it must select that cluster's pods.
func (r Record) isOf(cluster string) error {
	for role, keys := range r.Select {
		if keys[render.LabelCluster] != render.LabelValue(cluster) {
			return fmt.Errorf("reading the override record: the %s selects pods of cluster %q", role, keys[render.LabelCluster])
		}
	}
	return nil
}

// String is the JSON of the record: the same record, the same bytes.
func (r Record) String() string {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // strings, numbers and maps of them
	}
	return string(text)
}
