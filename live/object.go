package live

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poolwright/poolwright/render"
)

// mine returns a Service that exists and is ours. What is not is said, and never written.
func (l *look) mine(role Role) (*corev1.Service, bool) {
	svc := l.sight.Services[role]
	switch {
	case away(svc):
		l.say(ServiceMissing, l.object(role), "it does not exist", "let your GitOps tool apply the cluster's directory")
	case !l.sight.Names.Own(svc):
		l.say(NotOurs, l.object(role), fmt.Sprintf("its label %s is %q: it is somebody else's", render.LabelCluster, svc.Labels[render.LabelCluster]),
			"rename that Service, or set services."+string(role)+".name in the Cluster file")
	default:
		return svc, true
	}
	return nil, false
}

// isAt reports whether a Service selects what the target says. Keys of other domains are other people's.
func (l *look) isAt(role Role, svc *corev1.Service) bool {
	return maps.Equal(OurKeys(svc.Spec.Selector), l.target.Select[role])
}

// hasTraces reports whether something of an override is left on a Service.
func (l *look) hasTraces(svc *corev1.Service) bool {
	return svc.Annotations[AnnotationOverride] != "" || managedBy(svc, FieldManager)
}

// write adds a write to a Service.
func (l *look) write(w Write) {
	w.Name = l.sight.Names.Services[w.Role]
	l.verdict.Writes = append(l.verdict.Writes, w)
}

// say adds a condition once.
func (l *look) say(code Code, object, detail, hint string) {
	c := Condition{Code: code, Object: object, Detail: detail, Hint: hint}
	if !slices.Contains(l.verdict.Conditions, c) {
		l.verdict.Conditions = append(l.verdict.Conditions, c)
	}
}

func (l *look) object(role Role) string {
	return "service " + l.sight.Names.Namespace + "/" + l.sight.Names.Services[role]
}

func (l *look) control() string {
	return "configmap " + l.sight.Names.Namespace + "/" + ControlName(l.sight.Names.Cluster)
}

func (l *look) cluster() string {
	return "cluster " + l.sight.Names.Namespace + "/" + l.sight.Names.Cluster
}

// tellOwner tells when the owner of a Service knows no freeze.
func (l *look) tellOwner(role Role, svc *corev1.Service) {
	if o := OwnerOf(svc); o.Tool == HelmRelease || o.Tool == ResourceSet {
		l.say(UnsupportedOwner, l.object(role), o.Tool.String()+" "+o.Name+" applies it and knows no freeze: re-assert alone protects it", "apply the directory with a Flux Kustomization or Argo CD")
	}
}

// tellReceipt tells when what is applied went back behind what had been applied, or Git did.
func (l *look) tellReceipt() {
	for _, role := range l.roles() {
		svc := l.sight.Services[role]
		if svc == nil || !l.sight.Names.Own(svc) {
			continue
		}
		receipt := ReceiptOf(svc)
		back := l.sight.Receipt != 0 && l.sight.Receipt < receipt || l.want.Declared != 0 && l.want.Declared < receipt
		if back {
			l.say(ReceiptBehind, l.object(role), "Git, or what is applied of it, has gone back behind this Service", "poolwright resume --cluster "+l.sight.Names.Cluster+", or poolwright release --cluster "+l.sight.Names.Cluster+" --force")
			return
		}
	}
}

// ReceiptOf is the epoch that the GitOps tool applied to the object itself, 0 when there is none.
func ReceiptOf(svc *corev1.Service) uint64 { return epochOf(svc.Annotations[render.AnnotationEpoch]) }

// epochOf reads an epoch, 0 for what is none.
func epochOf(text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n > maxEpoch {
		return 0
	}
	return n
}

func isFrozen(svc *corev1.Service) bool { return svc.Annotations[annotationFreeze] == frozen }

func instanceOf(selector map[string]string) string { return selector[render.LabelInstance] }

func podsOf(instance string) string { return render.LabelInstance + "=" + instance }

// sameRecord compares what two records say, whoever froze what.
func sameRecord(a, b Record) bool {
	a.Froze, b.Froze = false, false
	return a.String() == b.String()
}

// selectorManager is the field manager, other than ours, that set the selector last; "somebody" when nobody owns it.
func selectorManager(svc *corev1.Service) string {
	name, at := "somebody", time.Time{}
	for _, m := range svc.ManagedFields {
		if m.Manager == FieldManager || !OwnsSelector(m) {
			continue
		}
		if t := timeOf(m); name == "somebody" || t.After(at) {
			name, at = m.Manager, t
		}
	}
	return name
}

func timeOf(m metav1.ManagedFieldsEntry) time.Time {
	if m.Time == nil {
		return time.Time{}
	}
	return m.Time.Time
}

// OwnsSelector reports whether a managedFields entry has spec.selector.
func OwnsSelector(m metav1.ManagedFieldsEntry) bool {
	_, ok := fieldsOf(m).Spec["f:selector"]
	return ok
}

// weFroze reports whether the freeze was set under our name: by poolwright, or by a person with the printed lines.
func weFroze(svc *corev1.Service) bool {
	return slices.ContainsFunc(svc.ManagedFields, func(m metav1.ManagedFieldsEntry) bool {
		_, ok := fieldsOf(m).Metadata.Annotations["f:"+annotationFreeze]
		return ok && m.Manager == FieldManager
	})
}

// owned are the fields of a Service that matter here, as managed fields name them.
type owned struct {
	Metadata struct {
		Annotations map[string]json.RawMessage `json:"f:annotations"`
	} `json:"f:metadata"`
	Spec map[string]json.RawMessage `json:"f:spec"`
}

// fieldsOf are the fields of an entry; none when it cannot be read.
func fieldsOf(m metav1.ManagedFieldsEntry) (fields owned) {
	if m.FieldsV1 == nil || json.Unmarshal(m.FieldsV1.GetRawBytes(), &fields) != nil {
		return owned{}
	}
	return fields
}

// revertHint is what stops an owner from putting Services back.
func revertHint(o Owner) string {
	if o.Tool == ArgoCD {
		return "poolwright gitops-config --argocd"
	}
	return ""
}
