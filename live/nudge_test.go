package live

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// nudging wants a nudge besides whatever else is to be done.
func nudging(n Nudge) func(Sight, Want, time.Time) Verdict {
	return func(s Sight, w Want, now time.Time) Verdict {
		v := follow(s, w, now)
		v.Nudge = &n
		return v
	}
}

// kustomization is a Flux Kustomization in the cluster's namespace.
func kustomization(sourceKind, sourceNamespace string) *unstructured.Unstructured {
	ref := map[string]any{"kind": sourceKind, "name": "fleet"}
	if sourceNamespace != "" {
		ref["namespace"] = sourceNamespace
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "pools"}, "spec": map[string]any{"sourceRef": ref},
	}}
}

func justNamed(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": name}}}
}

// asked are the requests about the GitOps tool's objects.
func (b *bed) asked() (words []string) {
	for _, r := range b.made() {
		if !slices.Contains([]string{"services", "configmaps", "pods"}, r.Resource) {
			words = append(words, r.String())
		}
	}
	return words
}

func TestNudge(t *testing.T) {
	flux := Owner{Flux, testNamespace, "pools"}
	for name, c := range map[string]struct {
		nudge Nudge
		given *unstructured.Unstructured
		want  []string
		patch string
	}{
		"Flux, for a new commit: the source": {
			Nudge{flux, "abc"},
			kustomization("GitRepository", ""),
			[]string{"get kustomizations pools", "patch gitrepositories fleet"},
			`{"metadata":{"annotations":{"reconcile.fluxcd.io/requestedAt":"2000-01-01T00:00:00Z"}}}`,
		},
		"Flux, from a registry": {
			Nudge{flux, "abc"},
			kustomization("OCIRepository", testNamespace),
			[]string{"get kustomizations pools", "patch ocirepositories fleet"},
			`{"metadata":{"annotations":{"reconcile.fluxcd.io/requestedAt":"2000-01-01T00:00:00Z"}}}`,
		},
		"Flux, after the freeze: the Kustomization": {
			Nudge{flux, "abc unfrozen"},
			kustomization("GitRepository", ""),
			[]string{"patch kustomizations pools"},
			`{"metadata":{"annotations":{"reconcile.fluxcd.io/requestedAt":"2000-01-01T00:00:00Z"}}}`,
		},
		"Flux, from a source that nobody knows": {
			Nudge{flux, "abc"}, kustomization("Carrier", ""), []string{"get kustomizations pools"}, "",
		},
		"Flux, without the Kustomization": {
			Nudge{Owner{Flux, testNamespace, "other"}, "abc"}, kustomization("GitRepository", ""), []string{"get kustomizations other"}, "",
		},
		"Argo CD": {
			Nudge{Owner{Tool: ArgoCD, Name: "pools"}, "abc"},
			nil,
			[]string{"patch applications pools"},
			`{"metadata":{"annotations":{"argocd.argoproj.io/refresh":"normal"}}}`,
		},
		"a HelmRelease": {Nudge{Owner{HelmRelease, testNamespace, "pools"}, "abc"}, nil, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inBed(t, func(t *testing.T, b *bed) {
				if c.given != nil {
					b.add("kustomizations", c.given)
				}
				b.add("gitrepositories", justNamed("fleet"))
				b.add("ocirepositories", justNamed("fleet"))
				b.add("applications", justNamed("pools"))
				b.keeper.nudger.argo = testNamespace
				b.keeper.next = nudging(c.nudge)
				b.start()
				b.keeper.Want(wantWriter(8, "b"))
				synctest.Wait()
				// The same key asks once, however often it is looked.
				for range 10 {
					b.keeper.Wake()
					time.Sleep(time.Minute)
				}
				if got := b.asked(); !slices.Equal(got, c.want) {
					t.Errorf("asked %q, want %q", got, c.want)
				}
				var last string
				for _, r := range b.made("patch") {
					if slices.Contains(c.want, r.String()) {
						last = r.Body
					}
				}
				if last != c.patch {
					t.Errorf("the patch is %s, want %s", last, c.patch)
				}
			})
		})
	}
}

func TestArgoNamespaceIsArgocdByDefault(t *testing.T) {
	if got := newNudger(Config{}).argo; got != "argocd" {
		t.Errorf("it is %q", got)
	}
	if got := newNudger(Config{ArgoNamespace: "gitops"}).argo; got != "gitops" {
		t.Errorf("it is %q", got)
	}
}

func TestNudgeWithoutTheRightHarmsNothing(t *testing.T) {
	inBed(t, func(t *testing.T, b *bed) {
		b.obey(func(q request) error {
			if strings.HasSuffix(q.Resource, "ations") {
				return rbac(q)
			}
			return nil
		})
		b.keeper.next = nudging(Nudge{Owner{Flux, testNamespace, "pools"}, "abc"})
		b.start()
		b.keeper.Want(wantWriter(8, "b"))
		time.Sleep(time.Hour)
		if v := b.keeper.Verdict(); len(v.Conditions) > 0 || v.Phase != Idle {
			t.Errorf("the verdict is %+v", v)
		}
		if got := b.asked(); len(got) != 1 {
			t.Errorf("asked %q", got)
		}
	})
}

func TestNudgeThatHangsDelaysNothingAndEnds(t *testing.T) {
	inBed(t, func(t *testing.T, b *bed) {
		b.obey(func(q request) error {
			if q.Resource == "kustomizations" {
				return errHangs
			}
			return nil
		})
		b.keeper.next = nudging(Nudge{Owner{Flux, testNamespace, "pools"}, "abc"})
		b.start()
		begun := time.Now()
		b.keeper.Want(wantWriter(8, "b"))
		synctest.Wait()
		if time.Since(begun) != 0 || b.selects(Reader) != "b" {
			t.Error("the writes waited")
		}
		time.Sleep(nudgeTimeout)
		synctest.Wait()
		done := make(chan struct{})
		go func() { b.keeper.nudger.wait(); close(done) }()
		synctest.Wait()
		select {
		case <-done:
		default:
			t.Error("it goes on for ever")
		}
	})
}

func TestNobodyIsNudgedWithoutHolding(t *testing.T) {
	inBed(t, func(t *testing.T, b *bed) {
		b.hold(false)
		b.keeper.next = nudging(Nudge{Owner{Flux, testNamespace, "pools"}, "abc"})
		b.start()
		b.keeper.Want(wantWriter(8, "b"))
		time.Sleep(time.Hour)
		if got := b.asked(); len(got) != 0 {
			t.Errorf("asked %q", got)
		}
	})
}
