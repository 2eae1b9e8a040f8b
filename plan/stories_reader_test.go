package plan

// readerStories: who serves readers.
var readerStories = []telling{
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
}
