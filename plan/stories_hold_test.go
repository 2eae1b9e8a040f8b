package plan

// holdStories: what holds, and what starts.
var holdStories = []telling{
	{"nothing declared: the first tree has everybody, and traffic for those who answer", `
		sees a:writer b:reader c:reader/timeout d:?/starting-up
		then publish scale: first-tree; overlay-added a; overlay-added b; overlay-added c; overlay-added d
		git 1: a | b | c=unproven d=unproven
		then again
		then keep: proving c; proving d`},
	{"the first tree leaves out who is disabled or being deleted", `
		rule disabled c
		sees a:writer b:reader c:reader d:reader+deleting
		then publish scale: first-tree; overlay-added a; overlay-added b
		git 1: a | b |`},
	{"the first tree waits when a person disabled the writer", `
		rule disabled a
		sees a:writer b:reader
		then hold: writer-disabled a
		git 0:  |  |`},
	{"nothing differs: keep", `
		sees a:writer b:reader
		sees 20x a:writer b:reader
		then keep
		git 1: a | b |`},

	// Doubt.
	{"B08 a doubt holds everything, names the instance, and is reported when it lasts", `
		sees a:writer b:reader c:reader
		doubts no-writer
		then hold: doubt
		doubts duplicate-id b
		then hold: doubt b
		doubts blind
		then hold: doubt; discovery-failing
		git 1: a | b c |
		sees a:writer b:reader c:reader
		then keep
		doubts empty-id
		then hold: doubt`},
	{"B03 two writers are a doubt", `
		sees a:writer b:reader
		doubts two-writers a
		then hold: doubt a
		git 1: a | b |`},
	{"B08 failed observations advance no debounce", `
		sees a:writer b:reader c:reader
		sees 2x a:writer b:reader
		doubts blind
		doubts blind
		doubts blind
		doubts blind
		then hold: doubt; discovery-failing
		git 1: a | b c |
		sees a:writer b:reader
		then publish membership: gone c
		git 2: a | b | c=missing`},
	{"F02 a writer that answers read-write and read-only by turns makes no commit", `
		tick 1s
		sees a:writer b:reader
		doubts mixed-answer a
		then hold: doubt a
		sees a:writer b:reader
		doubts mixed-answer a
		sees a:writer b:reader
		doubts mixed-answer a
		sees 10x a:writer b:reader
		then keep
		git 1: a | b |`},
	{"doubt while paused: both are said", `
		sees a:writer b:reader
		rule paused
		doubts blind
		then hold: doubt; paused`},

	// What holds all else.
	{"C08 paused: nothing is done, but counting goes on", `
		sees a:writer b:reader
		rule paused
		sees 3x a:writer b:reader/timeout
		then hold: paused
		sees a:reader b:writer
		then hold: paused
		git 1: a | b |
		rule unpaused
		sees a:reader b:writer
		then failover: writer-moved b; writer-demoted a; fallback-began b
		git 2: b | b | a=unproven`},
	{"D08 no instances at all remove nothing", `
		rule global-secondary
		sees a:reader b:reader
		sees 9x none
		then hold: no-instances
		git 1:  | a b |`},
	{"B08 a topology that is trusted but has no writer holds", `
		sees a:writer b:reader
		sees a:reader b:reader
		then hold: no-trusted-writer
		git 1: a | b |`},

	// A person's no.
	{"C08 a person's revert holds until the facts are others", `
		rule spec one
		sees a:writer b:reader c:reader
		sees 3x a:writer b:reader c:reader/timeout
		then publish membership: failed c
		revert
		sees a:writer b:reader c:reader/timeout
		then hold: reverted-by-person
		sees a:writer b:reader/timeout c:reader/timeout
		then hold: reverted-by-person; failing b
		git 1: a | b c |
		sees a:writer b:reader c:reader/timeout d:reader
		then publish scale: failed c; overlay-added d
		git 3: a | b | c=unhealthy d=unproven`},
	{"C08 a range that a person reverted holds as a whole, and its epochs are not used again", `
		sees a:writer b:reader c:reader
		sees 3x a:writer b:reader c:reader/timeout
		then publish membership: failed c
		sees 3x a:writer b:reader/timeout c:reader/timeout
		then publish membership: failed b; fallback-began a; proving c
		revert 2
		git 1: a | b c |
		sees a:writer b:reader/timeout c:reader/timeout
		then hold: reverted-by-person
		sees a:writer b:reader c:reader/timeout
		then hold: reverted-by-person
		sees a:writer b:reader c:reader/timeout d:reader
		then publish scale: failed c; overlay-added d
		git 4: a | b | c=unhealthy d=unproven`},
	{"C08 a first tree that a person reverted is not drawn again; another one has an epoch of its own", `
		sees a:writer b:reader
		revert
		sees a:writer b:reader
		then hold: reverted-by-person
		git 0:  |  |
		sees a:writer b:reader c:reader
		then publish scale: first-tree; overlay-added a; overlay-added b; overlay-added c
		git 2: a | b c |`},
	{"C08 a person's edit of the declaration lifts it", `
		rule spec one
		sees a:writer b:reader c:reader
		sees 3x a:writer b:reader c:reader/timeout
		then publish membership: failed c
		revert
		sees a:writer b:reader c:reader/timeout
		then hold: reverted-by-person
		rule spec two
		sees a:writer b:reader c:reader/timeout
		then publish membership: failed c`},
	{"C08 a revert holds for as long as a person wants it to", `
		rule revert-hold 1h
		sees a:writer b:reader c:reader
		sees 3x a:writer b:reader c:reader/timeout
		then publish membership: failed c
		revert
		wait 59m
		sees a:writer b:reader c:reader/timeout
		then hold: reverted-by-person
		git 1: a | b c |
		wait 1m
		sees a:writer b:reader c:reader/timeout
		then publish membership: failed c
		git 3: a | b | c=unhealthy
		revert
		sees a:writer b:reader c:reader/timeout
		then hold: reverted-by-person`},
	{"C08 a reverted failover is not made again, a further one is", `
		sees a:writer b:reader c:reader
		sees a:reader b:writer c:reader
		then failover: writer-moved b; writer-demoted a
		revert
		sees a:reader b:writer c:reader
		then hold: reverted-by-person
		git 1: a | b c |
		sees a:reader b:reader c:writer
		then failover: writer-moved c; writer-demoted a`},
}
