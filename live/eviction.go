package live

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes"
)

// evictionVersion is the only version of Eviction that there is.
const evictionVersion = 1

// Eviction says from which instances clients are being taken, or were taken last.
// It stands in the control ConfigMap from before the first database is disabled
// until none is any more, so that whoever comes after a crash knows what is
// poolwright's and puts it right. Instances are values of their label.
type Eviction struct {
	Version int `json:"v"`
	// Number is raised by one for each eviction of the cluster: the entry with the greater one is the newer.
	Number uint64 `json:"n"`
	// To is the instance that the Writer Service selected when this began.
	To string `json:"to"`
	// From are the instances that lose their clients, sorted; none in the first entry of a cluster.
	From []string `json:"from,omitempty"`
	// Restore are instances of an eviction before that was not over when the Service came back to them: what is
	// disabled there may be poolwright's.
	Restore []string `json:"restore,omitempty"`
	// Databases are the names of all that may be disabled, sorted. PgBouncer hides a database of an entry * as soon as nobody uses it, with
	// what it was told of it.
	Databases []string `json:"databases,omitempty"`
	// At is when this began, UTC.
	At time.Time `json:"at"`
	// Done is when nobody was left and everything was enabled again; zero while the entry is open.
	Done time.Time `json:"done,omitzero"`
	// Evicted is how many connections were cut, Returned how many of them were seen on To since.
	Evicted  int `json:"evicted,omitempty"`
	Returned int `json:"returned,omitempty"`
}

// ParseEviction reads an Eviction. Anything that poolwright would not have written is an error.
func ParseEviction(text string) (Eviction, error) {
	var e Eviction
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		return Eviction{}, fmt.Errorf("reading the eviction: %w", err)
	}
	switch {
	case e.Version != evictionVersion:
		return Eviction{}, fmt.Errorf("reading the eviction: version %d is not %d", e.Version, evictionVersion)
	case e.Number == 0 || e.To == "" || e.At.IsZero():
		return Eviction{}, fmt.Errorf("reading the eviction: number, instance or time is missing")
	case e.Done.IsZero() && len(e.From) == 0:
		return Eviction{}, fmt.Errorf("reading the eviction: it is open, and about nobody")
	}
	return e, nil
}

// Open reports whether the eviction is not over.
func (e Eviction) Open() bool { return e.Done.IsZero() }

// String is the JSON of the eviction: the same eviction, the same bytes.
func (e Eviction) String() string {
	e.Version = evictionVersion
	text, err := json.Marshal(e)
	if err != nil {
		panic(err) // strings, numbers and times
	}
	return string(text)
}

// PutEviction writes the entry into the control ConfigMap, which need not exist.
// [CodeOf] says what an error means. A caller bounds it with ctx.
func PutEviction(ctx context.Context, client kubernetes.Interface, names Names, e Eviction) error {
	return PutControl(ctx, client, names, map[string]string{keyEviction: e.String()})
}

// ControlTrouble is what people should know of a write to the control ConfigMap that failed.
func ControlTrouble(names Names, err error) Condition {
	return writeCondition(names, Write{Kind: Mirror, Name: ControlName(names.Cluster)}, err)
}
