package discovery

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
)

const defaultPort = 5432

// weighFlaws is rule 11.
func (j *judge) weighFlaws() {
	for _, w := range slices.AppendSeq(slices.Clone(j.through), maps.Values(j.heard)) {
		harmless := j.writer != "" && (w.InRecovery || w.Asked == "")
		for _, flaw := range w.flaws {
			if harmless {
				j.note(UnusableView, flaw.Instance, flaw.Code.String()+": "+flaw.Detail)
				continue
			}
			j.doubts = append(j.doubts, flaw)
		}
	}
}

// findMembers is rule 12.
func (j *judge) findMembers() {
	if j.seen.Provider == Postgres {
		for name := range j.asked {
			j.members[name] = true
		}
		return
	}
	for _, v := range j.views() {
		if j.losers[v.Name] {
			continue
		}
		for _, r := range v.rows {
			j.members[r.ServerID] = true
			j.readers[r.ServerID] = j.readers[r.ServerID] || !r.Master()
			if r.LagMillis != nil && *r.LagMillis >= absurdLag {
				j.note(LagSentinel, r.ServerID, "its lag is reported as 15 min or more: it may be leaving")
			}
		}
	}
}

func (j *judge) topology() Topology {
	t := Topology{Cluster: j.seen.Cluster, At: j.seen.At, Timeline: j.timeline()}
	for name := range j.members {
		t.Instances = append(t.Instances, j.instance(name))
	}
	slices.SortFunc(t.Instances, func(a, b Instance) int { return cmp.Compare(a.Name, b.Name) })
	j.remark()
	slices.SortFunc(j.doubts, compareDoubts)
	slices.SortFunc(j.notes, compareNotes)
	t.Doubts, t.Notes = slices.Compact(j.doubts), slices.Compact(j.notes)
	return t
}

// timeline is the writer's. Only what provider postgres asks has one.
func (j *judge) timeline() uint32 {
	if w := j.heard[j.writer]; w != nil && j.seen.Provider == Postgres {
		return w.Timeline
	}
	return 0
}

func (j *judge) instance(name string) Instance {
	i := Instance{Name: name, Role: j.role(name), Probe: j.probe(name)}
	i.Host, i.Port = j.seen.Address(name)
	if host, port, ok := splitEndpoint(j.asked[name].Endpoint); ok {
		i.Host, i.Port = host, port
	}
	j.enrich(&i)
	return i
}

func (j *judge) role(name string) Role {
	w, heard := j.heard[name]
	switch {
	case name == j.writer:
		return Writer
	case heard && w.InRecovery, !heard && j.readers[name]:
		return Reader
	default:
		return Unknown
	}
}

// probe is what came of asking the instance itself.
func (j *judge) probe(name string) Fault {
	a, ok := j.asked[name]
	switch w := j.heard[name]; {
	case !ok:
		return NotAsked
	case w != nil && len(w.flaws) > 0:
		return Broken
	default:
		return a.Fault
	}
}

// enrich is rule 13.
func (j *judge) enrich(i *Instance) {
	m := j.seen.Metadata
	if m == nil || m.State == MetadataOff {
		return
	}
	matches := slices.DeleteFunc(slices.Clone(m.Instances), func(x MetaInstance) bool { return x.Name != i.Name })
	if len(matches) != 1 {
		return
	}
	meta := matches[0]
	i.Resource, i.Zone, i.Class = meta.Resource, meta.Zone, meta.Class
	i.Deleting = m.State == MetadataFresh && meta.Status == "deleting"
}

// remark adds the notes that depend on the whole.
func (j *judge) remark() {
	for name := range j.foreign {
		j.note(NotAMember, name, "fresh metadata does not know it; quarantined")
	}
	for name := range j.stale {
		if !j.members[name] && !j.foreign[name] {
			j.note(StaleRow, name, "its rows are older than 300 s; ignored")
		}
	}
	for name := range j.members {
		if f := j.probe(name); f != None {
			j.note(NoAnswer, name, line(f.String(), "", j.asked[name].Detail))
		}
	}
	for _, w := range j.through {
		if w.Via == Writer && j.writer != "" && w.Name != "" && w.Name != j.writer {
			j.note(EndpointLag, w.Name, "the writer endpoint leads here, the writer is "+j.writer)
		}
	}
	if m := j.seen.Metadata; m != nil && m.State == MetadataStale {
		j.note(MetadataIsOld, "", m.Detail)
	}
}

// Address is where an instance is by its name: {name}.{Domain}, and the
// observation's port, 5432 when that is 0. Domain is opaque: nothing is read
// from it.
func (o Observation) Address(name string) (host string, port int) {
	if o.Domain != "" {
		name += "." + o.Domain
	}
	return name, cmp.Or(o.Port, defaultPort)
}

// splitEndpoint splits host:port and [v6]:port.
func splitEndpoint(endpoint string) (host string, port int, ok bool) {
	colon := strings.LastIndexByte(endpoint, ':')
	if colon < 1 {
		return "", 0, false
	}
	port, err := strconv.Atoi(endpoint[colon+1:])
	if err != nil || port < 1 || port > 65535 {
		return "", 0, false
	}
	return strings.Trim(endpoint[:colon], "[]"), port, true
}

func joinEndpoint(host string, port int) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(port)
}
