package render

import (
	"path"

	"github.com/poolwright/poolwright/clusters"
	"github.com/poolwright/poolwright/plan"
)

// instanceView is what one overlay adds to base/. Nothing in it depends on roles: a failover
// never touches an overlay, and no overlay names anything of another's.
type instanceView struct {
	Header               string
	Name                 string // of the Deployment, Service and PodDisruptionBudget; the ConfigMap's before its hash
	Instance             string // the label's value
	InstanceKey          string
	OwnSlot              string
	Resource             string
	Replicas             *int // nil: as in base
	ConfigMapLabels      []pair
	ConfigMapAnnotations []pair
	ConfigVolume         string
	Affinity             map[string]any
	Sources              []any
}

// drawInstance adds an overlay to a tree.
func drawInstance(t Tree, c clusters.Cluster, m plan.Member) error {
	dir := path.Join(instancesDir, OverlayName(m.Name))
	file, err := drawIni(c, m)
	if err != nil {
		return err
	}
	kustomization, err := execute("instance.kustomization.yaml.tmpl", viewInstance(c, m))
	if err != nil {
		return err
	}
	t[path.Join(dir, iniFile)] = file
	t[path.Join(dir, RootFile)] = kustomization
	return nil
}

func viewInstance(c clusters.Cluster, m plan.Member) instanceView {
	p := c.Spec.PgBouncer
	v := instanceView{
		Header: header, Name: ObjectName(c, m.Name),
		Instance: LabelValue(m.Name), InstanceKey: LabelInstance, OwnSlot: SlotLabel(m.Slot), Resource: m.Resource,
		ConfigMapLabels:      pairs(objectLabels(c), map[string]string{LabelInstance: LabelValue(m.Name)}),
		ConfigMapAnnotations: pairs(theirs(c.Metadata.Annotations), map[string]string{argoSyncOptions: withOption(c.Metadata.Annotations[argoSyncOptions], argoPruneLast)}),
		ConfigVolume:         ConfigVolume,
	}
	v.Sources = sources(p, v.Name)
	if len(p.Affinity) == 0 {
		v.Affinity = spread(c, m)
	}
	if n := c.Override(m.Name).Replicas; *n != *p.Replicas {
		v.Replicas = n
	}
	return v
}

// sources puts the instance's own ini, and the auth file when it belongs there, into one directory.
func sources(p clusters.PgBouncer, configMap string) []any {
	list := []any{map[string]any{"configMap": map[string]any{
		"name":  configMap,
		"items": []any{map[string]any{"key": iniFile, "path": iniFile}},
	}}}
	file := path.Clean(setting(p, "auth_file"))
	if path.Dir(file) == etcDir {
		list = append(list, map[string]any{"secret": secretSource("name", p, path.Base(file))})
	}
	return list
}

// spread keeps an instance's pods on different hosts, then in different zones, where that can be.
func spread(c clusters.Cluster, m plan.Member) map[string]any {
	term := func(weight int, key string) any {
		return map[string]any{"weight": weight, "podAffinityTerm": map[string]any{
			"topologyKey": key,
			"labelSelector": map[string]any{"matchLabels": map[string]any{
				LabelCluster: LabelValue(c.Metadata.Name), LabelInstance: LabelValue(m.Name),
			}},
		}}
	}
	return map[string]any{"podAntiAffinity": map[string]any{
		"preferredDuringSchedulingIgnoredDuringExecution": []any{
			term(100, "kubernetes.io/hostname"),
			term(50, "topology.kubernetes.io/zone"),
		},
	}}
}
