package discovery

import "testing"

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
