package cmd

import (
	"slices"
	"strings"
	"time"

	"github.com/poolwright/poolwright/discovery"
	"github.com/poolwright/poolwright/plan"
)

// told is what people know already, so that each thing is told once.
type told struct {
	standing, git   trouble
	lease, debt     trouble
	people, neglect trouble
	forge, checks   trouble
	doubts, decided string
	rival           string
	looked, window  bool
}

// trouble is something that is broken, "" when it is not, and when that was said.
type trouble struct {
	text string
	at   time.Time
}

// remindEvery is how often trouble is said again while it lasts.
const remindEvery = 5 * time.Minute

func (r *Reconciler) say(e Event) {
	e.At, e.Cluster = r.Now(), r.Name
	r.Say(e)
}

// tell says that something broke, and that it is well again.
func (r *Reconciler) tell(last *trouble, err error, broken, mended EventKind) {
	switch now := r.Now(); {
	case err == nil && last.text != "":
		*last = trouble{}
		r.say(Event{Kind: mended})
	case err != nil && (err.Error() != last.text || now.Sub(last.at) >= remindEvery):
		*last = trouble{err.Error(), now}
		r.say(Event{Kind: broken, Err: err})
	}
}

// tellTopology says when trust comes or goes.
func (r *Reconciler) tellTopology(t discovery.Topology) {
	text := doubtsText(t.Doubts)
	if r.told.looked && text == r.told.doubts {
		return
	}
	r.told.looked, r.told.doubts = true, text
	if t.Trusted() {
		r.say(Event{Kind: Trusted, Topology: t})
		return
	}
	r.say(Event{Kind: Doubted, Detail: causes(t), Topology: t})
}

// causes are the doubts, and who gave no answer and why.
func causes(t discovery.Topology) string {
	var sentences []string
	for _, d := range t.Doubts {
		sentences = append(sentences, d.String())
	}
	for _, n := range t.Notes {
		if n.Code == discovery.NoAnswer {
			sentences = append(sentences, n.String())
		}
	}
	return strings.Join(sentences, "; ")
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
	words := []string{strings.TrimSpace(p.Action.String() + " " + p.Class.String())}
	for _, reason := range p.Reasons {
		words = append(words, reason.String())
	}
	text := strings.Join(words, "; ")
	if text == r.told.decided {
		return
	}
	before := r.told.decided
	r.told.decided = text
	if p.Action == plan.Keep && len(p.Reasons) == 0 && before == "" {
		return
	}
	r.say(Event{Kind: Decided, Plan: p, Detail: text})
}
