package cmd

import (
	"encoding/json"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/poolwright/poolwright/live"
	"github.com/poolwright/poolwright/render"
)

// freeze is the annotation with which Flux leaves a live object alone.
const freeze = "kustomize.toolkit.fluxcd.io/reconcile"

// breakGlass are the kubectl lines that move the Services to where they belong
// without poolwright, Writer first, and the one that hands them back.
func (v *survey) breakGlass() []string {
	var lines []string
	there := live.Names{Cluster: v.names.Cluster, Namespace: v.names.Namespace, Services: map[live.Role]string{}}
	for _, t := range v.belongs() {
		name, svc := v.names.Services[t.Role], v.serviceSeen(t.Role)
		if name == "" || v.sight != nil && svc == nil {
			continue // there is none to move
		}
		there.Services[t.Role] = name
		lines = append(lines, kubectlMove(there, t, svc))
	}
	if len(lines) == 0 {
		return nil
	}
	return append(lines, kubectlBack(there))
}

// serviceSeen is a role's Service, nil when it does not exist or nothing can be seen.
func (v *survey) serviceSeen(role live.Role) *corev1.Service {
	if v.sight == nil {
		return nil
	}
	return v.sight.Services[role]
}

// belongs is what each role should select: by the override that stands, else as decided.
func (v *survey) belongs() []live.Target {
	if v.verdict.Record == nil {
		return v.want.Roles
	}
	var targets []live.Target
	for _, role := range []live.Role{live.Writer, live.Reader} {
		if keys, ok := v.verdict.Record.Select[role]; ok {
			targets = append(targets, live.Target{Role: role, Select: keys})
		}
	}
	return targets
}

// patchOp is one operation of a JSON Patch.
type patchOp struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// kubectlMove is the line that points a Service at what t selects. Keys of other
// people's domains stay, as far as the Service is known.
func kubectlMove(n live.Names, t live.Target, svc *corev1.Service) string {
	selector := map[string]string{}
	frozen := true // who owns an unknown Service is not known: the mark does no harm
	if svc != nil {
		selector = maps.Clone(svc.Spec.Selector)
		frozen = live.OwnerOf(svc).Tool == live.Flux
	}
	maps.DeleteFunc(selector, func(key, _ string) bool { return live.IsOurKey(key) })
	if selector == nil {
		selector = map[string]string{}
	}
	maps.Copy(selector, t.Select)
	ops := []patchOp{
		{"test", "/metadata/labels/" + pointer(render.LabelCluster), render.LabelValue(n.Cluster)},
		{"add", "/spec/selector", selector},
	}
	if frozen {
		ops = append(ops, patchOp{"add", "/metadata/annotations/" + pointer(freeze), "disabled"})
	}
	patch, err := json.Marshal(ops)
	if err != nil {
		panic(err) // strings, and maps of them
	}
	return "kubectl -n " + n.Namespace + " patch service " + n.Services[t.Role] + " --type=json --field-manager=" + live.FieldManager + " -p " + quoted(string(patch))
}

// kubectlBack is the line that lets the GitOps tool apply the Services again.
func kubectlBack(n live.Names) string {
	words := []string{"kubectl -n", n.Namespace, "annotate service"}
	for _, role := range []live.Role{live.Writer, live.Reader} {
		if name, ok := n.Services[role]; ok {
			words = append(words, name)
		}
	}
	return strings.Join(append(words, freeze+"-", live.AnnotationOverride+"-"), " ")
}

// pointer is one step of a JSON Pointer.
func pointer(key string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(key) }
