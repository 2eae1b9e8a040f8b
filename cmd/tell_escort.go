package cmd

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/poolwright/poolwright/live"
	"github.com/poolwright/poolwright/live/evict"
	"github.com/poolwright/poolwright/live/pooler"
	prove "github.com/poolwright/poolwright/live/proof"
	"github.com/poolwright/poolwright/live/reload"
)

// aloud makes Kubernetes Events of what happens, besides telling it.
func (l *liveSide) aloud(tell ears) ears {
	events := l.point.events
	return ears{
		keeping:  func(e live.Event) { live.Publicise(events, e); tell.keeping(e) },
		evicting: func(e evict.Event) { evict.Publicise(events, e); tell.evicting(e) },
		proving: func(e prove.Event) {
			if svc := l.serviceOf(e.Proof.Access); svc != nil && e.Proof.Outcome == pooler.RoleMismatch {
				events.Event(svc, corev1.EventTypeWarning, reasonRoleMismatch, proofText(e))
			}
			tell.proving(e)
		},
		rotating: tell.rotating,
	}
}

// reasonRoleMismatch is the reason of a Kubernetes Event on the Writer Service: who is behind it cannot write.
const reasonRoleMismatch = "RoleMismatch"

// serviceOf is the Service through which an access goes, nil when it is not known.
func (l *liveSide) serviceOf(a pooler.Access) *corev1.Service {
	l.mu.Lock()
	keeper := l.keeper
	l.mu.Unlock()
	if keeper == nil {
		return nil
	}
	s, _ := keeper.Sight()
	if a == pooler.Reads {
		return s.Services[live.Reader]
	}
	return s.Services[live.Writer]
}

// tellEviction says what happens in an eviction.
func (r *Reconciler) tellEviction(cluster string, e evict.Event) {
	said := Event{At: e.At, Cluster: cluster}
	switch {
	case e.Condition != nil:
		said.Kind, said.Detail = hindrance(*e.Condition, e.Gone)
	case e.Changed && len(e.State.Eviction.From) > 0:
		said.Kind, said.Detail = Evicted, evictionText(e.State)
		if e.State.Phase == evict.Draining {
			said.Kind = Evicting
		}
	}
	if said.Kind != 0 {
		r.Say(said)
	}
}

// evictionText is an eviction in one line.
func evictionText(s evict.State) string {
	v := s.Eviction
	text := fmt.Sprintf("%s: %s → %s", s.Phase, strings.Join(v.From, ", "), v.To)
	if s.Phase == evict.Complete {
		text += fmt.Sprintf(" in %s: %d connections cut, %d seen again", v.Done.Sub(v.At).Round(time.Millisecond), v.Evicted, v.Returned)
	}
	return text
}

// tellProof says that a proof came to another outcome.
func (r *Reconciler) tellProof(cluster string, e prove.Event) {
	said := Event{At: e.Proof.At.Add(e.Proof.Took), Cluster: cluster, Kind: Unproven, Detail: proofText(e)}
	if e.Proof.Outcome == pooler.Proven {
		said.Kind = Proven
	}
	r.Say(said)
}

// tellRotation says what became of a rotated Secret. That it was seen for the first time is no news.
func (r *Reconciler) tellRotation(cluster string, e reload.Event) {
	said := Event{At: e.At, Cluster: cluster, Kind: Reloaded, Err: e.Err}
	switch {
	case e.Err != nil:
		said.Kind, said.Detail = Unreloaded, "a rotated userlist.txt reaches no pooler before it is restarted"
	case len(e.Failed) > 0:
		said.Kind, said.Detail = Unreloaded, fmt.Sprintf("%d poolers have read userlist.txt again, %d have not: %s", e.Reloaded, len(e.Failed), few(e.Failed))
	case e.First:
		return
	default:
		said.Detail = fmt.Sprintf("%d poolers have read userlist.txt again", e.Reloaded)
	}
	r.Say(said)
}

// proofText is a change of a proof's outcome in one line.
func proofText(e prove.Event) string {
	text := fmt.Sprintf("%s (asked %s)", prove.Say(e.Proof.Access, e.Proof), e.Address)
	if e.Was != 0 && e.Was != pooler.Proven && e.Proof.Outcome == pooler.Proven {
		text += fmt.Sprintf("; they did not for %s", e.Stood.Round(time.Millisecond))
	}
	return text
}
