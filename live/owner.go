package live

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Tool is what applies a Service from Git.
type Tool uint8

// The tools.
const (
	NoTool      Tool = iota // "none": nobody that is known
	Flux                    // "flux": kustomize-controller
	ArgoCD                  // "argocd"
	HelmRelease             // "helm-release": Flux's helm-controller
	ResourceSet             // "resource-set": flux-operator
)

// String returns the tool's word.
func (t Tool) String() string {
	return strings.Split("none,flux,argocd,helm-release,resource-set", ",")[t]
}

// manager is the field manager under which the tool applies.
func (t Tool) manager() string {
	return map[Tool]string{Flux: "kustomize-controller", ArgoCD: "argocd-controller", HelmRelease: "helm-controller", ResourceSet: "flux-operator"}[t]
}

// MarshalText writes the word of String.
func (t Tool) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// Owner is the object of a GitOps tool that applies a Service.
type Owner struct {
	Tool Tool `json:"tool"`
	// Namespace of the owner; "" for an Application in Argo CD's own, of which Services do not tell the name.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
}

// OwnerOf reads from a Service who applies it. Flux marks it with labels, Argo CD
// with a tracking annotation or, in the old way, a label.
func OwnerOf(s *corev1.Service) Owner {
	for _, o := range []struct {
		tool   Tool
		domain string
	}{{Flux, "kustomize.toolkit.fluxcd.io"}, {HelmRelease, "helm.toolkit.fluxcd.io"}, {ResourceSet, "resourceset.fluxcd.controlplane.io"}} {
		if name := s.Labels[o.domain+"/name"]; name != "" {
			return Owner{o.tool, s.Labels[o.domain+"/namespace"], name}
		}
	}
	if app, _, ok := strings.Cut(s.Annotations["argocd.argoproj.io/tracking-id"], ":"); ok {
		return application(app)
	}
	if managedBy(s, "argocd-controller") {
		return Owner{Tool: ArgoCD, Name: s.Labels["app.kubernetes.io/instance"]}
	}
	return Owner{}
}

// application reads a tracked name: "app", or "namespace_app" of one that is not in Argo CD's own namespace.
func application(tracked string) Owner {
	namespace, name, ok := strings.Cut(tracked, "_")
	if !ok {
		return Owner{Tool: ArgoCD, Name: tracked}
	}
	return Owner{ArgoCD, namespace, name}
}

func managedBy(s *corev1.Service, manager string) bool {
	for _, m := range s.ManagedFields {
		if m.Manager == manager {
			return true
		}
	}
	return false
}
