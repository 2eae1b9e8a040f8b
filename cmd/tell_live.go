package cmd

import (
	"errors"
	"fmt"
	"time"

	"github.com/poolwright/poolwright/live"
	"github.com/poolwright/poolwright/live/evict"
	prove "github.com/poolwright/poolwright/live/proof"
	"github.com/poolwright/poolwright/live/reload"
)

// ears hear what happens to a cluster, on other goroutines than the Reconciler's.
func (r *Reconciler) ears(cluster string) ears {
	return ears{
		keeping:  func(e live.Event) { r.tellLive(cluster, e) },
		evicting: func(e evict.Event) { r.tellEviction(cluster, e) },
		proving:  func(e prove.Event) { r.tellProof(cluster, e) },
		rotating: func(e reload.Event) { r.tellRotation(cluster, e) },
	}
}

// tellLive says what happened to a cluster's Services.
func (r *Reconciler) tellLive(cluster string, e live.Event) {
	said := Event{At: e.At, Cluster: cluster, Err: e.Err}
	switch {
	case e.Condition != nil:
		said.Kind, said.Detail = hindrance(*e.Condition, e.Gone)
	case e.Wrote != nil:
		said.Kind, said.Detail = wroteKind(*e.Wrote), wroteText(e)
		if e.Err != nil {
			said.Kind, said.Err = Unwritten, writeError(e.Err)
		}
	case e.Changed:
		said.Kind, said.Detail = Phased, e.Phase.String()
	}
	if said.Kind != 0 {
		r.Say(said)
	}
}

// errMoved is what a write comes to whose object is not as it was seen. It is
// decided anew at once.
var errMoved = errors.New("somebody else has written it meanwhile; it is looked at again")

// writeError says a lost race in words: the API server's say nothing.
func writeError(err error) error {
	if live.CodeOf(err) == 0 {
		return errMoved
	}
	return err
}

// hindrance is how a condition is told that came, or is gone.
func hindrance[C live.ConditionCode](c live.ConditionOf[C], gone bool) (EventKind, string) {
	if gone {
		return Cleared, c.Object + ": " + c.Code.String()
	}
	return Hindered, conditionText(c)
}

func conditionText[C live.ConditionCode](c live.ConditionOf[C]) string {
	if c.Hint == "" {
		return c.String()
	}
	return c.String() + "; hint: " + c.Hint
}

// wroteKind is 0 for writes that the phases tell already.
func wroteKind(w live.Write) EventKind {
	switch w.Kind {
	case live.Override:
		return Moved
	case live.Reassert:
		return Reasserted
	}
	return 0
}

func wroteText(e live.Event) string {
	w := e.Wrote
	text := fmt.Sprintf("%s %s in %s", w.Kind, w.Name, e.Took.Round(time.Millisecond/10))
	if w.Reverter != "" {
		text += fmt.Sprintf("; %s had put it back, exposed for %v", w.Reverter, e.Exposed.Round(time.Millisecond))
	}
	return text
}

// debts are the ages at which it is said that the Services are still ahead of Git.
// Nothing but words follows from age.
var debts = [...]time.Duration{15 * time.Minute, 2 * time.Hour}

// tellDebt says that the Services have been ahead of Git for long, again and again while they are.
func (r *Reconciler) tellDebt() {
	s, ok := r.Live.Sight()
	if !ok {
		return
	}
	var debt error
	if record := s.Record(); record != nil {
		for _, d := range debts {
			if r.Now().Sub(record.At) >= d {
				debt = fmt.Errorf("the Services have been ahead of Git for more than %s: Git is not merged, or not applied", d)
			}
		}
	}
	r.tell(&r.told.debt, debt, Hindered, Cleared)
}

// tellRival says when this process begins or ends to be the one that acts.
func (r *Reconciler) tellRival(d declaration) {
	r.tell(&r.told.lease, r.Live.Trouble(), Unwritten, Cleared)
	other := r.Live.Rival()
	r.tell(&r.told.neglect, other.neglects(d.Metadata.Namespace+"/"+d.Metadata.Name), Hindered, Cleared)
	if other.identity == r.told.rival {
		return
	}
	r.told.rival = other.identity
	if other.identity == "" {
		r.say(Event{Kind: Leading})
		return
	}
	r.say(Event{Kind: Standby, Detail: other.identity + " holds lease " + other.lease + " and keeps the clusters"})
}
