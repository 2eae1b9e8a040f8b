package live

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestOwnerOf(t *testing.T) {
	tracked := func(id string) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"argocd.argoproj.io/tracking-id": id}}}
	}
	labelled := func(labels ...string) *corev1.Service {
		s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{}}}
		for i := 0; i < len(labels); i += 2 {
			s.Labels[labels[i]] = labels[i+1]
		}
		return s
	}
	for name, c := range map[string]struct {
		svc  *corev1.Service
		want Owner
	}{
		"nobody that is known": {labelled("app", "x"), Owner{}},
		"a Kustomization":      {labelled("kustomize.toolkit.fluxcd.io/name", "db", "kustomize.toolkit.fluxcd.io/namespace", "flux-system"), Owner{Flux, "flux-system", "db"}},
		"31 a HelmRelease":     {labelled("helm.toolkit.fluxcd.io/name", "db", "helm.toolkit.fluxcd.io/namespace", "apps"), Owner{HelmRelease, "apps", "db"}},
		"31 a ResourceSet": {
			labelled("resourceset.fluxcd.controlplane.io/name", "db", "resourceset.fluxcd.controlplane.io/namespace", "apps"), Owner{ResourceSet, "apps", "db"},
		},
		"an Application":                        {tracked("db:/Service:db/db-writer"), Owner{ArgoCD, "", "db"}},
		"an Application in another namespace":   {tracked("team_db:/Service:db/db-writer"), Owner{ArgoCD, "team", "db"}},
		"an Application that tracks by a label": {managed("argocd-controller", "db"), Owner{ArgoCD, "", "db"}},
		"a label of that name without Argo CD":  {managed("kubectl", "db"), Owner{}},
	} {
		if got := OwnerOf(c.svc); got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}

// managed is a Service that a field manager applied, with the label of an instance.
func managed(manager, instance string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{
		Labels: map[string]string{"app.kubernetes.io/instance": instance}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: manager}},
	}}
}
