package live

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
)

// The reasons of the Kubernetes Events on the role Services.
const (
	ReasonFailoverPatched = "FailoverPatched" // the Service was moved ahead of Git
	ReasonReasserted      = "Reasserted"      // somebody put it back, and it was moved again
	ReasonUnfrozen        = "Unfrozen"        // Flux may apply it again
	ReasonHandedBack      = "HandedBack"      // Git owns it again
	ReasonRefused         = "Refused"         // it is not written, or the API server refuses to
)

// NewRecorder makes a recorder of Events, which client-go aggregates and limits,
// and a function that ends it. The right to create and patch Events is optional:
// without it they are dropped.
func NewRecorder(ctx context.Context, client kubernetes.Interface) (_ record.EventRecorder, stop func()) {
	b := record.NewBroadcaster(record.WithContext(quiet(ctx)))
	b.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	return b.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "poolwright"}), b.Shutdown
}

// Publicise makes a Kubernetes Event of what happened, when it is about a Service
// and people who look at that Service should know.
func Publicise(r record.EventRecorder, e Event) {
	if e.Service == nil {
		return
	}
	if kind, reason, message := publication(e); reason != "" {
		r.Event(e.Service, kind, reason, message)
	}
}

// publication is the type, reason and message of an event; no reason when it is not for the public.
func publication(e Event) (kind, reason, message string) {
	switch {
	case e.Condition != nil && !e.Gone && isRefusal(e.Condition.Code):
		return corev1.EventTypeWarning, ReasonRefused, withHint(e.Condition.Code.String()+": "+e.Condition.Detail, e.Condition.Hint)
	case e.Wrote == nil || e.Err != nil:
		return "", "", ""
	}
	switch e.Wrote.Kind {
	case Override:
		return corev1.EventTypeNormal, ReasonFailoverPatched, "ahead of Git: " + e.Record.summary()
	case Reassert:
		return corev1.EventTypeWarning, ReasonReasserted, withHint(fmt.Sprintf("%s put it back; it was moved again after %v: %s", e.Wrote.Reverter, e.Exposed.Round(time.Millisecond), e.Record.summary()), reassertHint(e.Wrote.Reverter))
	case Unfreeze:
		return corev1.EventTypeNormal, ReasonUnfrozen, "Flux has come to the commit and may apply the Service again"
	case Release:
		return corev1.EventTypeNormal, ReasonHandedBack, "Git owns the Service again"
	default:
		return "", "", ""
	}
}

// isRefusal reports whether a condition of a Service means that it is not written.
func isRefusal(c Code) bool {
	switch c {
	case Forbidden, Denied, NotOurs, Invalid, BadRecord, TargetNotReady, PodsUnseen, FrozenByPerson:
		return true
	default:
		return false
	}
}

// summary is the record in one line.
func (r *Record) summary() string {
	if r == nil {
		return "the override"
	}
	return strings.TrimSuffix(fmt.Sprintf("writer %s → %s (epoch %d): %s", r.From, r.To, r.Epoch, r.Reason), ": ")
}

// reassertHint is what stops Argo CD from putting Services back. Its field manager's name is fixed.
func reassertHint(reverter string) string {
	if strings.HasPrefix(reverter, "argocd-") {
		return "poolwright gitops-config --argocd prints what its Application lacks"
	}
	return ""
}

func withHint(text, hint string) string {
	if hint == "" {
		return text
	}
	return text + " (hint: " + hint + ")"
}
