package discovery

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a person would write by hand.
const byHand = `
cluster: example-pg
provider: aurora
domain: abc.eu-west-1.rds.amazonaws.com
at: 2026-01-31T12:00:00Z
answers:
- asked: a
  rows: [{serverId: a, sessionId: MASTER_SESSION_ID}, {serverId: b, ageMillis: 900}]
- {asked: b, fault: timeout}
`

func TestASnapshotWrittenByHand(t *testing.T) {
	seen, err := ReadSnapshot([]byte(byHand))
	if err != nil {
		t.Fatal(err)
	}
	topology := Merge(seen)
	if got, want := sentence(topology), "a=writer b=reader(timeout); notes: no-answer b"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if a := topology.Instances[0]; a.Host != "a.abc.eu-west-1.rds.amazonaws.com" || a.Port != 5432 {
		t.Errorf("a is at %s:%d", a.Host, a.Port)
	}
}

func TestSnapshotsOfAllStoriesReadBack(t *testing.T) {
	for _, s := range stories(t) {
		first, err := WriteSnapshot(s.seen)
		if s.name == "asked twice" {
			if err == nil {
				t.Error("wrote one instance twice")
			}
			continue
		}
		if err != nil {
			t.Fatal(s.name, err)
		}
		back, err := ReadSnapshot(first)
		if err != nil {
			t.Fatal(s.name, err)
		}
		if diff := cmp.Diff(s.seen.complete(), back); diff != "" {
			t.Errorf("%s: %s", s.name, diff)
		}
		if again, err := WriteSnapshot(back); err != nil || string(again) != string(first) {
			t.Errorf("%s: written twice it differs: %v", s.name, err)
		}
		if diff := cmp.Diff(Merge(s.seen), Merge(back)); diff != "" {
			t.Errorf("%s: judged differently: %s", s.name, diff)
		}
	}
}

func TestSnapshotsAreWrittenInOneOrder(t *testing.T) {
	seen := aurora(t, "b reader: a:M@1s b:R@null", "a writer: a:M@null b:R@1s")
	seen.Metadata = &Metadata{Instances: []MetaInstance{{Name: "b"}, {Name: "a"}}}
	before := seen.Answers[0].Asked
	one, err1 := WriteSnapshot(seen)
	if seen.Answers[0].Asked != before || seen.Metadata.Instances[0].Name != "b" {
		t.Error("writing changed what it was given")
	}
	seen.Answers[0], seen.Answers[1] = seen.Answers[1], seen.Answers[0]
	seen.Metadata.Instances[0], seen.Metadata.Instances[1] = seen.Metadata.Instances[1], seen.Metadata.Instances[0]
	two, err2 := WriteSnapshot(seen)
	if err1 != nil || err2 != nil || string(one) != string(two) {
		t.Errorf("%v %v\n%s\n%s", err1, err2, one, two)
	}
}

func TestWhatASnapshotMayNotBe(t *testing.T) {
	for name, c := range map[string]struct{ change, to, want string }{
		"an unknown key":              {"domain:", "domian:", `unknown field "domian"`},
		"a repeated key":              {"provider: aurora", "provider: aurora\nprovider: aurora", "already set"},
		"a word outside its set":      {"timeout", "slow", `"slow" is not one of not-asked, unreachable, timeout, denied, starting-up, broken, wrong-node`},
		"a wrong type":                {"900", "often", "ageMillis"},
		"no cluster":                  {"cluster: example-pg", "", "cluster: missing"},
		"no provider":                 {"provider: aurora", "", "provider: missing (aurora or postgres)"},
		"no time":                     {"at: 2026-01-31T12:00:00Z", "", "at: missing"},
		"a port that is none":         {"provider: aurora", "provider: aurora\nport: 70000", "port: 70000 is outside 1-65535"},
		"an answer of nobody":         {"asked: b, ", "", "neither asked (an instance) nor via"},
		"one instance, asked twice":   {"asked: b", "asked: a", "a was asked twice"},
		"no YAML":                     {"cluster", "\t- :", "reading snapshot: "},
		"a list instead of a mapping": {byHand, "[]", "reading snapshot: "},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadSnapshot([]byte(strings.Replace(byHand, c.change, c.to, 1)))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}
