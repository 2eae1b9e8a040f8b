package plan

// leaverStories: who leaves.
var leaverStories = []telling{
	// Who is gone.
	{"B07 missing once is nothing, three times and 10 s detach, an hour removes", `
		sees a:writer b:reader c:reader
		sees 2x a:writer c:reader
		then keep: absent b
		sees a:writer c:reader
		then publish membership: gone b
		git 2: a | c | b=missing
		sees a:writer c:reader
		then keep
		wait 59m20s
		sees a:writer c:reader
		then keep
		sees 3x a:writer c:reader
		then publish scale: overlay-removed b
		git 3: a | c |`},
	{"B07 three misses within 10 s are not enough", `
		tick 1s
		sees a:writer b:reader c:reader
		sees 10x a:writer c:reader
		then keep: absent b
		sees a:writer c:reader
		then publish membership: gone b`},
	{"B07 who reappears at 59 min is attached again when it has proved itself, and not removed", `
		sees a:writer b:reader c:reader
		sees 3x a:writer c:reader
		then publish membership: gone b
		wait 59m
		sees a:writer b:reader c:reader
		then keep: proving b
		wait 5m
		sees a:writer b:reader c:reader
		then publish membership: joined b
		git 3: a | b c |`},
	{"B07 retention counts anew for who was seen again", `
		sees a:writer b:reader c:reader
		sees 3x a:writer c:reader
		wait 59m
		sees a:writer b:reader/timeout c:reader
		sees 20x a:writer c:reader
		then keep
		wait 56m
		sees 5x a:writer c:reader
		then publish scale: overlay-removed b`},
	{"B07 a restart does not prolong retention, and asks for the debounce only", `
		sees a:writer b:reader c:reader
		sees 3x a:writer c:reader
		wait 30m
		restart
		sees a:writer c:reader
		wait 31m
		sees 2x a:writer c:reader
		then publish scale: overlay-removed b`},
	{"B05 who is being deleted leaves at once, and its overlay after retention", `
		sees a:writer b:reader c:reader
		sees a:writer b:reader c:reader+deleting
		then publish membership: being-deleted c
		git 2: a | b | c=deleting
		sees a:writer b:reader c:reader
		sees 30x a:writer b:reader
		then keep
		git 2: a | b | c=deleting
		wait 1h
		sees a:writer b:reader
		then publish scale: overlay-removed c
		git 3: a | b |`},
	{"B13 who is being deleted stays out when metadata goes stale", `
		sees a:writer b:reader c:reader
		sees a:writer b:reader c:reader+deleting
		sees 20x a:writer b:reader c:reader
		then keep
		git 2: a | b | c=deleting
		restart
		sees 20x a:writer b:reader c:reader
		git 2: a | b | c=deleting`},
	{"B05 what comes after a deleted instance is another machine", `
		sees a:writer b:reader c:reader
		sees a:writer b:reader c:reader+deleting
		sees 3x a:writer b:reader
		sees a:writer b:reader c:reader
		then publish membership: machine-changed c
		sees a:writer b:reader c:reader
		then publish membership: joined c
		git 3: a | b c |`},
	{"deletion goes on past retention while it is seen", `
		sees a:writer b:reader c:reader
		sees a:writer b:reader c:reader+deleting
		wait 1h
		sees a:writer b:reader c:reader+deleting
		then publish scale: overlay-removed c
		sees 9x a:writer b:reader c:reader+deleting
		then keep`},

	{"a person's file in an overlay keeps it, and that is said", `
		sees a:writer b:reader c:reader
		sees 3x a:writer b:reader
		wait 1h
		pinned c
		sees a:writer b:reader
		then keep: overlay-pinned c
		git 2: a | b | c=missing
		pinned none
		sees a:writer b:reader
		then publish scale: overlay-removed c`},

	// Who is disabled.
	{"a disabled reader leaves at once, its overlay after retention, and none comes", `
		sees a:writer b:reader c:reader
		rule disabled c
		sees a:writer b:reader c:reader/not-asked
		then publish membership: turned-off c
		git 2: a | b | c=disabled
		wait 1h
		sees a:writer b:reader c:reader/not-asked
		then publish scale: overlay-removed c
		git 3: a | b |
		sees 9x a:writer b:reader c:reader/not-asked
		then keep`},
	{"enabled again, it has to prove itself", `
		sees a:writer b:reader c:reader
		rule disabled c
		sees a:writer b:reader c:reader/not-asked
		then publish membership: turned-off c
		rule disabled
		sees a:writer b:reader c:reader
		then publish membership: joined c
		rule disabled c
		sees a:writer b:reader c:reader/not-asked
		restart
		rule disabled
		sees a:writer b:reader c:reader
		then publish membership: turned-on c
		git 4: a | b | c=unproven`},
	{"disabled and then gone is one removal", `
		sees a:writer b:reader c:reader
		rule disabled c
		sees a:writer b:reader c:reader
		sees 9x a:writer b:reader
		then keep
		rule disabled
		sees a:writer b:reader
		then publish membership: gone c`},
	{"gone and then disabled is too", `
		sees a:writer b:reader c:reader
		rule disabled c
		sees a:writer b:reader
		then publish membership: turned-off c`},

	// Shrinking.
	{"D08 one of six left in one tick needs consent", `
		sees a:writer b:reader c:reader d:reader e:reader f:reader
		sees 9x a:writer
		then keep: needs-consent b; needs-consent c; needs-consent d; needs-consent e; needs-consent f
		git 1: a | b c d e f |
		rule shrink we scaled in
		sees a:writer
		then publish membership: gone b; gone c; gone d; gone e; gone f; fallback-began a; shrink-allowed
		git 2: a | a | b=missing c=missing d=missing e=missing f=missing
		rule shrink
		wait 1h
		sees a:writer
		then keep: needs-consent b; needs-consent c; needs-consent d; needs-consent e; needs-consent f
		rule shrink we scaled in
		sees a:writer
		then publish scale: overlay-removed b; overlay-removed c; overlay-removed d; overlay-removed e; overlay-removed f; shrink-allowed
		git 3: a | a |`},
	{"D08 half is not more than half", `
		sees a:writer b:reader
		sees 3x a:writer
		then publish membership: gone b; fallback-began a`},
	{"D08 only what shrinks too much is held", `
		sees a:writer b:reader c:reader d:reader e:reader
		sees 3x a:writer e:reader/timeout
		then publish membership: failed e; needs-consent b; needs-consent c; needs-consent d`},
	{"D08 deletion of too many at once is held, but failed probes count", `
		sees a:writer b:reader c:reader
		sees a:writer b:reader+deleting c:reader+deleting
		then keep: needs-consent b; needs-consent c
		sees 3x a:writer b:reader/timeout+deleting c:reader/timeout+deleting
		then publish membership: failed b; failed c; fallback-began a; needs-consent b; needs-consent c`},
}
