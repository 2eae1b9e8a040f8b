package proof

import (
	"fmt"

	"github.com/poolwright/poolwright/live/pooler"
)

// Say tells in one line what a proof of an access came to: "writes reach the writer: no, role mismatch: …".
func Say(access pooler.Access, last pooler.Proof) string { return claim(access) + ": " + verdict(last) }

func claim(access pooler.Access) string {
	if access == pooler.Reads {
		return "reads are answered"
	}
	return "writes reach the writer"
}

func verdict(last pooler.Proof) string {
	switch last.Outcome {
	case 0:
		return "not asked yet"
	case pooler.Proven:
		return "yes"
	case pooler.RoleMismatch:
		return fmt.Sprintf("no, role mismatch: %s (SQLSTATE %s)", last.Detail, last.Code)
	}
	return fmt.Sprintf("no, %s: %s", last.Fault, last.Detail)
}
