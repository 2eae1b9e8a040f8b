package main

// A set is the binaries that are built in one module.
type set struct {
	name string
	// extra is the part of --with that needs the set; "" is the core, which always does.
	extra string
	// module is the module's directory below the bed's.
	module string
	// packages are what go build is told to build.
	packages []string
	// sources are the directories of the module whose Go files go into the set.
	sources []string
	// toolchain is the Go version when it must be another than the one at hand.
	toolchain string
	// versioned is the module whose version Kubernetes' version package shall tell.
	versioned string
	// manifests are files of a module that are kept beside the binaries: a module and a pattern in it.
	manifests [][2]string
	// cost is how many CPU seconds it takes when nothing is cached.
	cost int
}

// sets are all sets in the order in which they are built: what others wait for first.
func sets() []set {
	return []set{
		{
			name: "kube", module: ".", cost: 690, versioned: "k8s.io/kubernetes",
			packages: []string{"./cmd/kube", "./cmd/etcd", "./cmd/kubectl"},
			sources:  []string{"cmd/kube", "cmd/etcd", "cmd/kubectl"},
		},
		{
			name: "node", module: ".", cost: 3,
			packages: []string{"./cmd/fakenode", "./cmd/gitd"},
			sources:  []string{"cmd/fakenode", "cmd/gitd"},
		},
		{
			name: "source-controller", extra: "flux", module: "flux/source", cost: 260,
			packages:  []string{"github.com/fluxcd/source-controller"},
			manifests: [][2]string{{"github.com/fluxcd/source-controller", "config/crd/bases/*.yaml"}},
		},
		{
			name: "kustomize-controller", extra: "flux", module: "flux/kustomize", cost: 280,
			packages:  []string{"github.com/fluxcd/kustomize-controller"},
			manifests: [][2]string{{"github.com/fluxcd/kustomize-controller", "config/crd/bases/*.yaml"}},
		},
		{
			name: "argo", extra: "argo", module: "argo", cost: 370, toolchain: "go1.27.3",
			packages:  []string{"."},
			sources:   []string{"."},
			manifests: [][2]string{{"github.com/argoproj/argo-cd/v3", "manifests/crds/app*-crd.yaml"}},
		},
		{
			name: "kustomize", extra: "argo", module: "kustomize", cost: 5,
			packages: []string{"sigs.k8s.io/kustomize/kustomize/v5"},
		},
	}
}

// needed are the sets of the core and of the extras.
func needed(with map[string]bool) (list []set) {
	for _, s := range sets() {
		if s.extra == "" || with[s.extra] {
			list = append(list, s)
		}
	}
	return list
}
