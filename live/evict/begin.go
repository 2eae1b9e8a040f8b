package evict

import (
	"slices"
	"time"

	"github.com/poolwright/poolwright/live"
	"github.com/poolwright/poolwright/render"
)

// begin is the entry that must stand, given the one that stands; ok is false when
// that is the one. selected is the instance that the Writer Service selects,
// target the one that it belongs to, "" when not known.
func begin(old *live.Eviction, selected, target string, now time.Time) (next live.Eviction, ok bool) {
	now = now.UTC().Truncate(time.Millisecond)
	switch {
	case selected == "":
		return live.Eviction{}, false
	case old == nil:
		return live.Eviction{Version: 1, Number: 1, To: selected, At: now, Done: now}, true
	case selected != target, selected == old.To:
		return live.Eviction{}, false
	}
	next = live.Eviction{Version: 1, Number: old.Number + 1, To: selected, From: []string{old.To}, At: now}
	if old.Open() {
		next.From, next.Databases = append(next.From, old.From...), old.Databases
		if slices.Contains(slices.Concat(old.From, old.Restore), selected) {
			next.Restore = []string{selected}
		}
	}
	next.From = without(next.From, selected)
	return next, true
}

// again is the entry for clients that came to an instance while somebody had put the Service back to it.
func again(old live.Eviction, strayed string, now time.Time) live.Eviction {
	return live.Eviction{Version: 1, Number: old.Number + 1, To: old.To, From: []string{strayed}, At: now.UTC().Truncate(time.Millisecond)}
}

// without are the names but one, sorted, each once.
func without(names []string, one string) []string {
	names = slices.DeleteFunc(names, func(n string) bool { return n == one })
	slices.Sort(names)
	return slices.Compact(names)
}

// newer reports whether entry a came after b, or is b when it is over.
func newer(a, b *live.Eviction) bool {
	switch {
	case a == nil:
		return false
	case b == nil || a.Number != b.Number:
		return b == nil || a.Number > b.Number
	}
	return !a.Open() && b.Open()
}

// insight is what is seen, and what follows from it, read once.
type insight struct {
	Seen
	// at is the instance that the Writer Service selects, target the one that it belongs to; "" when not known.
	at, target string
	// overridden is true while the record of an override stands.
	overridden bool
}

func understand(s Seen) *insight {
	record := s.Sight.Record()
	return &insight{Seen: s, at: selected(s.Sight), target: targetOf(record, s.Wanted), overridden: record != nil}
}

// selected is the instance that the Writer Service selects, "" when it is not there or not ours.
func selected(s live.Sight) string {
	svc := s.Services[live.Writer]
	if svc == nil || svc.DeletionTimestamp != nil || !s.Names.Own(svc) {
		return ""
	}
	return svc.Spec.Selector[render.LabelInstance]
}

// targetOf is the instance to which the Writer Service belongs: what the override says, else what is wanted.
func targetOf(record *live.Record, wanted string) string {
	if record != nil && record.Select[live.Writer] != nil {
		return record.Select[live.Writer][render.LabelInstance]
	}
	if wanted == "" {
		return ""
	}
	return render.LabelValue(wanted)
}
