package discovery

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Merge judges an observation. It is pure; doc.go has its rules. The order of
// answers, rows and metadata does not matter.
func Merge(o Observation) Topology {
	j := newJudge(o)
	j.hear()
	if len(j.heard)+len(j.through) == 0 {
		j.doubt(Blind, "", "nobody gave a usable answer"+j.silence())
	} else {
		j.findWriter()
		j.weighFlaws()
	}
	j.findMembers()
	return j.topology()
}

// judge holds the evidence, and what was concluded so far.
type judge struct {
	seen    Observation
	known   map[string]bool     // rule 4: members by fresh metadata; nil when it cannot say
	asked   map[string]Answer   // by name: the direct answer, faults included
	heard   map[string]*witness // by name: who answered directly
	through []*witness          // who answered at a cluster endpoint
	foreign map[string]bool     // quarantined
	stale   map[string]bool     // named by a row that is too old
	writer  string              // "" while none is settled
	losers  map[string]bool     // claimants that are not the writer
	readers map[string]bool     // called a reader by a view that counts
	members map[string]bool
	doubts  []Doubt
	notes   []Note
}

func newJudge(o Observation) *judge {
	return &judge{
		seen: o, known: members(o), asked: map[string]Answer{}, heard: map[string]*witness{},
		foreign: map[string]bool{}, stale: map[string]bool{}, losers: map[string]bool{},
		readers: map[string]bool{}, members: map[string]bool{},
	}
}

// members is rule 4's list, nil when nobody can say. A host list is not
// questioned: provider postgres has its members from a person.
func members(o Observation) map[string]bool {
	m := o.Metadata
	if o.Provider == Postgres || m == nil || m.State != MetadataFresh || len(m.Instances) == 0 {
		return nil
	}
	known := map[string]bool{}
	for _, i := range m.Instances {
		known[i.Name] = true
	}
	return known
}

func (j *judge) doubt(code DoubtCode, instance, detail string) {
	j.doubts = append(j.doubts, Doubt{Code: code, Instance: instance, Detail: detail})
}

func (j *judge) note(code NoteCode, instance, detail string) {
	j.notes = append(j.notes, Note{Code: code, Instance: instance, Detail: detail})
}

// isForeign remembers whom it quarantines, for the notes.
func (j *judge) isForeign(name string) bool {
	if j.known == nil || j.known[name] {
		return false
	}
	j.foreign[name] = true
	return true
}

// hear applies rules 1 to 4 to every answer.
func (j *judge) hear() {
	for name, answers := range byInstance(j.seen.Answers) {
		if len(answers) > 1 {
			j.doubt(DuplicateID, name, "asked twice in one observation")
			j.asked[name] = Answer{Asked: name, Fault: Broken, Detail: "asked twice in one observation"}
			continue
		}
		j.asked[name] = identified(answers[0])
		if j.asked[name].Fault == None && !j.isForeign(name) {
			j.heard[name] = j.read(j.asked[name])
		}
	}
	for _, a := range j.seen.Answers {
		if a.Asked == "" && a.Fault == None && (a.Name == "" || !j.isForeign(a.Name)) {
			j.through = append(j.through, j.read(a))
		}
	}
}

// byInstance groups the direct answers.
func byInstance(answers []Answer) map[string][]Answer {
	by := map[string][]Answer{}
	for _, a := range answers {
		if a.Asked != "" {
			by[a.Asked] = append(by[a.Asked], a)
		}
	}
	return by
}

// identified is rule 1: who answers must be who was asked. Only a hand-written answer has no name.
func identified(a Answer) Answer {
	if a.Fault == None && a.Name != "" && a.Name != a.Asked {
		return Answer{Endpoint: a.Endpoint, Asked: a.Asked, Name: a.Name, Fault: WrongNode, Detail: a.Name + " answered"}
	}
	if a.Name == "" {
		a.Name = a.Asked
	}
	return a
}

// views are the usable views.
func (j *judge) views() []*witness {
	views := slices.AppendSeq(slices.Clone(j.through), maps.Values(j.heard))
	return slices.DeleteFunc(views, func(w *witness) bool { return len(w.flaws) > 0 })
}

// silence lists who did not answer and why, for the end of a sentence.
func (j *judge) silence() string {
	var silent []string
	for name, a := range j.asked {
		if a.Fault != None {
			silent = append(silent, name+" ("+a.Fault.String()+")")
		}
	}
	for _, a := range j.seen.Answers {
		if a.Asked == "" && a.Fault != None {
			silent = append(silent, a.Endpoint+" ("+line(a.Fault.String(), "", a.Detail)+")")
		}
	}
	if len(silent) == 0 {
		return ""
	}
	return "; no answer from " + list(silent)
}

// list is a sorted enumeration for people.
func list(words []string) string {
	slices.Sort(words)
	return strings.Join(slices.Compact(words), ", ")
}

func compareDoubts(a, b Doubt) int {
	return cmp.Or(cmp.Compare(a.Code, b.Code), cmp.Compare(a.Instance, b.Instance), cmp.Compare(a.Detail, b.Detail))
}

func compareNotes(a, b Note) int {
	return cmp.Or(cmp.Compare(a.Code, b.Code), cmp.Compare(a.Instance, b.Instance), cmp.Compare(a.Detail, b.Detail))
}
