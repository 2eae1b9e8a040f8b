package discovery

import (
	"slices"
	"strings"
	"testing"
)

// story is evidence and what it comes to.
type story struct {
	name string
	seen Observation
	want string
}

func stories(t testing.TB) []story {
	return slices.Concat(auroraStories(t), partialViews(t), untrusted(t), twoClaims(t), metadataStories(t), globalSecondary(t), postgresStories(t))
}

func TestMerge(t *testing.T) {
	for _, s := range stories(t) {
		t.Run(s.name, func(t *testing.T) {
			if got := sentence(Merge(s.seen)); got != s.want {
				t.Errorf("%s\n got %s\nwant %s", tell(s.seen), got, s.want)
			}
		})
	}
}

func tell(o Observation) string {
	text, err := WriteSnapshot(o)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Every doubt and every note has a story.
func TestEveryDoubtAndNoteHasAStory(t *testing.T) {
	told := ""
	for _, s := range stories(t) {
		told += s.want + "\n"
	}
	for _, word := range slices.Concat(DoubtCode(0).words(), NoteCode(0).words()) {
		if word != "" && !strings.Contains(told, word) {
			t.Errorf("no story has %s", word)
		}
	}
}

// A message names the instance, and why.
func TestDoubtsSayWhoAndWhy(t *testing.T) {
	for _, c := range []struct {
		seen Observation
		want string
	}{
		{aurora(t, "a timeout", "b denied"), "blind: nobody gave a usable answer; no answer from a (timeout), b (denied)"},
		{aurora(t, "a timeout", "b reader: b:R@null"), "no-writer: nobody says to be the writer; no answer from a (timeout)"},
		{aurora(t, "a timeout", "b reader: a:M@1s b:R@null"), "writer-unproven a: named by b, gave no answer itself (timeout)"},
		{aurora(t, "a writer: a:M@null", "b writer: b:M@null"), "two-writers a: a, b all say so themselves"},
		{aurora(t, "a read-only-by-default: a:M@null"), "mixed-answer a: not in recovery, but read-only: default_transaction_read_only is on for the server, the database or the role used"},
		{aurora(t, "a writer: a:M@null b:R@1s b:R@1s"), "duplicate-id a: its view has b twice"},
		{postgres(t, "a writer tl=7", "c reader tl=8"), "no-writer a: claims it on timeline 7, but another node is on 8"},
	} {
		if got := Merge(c.seen).Doubts[0].String(); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

func TestB15TheDomainIsOpaque(t *testing.T) {
	for _, domain := range []string{
		"xyz.rds.cn-north-1.amazonaws.com.cn", "xyz.cn-north-1.rds.amazonaws.com.cn",
		"xyz.us-isob-east-1.rds.sc2s.sgov.gov", "db.internal",
	} {
		seen := aurora(t, "w1 writer: w1:M@null r1:R@1s")
		seen.Domain, seen.Answers[0].Endpoint = domain, ""
		for _, i := range Merge(seen).Instances {
			if i.Host != i.Name+"."+domain || i.Port != 5432 {
				t.Errorf("got %s:%d", i.Host, i.Port)
			}
		}
	}
}

func TestWhereAnInstanceWasAskedIsWhereItIs(t *testing.T) {
	for endpoint, want := range map[string]string{"10.0.0.1:6000": "10.0.0.1", "[::1]:6000": "::1", "db:6000": "db"} {
		seen := postgres(t, "w1 writer")
		seen.Answers[0].Endpoint = endpoint
		if i := Merge(seen).Instances[0]; i.Host != want || i.Port != 6000 {
			t.Errorf("%s: got %s:%d", endpoint, i.Host, i.Port)
		}
	}
}

func TestB23ANewMachineOfTheSameNameHasItsOwnResource(t *testing.T) {
	seen := aurora(t, "w1 writer: w1:M@null r1:R@1s", "r1 reader: r1:R@null")
	for _, resource := range []string{"db-A", "db-B"} {
		for _, state := range []MetadataState{MetadataFresh, MetadataStale} {
			seen.Metadata = &Metadata{State: state, At: at, Instances: []MetaInstance{{Name: "r1", Resource: resource, Zone: "eu-1a", Class: "db.r6g"}, {Name: "w1"}}}
			r1, ok := Merge(seen).Instance("r1")
			if !ok || r1.Resource != resource || r1.Zone != "eu-1a" || r1.Class != "db.r6g" {
				t.Errorf("%v: got %+v", state, r1)
			}
		}
	}
	if _, ok := Merge(seen).Instance("r2"); ok {
		t.Error("r2 is not there")
	}
}
