package discovery

import (
	"cmp"
	"slices"
	"time"
)

// Role is what an instance is. The zero value is Unknown, so that a forgotten
// field never means writer.
type Role uint8

// The roles.
const (
	Unknown Role = iota
	Writer
	Reader
)

// Topology is what a cluster looks like, and how far to trust that. Merge
// makes it from an Observation; nothing changes it afterwards.
type Topology struct {
	Cluster string
	// At is when the observation behind it was finished.
	At time.Time
	// Instances are sorted by name. Names are unique.
	Instances []Instance
	// Timeline is the WAL timeline that the settled writer writes (provider postgres). Each promotion begins a higher one, so a writer on
	// a lower one than was seen before is an old primary that came back. 0 when it is not known, without a writer, and on Aurora.
	Timeline uint32
	// Doubts are sorted; none means trusted.
	Doubts []Doubt
	// Notes are facts for people that change no decision; sorted.
	Notes []Note
}

// Trusted reports whether plans may be made on t.
func (t Topology) Trusted() bool { return len(t.Doubts) == 0 }

// Writer returns the settled writer. ok is false when there is none, which a
// trusted topology only has in mode GlobalSecondary.
func (t Topology) Writer() (writer Instance, ok bool) {
	i := slices.IndexFunc(t.Instances, func(i Instance) bool { return i.Role == Writer })
	if i < 0 {
		return Instance{}, false
	}
	return t.Instances[i], true
}

// Instance returns the instance of that name.
func (t Topology) Instance(name string) (Instance, bool) {
	i, ok := slices.BinarySearchFunc(t.Instances, name, func(i Instance, n string) int { return cmp.Compare(i.Name, n) })
	if !ok {
		return Instance{}, false
	}
	return t.Instances[i], true
}

// Instance is one DB instance, as far as it is known.
type Instance struct {
	// Name is the DB instance identifier (aurora: server_id; postgres: the name in the host list).
	Name string
	// Resource is the physical identity: DbiResourceId, or "" when not known.
	Resource string
	// Host and Port are the endpoint that PgBouncer connects to.
	Host string
	Port int
	Role Role
	// Probe is what came of asking this instance directly.
	Probe Fault
	// Deleting is true when fresh metadata says so.
	Deleting bool
	// Zone and Class are metadata for people; "" when not known.
	Zone, Class string
}
