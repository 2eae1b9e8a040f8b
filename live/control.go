package live

import (
	"encoding/json"
	"fmt"
	"time"
)

// ControlName is the name of poolwright's own ConfigMap of a cluster: what must
// survive a restart and is not Git's. It is never rendered.
func ControlName(cluster string) string { return cluster + "-control" }

// Keys of the control ConfigMap's data. Values are JSON.
const (
	keyOverride = "override"  // Record: the mirror of the Services' annotations
	keyOrder    = "order"     // Order, by `patch`
	keyPause    = "pause"     // Pause, by `pause`
	keyResume   = "resume"    // Resume, by `resume`
	keyEviction = "evictions" // Eviction: whose clients are being cut, or were last
)

// Control is what the control ConfigMap says. The zero value says nothing.
type Control struct {
	Override *Record
	Order    *Order
	Pause    *Pause
	Resume   *Resume
	Eviction *Eviction
}

// Order is a person's word about who the writer is, from `poolwright patch`.
type Order struct {
	Writer string    `json:"writer"`
	Reason string    `json:"reason"`
	By     string    `json:"by"`
	At     time.Time `json:"at"`
	// Until is when the databases are believed again. It never undoes anything by itself.
	Until time.Time `json:"until"`
}

// Pause stops every commit and every patch of a cluster, from `poolwright pause`.
type Pause struct {
	Reason string    `json:"reason"`
	By     string    `json:"by"`
	At     time.Time `json:"at"`
}

// Resume lifts the holds by reverts that were made before it, from `poolwright resume`.
type Resume struct {
	By string    `json:"by"`
	At time.Time `json:"at"`
}

// ParseControl reads the data of a control ConfigMap. A value that cannot be read
// is left out and named in the error; the others stand.
func ParseControl(data map[string]string) (c Control, err error) {
	var bad []string
	read := func(key string, parse func(string) error) {
		if text, ok := data[key]; ok {
			if e := parse(text); e != nil {
				bad = append(bad, fmt.Sprintf("data.%s: %v", key, e))
			}
		}
	}
	read(keyOverride, func(text string) error {
		r, e := ParseRecord(text)
		if e == nil {
			c.Override = &r
		}
		return e
	})
	read(keyEviction, func(text string) error {
		v, e := ParseEviction(text)
		if e == nil {
			c.Eviction = &v
		}
		return e
	})
	read(keyOrder, func(text string) error { return unmarshal(text, &c.Order) })
	read(keyPause, func(text string) error { return unmarshal(text, &c.Pause) })
	read(keyResume, func(text string) error { return unmarshal(text, &c.Resume) })
	if len(bad) > 0 {
		err = fmt.Errorf("reading the control ConfigMap: %s", bad[0])
	}
	return c, err
}

// unmarshal reads JSON into a new value, or leaves nil.
func unmarshal[T any](text string, into **T) error {
	v := new(T)
	if err := json.Unmarshal([]byte(text), v); err != nil {
		return err
	}
	*into = v
	return nil
}

// Record is the newest override record that stands on the Services or is mirrored, nil when there is none.
func (s Sight) Record() *Record {
	l := look{sight: s}
	l.readRecords()
	return l.strongest
}

// Applied is the epoch that the GitOps tool has brought the Writer Service to, or the Reader where there is no Writer; 0 when
// neither exists or says so.
func (s Sight) Applied() uint64 {
	for _, role := range []Role{Writer, Reader} {
		if svc := s.Services[role]; svc != nil {
			return receiptOf(svc)
		}
	}
	return 0
}

// orderFor is how long an order stands that only a Service tells of: the command could not write it down.
const orderFor = 30 * time.Minute

// Order is what a person ordered last, also when only the record on a Service tells; nil when nobody did.
func (s Sight) Order() *Order {
	if s.Control.Order != nil {
		return s.Control.Order
	}
	r := s.Record()
	if r == nil || r.By == "" {
		return nil
	}
	return &Order{Writer: r.To, Reason: r.Reason, By: r.By, At: r.At, Until: r.At.Add(orderFor)}
}
