package discovery

import "slices"

// MasterSession is the session_id by which a view calls an instance the writer.
const MasterSession = "MASTER_SESSION_ID"

// In milliseconds, as the rows have it.
const (
	maxRowAge    = 300_000 // an older row is of an instance that was; the age limit of AWS's own drivers
	clearlyNewer = 5_000   // some times the 1 s in which a living instance's row is renewed
	absurdLag    = 900_000 // the lag that is reported for a replica which is being removed
)

// Master reports whether the row calls its instance the writer.
func (r Row) Master() bool { return r.SessionID == MasterSession }

// Fresh reports whether the row counts: its age is NULL (the node that
// answered), or at most 300 s.
func (r Row) Fresh() bool { return r.age() <= maxRowAge }

// age is never negative: two clocks may differ by a little.
func (r Row) age() int64 {
	if r.AgeMillis == nil {
		return 0
	}
	return max(0, *r.AgeMillis)
}

// witness is an answer with its view, read by rules 2 to 4.
type witness struct {
	Answer
	rows  []Row   // those that count
	flaws []Doubt // why there is no view
}

func (j *judge) read(a Answer) *witness {
	w := &witness{Answer: a}
	if j.seen.Provider == Postgres {
		return w
	}
	for _, r := range a.Rows {
		if r.Fresh() {
			w.rows = append(w.rows, r)
		} else {
			j.stale[r.ServerID] = true
		}
	}
	w.flaws = flaws(w.Name, w.rows)
	w.rows = slices.DeleteFunc(w.rows, func(r Row) bool { return j.isForeign(r.ServerID) })
	return w
}

// flaws is rule 3.
func flaws(name string, fresh []Row) []Doubt {
	if len(fresh) == 0 {
		return []Doubt{{NoRows, name, "its view has no fresh row"}}
	}
	var found []Doubt
	times := map[string]int{}
	for _, r := range fresh {
		times[r.ServerID]++
		switch {
		case !IsName(r.ServerID):
			found = append(found, Doubt{EmptyID, name, "its view has a row whose id is empty or no name"})
		case times[r.ServerID] == 2:
			found = append(found, Doubt{DuplicateID, name, "its view has " + r.ServerID + " twice"})
		}
	}
	return found
}

// IsName reports whether s can be an instance identifier: a DNS label. Names
// become hosts, files and Kubernetes objects, so nothing else is let in.
func IsName(s string) bool {
	if s == "" || len(s) > 63 || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	for _, c := range []byte(s) {
		if c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}

// named are the MASTER rows that count: the newest, and those not clearly older.
func (w *witness) named() []Row {
	newest := int64(maxRowAge)
	for _, r := range w.rows {
		if r.Master() {
			newest = min(newest, r.age())
		}
	}
	return w.masters(newest + clearlyNewer)
}

// current are the named rows that speak of now.
func (w *witness) current() []Row {
	return slices.DeleteFunc(w.named(), func(r Row) bool { return r.age() > clearlyNewer })
}

func (w *witness) masters(limit int64) []Row {
	var found []Row
	for _, r := range w.rows {
		if r.Master() && r.age() <= limit {
			found = append(found, r)
		}
	}
	return found
}

// names reports whether the view names that instance.
func (w *witness) names(instance string) bool {
	return slices.ContainsFunc(w.named(), func(r Row) bool { return r.ServerID == instance })
}
