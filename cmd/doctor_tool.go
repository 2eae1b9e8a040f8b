package cmd

import (
	"cmp"
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/poolwright/poolwright/live"
)

// owner finds who applies the Services, and looks at how.
func (e *exam) owner(ctx context.Context) {
	e.roles(func(_ live.Role, svc *corev1.Service) { e.options(svc) })
	switch o := ownerOf(e.sight); o.Tool {
	case live.Flux:
		e.ok("owner", "the Services are applied by %s", ownerText(o))
		e.kustomization(ctx, o)
	case live.ArgoCD:
		e.ok("owner", "the Services are applied by %s", ownerText(o))
		e.application(ctx, o)
	case live.HelmRelease, live.ResourceSet:
		e.warn("owner", "apply the directory with a Flux Kustomization or with Argo CD", "the Services are applied by %s, which knows no freeze: they are put back and moved again", ownerText(o))
	default:
		if len(e.sight.Services) > 0 {
			e.warn("owner", "", "no GitOps tool says that it applies the Services: nobody will hand a commit to them")
		}
	}
}

// Options on a Service that break an override, by annotation: Argo CD's comma-separated options, and Flux's.
const (
	argoSyncOptions    = "argocd.argoproj.io/sync-options"
	argoCompareOptions = "argocd.argoproj.io/compare-options"
	fluxForce          = "kustomize.toolkit.fluxcd.io/force"
	fluxPrune          = "kustomize.toolkit.fluxcd.io/prune"
	fluxSSA            = "kustomize.toolkit.fluxcd.io/ssa"
)

func (e *exam) options(svc *corev1.Service) {
	object := "service " + svc.Namespace + "/" + svc.Name
	if bad := breaking(svc.Annotations[argoSyncOptions], svc.Annotations[argoCompareOptions]); len(bad) > 0 {
		e.fail("options", "remove it from spec.services in the Cluster file", "%s has %s, which breaks an override", object, strings.Join(bad, ", "))
	}
	for _, key := range []string{fluxForce, fluxSSA} {
		if value := svc.Annotations[key]; value != "" && !strings.EqualFold(value, "disabled") && !strings.EqualFold(value, "override") {
			e.fail("options", "remove it from spec.services in the Cluster file", "%s has %s: %s, which breaks an override", object, key, value)
		}
	}
	argo := slices.Contains(optionsIn(svc.Annotations[argoSyncOptions]), "Prune=false")
	if flux := strings.EqualFold(svc.Annotations[fluxPrune], "disabled"); !argo || !flux {
		e.warn("options", "", "%s is not protected from being pruned by both tools", object)
	}
}

// breaking are the options of Argo CD that overwrite or recreate a Service, or show a difference for ever.
func breaking(sync, compare string) (found []string) {
	for _, o := range append(optionsIn(sync), optionsIn(compare)...) {
		if slices.Contains([]string{"Replace=true", "Force=true", "IncludeMutationWebhook=true"}, o) {
			found = append(found, o)
		}
	}
	return found
}

func optionsIn(text string) []string {
	options := strings.Split(text, ",")
	for i := range options {
		options[i] = strings.TrimSpace(options[i])
	}
	return options
}

// read reads an object of the GitOps tool, and tells when it cannot.
func (e *exam) read(ctx context.Context, kind schema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured, bool) {
	found, err := e.kube.Dynamic.Resource(kind).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case err == nil:
		return found, true
	case apierrors.IsNotFound(err):
		e.warn("owner", "if it is in another cluster or namespace, look at it there", "%s %s/%s is not here", kind.Resource, namespace, name)
	case apierrors.IsForbidden(err):
		e.warn("owner", "", "%s %s/%s may not be read: the right to get it is missing, so how it applies was not checked", kind.Resource, namespace, name)
	default:
		e.warn("owner", "", "%s %s/%s cannot be read: %s", kind.Resource, namespace, name, err)
	}
	return nil, false
}

// decoded turns an object into what is looked at.
func decoded[T any](e *exam, from *unstructured.Unstructured) (to T, ok bool) {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(from.Object, &to); err != nil {
		e.fail("owner", "", "%s %s/%s cannot be understood: %s", from.GetKind(), from.GetNamespace(), from.GetName(), err)
		return to, false
	}
	return to, true
}

// kustomization is what is looked at of Flux's.
type kustomization struct {
	Spec struct {
		Force   bool `json:"force"`
		Suspend bool `json:"suspend"`
		Wait    bool `json:"wait"`
		Ignore  []struct {
			Paths []string `json:"paths"`
		} `json:"ignore"`
	} `json:"spec"`
}

func (e *exam) kustomization(ctx context.Context, o live.Owner) {
	object, ok := e.read(ctx, schema.GroupVersionResource{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Resource: "kustomizations"}, o.Namespace, o.Name)
	if !ok {
		return
	}
	k, ok := decoded[kustomization](e, object)
	if !ok {
		return
	}
	name, hint, before := "kustomization "+o.Namespace+"/"+o.Name, "poolwright gitops-config --flux", len(e.found)
	if k.Spec.Force {
		e.fail("flux", hint, "%s has force: true: the Services may be recreated in an override", name)
	}
	if k.Spec.Suspend {
		e.fail("flux", "flux -n "+o.Namespace+" resume kustomization "+o.Name, "%s is suspended: no commit is applied, and no override is handed back", name)
	}
	for _, rule := range k.Spec.Ignore {
		if slices.ContainsFunc(rule.Paths, coversSelector) {
			e.fail("flux", hint, "%s ignores %s: selectors are not applied from Git", name, strings.Join(rule.Paths, ", "))
		}
	}
	if k.Spec.Wait {
		e.warn("flux", hint, "%s has wait: true: one unhealthy pooler keeps later commits waiting", name)
	}
	if len(e.found) == before {
		e.ok("flux", "%s applies without force, and is not suspended", name)
	}
}

// coversSelector reports whether a JSON pointer takes a Service's selector along.
func coversSelector(path string) bool {
	return path == "" || path == "/spec" || path == "/spec/selector" || strings.HasPrefix(path, "/spec/selector/")
}

// application is what is looked at of Argo CD's.
type application struct {
	Spec struct {
		IgnoreDifferences []ignored `json:"ignoreDifferences"`
		SyncPolicy        struct {
			Automated *struct {
				Enabled  *bool `json:"enabled"`
				SelfHeal bool  `json:"selfHeal"`
			} `json:"automated"`
			SyncOptions []string `json:"syncOptions"`
		} `json:"syncPolicy"`
	} `json:"spec"`
}

// ignored is one rule of ignoreDifferences.
type ignored struct {
	Group                 string   `json:"group"`
	Kind                  string   `json:"kind"`
	Name                  string   `json:"name"`
	Namespace             string   `json:"namespace"`
	JSONPointers          []string `json:"jsonPointers"`
	JQPathExpressions     []string `json:"jqPathExpressions"`
	ManagedFieldsManagers []string `json:"managedFieldsManagers"`
}

// isAbout reports whether a rule is about a Service.
func (i ignored) isAbout(svc *corev1.Service) bool {
	fits := func(pattern, value string) bool { return pattern == "*" || pattern == value }
	return fits(i.Group, "") && fits(i.Kind, "Service") && (i.Name == "" || i.Name == svc.Name) && (i.Namespace == "" || i.Namespace == svc.Namespace)
}

func (e *exam) application(ctx context.Context, o live.Owner) {
	namespace, name := cmp.Or(o.Namespace, e.argo), o.Name
	object, ok := e.read(ctx, schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applications"}, namespace, name)
	if !ok {
		return
	}
	a, ok := decoded[application](e, object)
	if !ok {
		return
	}
	of := "application " + namespace + "/" + name
	everywhere := e.stanzaEverywhere(ctx)
	e.roles(func(_ live.Role, svc *corev1.Service) { e.stanza(of, a, svc, everywhere) })
	e.syncOptions(of, a, object.GetAnnotations()[argoCompareOptions])
}

// argoHint prints the stanza.
const argoHint = "poolwright gitops-config --argocd"

// stanza looks for the rule that leaves an override alone, and for those that leave the selector alone for ever.
func (e *exam) stanza(of string, a application, svc *corev1.Service, everywhere bool) {
	found := everywhere
	for _, rule := range a.Spec.IgnoreDifferences {
		if !rule.isAbout(svc) {
			continue
		}
		found = found || slices.Contains(rule.ManagedFieldsManagers, live.FieldManager)
		selects := slices.ContainsFunc(rule.JSONPointers, coversSelector) || slices.ContainsFunc(rule.JQPathExpressions, func(q string) bool { return strings.Contains(q, "selector") })
		if selects {
			e.fail("argocd", argoHint, "%s ignores the selector of %s: it is not applied from Git", of, svc.Name)
		}
	}
	if !found {
		e.fail("argocd", argoHint, "%s has no ignoreDifferences with managedFieldsManagers: [%s] for %s: each override is put back", of, live.FieldManager, svc.Name)
		return
	}
	e.ok("argocd", "%s leaves overrides of %s alone", of, svc.Name)
}

// stanzaEverywhere reports whether the rule stands in argocd-cm, for all Applications.
func (e *exam) stanzaEverywhere(ctx context.Context) bool {
	cm, err := e.kube.CoreV1().ConfigMaps(e.argo).Get(ctx, "argocd-cm", metav1.GetOptions{})
	if err != nil {
		return false // not here, or not to be read: the Application's own rules count
	}
	for _, key := range []string{"resource.customizations.ignoreDifferences.all", "resource.customizations.ignoreDifferences.Service"} {
		var rule struct {
			ManagedFieldsManagers []string `json:"managedFieldsManagers"`
		}
		if yaml.Unmarshal([]byte(cm.Data[key]), &rule) == nil && slices.Contains(rule.ManagedFieldsManagers, live.FieldManager) {
			return true
		}
	}
	return false
}

func (e *exam) syncOptions(of string, a application, compare string) {
	has := func(option string) bool { return slices.Contains(a.Spec.SyncPolicy.SyncOptions, option) }
	if bad := breaking(strings.Join(a.Spec.SyncPolicy.SyncOptions, ","), compare); len(bad) > 0 {
		e.fail("argocd", argoHint, "%s has %s, which breaks an override", of, strings.Join(bad, ", "))
	}
	switch {
	case !has("ApplyOutOfSyncOnly=true") && !has("RespectIgnoreDifferences=true"):
		e.fail("argocd", argoHint, "%s has neither ApplyOutOfSyncOnly=true nor RespectIgnoreDifferences=true: each unrelated commit puts an override back", of)
	case !has("ApplyOutOfSyncOnly=true"):
		e.warn("argocd", argoHint, "%s has RespectIgnoreDifferences=true and not ApplyOutOfSyncOnly=true: while an override stands, selectors are not applied from Git", of)
	default:
		e.ok("argocd", "%s applies only what is out of sync", of)
	}
	if !has("ServerSideApply=true") {
		e.warn("argocd", argoHint, "%s has no ServerSideApply=true: after a hand-back nobody owns the selector", of)
	}
	switch auto := a.Spec.SyncPolicy.Automated; {
	case auto == nil || auto.Enabled != nil && !*auto.Enabled:
		e.warn("argocd", "", "%s is synced by hand: an override stands until somebody does (sync windows were not looked at)", of)
	case auto.SelfHeal:
		e.ok("argocd", "%s is synced automatically, with self-heal (sync windows were not looked at)", of)
	default:
		e.ok("argocd", "%s is synced automatically, without self-heal (sync windows were not looked at)", of)
	}
}
