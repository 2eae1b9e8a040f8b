package cmd

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/poolwright/poolwright/live"
	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/render"
)

// whom names the members that a role Service's selector leads to.
func whom(s plan.State, selector map[string]string) string {
	var names []string
	for _, m := range s.Members {
		if selects(selector, m) {
			names = append(names, m.Name)
		}
	}
	switch {
	case len(names) > 0:
		return strings.Join(names, ", ")
	case selector[render.LabelInstance] != "":
		return selector[render.LabelInstance]
	}
	return "nobody"
}

// selects reports whether a selector's keys of poolwright's own lead to a member's pods.
func selects(selector map[string]string, m plan.Member) bool {
	if name, ok := selector[render.LabelInstance]; ok && name != render.LabelValue(m.Name) {
		return false
	}
	return len(selector) > 0 && selector[render.SlotLabel(m.Slot)] == ""
}

// selectorText is a selector as kubectl takes it.
func selectorText(selector map[string]string) string {
	words := make([]string, 0, len(selector))
	for _, key := range sortedKeys(selector) {
		words = append(words, key+"="+selector[key])
	}
	return strings.Join(words, ",")
}

// ownerText names who applies a Service.
func ownerText(o live.Owner) string {
	switch {
	case o.Tool == live.NoTool:
		return "no GitOps tool"
	case o.Namespace != "":
		return o.Tool.String() + " " + o.Namespace + "/" + o.Name
	case o.Name != "":
		return o.Tool.String() + " " + o.Name
	}
	return o.Tool.String()
}

// selectorOwner is the manager that set a Service's selector last, and when; zero when nobody is known.
func selectorOwner(svc *corev1.Service) (manager string, at time.Time) {
	for _, m := range svc.ManagedFields {
		if m.Time != nil && live.OwnsSelector(m) && m.Time.After(at) {
			manager, at = m.Manager, m.Time.Time
		}
	}
	return manager, at
}

// receiptOf is the epoch that was applied to an object itself, "" when there is none.
func receiptOf(svc *corev1.Service) string { return svc.Annotations[render.AnnotationEpoch] }
