package plan

// reviewStories: what goes in by a person's review, and what goes on meanwhile.
var reviewStories = []telling{
	// Scale.
	{"C22 an overlay that awaits review keeps no failed reader in", `
		sees a:writer b:reader c:reader
		rule review scale
		sees a:writer b:reader c:reader d:reader
		then keep: awaits-review d
		awaited overlay-added d
		sees 3x a:writer b:reader c:reader/timeout d:reader
		then publish membership: failed c; awaits-review d
		git 2: a | b | c=unhealthy
		sees 9x a:writer b:reader c:reader/timeout d:reader
		then keep: awaits-review d; proving c
		git 2: a | b | c=unhealthy
		merge
		git 2: a | b d | c=unhealthy`},
	{"C22 an instance that went before the merge awaits nothing any more", `
		sees a:writer b:reader
		rule review scale
		sees a:writer b:reader c:reader
		then keep: awaits-review c
		sees a:writer b:reader
		then keep
		git 1: a | b |`},
	{"the first tree awaits review as a whole", `
		rule review scale
		sees a:writer b:reader
		then hold: awaits-review
		awaited first-tree
		git 0:  |  |
		merge
		git 1: a | b |
		sees a:writer b:reader
		then keep`},
	{"an overlay is removed by review, and not at all when its instance is back before the merge", `
		sees a:writer b:reader c:reader
		rule review scale
		sees 3x a:writer b:reader
		then publish membership: gone c
		wait 1h
		sees a:writer b:reader
		then keep: awaits-review c
		awaited overlay-removed c
		sees a:writer b:reader c:reader
		then keep: proving c
		sees a:writer b:reader c:reader
		then publish membership: joined c
		git 3: a | b c |`},
	{"who makes way for another makes it by review", `
		sees a:writer ` + readers("b", 17) + ` y1:reader y2:reader
		sees 3x a:writer ` + readers("b", 17) + ` y1:reader
		sees 3x a:writer ` + readers("b", 17) + `
		then publish membership: gone y1
		rule review scale
		sees a:writer ` + readers("b", 17) + ` z:reader
		then keep: awaits-review y2
		awaited slot-retired y2
		merge
		git 5: a | ` + names("b", 17) + ` | y1=missing z=unproven`},
	{"a new writer without an overlay waits for the review of one, and the members go on", `
		sees a:writer b:reader d:reader
		rule review scale
		sees a:?/unreachable b:reader c:writer d:reader
		then hold: writer-not-ready c; awaits-review c
		awaited overlay-added c
		sees 3x a:?/unreachable b:reader c:writer d:reader/timeout
		then publish membership: failed d; writer-not-ready c; awaits-review c; writer-failing a
		git 2: a | b | d=unhealthy
		sees a:?/unreachable b:reader c:writer d:reader/timeout
		then hold: writer-not-ready c; awaits-review c; writer-failing a; proving d
		merge
		git 4: c | b | a=unproven d=unhealthy`},

	// Membership.
	{"membership by review stops no failover", `
		sees a:writer b:reader c:reader
		rule review membership
		sees 3x a:writer b:reader c:reader/timeout
		then keep: awaits-review c
		awaited failed c
		sees a:reader b:writer c:reader/timeout
		then failover: writer-moved b; writer-demoted a
		git 2: b | c | a=unproven
		sees 2x a:reader b:writer c:reader/timeout
		then keep: awaits-review a; awaits-review c
		awaited joined a; failed c
		merge
		git 3: b | a | c=unhealthy`},
	{"fallback goes by review with the readers that it stands in for", `
		sees a:writer b:reader
		rule review membership
		sees 3x a:writer b:reader/timeout
		then keep: awaits-review a; awaits-review b
		awaited fallback-began a; failed b
		git 1: a | b |
		merge
		git 2: a | a | b=unhealthy
		sees 2x a:writer b:reader
		awaited fallback-ended a; joined b
		git 2: a | a | b=unhealthy`},
	{"a new overlay is committed, and its traffic goes by review", `
		rule batch 60s
		sees a:writer b:reader
		rule review membership
		sees 6x a:writer b:reader c:reader
		sees a:writer b:reader c:reader
		then publish scale: overlay-added c; awaits-review c
		awaited joined c
		git 2: a | b | c=unproven
		sees 9x a:writer b:reader c:reader
		then keep: awaits-review c
		merge
		git 3: a | b c |`},
	{"another machine, another address and a deletion go by review", `
		sees a:writer b:reader#B1 c:reader d:reader
		rule review membership
		sees a:writer b:reader#B2 c:reader@c.elsewhere d:reader+deleting
		then keep: awaits-review b; awaits-review c; awaits-review d
		awaited machine-changed b; endpoint-changed c; being-deleted d
		git 1: a | b c d |`},
	{"what a person allowed to shrink is still reviewed, and shrinks nothing before", `
		sees a:writer b:reader c:reader
		rule shrink we are moving
		rule review membership
		sees 3x a:writer
		then keep: awaits-review a; awaits-review b; awaits-review c
		awaited fallback-began a; gone b; gone c
		git 1: a | b c |
		merge
		git 2: a | a | b=missing c=missing`},
	{"what needs consent awaits no review before it has it", `
		sees a:writer b:reader c:reader
		rule review membership,scale
		sees 3x a:writer
		then keep: needs-consent b; needs-consent c
		git 1: a | b c |`},
	{"B19 the Writer Service of a global secondary goes by review", `
		sees a:writer b:reader
		rule review membership
		rule global-secondary
		sees a:reader b:reader
		then hold: needs-consent a
		rule shrink moved to the other region
		sees a:reader b:reader/timeout
		then hold: awaits-review a
		awaited writer-dropped a
		git 1: a | b |`},
	{"whom the databases call the writer against an order serves readers until that is merged", `
		sees a:writer b:reader c:reader
		rule review membership
		order a 30m b lies
		sees a:reader b:writer c:reader
		then keep: awaits-review b; order-stands a; other-writer b
		awaited overruled b
		git 1: a | b c |
		merge
		git 2: a | c | b=unproven`},

	// Failovers.
	{"C22 a failover by review is decided until it is merged, and nothing is committed before", `
		sees a:writer b:reader c:reader
		rule review failover
		sees a:reader b:writer c:reader
		then failover by review: writer-moved b; writer-demoted a; awaits-review b
		awaited writer-moved b
		sees 9x a:reader b:writer c:reader/timeout d:reader
		then failover by review: writer-moved b; writer-demoted a; awaits-review b
		git 1: a | b c |
		restart
		sees a:reader b:writer c:reader/timeout d:reader
		then failover by review: writer-moved b; writer-demoted a; awaits-review b
		merge
		git 3: b | c | a=unproven d=unproven
		sees a:reader b:writer c:reader/timeout d:reader
		then publish membership: joined a; joined d; failing c`},
	{"C22 a failover that went back before the merge is none", `
		sees a:writer b:reader c:reader
		rule review failover
		sees a:reader b:writer c:reader
		then failover by review: writer-moved b; writer-demoted a; awaits-review b
		sees a:writer b:reader c:reader
		then keep
		git 1: a | b c |`},
	{"D21 an order is followed at once where failovers go by review, and doubt after its end commits nothing", `
		sees a:writer b:reader c:reader
		rule review failover
		order b 1m disk full
		doubts no-writer
		then failover by review: writer-ordered b; writer-demoted a; doubt; awaits-review b
		awaited writer-ordered b
		wait 1m
		doubts no-writer
		then hold: doubt
		git 1: a | b c |`},
	{"C08 a failover that was merged and reverted is not proposed again", `
		sees a:writer b:reader c:reader
		rule review failover
		sees a:reader b:writer c:reader
		merge
		git 2: b | c | a=unproven
		revert
		sees a:reader b:writer c:reader
		then hold: reverted-by-person
		sees a:reader b:reader c:writer
		then failover by review: writer-moved c; writer-demoted a; awaits-review c`},
	{"everything by review: the declared state is kept", `
		sees a:writer b:reader c:reader
		rule review failover,membership,scale
		sees 3x a:writer b:reader c:reader/timeout d:reader
		then keep: awaits-review c; awaits-review d
		git 1: a | b c |
		rule review none
		sees a:writer b:reader c:reader/timeout d:reader
		then publish scale: joined d; failed c; overlay-added d`},
}
