package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// stories are the rules by example. Together they show every reason.
var stories = []struct{ name, script string }{
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
		then hold: writer-disabled a
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

	// Who serves readers.
	{"a reader leaves after three failed probes and returns after two good ones", `
		sees a:writer b:reader c:reader
		sees a:writer b:reader c:reader/unreachable
		then keep: failing c
		sees 2x a:writer b:reader c:reader/unreachable
		then publish membership: failed c
		git 2: a | b | c=unhealthy
		sees a:writer b:reader c:reader
		then keep: proving c
		sees a:writer b:reader c:reader
		then publish membership: joined c
		git 3: a | b c |`},
	{"a good probe ends a row of failed ones", `
		sees a:writer b:reader
		sees 2x a:writer b:reader/timeout
		sees a:writer b:reader
		sees 2x a:writer b:reader/timeout
		then keep: failing b`},
	{"a probe that was not made counts for nothing", `
		sees a:writer b:reader c:reader/timeout
		sees 9x a:writer b:reader/not-asked c:reader/not-asked
		then keep: proving c
		git 1: a | b | c=unproven`},
	{"probes closer together than the interval count once", `
		tick 1s
		sees a:writer b:reader c:reader
		sees 29x a:writer b:reader c:reader/timeout
		then keep: failing c
		sees a:writer b:reader c:reader/timeout
		then publish membership: failed c`},
	{"who answers, but as what nobody can say, does not serve", `
		sees a:writer b:reader c:reader
		sees 3x a:writer b:reader c:?
		then publish membership: failed c`},
	{"a writer never loses traffic for failed probes", `
		sees a:writer b:reader
		sees 9x a:writer/timeout b:reader
		then keep: writer-failing a
		git 1: a | b |`},
	{"B11 a new instance has its overlay at once and traffic when it has proved itself", `
		sees a:writer b:reader
		sees a:writer b:reader c:reader/starting-up
		then publish scale: overlay-added c
		git 2: a | b | c=unproven
		sees 4x a:writer b:reader c:reader/starting-up
		then keep: proving c
		sees a:writer b:reader c:reader
		then keep: proving c
		sees a:writer b:reader c:reader
		then publish membership: joined c
		git 3: a | b c |`},
	{"B11 it waits for a ready pod where that can be seen", `
		sees a:writer b:reader
		ready a=1 b=1
		sees a:writer b:reader c:reader
		sees 9x a:writer b:reader c:reader
		then keep: pods-not-ready c
		ready a=1 b=1 c=1
		sees a:writer b:reader c:reader
		then publish membership: joined c
		ready a=1 b=1 c=0
		sees a:writer b:reader c:reader
		then keep`},
	{"flapping doubles the proof, and a failover window does not shorten it", `
		sees a:writer b:reader c:reader
		sees 3x a:writer b:reader c:reader/timeout
		then publish membership: failed c
		sees 2x a:writer b:reader c:reader
		then publish membership: joined c
		sees 3x a:writer b:reader c:reader/timeout
		then publish membership: failed c
		sees 3x a:writer b:reader c:reader
		then keep: flapping c
		sees a:writer b:reader c:reader
		then publish membership: joined c
		sees 3x a:writer b:reader c:reader/timeout
		window open
		tick 1s
		sees 60x a:writer b:reader c:reader
		then keep: flapping c
		sees a:writer b:reader c:reader
		then publish membership: joined c`},
	{"the proof asked for ends at 5 min, and after 10 min of peace it is small again", `
		sees a:writer b:reader c:reader
		sees 3x a:writer b:reader c:reader/timeout
		sees 2x a:writer b:reader c:reader
		then publish membership: joined c
		sees 3x a:writer b:reader c:reader/timeout
		sees 4x a:writer b:reader c:reader
		then publish membership: joined c
		sees 3x a:writer b:reader c:reader/timeout
		sees 8x a:writer b:reader c:reader
		then publish membership: joined c
		sees 3x a:writer b:reader c:reader/timeout
		sees 16x a:writer b:reader c:reader
		then publish membership: joined c
		sees 3x a:writer b:reader c:reader/timeout
		sees 30x a:writer b:reader c:reader
		then publish membership: joined c
		sees 3x a:writer b:reader c:reader/timeout
		sees 30x a:writer b:reader c:reader
		then publish membership: joined c
		sees 31x a:writer b:reader c:reader
		sees 3x a:writer b:reader c:reader/timeout
		then publish membership: failed c
		sees 2x a:writer b:reader c:reader
		then publish membership: joined c`},
	{"an absence is one flap, however long it could not be published", `
		sees a:writer b:reader c:reader
		rule paused
		sees 20x a:writer b:reader
		sees a:writer b:reader c:reader
		rule unpaused
		sees 3x a:writer b:reader c:reader/timeout
		then publish membership: failed c
		sees 4x a:writer b:reader c:reader
		then publish membership: joined c`},
	{"a clock that was set back does not stop the counting", `
		sees a:writer b:reader c:reader
		wait -1h
		sees 3x a:writer b:reader c:reader/timeout
		then publish membership: failed c`},
	{"B23 another machine under a known name starts anew, in the same overlay", `
		sees a:writer#A b:reader#B1 c:reader#C
		sees 3x a:writer#A c:reader#C
		then publish membership: gone b
		wait 5m
		sees a:writer#A b:reader#B2 c:reader#C
		then publish membership: machine-changed b
		git 2: a | c | b=unproven
		sees a:writer#A b:reader#B2 c:reader#C
		then publish membership: joined b
		git 3: a | b c |
		sees 9x a:writer#A b:reader#B2 c:reader#C
		then keep`},
	{"B23 another machine in the place of a serving reader loses its traffic", `
		sees a:writer#A b:reader#B1 c:reader#C
		sees 9x a:writer#A b:reader#B1 c:reader#C
		restart
		sees a:writer#A b:reader#B2 c:reader#C
		then publish membership: machine-changed b
		git 2: a | c | b=unproven
		sees a:writer#A b:reader#B2 c:reader#C
		then publish membership: joined b`},
	{"B23 a machine that changed while nothing could be published is not trusted for it", `
		sees a:writer b:reader c:reader
		sees a:writer b:reader#B1 c:reader
		rule paused
		sees a:writer b:reader/timeout#B2 c:reader
		rule unpaused
		sees a:writer b:reader/timeout#B2 c:reader
		then publish membership: machine-changed b`},
	{"B23 another machine as the writer keeps its traffic", `
		sees a:writer#A1 b:reader
		sees a:writer#A2 b:reader
		then publish membership: machine-changed a
		git 1: a | b |`},
	{"B13 metadata that comes and goes makes no commit", `
		sees a:writer b:reader
		sees a:writer#A b:reader#B
		then keep
		sees a:writer b:reader
		then keep`},
	{"another endpoint is followed", `
		sees a:writer b:reader
		sees a:writer b:reader@b.elsewhere
		then publish membership: endpoint-changed b
		git 1: a | b |`},

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
		then hold: overlay-pinned c
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

	// Fallback.
	{"B09 readers are a function of who is there, not of what was before", `
		sees a:writer
		then publish scale: first-tree; overlay-added a; fallback-began a
		git 1: a | a |
		sees a:writer b:reader
		then publish scale: overlay-added b
		restart
		sees a:writer b:reader
		then keep: proving b
		sees a:writer b:reader
		then publish membership: joined b; fallback-ended a
		git 3: a | b |
		sees a:reader b:writer
		restart
		sees a:reader b:writer
		sees a:reader b:writer
		then publish membership: joined a; fallback-ended b
		git 5: b | a |`},
	{"B10 without fallback nobody serves readers, and the writer is left alone", `
		rule fallback none
		sees a:writer b:reader
		sees 3x a:writer b:reader/timeout
		then publish membership: failed b; no-reader
		git 2: a |  | b=unhealthy
		sees a:writer b:reader/timeout
		then keep: no-reader; proving b`},
	{"B10 only-when-absent: a reader that fails is not absent", `
		rule fallback only-when-absent
		sees a:writer b:reader
		sees 3x a:writer b:reader/timeout
		then publish membership: failed b; no-reader
		git 2: a |  | b=unhealthy
		sees 3x a:writer
		then publish membership: gone b; fallback-began a
		git 3: a | a | b=missing`},
	{"B10 fallback by default when all readers fail", `
		sees a:writer b:reader c:reader
		sees 3x a:writer b:reader/timeout c:reader/timeout
		then publish membership: failed b; failed c; fallback-began a
		git 2: a | a | b=unhealthy c=unhealthy`},
	{"no fallback for readers that are disabled on purpose", `
		sees a:writer b:reader
		rule disabled b
		sees a:writer b:reader/not-asked
		then publish membership: turned-off b; no-reader
		git 2: a |  | b=disabled
		sees a:writer
		then publish membership: fallback-began a
		git 3: a | a | b=disabled`},
	{"a disabled reader does not forbid fallback for one that fails", `
		rule disabled c
		sees a:writer b:reader c:reader/not-asked
		sees 3x a:writer b:reader/timeout c:reader/not-asked
		then publish membership: failed b; fallback-began a`},

	// Shrinking.
	{"D08 one of six left in one tick needs consent", `
		sees a:writer b:reader c:reader d:reader e:reader f:reader
		sees 9x a:writer
		then hold: needs-consent b; needs-consent c; needs-consent d; needs-consent e; needs-consent f
		git 1: a | b c d e f |
		rule shrink we scaled in
		sees a:writer
		then publish membership: gone b; gone c; gone d; gone e; gone f; fallback-began a; shrink-allowed
		git 2: a | a | b=missing c=missing d=missing e=missing f=missing
		rule shrink
		wait 1h
		sees a:writer
		then hold: needs-consent b; needs-consent c; needs-consent d; needs-consent e; needs-consent f
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
		then hold: needs-consent b; needs-consent c
		sees 3x a:writer b:reader/timeout+deleting c:reader/timeout+deleting
		then publish membership: failed b; failed c; fallback-began a; needs-consent b; needs-consent c`},

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
		then publish scale: failed c; overlay-added d`},
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

	// The batch window.
	{"B25 four readers within 90 s and a window of 60 s: their overlays are two commits", `
		rule batch 60s
		sees a:writer b:reader
		sees 3x a:writer b:reader c:reader
		then hold: batching
		sees 3x a:writer b:reader c:reader d:reader
		then hold: batching
		sees a:writer b:reader c:reader d:reader e:reader
		then publish scale: joined c; joined d; overlay-added c; overlay-added d; overlay-added e
		git 2: a | b c d | e=unproven
		sees 3x a:writer b:reader c:reader d:reader e:reader f:reader
		sees 4x a:writer b:reader c:reader d:reader e:reader f:reader
		then publish scale: joined e; joined f; overlay-added f
		git 3: a | b c d e f |`},
	{"B25 who proved itself in the window, but would end a fallback, waits for its overlay", `
		rule batch 60s
		sees a:writer
		sees 6x a:writer b:reader
		sees a:writer b:reader
		then publish scale: overlay-added b
		git 2: a | a | b=unproven
		sees 6x a:writer b:reader
		sees a:writer b:reader
		then publish membership: joined b; fallback-ended a
		git 3: a | b |`},
	{"B25 a failover does not wait for the window", `
		rule batch 60s
		sees a:writer b:reader
		sees a:writer b:reader c:reader
		then hold: batching
		sees a:reader b:writer c:reader
		then failover: writer-moved b; writer-demoted a; fallback-began b
		git 2: b | b | a=unproven
		then again
		then hold: batching; proving a`},
	{"a change that went away leaves no window behind", `
		rule batch 60s
		sees a:writer b:reader
		sees a:writer b:reader c:reader
		then hold: batching
		sees a:writer b:reader
		then keep
		wait 5m
		sees a:writer b:reader d:reader
		then hold: batching`},
	{"a publish that never arrived is retried without another window", `
		rule batch 60s
		sees a:writer b:reader
		sees 6x a:writer b:reader c:reader
		sees a:writer b:reader c:reader
		then publish scale: joined c; overlay-added c
		lost
		sees a:writer b:reader c:reader
		then publish scale: joined c; overlay-added c`},

	// Slots.
	{"the oldest retained overlay makes way when slots run out, one step before the slot is given away", `
		rule shrink yes
		sees a:writer ` + readers("b", 17) + ` y1:reader y2:reader
		git 1: a | ` + names("b", 17) + ` y1 y2 |
		sees 3x a:writer ` + readers("b", 17) + ` y1:reader
		then publish membership: gone y2
		sees 3x a:writer ` + readers("b", 17) + `
		then publish membership: gone y1
		sees a:writer ` + readers("b", 17) + ` z:reader
		then publish scale: slot-retired y2
		then again
		then publish scale: overlay-added z
		git 5: a | ` + names("b", 17) + ` | y1=missing z=unproven`},
	{"when no slot can be had, the others go on", `
		sees a:writer ` + readers("b", 19) + `
		sees a:writer ` + readers("b", 19) + ` z:reader
		then hold: no-slot z
		git 1: a | ` + names("b", 19) + ` |
		sees 3x a:writer ` + strings.Replace(readers("b", 19), "b01:reader", "b01:reader/timeout", 1) + ` z:reader
		then publish membership: failed b01; no-slot z`},

	// Sizes.
	{"F05 a cluster of one", `
		sees a:writer
		then publish scale: first-tree; overlay-added a; fallback-began a
		sees 20x a:writer
		then keep`},
	{"F05 a cluster of two through a failover and an outage of an hour", `
		sees a:writer b:reader
		sees a:?/unreachable b:writer
		then failover: writer-moved b; writer-demoted a; fallback-began b
		doubts blind
		wait 1h
		doubts blind
		sees a:reader b:writer
		sees a:reader b:writer
		then publish membership: joined a; fallback-ended b
		doubts blind
		wait 1h
		doubts blind
		sees 9x a:reader b:writer
		then keep
		git 3: b | a |`},
	{"F05 a cluster of sixteen", `
		sees a:writer ` + readers("b", 15) + `
		git 1: a | ` + names("b", 15) + ` |
		sees a:reader ` + strings.Replace(readers("b", 15), "b07:reader", "b07:writer", 1) + `
		then failover: writer-moved b07; writer-demoted a
		sees a:reader ` + strings.Replace(readers("b", 15), "b07:reader", "b07:writer", 1) + `
		then publish membership: joined a`},
}

func readers(prefix string, n int) string {
	return strings.ReplaceAll(names(prefix, n), " ", ":reader ") + ":reader"
}

func names(prefix string, n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf("%s%02d", prefix, i+1))
	}
	return strings.Join(list, " ")
}

func TestStories(t *testing.T) {
	for _, s := range stories {
		t.Run(s.name, func(t *testing.T) { tell(t, s.script) })
	}
}

// TestDeclaredBroken has its stories in Go: no decision makes such a state.
func TestDeclaredBroken(t *testing.T) {
	good := State{Epoch: 1, Writer: "a", Members: []Member{{Name: "a", Slot: 0}, {Name: "b", Slot: 1}}}
	for _, c := range []struct {
		name, about string
		spoil       func(*State)
	}{
		{"a writer that is no member", "c", func(s *State) { s.Writer = "c" }},
		{"one slot twice", "b", func(s *State) { s.Members[1].Slot = 0 }},
		{"one name twice", "a", func(s *State) { s.Members[1].Name = "a" }},
		{"a slot below the first", "b", func(s *State) { s.Members[1].Slot = -1 }},
		{"a slot above the last", "b", func(s *State) { s.Members[1].Slot = Slots }},
		{"no name", "", func(s *State) { s.Members[0].Name = "" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			state := good
			state.Members = slices.Clone(good.Members)
			c.spoil(&state)
			saw := Observation{Topology: topology("a:writer b:reader"), Declared: Declared{State: state}}
			plan, _ := Decide(Memory{}, saw, DefaultRules(), epochStart)
			if plan.Action != Hold || len(plan.Reasons) != 1 || plan.Reasons[0].Code != DeclaredBroken || plan.Reasons[0].Instance != c.about {
				t.Errorf("got %v %v, want a hold about %q", plan.Action, plan.Reasons, c.about)
			}
		})
	}
}

// TestEveryReasonHasItsStory fails when a new reason comes without one.
func TestEveryReasonHasItsStory(t *testing.T) {
	told := map[string]bool{DeclaredBroken.String(): true} // TestDeclaredBroken
	for _, s := range stories {
		for line := range strings.Lines(s.script) {
			_, reasons, ok := strings.Cut(strings.TrimSpace(line), ": ")
			if !ok || !strings.HasPrefix(strings.TrimSpace(line), "then ") {
				continue
			}
			for r := range strings.SplitSeq(reasons, "; ") {
				told[strings.Fields(r)[0]] = true
			}
		}
	}
	for c := FirstTree; c <= lastCode; c++ {
		if !told[c.String()] {
			t.Errorf("no story shows %s", c)
		}
	}
}
