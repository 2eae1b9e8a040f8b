package plan

import "strings"

// restStories: fallback, batches, slots and sizes.
var restStories = []telling{
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
	{"neither who is seen again makes way, nor an overlay with a person's file", `
		sees a:writer ` + readers("b", 17) + ` y1:reader y2:reader
		sees 3x a:writer ` + readers("b", 17) + ` y1:reader
		sees 3x a:writer ` + readers("b", 17) + `
		then publish membership: gone y1
		pinned y1
		sees a:writer ` + readers("b", 17) + ` y2:reader/timeout z:reader
		then keep: no-slot z; proving y2
		pinned none
		sees a:writer ` + readers("b", 17) + ` y2:reader/timeout z:reader
		then publish scale: slot-retired y1; proving y2`},
	{"when no slot can be had, the others go on", `
		sees a:writer ` + readers("b", 19) + `
		sees a:writer ` + readers("b", 19) + ` z:reader
		then keep: no-slot z
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
