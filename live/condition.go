package live

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// ConditionCode is a closed enum of conditions, in the order in which people want to read them.
type ConditionCode interface {
	~uint8
	fmt.Stringer
}

// ConditionOf is something that people should know of one object, by a code of a package's own enum.
type ConditionOf[C ConditionCode] struct {
	Code   C      `json:"code"`
	Object string `json:"object"` // "service example/example-pg-writer"
	// Detail is one line for people, free of numbers that change while nothing happens.
	Detail string `json:"detail,omitempty"`
	// Hint is the next step, "" when there is none.
	Hint string `json:"hint,omitempty"`
}

// String returns one line: "service example/example-pg-writer: not-ours: …".
func (c ConditionOf[C]) String() string {
	text := c.Object + ": " + c.Code.String()
	if c.Detail != "" {
		text += ": " + c.Detail
	}
	return text
}

// SortConditions puts conditions into the order in which people want to read them.
func SortConditions[C ConditionCode](list []ConditionOf[C]) {
	slices.SortStableFunc(list, func(a, b ConditionOf[C]) int {
		return cmp.Or(cmp.Compare(a.Code, b.Code), strings.Compare(a.Object, b.Object))
	})
}

// TellConditions tells what came since old, and then what went. One that says something else than before came again.
func TellConditions[C ConditionCode](old, now []ConditionOf[C], tell func(c ConditionOf[C], gone bool)) {
	for _, c := range now {
		if was, ok := find(old, c); !ok || was.Detail != c.Detail {
			tell(c, false)
		}
	}
	for _, c := range old {
		if _, ok := find(now, c); !ok {
			tell(c, true)
		}
	}
}

// find finds the condition of the same code and object.
func find[C ConditionCode](list []ConditionOf[C], c ConditionOf[C]) (found ConditionOf[C], ok bool) {
	i := slices.IndexFunc(list, func(other ConditionOf[C]) bool { return other.Code == c.Code && other.Object == c.Object })
	if i < 0 {
		return found, false
	}
	return list[i], true
}
