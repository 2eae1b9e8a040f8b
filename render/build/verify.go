package build

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/resmap"

	"github.com/poolwright/poolwright/clusters"
	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/render"
)

// object is one Kubernetes object.
type object map[string]any

func (o object) kind() string  { s, _ := o["kind"].(string); return s }
func (o object) name() string  { s, _ := o.at("metadata", "name").(string); return s }
func (o object) title() string { return o.kind() + " " + o.name() }

// at is the value at a path of keys, nil when there is none.
func (o object) at(keys ...string) any {
	var v any = map[string]any(o)
	for _, k := range keys {
		m, _ := v.(map[string]any)
		v = m[k]
	}
	return v
}

func (o object) mapping(keys ...string) map[string]any {
	m, _ := o.at(keys...).(map[string]any)
	return m
}

func objectsOf(m resmap.ResMap) ([]object, error) {
	list := make([]object, 0, m.Size())
	for _, r := range m.Resources() {
		fields, err := r.Map()
		if err != nil {
			return nil, fmt.Errorf("reading built object %s: %w", r.CurId(), err)
		}
		list = append(list, fields)
	}
	return list, nil
}

// verifier collects findings about one cluster's objects.
type verifier struct {
	c       clusters.Cluster
	s       plan.State
	objects map[string]object // by title
	found   []Finding
}

// verify holds built objects against what a state promises. The rules, in order:
//
//  1. No object is there twice; labels and annotations are strings.
//  2. Writer and Reader select exactly what render.Select says, and neither tool may prune them.
//  3. Each member has a Deployment, Service and PodDisruptionBudget that select its pods and nobody
//     else's, and pods that carry their labels.
//  4. Each Deployment mounts its own ini, and that ini names the instance's own endpoint and no other.
//  5. The hook that ends a pod signals process 1, and that is PgBouncer.
//  6. No Deployment of the cluster belongs to nobody.
func verify(c clusters.Cluster, s plan.State, objects []object) []Finding {
	v := verifier{c: c, s: s, objects: map[string]object{}}
	for _, o := range objects {
		if _, twice := v.objects[o.title()]; twice {
			v.say(o.title(), "is there twice", "")
		}
		v.objects[o.title()] = o
		for _, where := range slices.Concat(notText("", map[string]any(o))) {
			v.say(o.title(), where+" is not a string", "put it in quotes")
		}
	}
	v.roles()
	for _, m := range s.Members {
		v.member(m)
	}
	v.strangers()
	return v.found
}

func (v *verifier) say(object, message, hint string) {
	v.found = append(v.found, Finding{Object: object, Message: message, Hint: hint})
}

// get finds an object or says that it is missing.
func (v *verifier) get(kind, name string) (object, bool) {
	o, ok := v.objects[kind+" "+name]
	if !ok {
		v.say(kind+" "+name, "is missing", "nothing in custom/ may delete or rename it")
	}
	return o, ok
}

// roles verifies the two role Services.
func (v *verifier) roles() {
	sel := render.Select(v.c.Metadata.Name, v.s)
	if sel.Writer != nil {
		v.role(v.c.WriterServiceName(), sel.Writer)
	} else if _, ok := v.objects["Service "+v.c.WriterServiceName()]; ok {
		v.say("Service "+v.c.WriterServiceName(), "is there, but the cluster has no writer of its own", "")
	}
	v.role(v.c.ReaderServiceName(), sel.Reader)
}

func (v *verifier) role(name string, want map[string]string) {
	o, ok := v.get("Service", name)
	if !ok {
		return
	}
	ours, theirs := split(o.mapping("spec", "selector"))
	if !maps.Equal(ours, want) {
		v.say(o.title(), fmt.Sprintf("selects %s, not %s", labelText(ours), labelText(want)), "nothing in custom/ may change poolwright.dev keys of a selector")
	}
	if _, argo := theirs["app.kubernetes.io/instance"]; argo {
		v.say(o.title(), "selects app.kubernetes.io/instance, which Argo CD rewrites", "use a label of your own")
	}
	notes := o.mapping("metadata", "annotations")
	options, _ := notes["argocd.argoproj.io/sync-options"].(string)
	if !slices.Contains(strings.Split(options, ","), "Prune=false") || notes["kustomize.toolkit.fluxcd.io/prune"] != "disabled" {
		v.say(o.title(), "is not protected from pruning", "keep Prune=false and kustomize.toolkit.fluxcd.io/prune: disabled")
	}
}

// split parts poolwright's keys of a selector from a person's, which may be there.
func split(selector map[string]any) (ours, theirs map[string]string) {
	ours, theirs = map[string]string{}, map[string]string{}
	for k, value := range selector {
		into := theirs
		if domain, _, _ := strings.Cut(k, "/"); domain == "poolwright.dev" || strings.HasSuffix(domain, ".poolwright.dev") {
			into = ours
		}
		into[k] = fmt.Sprint(value)
	}
	return ours, theirs
}

// member verifies what belongs to one instance.
func (v *verifier) member(m plan.Member) {
	name := render.ObjectName(v.c, m.Name)
	want := map[string]string{render.LabelCluster: render.LabelValue(v.c.Metadata.Name), render.LabelInstance: render.LabelValue(m.Name)}
	if o, ok := v.get("Service", name); ok {
		v.selects(o, want, "spec", "selector")
	}
	if o, ok := v.get("PodDisruptionBudget", name); ok {
		v.selects(o, want, "spec", "selector", "matchLabels")
	}
	o, ok := v.get("Deployment", name)
	if !ok {
		return
	}
	v.selects(o, want, "spec", "selector", "matchLabels")
	if o.at("spec", "selector", "matchExpressions") != nil {
		v.say(o.title(), "its selector has matchExpressions", "a Deployment's selector can never be changed again: leave it as it is")
	}
	for n := range plan.Slots {
		if n != m.Slot {
			want[render.SlotLabel(n)] = render.SlotOut
		}
	}
	if ours := podLabels(o); !maps.Equal(ours, want) {
		v.say(o.title(), fmt.Sprintf("its pods carry %s, not %s", labelText(ours), labelText(want)), "nothing in custom/ may change poolwright.dev labels")
	}
	v.endpoint(o, m)
	v.leaves(o)
}

// leaves verifies that the preStop hook reaches PgBouncer: in a shared process namespace process 1 is another.
func (v *verifier) leaves(o object) {
	pod := o.mapping("spec", "template", "spec")
	containers, _ := pod["containers"].([]any)
	for _, c := range containers {
		container, _ := c.(map[string]any)
		hook := fmt.Sprint(object(container).at("lifecycle", "preStop"))
		if pod["shareProcessNamespace"] == true && strings.Contains(hook, "kill -INT 1;") {
			v.found = append(v.found, Finding{
				Severity: Warning, Object: o.title(), Message: "shares its process namespace, in which process 1 is not PgBouncer: a pod that leaves cuts transactions",
				Hint: "take shareProcessNamespace out of custom/, or patch lifecycle.preStop too",
			})
		}
	}
}

// podLabels are poolwright's labels on a Deployment's pods that selectors are made of.
func podLabels(o object) map[string]string {
	ours, _ := split(o.mapping("spec", "template", "metadata", "labels"))
	return ours
}

// selects verifies a selector that must never change.
func (v *verifier) selects(o object, want map[string]string, keys ...string) {
	ours, theirs := split(o.mapping(keys...))
	if !maps.Equal(ours, want) || len(theirs) > 0 {
		maps.Copy(ours, theirs)
		v.say(o.title(), fmt.Sprintf("selects %s, not %s", labelText(ours), labelText(want)), "this selector is immutable: labels of yours go to metadata only")
	}
}

// endpoint verifies that a Deployment's pods read an ini that leads to their own instance.
func (v *verifier) endpoint(o object, m plan.Member) {
	names := configMaps(o)
	if len(names) != 1 {
		v.say(o.title(), fmt.Sprintf("mounts %d ConfigMaps as its configuration, not one", len(names)), "")
		return
	}
	config, ok := v.objects["ConfigMap "+names[0]]
	if !ok {
		v.say(o.title(), "mounts ConfigMap "+names[0]+", which is not there", "")
		return
	}
	text, _ := config.at("data", "pgbouncer.ini").(string)
	want := fmt.Sprintf("%s:%d", m.Host, m.Port)
	got := endpoints(text)
	if !slices.Equal(got, []string{want}) {
		v.say(o.title(), fmt.Sprintf("its ini in ConfigMap %s leads to %s, not to %s", names[0], strings.Join(got, ", "), want), "each overlay has an ini of its own; do not swap references")
	}
}

// configMaps are the ConfigMaps in poolwright's volume of a Deployment.
func configMaps(o object) []string {
	var names []string
	volumes, _ := o.at("spec", "template", "spec", "volumes").([]any)
	for _, entry := range volumes {
		volume, _ := entry.(map[string]any)
		if volume["name"] != render.ConfigVolume {
			continue
		}
		sources, _ := object(volume).at("projected", "sources").([]any)
		for _, entry := range sources {
			source, _ := entry.(map[string]any)
			if name, ok := object(source).at("configMap", "name").(string); ok {
				names = append(names, name)
			}
		}
	}
	return names
}

// endpoints are the host:port that the databases of an ini lead to, sorted, each once.
func endpoints(text string) []string {
	var list []string
	section := ""
	for l := range strings.Lines(text) {
		l = strings.TrimSpace(l)
		_, value, assigns := strings.Cut(l, "=")
		switch {
		case l == "" || strings.HasPrefix(l, "#") || strings.HasPrefix(l, ";"):
		case strings.HasPrefix(l, "["):
			section = l
		case section == "[databases]" && assigns:
			list = append(list, endpoint(value))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// endpoint reads host and port of a connection string; the last of two wins, as in PgBouncer. No
// other value can pass for them: a value with a blank is in quotes.
func endpoint(connection string) string {
	host, port := "none", "5432"
	quoted := false
	for word := range strings.FieldsSeq(connection) {
		key, value, _ := strings.Cut(word, "=")
		switch {
		case quoted:
		case key == "host":
			host = strings.Trim(value, "'")
		case key == "port":
			port = strings.Trim(value, "'")
		}
		if strings.Count(word, "'")%2 == 1 {
			quoted = !quoted
		}
	}
	return host + ":" + port
}

// strangers are Deployments of the cluster that no member has.
func (v *verifier) strangers() {
	known := map[string]bool{}
	for _, m := range v.s.Members {
		known[render.ObjectName(v.c, m.Name)] = true
	}
	for _, title := range slices.Sorted(maps.Keys(v.objects)) {
		o := v.objects[title]
		if o.kind() == "Deployment" && podLabels(o)[render.LabelCluster] != "" && !known[o.name()] {
			v.say(title, "carries the cluster's labels but belongs to no instance", "the Reader would select its pods: use labels of your own")
		}
	}
}

func labelText(m map[string]string) string {
	list := make([]string, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		list = append(list, k+"="+m[k])
	}
	return "{" + strings.Join(list, ", ") + "}"
}

// notText are the places below v where a label's or annotation's value is not a string.
func notText(at string, v any) []string {
	var found []string
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			next := strings.TrimPrefix(at+"."+key, ".")
			if inner, ok := v[key].(map[string]any); ok && at != "" && strings.HasSuffix(at, "metadata") && (key == "labels" || key == "annotations") {
				found = append(found, notTextIn(next, inner)...)
				continue
			}
			found = append(found, notText(next, v[key])...)
		}
	case []any:
		for i, inner := range v {
			found = append(found, notText(fmt.Sprintf("%s[%d]", at, i), inner)...)
		}
	}
	return found
}

// notTextIn allows null, which takes a key away in a patch.
func notTextIn(at string, m map[string]any) []string {
	var found []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if _, ok := m[key].(string); !ok && m[key] != nil {
			found = append(found, at+"."+key)
		}
	}
	return found
}
