package proof

import (
	"fmt"
	"time"

	"github.com/poolwright/poolwright/live/pooler"
)

// Say tells in one line what [Prover.Last] knows of an access: "writes reach the writer: yes, proven 3s ago".
func Say(access pooler.Access, last pooler.Proof, proven, now time.Time) string {
	return claim(access) + ": " + verdict(last, proven, now)
}

func claim(access pooler.Access) string {
	if access == pooler.Reads {
		return "reads are answered"
	}
	return "writes reach the writer"
}

func verdict(last pooler.Proof, proven, now time.Time) string {
	switch last.Outcome {
	case 0:
		return "not asked yet"
	case pooler.Proven:
		return "yes, proven " + ago(proven, now)
	case pooler.RoleMismatch:
		return fmt.Sprintf("no, role mismatch: %s (SQLSTATE %s), %s", last.Detail, last.Code, before(proven, now))
	}
	return fmt.Sprintf("no, %s: %s, %s", last.Fault, last.Detail, before(proven, now))
}

func before(proven, now time.Time) string {
	if proven.IsZero() {
		return "never proven"
	}
	return "last proven " + ago(proven, now)
}

// ago is an age in whole seconds; a clock that was put back makes none negative.
func ago(at, now time.Time) string {
	return fmt.Sprintf("%s ago", max(0, now.Sub(at)).Truncate(time.Second))
}
