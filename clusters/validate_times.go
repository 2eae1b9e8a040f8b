package clusters

import (
	"fmt"
	"strconv"
	"time"
)

// leaving checks the time that a pod which leaves goes on serving.
func (r *report) leaving(at string, p PgBouncer) {
	at += ".drain"
	drain, grace := time.Duration(p.Drain), p.GracePeriod()
	switch {
	case !r.given(at):
	case drain < endpointsLag:
		r.wrong(at, "must be at least 5s", "so long new connections may still arrive at a pod that leaves")
	case drain%time.Second != 0:
		r.wrong(at, "must be in whole seconds", "")
	case drain >= grace:
		r.wrong(at, fmt.Sprintf("of %s is not below terminationGracePeriodSeconds of %s", drain, grace),
			"the grace period has to hold the drain and what the last transactions need: "+strconv.Itoa(int((drain+finishing).Seconds())))
	}
}

// clientTimeoutFloor leaves query_wait_timeout, in whole seconds, room below it.
const clientTimeoutFloor = Duration(2e9)

// queryWait is the key with how long a client queues for a server connection, in seconds; 0 is for ever.
const queryWait = "query_wait_timeout"

// waiting: nobody may queue for longer than an application waits for an answer.
func (r *report) waiting(at string, p PgBouncer) {
	if !r.given(at + ".clientTimeout") {
		return
	}
	if p.ClientTimeout < clientTimeoutFloor {
		r.wrong(at+".clientTimeout", "must be at least 2s", "query_wait_timeout has to fit below it")
		return
	}
	r.waitsBelow(at+".config", p.ClientTimeout, p.Config)
	for i, o := range p.InstanceOverrides {
		r.waitsBelow(fmt.Sprintf("%s.instanceOverrides[%d].config", at, i), p.ClientTimeout, o.Config)
	}
}

func (r *report) waitsBelow(at string, timeout Duration, c Config) {
	if _, set := c.PgBouncer[queryWait]; !set {
		return
	}
	at = join(at+".pgbouncer", queryWait)
	value, limit := option(c.PgBouncer, queryWait), time.Duration(timeout)
	switch seconds, err := strconv.ParseFloat(value, 64); {
	case err != nil || !plainNumber.MatchString(value):
		r.wrong(at, "is not a number of seconds", "PgBouncer takes no unit")
	case seconds == 0:
		r.wrong(at, fmt.Sprintf("of 0 lets clients queue for ever, and clientTimeout is %s", limit), belowHint(limit))
	case seconds < 0 || seconds >= limit.Seconds():
		r.wrong(at, fmt.Sprintf("of %s s is not below clientTimeout of %s", value, limit), belowHint(limit))
	}
}

func belowHint(limit time.Duration) string {
	return "take the key out for a value below it, or set at most " + strconv.Itoa(int(limit.Seconds())-1)
}
