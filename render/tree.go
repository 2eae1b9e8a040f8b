package render

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/clusters"
	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/templates"
)

// Tree maps slash-separated paths below the cluster directory to contents. Owned files only.
type Tree = map[string][]byte

// The files of a cluster directory whose names others need.
const (
	RootFile     = "kustomization.yaml"
	ServicesFile = "services.yaml"
	TopologyFile = "topology.yaml"
	baseDir      = "base"
	instancesDir = "instances"
	customDir    = "custom"
	iniFile      = "pgbouncer.ini"
)

// header is the first line of every file that poolwright owns. It carries no version and no time:
// they would change the tree without a fact behind it.
const header = ownedMark + ", do not edit: changes are overwritten. Yours are cluster.yaml and custom/."

// Given is what a drawing has to know about the directory it goes to.
type Given struct {
	// HasCustom is true when the directory holds a Kustomize Component of the user's, custom/.
	HasCustom bool
}

// GivenIn reads a cluster directory's files for Draw.
func GivenIn(files map[string][]byte) Given {
	for _, name := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
		if _, ok := files[path.Join(customDir, name)]; ok {
			return Given{HasCustom: true}
		}
	}
	return Given{}
}

// Draw draws the whole tree of a state. The error is about a declaration or a state that has no
// safe drawing; it names the member or the key.
func Draw(c clusters.Cluster, s plan.State, g Given) (Tree, error) {
	t, err := DrawSwitch(c, s, g)
	if err != nil {
		return nil, err
	}
	if t[RootFile], err = drawRoot(c, s, g); err != nil {
		return nil, err
	}
	if err := drawBase(t, c); err != nil {
		return nil, err
	}
	for _, m := range s.Members {
		if err := drawInstance(t, c, m); err != nil {
			return nil, fmt.Errorf("drawing %s: %w", m.Name, err)
		}
	}
	return t, nil
}

// DrawSwitch draws only what a failover may touch, services.yaml and topology.yaml, byte for byte as
// Draw does. It looks at nothing else of the declaration: no mistake there can stand before a switch.
func DrawSwitch(c clusters.Cluster, s plan.State, _ Given) (Tree, error) {
	s = sorted(s)
	if err := check(s); err != nil {
		return nil, err
	}
	services, err := drawServices(c, s)
	if err != nil {
		return nil, err
	}
	topology, err := drawTopology(c, s)
	if err != nil {
		return nil, err
	}
	return Tree{ServicesFile: services, TopologyFile: topology}, nil
}

type rootView struct {
	Header    string
	Namespace string
	Instances []instanceEntry
	Custom    bool
}

type instanceEntry struct{ Path string }

func drawRoot(c clusters.Cluster, s plan.State, g Given) ([]byte, error) {
	v := rootView{Header: header, Namespace: c.Metadata.Namespace, Custom: g.HasCustom}
	for _, m := range sorted(s).Members {
		v.Instances = append(v.Instances, instanceEntry{path.Join(instancesDir, OverlayName(m.Name))})
	}
	return execute("kustomization.yaml.tmpl", v)
}

// text is every template, parsed once; it is never changed.
var text = templates.Parse(map[string]any{"str": str, "quote": quote, "yaml": block})

func execute(name string, view any) ([]byte, error) {
	var b bytes.Buffer
	if err := text.ExecuteTemplate(&b, name, view); err != nil {
		return nil, fmt.Errorf("drawing %s: %w", strings.TrimSuffix(name, ".tmpl"), err)
	}
	return b.Bytes(), nil
}

// pair is one line of a mapping; lists of them are sorted by key.
type pair struct{ Key, Value string }

// pairs merges maps, later ones win, into sorted lines.
func pairs(layers ...map[string]string) []pair {
	all := map[string]string{}
	for _, layer := range layers {
		maps.Copy(all, layer)
	}
	list := make([]pair, 0, len(all))
	for _, k := range slices.Sorted(maps.Keys(all)) {
		list = append(list, pair{k, all[k]})
	}
	return list
}
