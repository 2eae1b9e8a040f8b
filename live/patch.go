package live

import (
	"maps"
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
	if isFrozen(svc) && recorded && (r == nil || r.Froze) { // a record that cannot be read may have frozen it
		ops = append(ops, Op{Op: "remove", Path: annotationPath(annotationFreeze)})
	}
	var others []metav1.ManagedFieldsEntry
	for _, m := range svc.ManagedFields {
		if m.Manager != FieldManager {
			others = append(others, m)
		}
	}
	if len(others) > 0 && len(others) < len(svc.ManagedFields) {
		ops = append(ops, Op{Op: "replace", Path: "/metadata/managedFields", Value: others})
	}
	return ops
}

// testVersion holds only while nothing of the object has changed.
func testVersion(svc *corev1.Service) Op {
	return Op{Op: "test", Path: "/metadata/resourceVersion", Value: svc.ResourceVersion}
}

func annotate(key, value string) Op { return Op{Op: "add", Path: annotationPath(key), Value: value} }

func annotationPath(key string) string {
	return "/metadata/annotations/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

// ourKeys are the keys of poolwright's domain.
func ourKeys(selector map[string]string) map[string]string {
	ours := maps.Clone(selector)
	maps.DeleteFunc(ours, func(k, _ string) bool { return !isOurs(k) })
	return ours
}

// withKeys is a selector with our keys replaced and everybody else's kept.
func withKeys(selector, keys map[string]string) map[string]string {
	next := maps.Clone(selector)
	maps.DeleteFunc(next, func(k, _ string) bool { return isOurs(k) })
	maps.Copy(next, keys)
	return next
}
