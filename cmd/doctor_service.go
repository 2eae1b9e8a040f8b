package cmd

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/poolwright/poolwright/live"
	"github.com/poolwright/poolwright/render"
)

// keys compares each Service's selector with what is applied from Git, or with
// what an override says. A key too many selects nobody.
func (e *exam) keys(context.Context) {
	if e.state.Epoch == 0 {
		return
	}
	declared := render.Select(e.names.Cluster, e.state)
	want := map[live.Role]map[string]string{live.Writer: declared.Writer, live.Reader: declared.Reader}
	source := "epoch " + strconv.FormatUint(e.state.Epoch, 10)
	if r := e.sight.Record(); r != nil {
		want, source = r.Select, "the override"
	}
	e.roles(func(role live.Role, svc *corev1.Service) {
		ours, foreign := split(svc.Spec.Selector)
		if len(foreign) > 0 {
			e.warn("selector", "poolwright keeps them; every pod must carry those labels", "service %s/%s selects by keys that are not poolwright's: %s", svc.Namespace, svc.Name, selectorText(foreign))
		}
		switch more, less := missing(ours, want[role]), missing(want[role], ours); {
		case len(more)+len(less) > 0:
			e.fail("selector", "kubectl -n "+svc.Namespace+" get service "+svc.Name+" -o yaml --show-managed-fields", "service %s/%s and %s differ in keys:%s%s",
				svc.Namespace, svc.Name, source, listed(" only live ", more), listed(" only declared ", less))
		case !maps.Equal(ours, want[role]):
			e.fail("selector", e.command("status"), "service %s/%s has the keys of %s, with other values: %s", svc.Namespace, svc.Name, source, selectorText(ours))
		default:
			e.ok("selector", "service %s/%s selects what %s says", svc.Namespace, svc.Name, source)
		}
	})
}

// split parts a selector into poolwright's keys and other people's.
func split(selector map[string]string) (ours, foreign map[string]string) {
	ours, foreign = map[string]string{}, map[string]string{}
	for key, value := range selector {
		if live.IsOurKey(key) {
			ours[key] = value
		} else {
			foreign[key] = value
		}
	}
	return ours, foreign
}

// missing are the keys of a that b has not, sorted.
func missing(a, b map[string]string) []string {
	return slices.DeleteFunc(sortedKeys(a), func(key string) bool { _, ok := b[key]; return ok })
}

func listed(title string, keys []string) string {
	if len(keys) == 0 {
		return ""
	}
	return title + strings.Join(keys, ", ")
}

// receipts compares what was applied to each object itself.
func (e *exam) receipts(context.Context) {
	if e.state.Epoch == 0 {
		return
	}
	applied := strconv.FormatUint(e.state.Epoch, 10)
	e.roles(func(_ live.Role, svc *corev1.Service) {
		switch receipt := receiptOf(svc); {
		case receipt == applied:
			e.ok("receipt", "service %s/%s is of epoch %s, as %s is", svc.Namespace, svc.Name, receipt, e.names.Topology)
		case svc.Annotations[live.AnnotationOverride] != "" || svc.Annotations[freeze] == "disabled":
			e.warn("receipt", e.command("status"), "service %s/%s is of epoch %s, %s of %s: the override holds it back", svc.Namespace, svc.Name, orDash(receipt), e.names.Topology, applied)
		default:
			e.fail("receipt", "look at what the GitOps tool says about this Service", "service %s/%s is of epoch %s, %s of %s: one was applied and the other not", svc.Namespace, svc.Name, orDash(receipt), e.names.Topology, applied)
		}
	})
}

// How old an override may get before somebody should look, and before it is a fault.
const (
	oldOverride   = 15 * time.Minute
	staleOverride = 2 * time.Hour
)

// leftovers looks for marks that nobody takes off any more.
func (e *exam) leftovers(context.Context) {
	now, clean := time.Now(), true
	e.roles(func(_ live.Role, svc *corev1.Service) {
		object, text := "service "+svc.Namespace+"/"+svc.Name, svc.Annotations[live.AnnotationOverride]
		record, err := live.ParseRecord(text)
		switch age := now.Sub(record.At).Round(time.Second); {
		case text == "" && svc.Annotations[freeze] == "disabled":
			e.fail("leftovers", "kubectl -n "+svc.Namespace+" annotate service "+svc.Name+" "+freeze+"-", "%s is frozen for Flux, and not by poolwright: Git is not applied to it", object)
		case text == "" && ownedByUs(svc):
			e.warn("leftovers", e.command("release"), "%s has fields of %s, but no override stands: Argo CD may ignore them", object, live.FieldManager)
		case text == "":
			return
		case err != nil:
			e.fail("leftovers", e.command("release", "--force"), "%s: %s", object, err)
		case age > staleOverride:
			e.fail("leftovers", e.command("status"), "%s is ahead of Git for %s", object, age)
		case age > oldOverride:
			e.warn("leftovers", e.command("status"), "%s is ahead of Git for %s", object, age)
		default:
			e.ok("leftovers", "%s is ahead of Git for %s", object, age)
		}
		clean = false
	})
	if clean {
		e.ok("leftovers", "no Service carries anything of an override")
	}
	if o := e.sight.Control.Order; o != nil && now.After(o.Until) {
		e.warn("leftovers", e.command("release"), "the order for %s by %s ended at %s and is still written down", o.Writer, o.By, stamp(o.Until))
	}
}

func ownedByUs(svc *corev1.Service) bool {
	return slices.ContainsFunc(svc.ManagedFields, func(m metav1.ManagedFieldsEntry) bool { return m.Manager == live.FieldManager })
}

// dryRun tries an override on the Writer: admission, the right to patch, and who owns the selector then.
func (e *exam) dryRun(ctx context.Context) {
	svc := e.sight.Services[live.Writer]
	switch _, meant := e.names.Services[live.Writer]; {
	case svc == nil && meant:
		e.warn("dry-run", "", "no override was tried: there is no Writer Service that could be read and is poolwright's")
		return
	case svc == nil:
		return
	}
	object := "service " + svc.Namespace + "/" + svc.Name
	selector := maps.Clone(svc.Spec.Selector)
	if selector == nil {
		selector = map[string]string{render.LabelCluster: render.LabelValue(e.names.Cluster)}
	}
	selector[render.LabelInstance] = render.LabelValue(e.another(selector[render.LabelInstance]))
	patch, err := json.Marshal(dryRunPatch(svc, selector))
	if err != nil {
		panic(err) // strings, and maps of them
	}
	got, err := e.kube.CoreV1().Services(svc.Namespace).Patch(ctx, svc.Name, types.JSONPatchType, patch,
		metav1.PatchOptions{FieldManager: live.FieldManager, DryRun: []string{metav1.DryRunAll}})
	switch {
	case err == nil:
		e.tried(object, got, selector)
	case live.CodeOf(err) == live.Forbidden:
		e.fail("dry-run", "add to the Role in namespace "+svc.Namespace+": patch services "+svc.Name, "%s may not be patched: the right to patch it is missing", object)
	case live.CodeOf(err) == live.Denied:
		e.fail("dry-run", "let that policy pass updates by field manager "+live.FieldManager, "an override of %s is denied: %s", object, err)
	default:
		e.fail("dry-run", "", "an override of %s cannot be tried: %s", object, err)
	}
}

// dryRunPatch is an override as it would be, but for what the record says.
func dryRunPatch(svc *corev1.Service, selector map[string]string) []patchOp {
	ops := []patchOp{{"test", "/metadata/uid", svc.UID}, {"add", "/spec/selector", selector}}
	if svc.Annotations == nil {
		ops = append(ops, patchOp{"add", "/metadata/annotations", map[string]string{}})
	}
	ops = append(ops, patchOp{"add", "/metadata/annotations/" + pointer(live.AnnotationOverride), "tried by poolwright doctor"})
	if live.OwnerOf(svc).Tool == live.Flux {
		ops = append(ops, patchOp{"add", "/metadata/annotations/" + pointer(freeze), "disabled"})
	}
	return ops
}

// another is a member that is not the one selected; one that does not exist when there is no other.
func (e *exam) another(selected string) string {
	for _, m := range e.state.Members {
		if render.LabelValue(m.Name) != selected {
			return m.Name
		}
	}
	return "tried-by-doctor"
}

// tried judges what came of the dry run.
func (e *exam) tried(object string, got *corev1.Service, selector map[string]string) {
	owns := slices.ContainsFunc(got.ManagedFields, func(m metav1.ManagedFieldsEntry) bool {
		return m.Manager == live.FieldManager && m.Operation == metav1.ManagedFieldsOperationUpdate && live.OwnsSelector(m)
	})
	switch {
	case !maps.Equal(got.Spec.Selector, selector):
		e.fail("dry-run", "keep mutating webhooks off this Service", "an override of %s comes out changed: %s", object, selectorText(got.Spec.Selector))
	case !owns:
		e.fail("dry-run", "", "after an override of %s its selector does not belong to %s: Argo CD would not leave it alone", object, live.FieldManager)
	default:
		e.ok("dry-run", "an override of %s passes admission, and %s owns the selector then", object, live.FieldManager)
	}
}
