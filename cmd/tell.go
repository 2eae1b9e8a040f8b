package cmd

import (
	"slices"
	"strings"

	"github.com/poolwright/poolwright/discovery"
	"github.com/poolwright/poolwright/plan"
)

// told is what people know already, so that each thing is told once.
type told struct {
	standing, git, doubts, decided string
	looked, window                 bool
}

func (r *Reconciler) say(e Event) {
	e.At, e.Cluster = r.Now(), valueOr(r.latest.Metadata.Name, r.Name)
	r.Say(e)
}

// tell says that something broke or is well again, once each.
func (r *Reconciler) tell(last *string, err error, broken, mended EventKind) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text == *last {
		return
	}
	if *last = text; err != nil {
		r.say(Event{Kind: broken, Err: err})
		return
	}
	r.say(Event{Kind: mended})
}

// tellTopology says when trust comes or goes.
func (r *Reconciler) tellTopology(t discovery.Topology) {
	text := doubtsText(t.Doubts)
	if r.told.looked && text == r.told.doubts {
		return
	}
	r.told.looked, r.told.doubts = true, text
	kind := Trusted
	if !t.Trusted() {
		kind = Doubted
	}
	r.say(Event{Kind: kind, Detail: text, Topology: t})
}

// doubtsText names doubts without details, which may change while nothing happens.
func doubtsText(doubts []discovery.Doubt) string {
	words := make([]string, len(doubts))
	for i, d := range doubts {
		words[i] = strings.TrimSpace(d.Code.String() + " " + d.Instance)
	}
	return strings.Join(slices.Compact(words), ", ")
}

// tellWindow says when the window opens or closes.
func (r *Reconciler) tellWindow() {
	is := r.window.isOpen(r.Now())
	switch {
	case is == r.told.window:
		return
	case is:
		r.say(Event{Kind: WindowOpened})
	default:
		r.say(Event{Kind: WindowClosed})
	}
	r.told.window = is
}

// tellPlan says what is decided when it is not what was said last.
func (r *Reconciler) tellPlan(p plan.Plan) {
	var text strings.Builder
	text.WriteString(p.Action.String())
	for _, reason := range p.Reasons {
		text.WriteString("; " + strings.TrimSpace(reason.Code.String()+" "+reason.Instance))
	}
	if text.String() == r.told.decided {
		return
	}
	before := r.told.decided
	r.told.decided = text.String()
	if p.Action == plan.Keep && before == "" {
		return
	}
	r.say(Event{Kind: Decided, Plan: p, Detail: text.String()})
}
