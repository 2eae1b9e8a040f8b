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

func auroraStories(t testing.TB) []story {
	return []story{
		{
			"B01 a NULL age is the answering node itself, the writer",
			aurora(t, "w1 writer: w1:M@null r1:R@2s", "r1 reader: w1:M@2s r1:R@null"),
			"r1=reader w1=writer",
		},
		{
			"B01 a NULL age is the answering node itself, a reader",
			aurora(t, "r1 reader: w1:M@2s r1:R@null", "w1 writer: w1:M@2s r1:R@null"),
			"r1=reader w1=writer",
		},
		{
			"an Aurora writer has no timeline, whatever is said",
			aurora(t, "w1 writer tl=7: w1:M@null"),
			"w1=writer",
		},
		{
			"a single instance",
			aurora(t, "w1 writer: w1:M@null"),
			"w1=writer",
		},
		{
			"clocks that differ a little make no age negative",
			aurora(t, "w1 writer: w1:M@null r1:R@-2s", "r1 reader: w1:M@-3s r1:R@null"),
			"r1=reader w1=writer",
		},
		{
			"B06 an old row is nobody",
			aurora(t, "w1 writer: w1:M@null r1:R@1s oldname:R@3600s", "r1 reader: w1:M@1s r1:R@null oldname:R@3600s"),
			"r1=reader w1=writer; notes: stale-row oldname",
		},
		{
			"a row is old after 300 s, not before",
			aurora(t, "w1 writer: w1:M@null r1:R@300s r2:R@300001ms"),
			"r1=reader(not-asked) w1=writer; notes: stale-row r2, no-answer r1",
		},
		{
			"an old row of somebody whom another view has fresh is not worth a word",
			aurora(t, "w1 writer: w1:M@null r1:R@3600s", "r1 reader: w1:M@1s r1:R@null"),
			"r1=reader w1=writer",
		},
		{
			"an old row twice is old, not a duplicate",
			aurora(t, "w1 writer: w1:M@null r1:R@1s r1:R@3600s", "r1 reader: w1:M@1s r1:R@null"),
			"r1=reader w1=writer",
		},
		{
			"S02 B03 the newest claim wins when ages clearly differ, and it says so itself",
			aurora(t, "a unreachable", "b writer: a:M@60s b:M@null c:R@1s", "c reader: a:M@30s b:M@1s c:R@null"),
			"a=unknown(unreachable) b=writer c=reader; notes: no-answer a",
		},
		{
			"B21 a cluster endpoint that leads to another node is told, and decides nothing",
			aurora(t, "w1 reader: w1:R@null w2:M@1s", "w2 writer: w1:R@1s w2:M@null", "writer-endpoint w1 reader: w1:R@null w2:M@1s"),
			"w1=reader w2=writer; notes: endpoint-lag w1",
		},
		{
			"B21 the reader endpoint may lead where it likes",
			aurora(t, "w1 reader: w1:R@null w2:M@1s", "w2 writer: w1:R@1s w2:M@null", "reader-endpoint w1 reader: w1:R@null w2:M@1s"),
			"w1=reader w2=writer",
		},
		{
			"a session default is not what the node is: the writer may be set default-read-only",
			aurora(t, "w1 default-read-only: w1:M@null r1:R@1s", "r1 reader: w1:M@1s r1:R@null"),
			"r1=reader w1=writer",
		},
		{
			"local write forwarding: in recovery is a reader, even if it takes writes",
			aurora(t, "w1 writer: w1:M@null r1:R@1s", "r1 forwarding: w1:M@1s r1:R@null"),
			"r1=reader w1=writer",
		},
		{
			"a lag sentinel is told, not acted on",
			aurora(t, "w1 writer: w1:M@null r1:R@1s,lag=900000", "r1 reader: w1:M@1s r1:R@null"),
			"r1=reader w1=writer; notes: lag-sentinel r1",
		},
	}
}

func partialViews(t testing.TB) []story {
	return []story{
		{
			"a silent reader that fresh views list stays, with its fault",
			aurora(t, "w1 writer: w1:M@null r1:R@1s", "r1 timeout"),
			"r1=reader(timeout) w1=writer; notes: no-answer r1",
		},
		{
			"a reader that starts up is listed and not reachable",
			aurora(t, "w1 writer: w1:M@null r1:R@1s", "r1 starting-up"),
			"r1=reader(starting-up) w1=writer; notes: no-answer r1",
		},
		{
			"somebody else at a reader's endpoint",
			aurora(t, "w1 writer: w1:M@null r1:R@1s", "r1 reader as x: x:R@null"),
			"r1=reader(wrong-node) w1=writer; notes: no-answer r1",
		},
		{
			"another cluster's writer at a reader's endpoint claims nothing here",
			aurora(t, "w1 writer: w1:M@null r1:R@1s", "r1 writer as x: x:M@null"),
			"r1=reader(wrong-node) w1=writer; notes: no-answer r1",
		},
		{
			"a row whom nobody asked yet",
			aurora(t, "w1 writer: w1:M@null r1:R@1s"),
			"r1=reader(not-asked) w1=writer; notes: no-answer r1",
		},
		{
			"missing from all views is missing, whether it was asked or not",
			aurora(t, "w1 writer: w1:M@null", "r1 unreachable"),
			"w1=writer",
		},
		{
			"missing from one view is not missing",
			aurora(t, "w1 writer: w1:M@null r1:R@1s", "r1 reader: w1:M@1s r1:R@null r2:R@1s", "r2 reader: r2:R@null"),
			"r1=reader r2=reader w1=writer",
		},
		{
			"promoted, and the old writer refuses: a reader's late view does not hold it up",
			aurora(t, "a unreachable", "b writer: a:R@20s b:M@null c:R@1s", "c reader: a:M@1s b:R@1s c:R@null"),
			"a=reader(unreachable) b=writer c=reader; notes: no-answer a",
		},
		{
			"promoted, and the old writer starts up again",
			aurora(t, "a starting-up", "b writer: a:R@2s b:M@null c:R@1s", "c reader: a:M@1s b:R@1s c:R@null"),
			"a=reader(starting-up) b=writer c=reader; notes: no-answer a",
		},
		{
			"promoted, and the old writer hangs: held while a view still names it currently",
			aurora(t, "a timeout", "b writer: a:R@4s b:M@null c:R@1s", "c reader: a:M@4s b:R@1s c:R@null"),
			"a=reader(timeout) b=unknown c=reader; doubts: two-writers a, two-writers b; notes: no-answer a",
		},
		{
			"promoted, and the old writer hangs: 5 s are still currently",
			aurora(t, "a timeout", "b writer: a:R@6s b:M@null c:R@1s", "c reader: a:M@5000ms b:R@1s c:R@null"),
			"a=reader(timeout) b=unknown c=reader; doubts: two-writers a, two-writers b; notes: no-answer a",
		},
		{
			"promoted, and the old writer hangs: decided once nobody has heard of it for 5 s",
			aurora(t, "a timeout", "b writer: a:R@6s b:M@null c:R@1s", "c reader: a:M@5001ms b:R@1s c:R@null"),
			"a=reader(timeout) b=writer c=reader; notes: no-answer a",
		},
		{
			"a fenced-off old writer still answers while the new one does not: a third view keeps it from coming back",
			aurora(t, "a writer: a:M@null b:R@30s c:R@30s", "b timeout", "c reader: a:R@30s b:M@1s c:R@null"),
			"a=unknown b=reader(timeout) c=reader; doubts: two-writers a, two-writers b; notes: no-answer b",
		},
		{
			"a reader's view alone never moves the writer: who is named says it is a reader",
			aurora(t, "a writer: a:M@null b:R@1s c:R@1s", "b reader: a:M@1s b:R@null c:R@1s", "c reader: a:R@1s b:M@1s c:R@null"),
			"a=writer b=reader c=reader",
		},
		{
			"a demoted writer whose own view is late is a reader",
			aurora(t, "a reader: a:M@null b:R@1s", "b writer: a:R@1s b:M@null"),
			"a=reader b=writer",
		},
		{
			"only a cluster endpoint answers: it finds names, it proves no writer",
			aurora(t, "a denied", "b denied", "writer-endpoint a writer: a:M@null b:R@1s"),
			"a=unknown(denied) b=reader(denied); doubts: writer-unproven a; notes: no-answer a, no-answer b",
		},
	}
}

func untrusted(t testing.TB) []story {
	return []story{
		{"B08 no writer row", aurora(t, "r1 reader: r1:R@null r2:R@1s", "r2 reader: r1:R@1s r2:R@null"), "r1=reader r2=reader; doubts: no-writer"},
		{"B08 no rows", aurora(t, "r1 reader:"), "; doubts: no-rows r1, no-writer"},
		{"B08 no rows at the writer", aurora(t, "w1 writer:", "r1 reader: w1:M@1s r1:R@null"), "r1=reader w1=unknown(broken); doubts: no-rows w1; notes: no-answer w1"},
		{"B08 only old rows", aurora(t, "w1 writer: w1:M@301s"), "; doubts: no-rows w1, no-writer; notes: stale-row w1"},
		{"B08 query error", aurora(t, "w1 broken", "r1 broken"), "; doubts: blind"},
		{"B08 timeout", aurora(t, "w1 timeout"), "; doubts: blind"},
		{"B08 nobody to ask", aurora(t), "; doubts: blind"},
		{
			"B08 two rows of one id at the writer",
			aurora(t, "w1 writer: w1:M@null r1:R@1s r1:R@2s", "r1 reader: w1:M@1s r1:R@null"),
			"r1=reader w1=unknown(broken); doubts: duplicate-id w1; notes: no-answer w1",
		},
		{
			"B08 an empty id at the writer",
			aurora(t, "w1 writer: w1:M@null :R@1s", "r1 reader: w1:M@1s r1:R@null"),
			"r1=reader w1=unknown(broken); doubts: empty-id w1; notes: no-answer w1",
		},
		{
			"an id that cannot be a name",
			aurora(t, "w1 writer: w1:M@null ../etc:R@1s"),
			"; doubts: empty-id w1, no-writer",
		},
		{
			"one reader's nonsense does not stand before a failover; it is its own fault",
			aurora(t, "a unreachable", "b writer: a:R@9s b:M@null c:R@1s d:R@1s", "c reader: c:R@null c:R@1s", "d reader:"),
			"a=reader(unreachable) b=writer c=reader(broken) d=reader(broken); notes: no-answer a, no-answer c, no-answer d, unusable-view c, unusable-view d",
		},
		{
			"nonsense from one that could be a writer does",
			aurora(t, "a writer: a:M@null a:R@1s", "b writer: a:R@9s b:M@null"),
			"a=unknown(broken) b=writer; doubts: duplicate-id a; notes: no-answer a",
		},
		{
			"nonsense through a cluster endpoint",
			aurora(t, "a writer: a:M@null", "reader-endpoint a writer: a:M@null a:M@null"),
			"a=writer; notes: unusable-view a",
		},
		{
			"asked twice",
			aurora(t, "a writer: a:M@null", "a reader: a:R@null", "b reader: a:M@1s b:R@null"),
			"a=unknown(broken) b=reader; doubts: duplicate-id a, writer-unproven a; notes: no-answer a",
		},
		{
			"F02 a mixed answer: the writer is read-only",
			aurora(t, "w1 read-only: w1:M@null r1:R@1s", "r1 reader: w1:M@1s r1:R@null"),
			"r1=reader w1=unknown; doubts: mixed-answer w1",
		},
		{
			"a mixed answer by a setting",
			aurora(t, "w1 read-only-by-default: w1:M@null r1:R@1s", "r1 reader: w1:M@1s r1:R@null"),
			"r1=reader w1=unknown; doubts: mixed-answer w1",
		},
		{
			"a mixed answer: writable, but its own view calls another the writer",
			aurora(t, "a writer: a:R@null b:M@1s", "b reader: a:M@1s b:R@null"),
			"a=unknown b=reader; doubts: mixed-answer a, writer-unproven b",
		},
		{
			"the only one that claims it is read-only, another one writes",
			aurora(t, "a read-only: a:M@null b:R@1s", "b writer: a:R@1s b:M@null"),
			"a=unknown b=writer; doubts: mixed-answer a",
		},
		{
			"named by all, silent itself",
			aurora(t, "a timeout", "b reader: a:M@1s b:R@null", "c reader: a:M@1s c:R@null"),
			"a=unknown(timeout) b=reader c=reader; doubts: writer-unproven a; notes: no-answer a",
		},
		{
			"named by all, and says it is a reader",
			aurora(t, "a reader: a:R@null b:R@1s", "b reader: a:M@1s b:R@null"),
			"a=reader b=reader; doubts: writer-unproven a",
		},
	}
}

func twoClaims(t testing.TB) []story {
	return []story{
		{
			"B03 two claims of the same age, neither answers itself",
			aurora(t, "a timeout", "b timeout", "c reader: a:M@1s b:M@1s c:R@null"),
			"a=unknown(timeout) b=unknown(timeout) c=reader; doubts: writer-unproven a, writer-unproven b; notes: no-answer a, no-answer b",
		},
		{
			"B03 S02 ages clearly differ, neither answers itself: the newest is the candidate, and unproven",
			aurora(t, "a timeout", "b timeout", "c reader: a:M@30s b:M@1s c:R@null"),
			"a=unknown(timeout) b=unknown(timeout) c=reader; doubts: writer-unproven b; notes: no-answer a, no-answer b",
		},
		{
			"B03 more than 5 s is clearly, 5 s is not",
			aurora(t, "a timeout", "b timeout", "c reader: a:M@6s b:M@1s c:R@null", "d reader: a:M@6001ms b:M@1s d:R@null"),
			"a=unknown(timeout) b=unknown(timeout) c=reader d=reader; doubts: writer-unproven a, writer-unproven b; notes: no-answer a, no-answer b",
		},
		{
			"B03 an age below zero is not newer than now",
			aurora(t, "a timeout", "b timeout", "c reader: a:M@-4s b:M@4s c:R@null"),
			"a=unknown(timeout) b=unknown(timeout) c=reader; doubts: writer-unproven a, writer-unproven b; notes: no-answer a, no-answer b",
		},
		{
			"B03 two claims of the same age, one answers for itself and the other not at all",
			aurora(t, "a writer: a:M@null b:M@1s", "b timeout"),
			"a=unknown b=unknown(timeout); doubts: two-writers a, two-writers b; notes: no-answer b",
		},
		{
			"B03 both claim it for themselves, nobody else is there to ask",
			aurora(t, "a writer: a:M@null b:R@1s", "b writer: a:R@1s b:M@null"),
			"a=unknown b=unknown; doubts: two-writers a, two-writers b",
		},
		{
			"both claim it, every other view names one",
			aurora(t, "a writer: a:M@null b:R@30s c:R@30s d:R@30s", "b writer: a:R@20s b:M@null c:R@1s d:R@1s", "c reader: b:M@1s c:R@null", "d reader: a:R@20s b:M@1s c:R@1s d:R@null"),
			"a=unknown b=writer c=reader d=reader; notes: stale-claim a",
		},
		{
			"both claim it, the others do not agree",
			aurora(t, "a writer: a:M@null c:R@1s d:R@1s", "b writer: b:M@null c:R@1s d:R@1s", "c reader: a:M@1s c:R@null", "d reader: b:M@1s d:R@null"),
			"a=unknown b=unknown c=reader d=reader; doubts: two-writers a, two-writers b",
		},
		{
			"both claim it, and the one view that names one has not heard of it for a while",
			aurora(t, "a writer: a:M@null c:R@1s", "b writer: b:M@null c:R@1s", "c reader: a:M@6s b:R@1s c:R@null"),
			"a=unknown b=unknown c=reader; doubts: two-writers a, two-writers b",
		},
		{
			"both claim it, another view has no opinion",
			aurora(t, "a writer: a:M@null", "b writer: b:M@null", "c reader: b:M@1s c:R@null", "d reader: d:R@null"),
			"a=unknown b=unknown c=reader d=reader; doubts: two-writers a, two-writers b",
		},
		{
			"both claim it, every other view names a third",
			aurora(t, "a writer: a:M@null c:R@1s", "b writer: b:M@null c:R@1s", "c reader: d:M@1s c:R@null", "d reader: d:R@null d2:R@1s"),
			"a=unknown b=unknown c=reader d=reader d2=reader(not-asked); doubts: two-writers a, two-writers b; notes: no-answer d2",
		},
		{
			"both claim it, another view names one of them and clearly later than the other",
			aurora(t, "a writer: a:M@null c:R@1s", "b writer: b:M@null c:R@1s", "c reader: a:M@30s b:M@1s c:R@null"),
			"a=unknown b=writer c=reader; notes: stale-claim a",
		},
		{
			"both claim it, another view names both",
			aurora(t, "a writer: a:M@null c:R@1s", "b writer: b:M@null c:R@1s", "c reader: a:M@6s b:M@2s c:R@null"),
			"a=unknown b=unknown c=reader; doubts: two-writers a, two-writers b",
		},
		{
			"both claim it, another view names one that is away",
			aurora(t, "a writer: a:M@null c:R@1s", "b writer: b:M@null c:R@1s", "c reader: x:M@1s c:R@null", "x unreachable"),
			"a=unknown b=unknown c=reader x=unknown(unreachable); doubts: two-writers a, two-writers b; notes: no-answer x",
		},
		{
			"three claim it, the other views name two of them",
			aurora(t, "a writer: a:M@null", "b writer: b:M@null", "c writer: c:M@null", "d reader: a:M@1s d:R@null", "e reader: b:M@1s e:R@null"),
			"a=unknown b=unknown c=unknown d=reader e=reader; doubts: two-writers a, two-writers b, two-writers c",
		},
		{
			"both claim it, and whom the loser names besides itself does not count",
			aurora(t, "a writer: a:M@null x:M@1s", "b writer: a:R@9s b:M@null c:R@1s x:R@1s", "c reader: b:M@1s c:R@null", "x timeout"),
			"a=unknown b=writer c=reader x=reader(timeout); notes: stale-claim a, no-answer x",
		},
		{
			"what only the loser's view lists is not there",
			aurora(t, "a writer: a:M@null old:R@200s", "b writer: a:R@9s b:M@null c:R@1s", "c reader: b:M@1s c:R@null"),
			"a=unknown b=writer c=reader; notes: stale-claim a",
		},
	}
}

func metadataStories(t testing.TB) []story {
	with := func(state MetadataState, members string, o Observation) Observation {
		o.Metadata = &Metadata{State: state, At: at}
		for m := range strings.FieldsSeq(members) {
			name, status, _ := strings.Cut(m, "=")
			o.Metadata.Instances = append(o.Metadata.Instances, MetaInstance{Name: name, Resource: "db-" + name, Zone: "z", Class: "c", Status: status})
		}
		return o
	}
	deleting := func() Observation {
		return aurora(t, "w1 writer: w1:M@null r1:R@2s r2:R@2s,lag=900000", "r1 reader: w1:M@1s r1:R@null", "r2 reader: r2:R@null")
	}
	return []story{
		{
			"B05 fresh metadata: deleting", with(MetadataFresh, "w1 r1 r2=deleting", deleting()),
			"r1=reader r2=reader(deleting) w1=writer; notes: lag-sentinel r2",
		},
		{
			"B05 B13 stale metadata says nothing of now", with(MetadataStale, "w1 r1 r2=deleting", deleting()),
			"r1=reader r2=reader w1=writer; notes: metadata-stale, lag-sentinel r2",
		},
		{
			"B06 a row of no member is quarantined, and so is its own word",
			with(MetadataFresh, "w1 r1", aurora(t, "w1 writer: w1:M@null r1:R@1s x:R@1s", "r1 reader: w1:M@1s r1:R@null x:R@1s", "x writer: x:M@null y:R@1s")),
			"r1=reader w1=writer; notes: not-a-member x",
		},
		{
			"B06 the only claim is no member's",
			with(MetadataFresh, "w1 r1", aurora(t, "w1 timeout", "r1 reader: r1:R@null x:M@1s", "x writer: x:M@null")),
			"r1=reader; doubts: no-writer; notes: not-a-member x",
		},
		{
			"B06 a view through a cluster endpoint that leads to no member",
			with(MetadataFresh, "w1", aurora(t, "w1 writer: w1:M@null", "writer-endpoint x writer: x:M@null y:R@1s")),
			"w1=writer; notes: not-a-member x",
		},
		{
			"stale metadata quarantines nobody",
			with(MetadataStale, "w1", aurora(t, "w1 writer: w1:M@null r1:R@1s", "r1 reader: w1:M@1s r1:R@null")),
			"r1=reader w1=writer; notes: metadata-stale",
		},
		{
			"fresh metadata without a member cannot be right, and quarantines nobody",
			with(MetadataFresh, "", aurora(t, "w1 writer: w1:M@null")),
			"w1=writer",
		},
		{
			"a host list is not questioned",
			with(MetadataFresh, "w1", postgres(t, "w1 writer", "r1 reader")),
			"r1=reader w1=writer",
		},
	}
}

func globalSecondary(t testing.TB) []story {
	in := func(o Observation) Observation { o.Mode = GlobalSecondary; return o }
	return []story{
		{"B19 no writer is normal", in(aurora(t, "s1 reader: s1:R@null s2:R@1s", "s2 reader: s1:R@1s s2:R@null")), "s1=reader s2=reader"},
		{"B19 the same rows in mode regional", aurora(t, "s1 reader: s1:R@null s2:R@1s", "s2 reader: s1:R@1s s2:R@null"), "s1=reader s2=reader; doubts: no-writer"},
		{"B19 headless", in(aurora(t)), "; doubts: blind"},
		{"B19 promoted", in(aurora(t, "s1 writer: s1:M@null s2:R@1s", "s2 reader: s1:M@1s s2:R@null")), "s1=writer s2=reader; notes: unexpected-writer s1"},
		{"nonsense is nonsense here too", in(aurora(t, "s1 reader: s1:R@null s2:R@1s", "s2 reader:")), "s1=reader s2=reader(broken); doubts: no-rows s2; notes: no-answer s2"},
	}
}

func postgresStories(t testing.TB) []story {
	return []story{
		{"one primary", postgres(t, "a writer tl=1", "b reader tl=1"), "a=writer b=reader; timeline 1"},
		{"no timelines known", postgres(t, "a writer", "b reader"), "a=writer b=reader"},
		{"a silent host stays, and nobody knows what it is", postgres(t, "a writer tl=1", "b timeout", "c denied"), "a=writer b=unknown(timeout) c=unknown(denied); timeline 1; notes: no-answer b, no-answer c"},
		{"the old primary is down", postgres(t, "a unreachable", "b writer tl=2", "c reader tl=1"), "a=unknown(unreachable) b=writer c=reader; timeline 2; notes: no-answer a"},
		{"B20 RDS Multi-AZ by its hosts: the one that writes is the writer, nobody's view is asked for", postgres(t, "i-1 reader", "i-2 reader", "i-3 writer"), "i-1=reader i-2=reader i-3=writer"},
		{"B20 RDS Multi-AZ by its hosts: who is read-only is never the writer", postgres(t, "i-1 reader", "i-2 read-only", "i-3 writer"), "i-1=reader i-2=unknown i-3=writer; doubts: mixed-answer i-2"},
		{"F01 two primaries, the higher timeline", postgres(t, "a writer tl=7", "b writer tl=8", "c reader tl=7"), "a=unknown b=writer c=reader; timeline 8; notes: stale-claim a"},
		{"F01 the old primary is back, and nobody else is heard who knows better: its timeline tells", postgres(t, "a writer tl=7", "b timeout"), "a=writer b=unknown(timeout); timeline 7; notes: no-answer b"},
		{"F01 a primary whose timeline may not be seen", postgres(t, "a writer", "b reader tl=8"), "a=writer b=reader"},
		{"F01 the timeline is the writer's, not that of a standby which is late", postgres(t, "a writer tl=8", "b reader tl=7"), "a=writer b=reader; timeline 8"},
		{"F01 two primaries on one timeline", postgres(t, "a writer tl=7", "b writer tl=7"), "a=unknown b=unknown; doubts: two-writers a, two-writers b"},
		{"F01 two primaries, one timeline not known", postgres(t, "a writer tl=7", "b writer"), "a=unknown b=unknown; doubts: two-writers a, two-writers b"},
		{"F01 three primaries, two on the highest", postgres(t, "a writer tl=7", "b writer tl=8", "c writer tl=8"), "a=unknown b=unknown c=unknown; doubts: two-writers b, two-writers c; notes: stale-claim a"},
		{"the old primary is back alone, a standby knows better", postgres(t, "a writer tl=7", "b timeout", "c reader tl=8"), "a=unknown b=unknown(timeout) c=reader; doubts: no-writer a; notes: stale-claim a, no-answer b"},
		{"no primary", postgres(t, "a unreachable", "b reader tl=1"), "a=unknown(unreachable) b=reader; doubts: no-writer; notes: no-answer a"},
		{"a primary that may not write", postgres(t, "a read-only tl=1", "b reader tl=1"), "a=unknown b=reader; doubts: no-writer, mixed-answer a"},
		{"nobody", postgres(t, "a unreachable", "b timeout"), "a=unknown(unreachable) b=unknown(timeout); doubts: blind; notes: no-answer a, no-answer b"},
	}
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
