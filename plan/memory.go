package plan

import (
	"sort"
	"strings"
	"time"

	"github.com/poolwright/poolwright/discovery"
)

// Memory is what was counted since this process started, and nothing else: it
// may be lost at any time. Decide returns the next one. The zero value is a
// start.
type Memory struct {
	// at is the last trusted observation that was counted. Each counts once.
	at time.Time
	// doubtAt and doubts are the last doubtful one and how many came in a row.
	doubtAt time.Time
	doubts  int
	// pending is when the oldest unpublished change was first wanted, pendingOn what was declared then.
	pending   time.Time
	pendingOn State
	// records are sorted by name: all members and all instances.
	records []record
}

// record is what was counted about one name.
type record struct {
	name     string
	resource string         // the machine that the counts are about, "" when not known
	role     discovery.Role // the role that they are about
	// counted is the last probe that counted; good and bad are how many in a row.
	counted   time.Time
	good, bad int
	goodSince time.Time // the first of good
	// renewed is true while a machine that came under a known name has not proved itself.
	renewed bool
	// absent counts trusted observations in a row without this instance, since the first of them.
	absent      int
	absentSince time.Time
	seen        time.Time // the last trusted observation with it
	// strikes counts exclusions from traffic, each within damping of the one before; struck is the last.
	strikes int
	struck  time.Time
}

// The damping of flaps: an exclusion within dampFor of the one before doubles
// the proof asked for, up to dampMost.
const (
	dampFor  = 10 * time.Minute
	dampMost = 5 * time.Minute
)

// next is the memory after an observation.
func (m Memory) next(saw Observation, r Rules) Memory {
	at := saw.Topology.At
	switch {
	case !saw.Topology.Trusted() && (m.doubts == 0 || !at.Equal(m.doubtAt)):
		m.doubts++
		m.doubtAt = at
	case saw.Topology.Trusted() && (m.records == nil || !at.Equal(m.at)):
		m.doubts = 0
		m.at = at
		m.records = m.count(saw.Topology.Instances, saw.Declared.State.Members, tally{at: at, window: saw.Window, writer: saw.Declared.State.Writer, rules: &r})
	}
	return m
}

// record returns what was counted about a name.
func (m Memory) record(name string) record {
	i, ok := sort.Find(len(m.records), func(i int) int { return strings.Compare(name, m.records[i].name) })
	if !ok {
		return record{name: name}
	}
	return m.records[i]
}

// count makes the records after a trusted observation: of the instances seen and of
// the declared members. Both are sorted by name.
func (m Memory) count(seen []discovery.Instance, declared []Member, t tally) []record {
	next := make([]record, 0, max(len(seen), len(declared)))
	for len(seen) > 0 || len(declared) > 0 {
		switch {
		case len(declared) == 0 || len(seen) > 0 && seen[0].Name < declared[0].Name:
			next = append(next, t.present(m.record(seen[0].Name), &seen[0], &Member{Out: Unproven}))
			seen = seen[1:]
		case len(seen) == 0 || declared[0].Name < seen[0].Name:
			next = append(next, t.away(m.record(declared[0].Name), &declared[0]))
			declared = declared[1:]
		default:
			next = append(next, t.present(m.record(seen[0].Name), &seen[0], &declared[0]))
			seen, declared = seen[1:], declared[1:]
		}
	}
	return next
}

// tally is how one trusted observation counts.
type tally struct {
	at     time.Time
	window bool
	writer string // declared
	rules  *Rules
}

// reader reports whether m serves readers: a writer that fails is no flapping reader.
func (t tally) reader(m *Member) bool { return m.Out == In && m.Name != t.writer }

// away counts the observation for a member that is not in it.
func (t tally) away(r record, m *Member) record {
	if r.absent == 0 {
		r.absentSince = t.at
	}
	r.absent++
	r.good, r.bad = 0, 0
	if t.reader(m) && r.gone(*t.rules, t.at) && r.struck.Before(r.absentSince) {
		r.strike(t.at)
	}
	return r
}

// present counts the observation for an instance that is in it. m is what is
// declared about it.
func (t tally) present(r record, i *discovery.Instance, m *Member) record {
	if r.resource == "" {
		r.resource = m.Resource
	}
	// What was deleted and gone is not what comes back, even if nobody can tell by its identity.
	reborn := m.Out == Deleting && r.gone(*t.rules, t.at)
	if reborn || otherMachine(r.resource, i.Resource) {
		r = record{name: i.Name, renewed: true}
	}
	r.resource = known(i.Resource, r.resource)
	r.absent, r.absentSince, r.seen = 0, time.Time{}, t.at
	r.inRole(i.Role)
	t.probe(&r, i, m)
	return r
}

// probe counts the probe, if it is time for one that counts.
func (t tally) probe(r *record, i *discovery.Instance, m *Member) {
	due := t.window || r.counted.IsZero() || t.at.Before(r.counted) || t.at.Sub(r.counted) >= t.rules.ProbeInterval
	if i.Probe == discovery.NotAsked || !due {
		return
	}
	r.counted = t.at
	// An instance that answers, but as what nobody can say, has lost a claim to be the writer.
	if i.Probe == discovery.None && i.Role != discovery.Unknown {
		t.good(r)
		return
	}
	r.good = 0
	r.bad++
	if r.bad == t.rules.FailureThreshold && t.reader(m) {
		r.strike(t.at)
	}
}

func (t tally) good(r *record) {
	if r.good == 0 {
		r.goodSince = t.at
	}
	r.good++
	r.bad = 0
	r.renewed = r.renewed && !r.proven(*t.rules)
}

// otherMachine reports whether both are known and differ.
func otherMachine(a, b string) bool { return a != "" && b != "" && a != b }

// inRole drops what was counted in another role. An unknown role says nothing.
func (r *record) inRole(role discovery.Role) {
	if role == discovery.Unknown {
		return
	}
	if r.role != discovery.Unknown && r.role != role {
		r.good, r.bad, r.counted = 0, 0, time.Time{}
	}
	r.role = role
}

// strike notes that it is to leave the readers.
func (r *record) strike(at time.Time) {
	if at.Sub(r.struck) > dampFor {
		r.strikes = 0
	}
	r.strikes = min(r.strikes+1, 16) // far above dampMost at any interval
	r.struck = at
}

// gone reports whether it has been missing for long enough: count and time.
func (r *record) gone(rules Rules, at time.Time) bool {
	return r.absent >= rules.RemoveAfterMissingCount && at.Sub(r.absentSince) >= rules.RemoveAfterMissing
}

// proven reports whether it has answered often enough, and, having flapped,
// for long enough: a failover window's fast probes do not shorten that.
func (r *record) proven(rules Rules) bool {
	step := max(rules.ProbeInterval, time.Second)
	most := max(int(dampMost/step), rules.RecoveryThreshold)
	need := min(rules.RecoveryThreshold<<max(r.strikes-1, 0), most)
	extra := time.Duration(need-rules.RecoveryThreshold) * step
	return r.good >= need && r.counted.Sub(r.goodSince) >= extra
}
