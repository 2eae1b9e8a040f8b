package discovery

import (
	"strings"
	"testing"
)

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
