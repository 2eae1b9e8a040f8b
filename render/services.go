package render

import (
	"slices"
	"strconv"
	"strings"

	"github.com/poolwright/poolwright/clusters"
	"github.com/poolwright/poolwright/plan"
)

// Both tools are told never to prune a role Service: a wrong tree must not take an application's
// endpoint away. Overlays carry neither, they must be prunable.
const (
	argoSyncOptions = "argocd.argoproj.io/sync-options"
	argoNoPrune     = "Prune=false"
	argoPruneLast   = "PruneLast=true"
	fluxPrune       = "kustomize.toolkit.fluxcd.io/prune"
	fluxNoPrune     = "disabled"
)

type servicesView struct {
	Header   string
	Services []serviceView
}

type serviceView struct {
	Name, Type          string
	Labels, Annotations []pair
	Selector            []selectorLine
	Port                int
}

type selectorLine struct{ Key, Value, Comment string }

// drawServices draws the Writer, unless there is none, and the Reader.
func drawServices(c clusters.Cluster, s plan.State) ([]byte, error) {
	sel := Select(c.Metadata.Name, s)
	v := servicesView{Header: header}
	if sel.Writer != nil {
		v.Services = append(v.Services, roleService(c, s, c.WriterServiceName(), "writer", c.Spec.Services.Writer, sel.Writer))
	}
	v.Services = append(v.Services, roleService(c, s, c.ReaderServiceName(), "reader", c.Spec.Services.Reader, sel.Reader))
	return execute("services.yaml.tmpl", v)
}

func roleService(c clusters.Cluster, s plan.State, name, role string, spec clusters.Service, selector map[string]string) serviceView {
	ours := map[string]string{
		AnnotationEpoch: strconv.FormatUint(s.Epoch, 10),
		argoSyncOptions: withOption(userAnnotation(c, spec, argoSyncOptions), argoNoPrune),
		fluxPrune:       fluxNoPrune,
	}
	return serviceView{
		Name: name, Type: spec.Type, Port: c.Spec.PgBouncer.ListenPort(),
		Labels:      pairs(objectLabels(c), map[string]string{"poolwright.dev/role": role}),
		Annotations: pairs(theirs(c.Metadata.Annotations), theirs(spec.Annotations), ours),
		Selector:    selectorLines(s, selector),
	}
}

func userAnnotation(c clusters.Cluster, spec clusters.Service, key string) string {
	if v, ok := spec.Annotations[key]; ok {
		return v
	}
	return c.Metadata.Annotations[key]
}

// withOption adds one of Argo CD's comma-separated sync options to the user's, and wins over the
// same option with another value.
func withOption(options, ours string) string {
	name, _, _ := strings.Cut(ours, "=")
	var keep []string
	for o := range strings.SplitSeq(options, ",") {
		if o = strings.TrimSpace(o); o != "" && !strings.HasPrefix(o, name+"=") {
			keep = append(keep, o)
		}
	}
	return strings.Join(append(keep, ours), ",")
}

// selectorLines sorts by slot, and says who is out and why.
func selectorLines(s plan.State, selector map[string]string) []selectorLine {
	lines := []selectorLine{{Key: LabelCluster, Value: selector[LabelCluster]}}
	if v, ok := selector[LabelInstance]; ok {
		lines = append(lines, selectorLine{Key: LabelInstance, Value: v})
	}
	bySlot := slices.SortedFunc(slices.Values(s.Members), func(a, b plan.Member) int { return a.Slot - b.Slot })
	for _, m := range bySlot {
		if v, ok := selector[SlotLabel(m.Slot)]; ok {
			lines = append(lines, selectorLine{SlotLabel(m.Slot), v, whyOut(s, m)})
		}
	}
	return lines
}

func whyOut(s plan.State, m plan.Member) string {
	if m.Name == s.Writer {
		return m.Name + ": the writer"
	}
	return m.Name + ": " + m.Out.String()
}

// objectLabels go to the metadata of every generated object. The user's never enter a selector.
func objectLabels(c clusters.Cluster) map[string]string {
	labels := theirs(c.Metadata.Labels)
	labels["app.kubernetes.io/name"] = "pgbouncer"
	labels["app.kubernetes.io/managed-by"] = "poolwright"
	labels[LabelCluster] = LabelValue(c.Metadata.Name)
	return labels
}

// theirs is a person's labels or annotations without poolwright's keys: ours win on conflict.
func theirs(m map[string]string) map[string]string {
	out := make(map[string]string, len(m))
	for k, v := range m {
		if !ourDomain(k) {
			out[k] = v
		}
	}
	return out
}

// ourDomain reports whether a label or annotation is poolwright's to set.
func ourDomain(key string) bool {
	domain, _, ok := strings.Cut(key, "/")
	return ok && (domain == "poolwright.dev" || strings.HasSuffix(domain, ".poolwright.dev"))
}
