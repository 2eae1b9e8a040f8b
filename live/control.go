package live

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// ControlName is the name of poolwright's own ConfigMap of a cluster: what must
// survive a restart and is not Git's. It is never rendered.
func ControlName(cluster string) string { return cluster + "-control" }

// Keys of the control ConfigMap's data. Values are JSON.
const (
	KeyOrder    = "order"     // Order, by `patch`
	KeyPause    = "pause"     // Pause, by `pause`
	KeyResume   = "resume"    // Resume, by `resume`
	KeyRelease  = "release"   // Recall, by `release`
	keyOverride = "override"  // Record: the mirror of the Services' annotations
	keyEviction = "evictions" // Eviction: whose clients are being cut, or were last
)

// Control is what the control ConfigMap says. The zero value says nothing.
type Control struct {
	Override *Record
	Order    *Order
	Pause    *Pause
	Resume   *Resume
	Release  *Recall
	Eviction *Eviction
}

// Order is a person's word about who the writer is, from `poolwright patch`.
type Order struct {
	Writer string    `json:"writer"`
	Reason string    `json:"reason"`
	By     string    `json:"by"`
	At     time.Time `json:"at"`
	// Until is when the databases are believed again. When they say something else by then, a failover to that follows.
	Until time.Time `json:"until"`
}

// Pause stops every commit and every patch of a cluster, from `poolwright pause`.
type Pause struct {
	Reason string    `json:"reason"`
	By     string    `json:"by"`
	At     time.Time `json:"at"`
}

// String is who paused it, and why.
func (p Pause) String() string { return strings.TrimSpace(p.By + ": " + p.Reason) }

// Resume lifts the holds by reverts that were made before it, from `poolwright resume`.
type Resume struct {
	By string    `json:"by"`
	At time.Time `json:"at"`
}

// Recall takes back every override up to an epoch, and what was ordered with it, from `poolwright release`.
type Recall struct {
	Epoch uint64    `json:"epoch"`
	By    string    `json:"by"`
	At    time.Time `json:"at"`
}

// takes reports whether a record was taken back.
func (r *Recall) takes(record Record) bool { return r != nil && record.Epoch <= r.Epoch }

// ParseControl reads the data of a control ConfigMap. A value that cannot be read
// is left out and named in the error; the others stand. A pause that cannot be read
// is a pause: somebody meant to stop something.
func ParseControl(data map[string]string) (c Control, err error) {
	var bad []string
	read := func(key string, parse func(string) error) {
		if text, ok := data[key]; ok {
			if e := parse(text); e != nil {
				bad = append(bad, fmt.Sprintf("data.%s: %v", key, e))
			}
		}
	}
	read(keyOverride, into(&c.Override, ParseRecord))
	read(keyEviction, into(&c.Eviction, ParseEviction))
	read(KeyOrder, into(&c.Order, said(func(o Order) bool { return o.Writer != "" && !o.Until.IsZero() })))
	read(KeyPause, into(&c.Pause, said(func(p Pause) bool { return p.Reason != "" || p.By != "" })))
	read(KeyResume, into(&c.Resume, said(func(r Resume) bool { return !r.At.IsZero() })))
	read(KeyRelease, into(&c.Release, said(func(r Recall) bool { return r.Epoch <= maxEpoch && !r.At.IsZero() })))
	if _, ok := data[KeyPause]; ok && c.Pause == nil {
		c.Pause = &Pause{By: "somebody", Reason: "data.pause of the control ConfigMap cannot be read"}
	}
	if len(bad) > 0 {
		err = fmt.Errorf("reading the control ConfigMap: %s", bad[0])
	}
	return c, err
}

// into puts what was read where it belongs, or leaves nil.
func into[T any](where **T, parse func(string) (T, error)) func(string) error {
	return func(text string) error {
		v, err := parse(text)
		if err == nil {
			*where = &v
		}
		return err
	}
}

// errSaysNothing is about a word that is JSON, and not one of poolwright's.
var errSaysNothing = errors.New("it does not say what it must")

// said reads a word as JSON. One that lacks what makes it one is an error.
func said[T any](whole func(T) bool) func(string) (T, error) {
	return func(text string) (v T, err error) {
		if err = json.Unmarshal([]byte(text), &v); err == nil && !whole(v) {
			err = errSaysNothing
		}
		return v, err
	}
}

// Record is the newest override record that stands on the Services or is mirrored, nil when there is none.
func (s Sight) Record() *Record {
	l := look{sight: s}
	l.readRecords()
	return l.strongest
}

// Records are all records that can be read: those on the Services, and the mirror.
func (s Sight) Records() []Record {
	l := look{sight: s}
	l.readRecords()
	return l.records
}

// Applied is the epoch that the GitOps tool has brought the Writer Service to, or the Reader where there is no Writer; 0 when
// neither exists or says so.
func (s Sight) Applied() uint64 {
	for _, role := range []Role{Writer, Reader} {
		if svc := s.Services[role]; svc != nil {
			return ReceiptOf(svc)
		}
	}
	return 0
}

// SpentEpoch is the newest epoch that was taken back, or that is a receipt on a live object: to be one, it need not be of the history that
// Git has now. No decision may have it again, or a receipt would prove what is not true.
func (s Sight) SpentEpoch() uint64 {
	spent := s.Receipt
	for _, svc := range s.Services {
		spent = max(spent, ReceiptOf(svc))
	}
	if r := s.Control.Release; r != nil {
		spent = max(spent, r.Epoch)
	}
	return spent
}

// LastEpoch is the newest epoch that an override had that stands, or that was taken back; 0 when none did.
func (s Sight) LastEpoch() uint64 {
	var last uint64
	if r := s.Record(); r != nil {
		last = r.Epoch
	}
	if r := s.Control.Release; r != nil {
		last = max(last, r.Epoch)
	}
	return last
}

// orderFor is how long an order stands that only a Service tells of, in a record that does not say.
const orderFor = 30 * time.Minute

// Order is what a person ordered last, also when only the record on a Service tells; nil when nobody did, or it was taken back.
func (s Sight) Order() *Order {
	if s.Control.Order != nil {
		return s.Control.Order
	}
	r := s.Record()
	if r == nil || r.By == "" || s.Control.Release.takes(*r) {
		return nil
	}
	o := Order{Writer: r.To, Reason: r.Reason, By: r.By, At: r.At, Until: r.Until}
	if o.Until.IsZero() {
		o.Until = r.At.Add(orderFor)
	}
	return &o
}
