package build

import (
	"fmt"
	"path"
	"runtime/debug"
	"sync"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Builder builds trees with kustomize, one at a time: kustomize keeps its schema in package
// variables. Make one for the process. The zero value is ready; it is safe for concurrent use.
type Builder struct {
	mu   sync.Mutex
	warm sync.Once
}

// clusterDir is where a tree stands in memory. It is not the root: a path that climbs out of the
// tree then leads to nothing.
const clusterDir = "/cluster"

// Build is what `kubectl kustomize` makes of a cluster directory: all its files by path, cluster.yaml
// and custom/ included. It reads nothing but files: what would make kustomize go elsewhere (a URL, a
// chart, a program) is refused by name, and so is an entry that leads to no file.
func (b *Builder) Build(files map[string][]byte) ([]byte, error) {
	if refused := refusedAnywhere(files); len(refused) > 0 {
		return nil, fmt.Errorf("%s: %s", refused[0].File, refused[0].Message)
	}
	m, err := b.run(files)
	if err != nil {
		return nil, err
	}
	return m.AsYaml()
}

// run builds a tree in which nothing was refused.
func (b *Builder) run(files map[string][]byte) (resmap.ResMap, error) {
	fs := filesys.MakeFsInMemory()
	for name, data := range files {
		if err := fs.WriteFile(path.Join(clusterDir, name), data); err != nil {
			return nil, fmt.Errorf("building %s: %w", name, err)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.warm.Do(warmSchema)
	return kustomize(fs)
}

// warmSchema loads the built-in schema before any build, which is when it costs 40 ms.
func warmSchema() {
	openapi.SchemaForResourceType(yaml.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"})
}

// kustomize runs one build. A tree may be a person's, and kustomize has panicked at less.
func kustomize(fs filesys.FileSystem) (m resmap.ResMap, err error) {
	defer func() {
		if p := recover(); p != nil {
			m, err = nil, fmt.Errorf("building with kustomize: panic: %v", p)
		}
	}()
	o := krusty.MakeDefaultOptions()
	o.Reorder = krusty.ReorderOptionLegacy // as kubectl and Flux do
	o.LoadRestrictions = types.LoadRestrictionsRootOnly
	o.PluginConfig = types.DisabledPluginConfig()
	m, err = krusty.MakeKustomizer(o).Run(fs, clusterDir)
	if err != nil {
		return nil, fmt.Errorf("building with kustomize: %w", err)
	}
	return m, nil
}

// KustomizeVersion is the version of the kustomize library that builds, such as v0.21.2.
func KustomizeVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, m := range info.Deps {
		if m.Path == "sigs.k8s.io/kustomize/api" {
			return m.Version
		}
	}
	return "unknown"
}
