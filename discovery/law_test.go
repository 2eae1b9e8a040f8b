package discovery

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// observations draws evidence of every kind, most of it nearly sane, from few names and ages near the limits.
func observations() *rapid.Generator[Observation] {
	names := rapid.SampledFrom([]string{"a", "b", "c", "d"})
	ages := rapid.SampledFrom([]int64{-1, 0, 1000, 5000, 5001, 6000, 300000, 300001})
	rows := rapid.Custom(func(t *rapid.T) Row {
		r := Row{ServerID: names.Draw(t, "id"), SessionID: rapid.SampledFrom([]string{MasterSession, "x", "x"}).Draw(t, "session")}
		if rapid.IntRange(0, 19).Draw(t, "empty id") == 0 {
			r.ServerID = ""
		}
		if age := ages.Draw(t, "age"); age >= 0 {
			r.AgeMillis = &age
		}
		return r
	})
	answers := rapid.Custom(func(t *rapid.T) Answer {
		a := Answer{Name: names.Draw(t, "name")}
		a.InRecovery, a.Timeline = rapid.Bool().Draw(t, "recovery"), rapid.Uint32Range(0, 2).Draw(t, "timeline")
		a.ReadOnly = a.InRecovery || rapid.IntRange(0, 9).Draw(t, "read-only") == 0
		a.Rows = rapid.SliceOfNDistinct(rows, 0, 4, func(r Row) string { return r.ServerID }).Draw(t, "rows")
		if rapid.IntRange(0, 2).Draw(t, "silent") == 0 {
			a = Answer{Fault: rapid.SampledFrom([]Fault{Unreachable, Timeout, Denied, StartingUp, Broken, NotAsked, WrongNode}).Draw(t, "fault")}
		}
		return a
	})
	return rapid.Custom(func(t *rapid.T) Observation {
		o := Observation{
			Cluster: "pg", At: at, Port: 5432, Domain: "example.com",
			Provider: rapid.SampledFrom([]Provider{Aurora, Aurora, Postgres}).Draw(t, "provider"),
			Mode:     rapid.SampledFrom([]Mode{Regional, Regional, GlobalSecondary}).Draw(t, "mode"),
		}
		for _, name := range rapid.SliceOfDistinct(names, rapid.ID[string]).Draw(t, "asked") {
			a := answers.Draw(t, "answer")
			a.Asked, a.Endpoint = name, name+".example.com:5432"
			if a.Fault == None && rapid.IntRange(0, 9).Draw(t, "wrong node") > 0 {
				a.Name = name
			}
			o.Answers = append(o.Answers, a)
		}
		if o.Provider == Aurora && rapid.Bool().Draw(t, "through") {
			a := answers.Draw(t, "through the writer endpoint")
			a.Via, a.Endpoint = Writer, "pg.cluster-example.com:5432"
			o.Answers = append(o.Answers, a)
		}
		if rapid.Bool().Draw(t, "metadata") {
			o.Metadata = &Metadata{State: rapid.SampledFrom([]MetadataState{MetadataOff, MetadataFresh, MetadataStale}).Draw(t, "state")}
			for _, name := range rapid.SliceOf(names).Draw(t, "members") {
				o.Metadata.Instances = append(o.Metadata.Instances, MetaInstance{
					Name: name, Resource: rapid.SampledFrom([]string{"", "A", "B"}).Draw(t, "resource"),
					Status: rapid.SampledFrom([]string{"available", "deleting"}).Draw(t, "status"),
				})
			}
		}
		return o
	})
}

func TestLawTheOrderOfEvidenceDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seen := observations().Draw(t, "seen")
		other := seen
		other.Answers = rapid.Permutation(seen.Answers).Draw(t, "answers")
		for i := range other.Answers {
			other.Answers[i].Rows = rapid.Permutation(other.Answers[i].Rows).Draw(t, "rows")
		}
		if seen.Metadata != nil {
			m := *seen.Metadata
			m.Instances = rapid.Permutation(m.Instances).Draw(t, "members")
			other.Metadata = &m
		}
		if diff := cmp.Diff(Merge(seen), Merge(other)); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestLawATopologyIsSortedAndHasAtMostOneWriter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		topology := Merge(observations().Draw(t, "seen"))
		names, writers := []string{}, 0
		for _, i := range topology.Instances {
			names = append(names, i.Name)
			if i.Role == Writer {
				writers++
			}
			if found, ok := topology.Instance(i.Name); !ok || found != i {
				t.Fatalf("%s is not found", i.Name)
			}
		}
		if !slices.IsSorted(names) || len(slices.Compact(names)) != len(topology.Instances) || writers > 1 {
			t.Fatal(sentence(topology))
		}
		if !slices.IsSortedFunc(topology.Doubts, compareDoubts) || !slices.IsSortedFunc(topology.Notes, compareNotes) {
			t.Fatal(sentence(topology))
		}
	})
}

// Trusted means one writer, which said so itself and is well, or none where none is normal.
func TestLawTheWriterSaysSoItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seen := observations().Draw(t, "seen")
		topology := Merge(seen)
		writer, ok := topology.Writer()
		if topology.Trusted() && !ok && seen.Mode == Regional {
			t.Fatalf("trusted without a writer: %s", sentence(topology))
		}
		if ok && !saysSo(seen, writer.Name) {
			t.Fatalf("%s does not say so itself: %s", writer.Name, sentence(topology))
		}
		if ok && writer.Probe != None {
			t.Fatalf("%s is the writer and did not answer: %s", writer.Name, sentence(topology))
		}
	})
}

func saysSo(o Observation, name string) bool {
	return slices.ContainsFunc(o.Answers, func(a Answer) bool {
		self := slices.ContainsFunc(a.Rows, func(r Row) bool { return r.ServerID == name && r.Master() && r.Fresh() })
		return a.Asked == name && a.Fault == None && a.Name == name && !a.InRecovery && !a.ReadOnly && (self || o.Provider == Postgres)
	})
}

// One more reader's view can put a writer in doubt, and can decide between two that both claim it; it never puts another in the
// place of a writer that there was.
func TestLawAReadersViewNeverMovesTheWriter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seen := observations().Draw(t, "seen")
		before, had := Merge(seen).Writer()
		more := observations().Draw(t, "more")
		for _, a := range more.Answers {
			if a.Asked == "" || a.Fault != None || slices.ContainsFunc(seen.Answers, func(b Answer) bool { return a.Asked == b.Asked }) {
				continue
			}
			a.InRecovery, a.Timeline = true, 0
			seen.Answers = append(slices.Clone(seen.Answers), a)
		}
		if after, has := Merge(seen).Writer(); had && has && before.Name != after.Name {
			t.Fatalf("moved from %s to %s", before.Name, after.Name)
		}
	})
}

func TestLawSnapshotsLoseNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seen := observations().Draw(t, "seen")
		text, err := WriteSnapshot(seen)
		if err != nil {
			t.Fatal(err)
		}
		back, err := ReadSnapshot(text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(Merge(seen), Merge(back)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// FuzzMerge judges arbitrary evidence: any topology it trusts obeys the laws.
func FuzzMerge(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		seen := observations().Draw(t, "seen")
		for i := range seen.Answers {
			for j := range seen.Answers[i].Rows {
				if rapid.Bool().Draw(t, "garble") {
					seen.Answers[i].Rows[j].ServerID = rapid.String().Draw(t, "id")
				}
			}
		}
		topology := Merge(seen)
		if writer, ok := topology.Writer(); ok && !saysSo(seen, writer.Name) {
			t.Fatalf("%s does not say so itself", writer.Name)
		}
		for _, i := range topology.Instances {
			if seen.Provider == Aurora && !IsName(i.Name) {
				t.Fatalf("%q became an instance", i.Name)
			}
		}
	}))
}

// FuzzReadSnapshot: what is read can be written, and reads as the same.
func FuzzReadSnapshot(f *testing.F) {
	f.Add([]byte(byHand))
	for _, s := range stories(f) {
		if text, err := WriteSnapshot(s.seen); err == nil {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		seen, err := ReadSnapshot(text)
		if err != nil {
			return
		}
		first, err := WriteSnapshot(seen)
		if err != nil {
			t.Fatal(err)
		}
		back, err := ReadSnapshot(first)
		if err != nil {
			t.Fatalf("%v\n%s", err, first)
		}
		if diff := cmp.Diff(Merge(seen), Merge(back)); diff != "" {
			t.Fatal(diff)
		}
		if again, err := WriteSnapshot(back); err != nil || string(again) != string(first) {
			t.Fatalf("%v\n%s\n%s", err, first, again)
		}
	})
}

func BenchmarkMerge(b *testing.B) {
	seen := Observation{Cluster: "pg", Provider: Aurora, Domain: "example.com", At: at}
	for i := range 16 {
		name := string(rune('a' + i))
		a := Answer{Endpoint: name, Asked: name, Name: name, InRecovery: i > 0, ReadOnly: i > 0}
		for j := range 16 {
			r := Row{ServerID: string(rune('a' + j)), SessionID: "s", AgeMillis: new(int64(500))}
			if j == 0 {
				r.SessionID = MasterSession
			}
			a.Rows = append(a.Rows, r)
		}
		seen.Answers = append(seen.Answers, a)
	}
	b.ReportAllocs()
	for b.Loop() {
		if !Merge(seen).Trusted() {
			b.Fatal("not trusted")
		}
	}
}
