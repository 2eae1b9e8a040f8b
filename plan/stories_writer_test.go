package plan

// writerStories: the writer moves.
var writerStories = []telling{
	// The writer moves.
	{"a new writer takes over at once, whatever monitoring counted", `
		sees a:writer b:reader c:reader
		sees 3x a:writer b:reader/timeout c:reader
		then publish membership: failed b
		sees a:?/unreachable b:writer c:reader
		then failover: writer-moved b; writer-demoted a
		git 3: b | c | a=unproven
		then again
		then keep: proving a`},
	{"the old writer proves itself as a reader", `
		sees a:writer b:reader
		sees a:reader b:writer
		then failover: writer-moved b; writer-demoted a; fallback-began b
		sees a:reader b:writer
		then publish membership: joined a; fallback-ended b
		git 3: b | a |`},
	{"what an instance proved as a writer says nothing of it as a reader", `
		sees a:writer b:reader
		sees 9x a:writer b:reader
		sees a:reader b:writer
		then failover: writer-moved b; writer-demoted a; fallback-began b
		then again
		then keep: proving a`},
	{"a new writer without an overlay gets one first", `
		sees a:writer b:reader
		sees a:?/unreachable b:reader c:writer
		then publish scale: overlay-added c; writer-not-ready c
		git 2: a | b | c=unproven
		then again
		then failover: writer-moved c; writer-demoted a
		git 3: c | b | a=unproven`},
	{"a new writer waits for a pod, unless the old one has none either", `
		sees a:writer b:reader
		ready a=2 b=0
		sees a:reader b:writer
		then hold: writer-not-ready b
		ready a=0 b=0
		sees a:reader b:writer
		then failover: writer-moved b; writer-demoted a; fallback-began b`},
	{"a new writer with a pod takes over", `
		sees a:writer b:reader
		ready a=2 b=1
		sees a:reader b:writer
		then failover: writer-moved b; writer-demoted a; fallback-began b`},
	{"a failover to an instance that a person disabled waits for that person", `
		rule disabled b
		sees a:writer b:reader c:reader
		sees a:reader b:writer c:reader
		then hold: writer-disabled b
		rule disabled
		sees a:reader b:writer c:reader
		then publish scale: overlay-added b; writer-not-ready b
		then again
		then failover: writer-moved b; writer-demoted a`},
	{"a disabled old writer is out for that", `
		sees a:writer b:reader
		rule disabled a
		sees a:writer b:reader
		then keep: writer-disabled a
		sees a:reader b:writer
		then failover: writer-moved b; turned-off a; no-reader
		git 2: b |  | a=disabled`},
	{"a failover leaves all else to the next step", `
		sees a:writer b:reader c:reader
		sees 2x a:writer b:reader c:reader/timeout
		sees a:reader b:writer c:reader/timeout d:reader
		then failover: writer-moved b; writer-demoted a
		git 2: b | c | a=unproven
		then again
		then publish scale: failed c; overlay-added d; fallback-began b; proving a
		git 3: b | b | a=unproven c=unhealthy d=unproven`},
	{"A08 the old writer, back for a moment in between, does not hold the move up", `
		sees a:writer b:reader
		doubts no-writer
		then hold: doubt
		sees a:writer b:reader
		then keep
		doubts writer-unproven b
		then hold: doubt b
		sees a:reader b:writer
		then failover: writer-moved b; writer-demoted a; fallback-began b`},
	{"an old primary that comes back does not take over", `
		timeline 5
		sees a:writer b:reader c:reader
		timeline 4
		sees a:?/unreachable b:writer c:reader
		then hold: writer-stale b
		git 1: a | b c |
		timeline 6
		sees a:?/unreachable b:reader c:writer
		then failover: writer-moved c; writer-demoted a
		timeline 5
		sees a:writer b:reader c:?/unreachable
		then hold: writer-stale a
		git 2: c | b | a=unproven`},
	{"a timeline that is not known is no reason to wait", `
		timeline 5
		sees a:writer b:reader
		timeline 0
		sees a:reader b:writer
		then failover: writer-moved b; writer-demoted a; fallback-began b
		timeline 4
		sees a:writer b:?/unreachable
		then hold: writer-stale a`},
	{"a writer that is back with another history stays the writer", `
		timeline 5
		sees a:writer b:reader
		timeline 1
		sees 9x a:writer b:reader
		then keep`},
	{"in a failover window each probe counts", `
		tick 100ms
		window open
		sees a:writer b:reader c:reader
		sees a:reader b:writer c:reader
		then failover: writer-moved b; writer-demoted a
		sees a:reader b:writer c:reader
		then publish membership: joined a
		window closed
		sees 99x a:reader b:writer c:reader/timeout
		then keep
		sees a:reader b:writer c:reader/timeout
		then keep: failing c`},

	// Global secondary.
	{"B19 in mode global-secondary no writer is normal", `
		rule global-secondary
		sees a:reader b:reader
		then publish scale: first-tree; overlay-added a; overlay-added b
		git 1:  | a b |
		sees a:reader b:reader
		then keep`},
	{"B19 a promoted secondary becomes the writer when a person changes the mode", `
		rule global-secondary
		sees a:reader b:reader
		sees a:writer b:reader
		then keep: secondary-promoted a
		git 1:  | a b |
		rule global-secondary no
		sees a:writer b:reader
		then failover: writer-moved a
		git 2: a | b |`},
	{"B19 the Writer Service goes with a person's consent only", `
		sees a:writer b:reader
		rule global-secondary
		sees a:reader b:reader
		then hold: needs-consent a
		rule shrink moved to the other region
		sees a:reader b:reader
		then publish membership: writer-demoted a; writer-dropped a; shrink-allowed
		git 2:  | b | a=unproven`},
}
