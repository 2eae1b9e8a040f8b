package plan

// orderStories: a person's order in an emergency, its end, and what it is not above.
var orderStories = []telling{
	{"D21 an order beats doubt, changes the writer alone, and stands; after it doubt reverts nothing", `
		sees a:writer b:reader c:reader
		order b 30m a's disk is full
		doubts no-writer
		then failover: writer-ordered b; writer-demoted a; doubt
		git 2: b | c | a=unproven
		doubts no-writer
		then hold: doubt; order-stands b
		doubts no-writer
		then hold: doubt; discovery-failing; order-stands b
		wait 30m
		doubts no-writer
		then hold: doubt; discovery-failing
		git 2: b | c | a=unproven`},
	{"D21 after the order the databases decide again: the fail back is an ordinary failover", `
		sees a:writer b:reader c:reader
		order b 1m maintenance
		sees a:writer b:reader c:reader
		then failover: writer-ordered b; writer-demoted a; other-writer a
		git 2: b | c | a=unproven
		sees 4x a:writer b:reader c:reader
		then keep: order-stands b; other-writer a
		sees a:writer b:reader c:reader
		then failover: writer-moved a; writer-demoted b
		git 3: a | c | b=unproven
		sees a:writer b:reader c:reader
		then publish membership: joined b
		git 4: a | b c |`},
	{"D21 an order that the databases follow ends without a trace", `
		sees a:writer b:reader
		order b 1m switchover
		doubts no-writer
		then failover: writer-ordered b; writer-demoted a; fallback-began b; doubt
		sees a:reader b:writer
		then keep: order-stands b; proving a
		sees a:reader b:writer
		then publish membership: joined a; fallback-ended b; order-stands b
		git 3: b | a |
		sees 9x a:reader b:writer
		then keep
		git 3: b | a |`},
	{"an order is decided once, and again after a restart or when the push was lost", `
		sees a:writer b:reader c:reader
		order b 30m why
		doubts no-writer
		then failover: writer-ordered b; writer-demoted a; doubt
		lost
		restart
		doubts no-writer
		then failover: writer-ordered b; writer-demoted a; doubt
		restart
		doubts no-writer
		then hold: doubt; order-stands b
		sees a:?/unreachable b:writer c:reader
		then keep: order-stands b; proving a
		git 2: b | c | a=unproven`},
	{"an order needs neither readiness nor a batch window: the live Services have moved", `
		rule batch 60s
		sees a:writer b:reader c:reader
		ready a=2 b=0 c=2
		order b 30m why
		sees a:writer b:reader c:reader
		then failover: writer-ordered b; writer-demoted a; other-writer a`},
	{"an order may name who is missing, disabled or on an older timeline", `
		timeline 5
		sees a:writer b:reader c:reader
		sees 3x a:writer b:reader
		then publish membership: gone c
		order c 30m it is the only copy
		timeline 4
		sees b:reader c:writer
		then failover: writer-ordered c; writer-demoted a
		git 3: c | b | a=unproven
		rule disabled b
		order b 30m no, that one
		doubts no-writer
		then failover: writer-ordered b; writer-demoted c; fallback-began b; doubt
		sees b:writer c:reader
		then keep: writer-disabled b; order-stands b; proving c; absent a
		git 4: b | b | a=unproven c=unproven`},
	{"a second order takes over from the first", `
		sees a:writer b:reader c:reader
		order b 30m why
		doubts no-writer
		order c 30m that did not help
		doubts no-writer
		then failover: writer-ordered c; writer-demoted b; fallback-began c; doubt
		git 3: c | c | a=unproven b=unproven`},
	{"an order for the declared writer keeps it, whatever the databases say", `
		sees a:writer b:reader c:reader
		order a 30m b lies
		sees a:reader b:writer c:reader
		then publish membership: overruled b; order-stands a; other-writer b
		git 2: a | c | b=unproven
		sees 9x a:reader b:writer c:reader
		then keep: order-stands a; other-writer b
		order none
		sees a:reader b:writer c:reader
		then failover: writer-moved b; writer-demoted a
		git 3: b | c | a=unproven`},

	// Members while an order stands.
	{"while an order stands, others are judged as usual, and whom the databases call the writer serves nobody", `
		sees a:writer b:reader c:reader d:reader
		order b 1h why
		doubts two-writers a
		then failover: writer-ordered b; writer-demoted a; doubt a
		git 2: b | c d | a=unproven
		sees a:writer b:reader c:reader/timeout d:reader e:reader
		then publish scale: overlay-added e; order-stands b; other-writer a; failing c
		sees a:writer b:reader c:reader/timeout d:reader e:reader
		then publish membership: joined e; order-stands b; other-writer a; failing c
		sees a:writer b:reader c:reader/timeout d:reader e:reader
		then publish membership: failed c; order-stands b; other-writer a
		git 5: b | d e | a=unproven c=unhealthy`},
	{"what needs consent under an order says the order too", `
		sees a:writer b:reader c:reader d:reader
		order b 1h why
		doubts blind
		sees 3x a:writer b:reader
		then keep: needs-consent c; needs-consent d; order-stands b; other-writer a`},
	{"who is called the writer and comes new gets an overlay and no readers", `
		rule batch 20s
		sees a:writer b:reader
		order a 1h why
		sees 2x a:reader b:reader e:writer
		sees a:reader b:reader e:writer
		then publish scale: overlay-added e; order-stands a; other-writer e
		sees 9x a:reader b:reader e:writer
		then keep: order-stands a; other-writer e
		git 2: a | b | e=unproven
		order none
		sees a:reader b:reader e:writer
		then failover: writer-moved e; writer-demoted a`},
	{"who was called the writer proves itself as a reader when it is one", `
		sees a:writer b:reader c:reader
		order b 1h why
		sees a:writer b:reader c:reader
		sees 9x a:writer b:reader c:reader
		then keep: order-stands b; other-writer a
		sees a:reader b:writer c:reader
		then keep: order-stands b; proving a
		sees a:reader b:writer c:reader
		then publish membership: joined a; order-stands b
		git 3: b | a c |`},
	{"the ordered writer loses no traffic for failed probes, or for being gone", `
		sees a:writer b:reader c:reader
		order b 1h why
		sees a:writer b:reader c:reader
		sees 9x a:writer b:reader/timeout c:reader
		then keep: order-stands b; other-writer a; writer-failing b
		sees 9x a:writer c:reader
		then keep: order-stands b; other-writer a
		git 2: b | c | a=unproven`},
	{"readers that are disabled on purpose are not replaced by an order in doubt either", `
		sees a:writer b:reader c:reader
		rule disabled b
		sees a:writer b:reader/not-asked c:reader
		then publish membership: turned-off b
		rule disabled a b
		order c 1h why
		doubts no-writer
		then failover: writer-ordered c; turned-off a; doubt; no-reader
		git 3: c |  | a=disabled b=disabled
		sees a:reader/not-asked b:reader/not-asked c:writer
		then keep: order-stands c; no-reader
		git 3: c |  | a=disabled b=disabled`},

	// What an order is not above.
	{"C08 paused is above an order", `
		sees a:writer b:reader
		rule paused
		order b 30m why
		sees a:writer b:reader
		then hold: paused
		doubts blind
		then hold: doubt; paused
		git 1: a | b |
		rule unpaused
		doubts blind
		then failover: writer-ordered b; writer-demoted a; fallback-began b; doubt`},
	{"C08 a person's revert is above an order, until the order is another", `
		sees a:writer b:reader c:reader
		order b 30m why
		doubts no-writer
		then failover: writer-ordered b; writer-demoted a; doubt
		revert
		doubts no-writer
		then hold: doubt; reverted-by-person
		git 1: a | b c |
		order c 30m why
		doubts no-writer
		then failover: writer-ordered c; writer-demoted a; doubt; discovery-failing
		git 3: c | b | a=unproven`},
	{"an order for an instance without an overlay holds until it is over or taken back", `
		sees a:writer b:reader
		order z 1m why
		sees a:writer b:reader z:reader
		then hold: order-refused z
		doubts blind
		then hold: doubt; order-refused z
		sees a:reader b:writer z:reader
		then hold: order-refused z
		git 1: a | b |
		order none
		sees a:reader b:writer z:reader
		then failover: writer-moved b; writer-demoted a; fallback-began b`},
	{"before the first tree there is nobody to order", `
		order a 1m why
		sees a:writer b:reader
		then hold: order-refused a
		git 0:  |  |`},
	{"B19 a global secondary has no writer to order, and goes on", `
		rule global-secondary
		sees a:reader b:reader c:reader
		order b 1h why
		sees 3x a:reader b:reader/timeout c:reader
		then publish membership: failed b; order-refused b
		git 2:  | a c | b=unhealthy
		doubts blind
		then hold: doubt; order-refused b`},
	{"an order that is over, or that never had a time, is no order", `
		sees a:writer b:reader
		order b 10s why
		sees a:writer b:reader
		then keep
		order b 0s why
		sees a:writer b:reader
		then keep
		order b 11s why
		sees a:writer b:reader
		then failover: writer-ordered b; writer-demoted a; fallback-began b; other-writer a`},
	{"nothing is removed for an order: an empty topology holds, and so does one without a writer", `
		sees a:writer b:reader c:reader
		order b 1h why
		sees none
		then failover: writer-ordered b; writer-demoted a
		sees none
		then hold: no-instances; order-stands b
		sees a:reader b:reader c:reader
		then hold: no-trusted-writer; order-stands b
		git 2: b | c | a=unproven`},
}
