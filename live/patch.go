package live

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// overridePatch moves a Service ahead of Git: it holds only while the Service is
// the one that was seen and still selects what was seen. Keys of other domains stay.
func overridePatch(svc *corev1.Service, r Record, keys map[string]string, freeze bool) []Op {
	ops := []Op{{Op: "test", Path: "/metadata/uid", Value: svc.UID}}
	if len(svc.Spec.Selector) > 0 {
		ops = append(ops,
			Op{Op: "test", Path: "/spec/selector", Value: svc.Spec.Selector},
			Op{Op: "replace", Path: "/spec/selector", Value: withKeys(svc.Spec.Selector, keys)})
	} else { // somebody took it away: there is no value to compare, so the whole object must be as seen
		ops = append(ops, testVersion(svc), Op{Op: "add", Path: "/spec/selector", Value: keys})
	}
	if svc.Annotations == nil {
		ops = append(ops, testVersion(svc), Op{Op: "add", Path: "/metadata/annotations", Value: map[string]string{}})
	}
	ops = append(ops, annotate(AnnotationOverride, r.String()))
	if freeze {
		ops = append(ops, annotate(annotationFreeze, frozen))
	}
	return ops
}

// unfreezePatch lets Flux apply the Service again.
func unfreezePatch(svc *corev1.Service, r Record) []Op {
	r.Froze = false
	return []Op{
		{Op: "test", Path: "/metadata/uid", Value: svc.UID},
		{Op: "test", Path: annotationPath(annotationFreeze), Value: frozen},
		{Op: "remove", Path: annotationPath(annotationFreeze)},
		annotate(AnnotationOverride, r.String()),
	}
}

// releasePatch takes what is ours off a Service, also as an owner of fields: Argo
// CD would else go on ignoring them. r is the record on it, nil when it has none.
// The list of managers is never sent empty, which would mean to forget them all.
func releasePatch(svc *corev1.Service, r *Record) []Op {
	ops := []Op{{Op: "test", Path: "/metadata/uid", Value: svc.UID}, testVersion(svc)}
	_, recorded := svc.Annotations[AnnotationOverride]
	if recorded {
		ops = append(ops, Op{Op: "remove", Path: annotationPath(AnnotationOverride)})
	}
	if isFrozen(svc) && (weFroze(svc) || recorded && (r == nil || r.Froze)) { // a record that cannot be read may have frozen it
		ops = append(ops, Op{Op: "remove", Path: annotationPath(annotationFreeze)})
	}
	if others := withoutUs(svc); len(others) > 0 && len(others) < len(svc.ManagedFields) {
		ops = append(ops, Op{Op: "replace", Path: "/metadata/managedFields", Value: others})
	}
	return ops
}

// withoutUs are the managers of a Service but for ours. When nobody else owns the
// selector, because the tool found it equal and had nothing to apply, it is the
// tool's again: it said so first, and says it now.
func withoutUs(svc *corev1.Service) (others []metav1.ManagedFieldsEntry) {
	for _, m := range svc.ManagedFields {
		if m.Manager != FieldManager {
			others = append(others, m)
		}
	}
	if !managedBy(svc, FieldManager) || slices.ContainsFunc(others, OwnsSelector) {
		return others
	}
	for i, m := range others {
		if m.Manager == OwnerOf(svc).Tool.manager() && m.Subresource == "" {
			others[i] = withSelector(m)
			return others
		}
	}
	return others
}

// withSelector is an entry that owns the selector too. One that cannot be read stays as it is.
func withSelector(m metav1.ManagedFieldsEntry) metav1.ManagedFieldsEntry {
	var fields map[string]map[string]json.RawMessage
	if m.FieldsV1 == nil || json.Unmarshal(m.FieldsV1.GetRawBytes(), &fields) != nil {
		return m
	}
	if fields["f:spec"] == nil {
		fields["f:spec"] = map[string]json.RawMessage{}
	}
	fields["f:spec"]["f:selector"] = json.RawMessage("{}")
	text, err := json.Marshal(fields)
	if err == nil {
		m.FieldsV1 = metav1.NewFieldsV1(string(text))
	}
	return m
}

// testVersion holds only while nothing of the object has changed.
func testVersion(svc *corev1.Service) Op {
	return Op{Op: "test", Path: "/metadata/resourceVersion", Value: svc.ResourceVersion}
}

func annotate(key, value string) Op { return Op{Op: "add", Path: annotationPath(key), Value: value} }

func annotationPath(key string) string {
	return "/metadata/annotations/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

// withKeys is a selector with our keys replaced and everybody else's kept.
func withKeys(selector, keys map[string]string) map[string]string {
	next := maps.Clone(selector)
	maps.DeleteFunc(next, func(k, _ string) bool { return IsOurKey(k) })
	maps.Copy(next, keys)
	return next
}
