package build_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"

	"github.com/poolwright/poolwright/render/build"
)

// kubectl runs kubectl kustomize, which is another version of kustomize than ours.
func kubectl(t *testing.T, dir string) []byte {
	t.Helper()
	if _, err := exec.LookPath("kubectl"); err != nil {
		t.Fatal("kubectl is not installed; make test installs it: it is the second kustomize that trees are built with")
	}
	cmd := exec.Command("kubectl", "kustomize", dir)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || stderr.Len() > 0 {
		t.Fatalf("kubectl kustomize: %v\n%s", err, stderr.String())
	}
	return out
}

func TestD16KubectlBuildsTheSameObjects(t *testing.T) {
	for _, b := range beds(t) {
		t.Run(b.name, func(t *testing.T) {
			ours, theirs := objects(t, b.build(t)), objects(t, kubectl(t, b.onDisk(t)))
			if diff := cmp.Diff(theirs, ours); diff != "" {
				t.Errorf("-kubectl +ours:\n%s", diff)
			}
		})
	}
}

func TestD16OnlyFeaturesThatAllVersionsAgreeOn(t *testing.T) {
	for _, b := range beds(t) {
		for file, data := range b.files {
			for _, old := range []string{"vars:", "commonLabels:", "bases:", "patchesStrategicMerge:", "patchesJson6902:"} {
				if strings.HasSuffix(file, "kustomization.yaml") && bytes.Contains(data, []byte(old)) {
					t.Errorf("%s: %s has %s", b.name, file, old)
				}
			}
		}
	}
}

func TestD17BuildsThroughASymlinkWithTheDefaultRestrictor(t *testing.T) {
	b := golden(t, "custom")
	dir := b.onDisk(t)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Dir(dir), link); err != nil {
		t.Fatal(err)
	}
	direct := kubectl(t, dir)
	if linked := kubectl(t, filepath.Join(link, filepath.Base(dir))); !bytes.Equal(direct, linked) {
		t.Error("another build through a symlink")
	}
	for _, m := range b.state.Members {
		kubectl(t, filepath.Join(dir, "instances", m.Name)) // an overlay builds alone, too
	}
}

// Every built object is one that the API server's types take, no field unknown.
func TestObjectsAreKubernetesObjects(t *testing.T) {
	for _, b := range beds(t) {
		for name, o := range objects(t, b.build(t)) {
			kind, _, _ := strings.Cut(name, " ")
			into := map[string]any{
				"ConfigMap": &corev1.ConfigMap{}, "Service": &corev1.Service{}, "Deployment": &appsv1.Deployment{},
				"PodDisruptionBudget": &policyv1.PodDisruptionBudget{}, "NetworkPolicy": &networkingv1.NetworkPolicy{},
			}[kind]
			if into == nil {
				t.Fatalf("%s: what is a %s?", b.name, name)
			}
			text, err := yaml.Marshal(o)
			if err != nil {
				t.Fatal(err)
			}
			if err := yaml.UnmarshalStrict(text, into); err != nil {
				t.Errorf("%s: %s: %v", b.name, name, err)
			}
		}
	}
}

func TestBuildIsSafeForConcurrentUse(t *testing.T) {
	b := golden(t, "writer-only")
	builder := new(build.Builder)
	want, err := builder.Build(b.files)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if got, err := builder.Build(b.files); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%v, %d bytes", err, len(got))
			}
		})
	}
	wg.Wait()
}

func TestBuildRefusesWhatLeadsElsewhere(t *testing.T) {
	component := "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"
	for name, tc := range map[string]struct{ text, says string }{
		"a schema":             {"openapi: {path: schema.json}", "openapi"},
		"a chart":              {"helmCharts: [{name: x, repo: https://example.com}]", "helmCharts"},
		"a plugin":             {"transformers: [plugin.yaml]", "transformers"},
		"a function":           {"generators: [plugin.yaml]", "generators"},
		"a remote base":        {"resources: ['github.com/example/base?ref=v1']", "github.com/example/base"},
		"a remote file":        {"resources: ['https://example.com/x.yaml']", "https://example.com/x.yaml"},
		"a remote patch":       {"patches: [{path: 'https://example.com/x.yaml'}]", "https://example.com/x.yaml"},
		"a remote value":       {"configMapGenerator: [{name: x, files: ['a=https://example.com/x']}]", "https://example.com/x"},
		"a file out of reach":  {"configMapGenerator: [{name: x, files: [../../../etc/passwd]}]", "etc/passwd"},
		"an absolute path":     {"configMapGenerator: [{name: x, files: [/etc/passwd]}]", "/etc/passwd"},
		"a file that is not":   {"resources: [gone.yaml]", "gone.yaml"},
		"an environment":       {"configMapGenerator: [{name: x, envs: [gone.env]}]", "gone.env"},
		"a replacement's file": {"replacements: [{path: gone.yaml}]", "gone.yaml"},
		"no mapping":           {"- a", "custom/kustomization.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			b := golden(t, "writer-only").custom(t, map[string]string{"custom/kustomization.yaml": component + tc.text + "\n", "custom/plugin.yaml": "kind: X\n"})
			if strings.HasPrefix(tc.text, "- ") {
				b.files["custom/kustomization.yaml"] = []byte(tc.text)
			}
			_, err := new(build.Builder).Build(b.files)
			if err == nil || !strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), "custom/kustomization.yaml") {
				t.Errorf("%v does not name the file and %q", err, tc.says)
			}
			wantFinding(t, b.check(t), build.Error, "custom/kustomization.yaml", strings.TrimPrefix(tc.says, "custom/kustomization.yaml"))
		})
	}
}

func TestKustomizeVersionIsKnown(t *testing.T) {
	if v := build.KustomizeVersion(); v != "unknown" && !strings.HasPrefix(v, "v0.") {
		t.Error(v) // a test binary does not always know its modules
	}
}
