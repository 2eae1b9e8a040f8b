package failover

import (
	"fmt"
	"strings"
)

// Page draws the page. about is the machine, in a line.
func Page(all []Summary, about string) string {
	cells, tried := apart(all)
	var b strings.Builder
	b.WriteString(pageHead)
	if about != "" {
		fmt.Fprintf(&b, "Measured on %s.\n\n", about)
	}
	b.WriteString("![When the last application was back](failover.svg)\n\n")
	section(&b, "Until every application is back", "| way | PgBouncer | applications | pooling, style | provoked | instances | n | first back | each back | all back | stuck | errors, most each | after the answer | outlived, most each | refused logins, most each | most of both | reads: longest gap | PgBouncers replaced, crashed, hung, refusing |", cells, resultRow)
	section(&b, "The way there", "| way | PgBouncer | applications | pooling, style | provoked | instances | n | detected after the break | decided | Service patched | endpoints | eviction over | committed | applied | handed back |", cells, timelineRow)
	section(&b, "Failovers while applications log in all the time", "| way | PgBouncer | applications | pooling, style | provoked | instances | failovers | PgBouncers crashed | hung | refusing | replaced | stuck applications |", tried, trialRow)
	b.WriteString(pageFoot)
	return b.String()
}

const pageHead = `<!-- Drawn by make bench-failover-page from failover/*.csv: do not edit. -->
# A failover as applications feel it

**A PostgreSQL stand-in is not Aurora.** The servers here are two or three PostgreSQL nodes with streaming replication. How long Aurora takes to
promote an instance is not in any of these figures, and what its storage and its restarts do to connections may be different.

Every figure is p50 / p99 over n rounds ("each back": over all applications of all rounds), and counts from the last moment in which the new writer
was known to be a standby; detection from the moment in which the old one was taken away, and the reads' gap is a duration. With n = 20 the p99 is the worst of all. "never" is longer than a round waits: 15 s, for the peer 60 s. An application is one
connection. It writes, waits for the answer, and pauses: 5 ms with 20 of them, 100 ms with 200, which share two cores with everything else. It gives up no
statement and no connection by itself. An error is one of a statement, on a connection that was there; those "after the answer" came when there was a
writer again, the others while there was none. With most errors the connection ends, so that it has one and the application a new connection; "outlived" are
those with which it stayed: 25006 of a server that is no writer. The poolers' auth_file has the SCRAM secrets that PostgreSQL keeps, but for "plain passwords";
with those of "light logins" of one iteration a login costs an application next to nothing.
A refused login is an attempt to connect again that came to nothing. Both are counted until rest, when everything is
applied and handed back, and every application has written once more. PgBouncers: pods whose place others have taken, that ended by themselves, that gave no answer at rest, that gave one and served nobody. poolwright's defaults are changed in two: its failover window is 5 s, so
that a round need not wait for it, and the proof's interval 1 s. Before each round the kernel is made to forget connections that were reset in the one before (rounds of commits before
504d1ec were without that): for 10 s it would send a new one with the same port to where the old one led. test/failover says how it is measured, and the raw data is in [failover/](failover/).

`

const pageFoot = `## What is compared

- **console**: poolwright moves the Writer Service and evicts through PgBouncer's console (` + "`failover.evict: console`" + `).
- **delete-pods**: it deletes the demoted instance's pods instead.
- **service-only**: it moves the Service and cuts nobody: what every way comes to that stops there.
- **peer**: another operator's way, as its README tells it, by a script of ours: every 3 s it looks who the writer is, and every 100 ms for 30 s
  from a change on; it labels the new writer's pods into the Writer Service and the old one's out, and restarts both Deployments, one pod at a time, with a
  grace period of 30 s. It is given what is better than its own: no delay before a pod is ready, no API server that it has to share, and a pgbouncer.ini of
  poolwright's (server_login_retry 1, listen_backlog 4096). Its newest release has no such restart any more.
`

func section(b *strings.Builder, title, columns string, all []Summary, row func(Summary) string) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(b, "## %s\n\n%s\n%s|\n", title, columns, strings.Repeat("|---", strings.Count(columns, "|")-1))
	for _, s := range all {
		fmt.Fprintf(b, "| %s |\n", row(s))
	}
	b.WriteString("\n")
}

func cellColumns(s Summary) string {
	c := s.Cell
	return fmt.Sprintf("%s | %s | %d %s | %s | %s | %d | %d", c.Way, c.Version, c.Clients, c.Driver, c.Use(), c.Provoked, c.Instances, len(s.Rounds))
}

func resultRow(s Summary) string {
	reads := Of(s.Rounds, func(r Round) Moment { return &r.ReadsGap })
	return fmt.Sprintf("%s | %s | %s | **%s** | %d of %d | %d, %d | %d, %d | %d | %d, %d | %d | %s | %d, %d, %d, %d", cellColumns(s), Of(s.Rounds, func(r Round) Moment { return r.First }).Short(),
		Of(s.Clients, func(c Client) Moment { return c.FirstNew }).Short(), s.all().Short(),
		s.sum(func(r Round) int { return r.Stuck }), s.sum(func(r Round) int { return r.Clients }),
		s.sum(func(r Round) int { return r.Errors }), s.most(func(r Round) int { return r.MostErrors }),
		s.sum(func(r Round) int { return r.Late }), s.most(func(r Round) int { return r.MostLate }), s.outlived(),
		s.sum(func(r Round) int { return r.Refused }), s.most(func(r Round) int { return r.MostRefused }), s.most(func(r Round) int { return r.MostBoth }), reads.Short(),
		s.sum(func(r Round) int { return r.Replaced }), s.sum(func(r Round) int { return r.Restarts }), s.sum(func(r Round) int { return r.Hung }), s.sum(func(r Round) int { return r.Refusing }))
}

func timelineRow(s Summary) string {
	cells := []string{cellColumns(s), s.noticed().Short()}
	for _, moment := range []func(Round) Moment{
		func(r Round) Moment { return r.Decided },
		func(r Round) Moment { return r.Patched },
		func(r Round) Moment { return r.Endpoints },
		func(r Round) Moment { return r.Evicted },
		func(r Round) Moment { return r.Committed },
		func(r Round) Moment { return r.Synced },
		func(r Round) Moment { return r.Back },
	} {
		if f := Of(s.Rounds, moment); s.isThere(moment) {
			cells = append(cells, f.Short())
		} else {
			cells = append(cells, "–")
		}
	}
	return strings.Join(cells, " | ")
}

// isThere reports whether a moment ever came: who does not evict is not late with it.
func (s Summary) isThere(moment func(Round) Moment) bool {
	for _, r := range s.Rounds {
		if moment(r) != nil {
			return true
		}
	}
	return false
}

func trialRow(s Summary) string {
	return fmt.Sprintf("%s | %d | %d | %d | %d | %d", cellColumns(s), s.sum(func(r Round) int { return r.Restarts }), s.sum(func(r Round) int { return r.Hung }),
		s.sum(func(r Round) int { return r.Refusing }), s.sum(func(r Round) int { return r.Replaced }), s.sum(func(r Round) int { return r.Stuck }))
}
