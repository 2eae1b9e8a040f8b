package build_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/poolwright/poolwright/clusters"
	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/render"
	"github.com/poolwright/poolwright/render/build"
)

const component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"

func TestCheckFindsNothingInWhatWasDrawn(t *testing.T) {
	for _, b := range beds(t) {
		if found := b.check(t); len(found) > 0 {
			t.Errorf("%s:\n%s", b.name, lines(found))
		}
	}
}

func TestE05CheckFindsEditsByHand(t *testing.T) {
	b := golden(t, "three-instances")
	edited := b.edit(t, "instances/example-pg-2/pgbouncer.ini", "server_login_retry = 1", "server_login_retry = 9")
	wantFinding(t, edited.check(t), build.Error, "instances/example-pg-2/pgbouncer.ini", `line 16 of a generated file is "server_login_retry = 9"`)

	cut := b.with(nil)
	delete(cut.files, "base/service.yaml")
	wantFinding(t, cut.check(t), build.Error, "base/service.yaml", "missing")

	theirs := b.with(map[string]string{"services.yaml": "kind: List\n"})
	wantFinding(t, theirs.check(t), build.Error, "services.yaml", "did not generate")
}

func TestCheckFindsAnotherDeclaration(t *testing.T) {
	b := golden(t, "three-instances")
	b.cluster.Spec.PgBouncer.Image = "registry.example.com/pgbouncer:1.25.2"
	wantFinding(t, b.check(t), build.Error, "base/deployment.yaml", "1.25.2")
}

func TestCheckWithoutATree(t *testing.T) {
	b := golden(t, "writer-only")
	lost := b.with(nil)
	delete(lost.files, "topology.yaml")
	for name, files := range map[string]map[string][]byte{
		"a lost topology":      lost.files,
		"another cluster's":    b.edit(t, "topology.yaml", "name: example-pg-topology", "name: other-topology").files,
		"no tree":              {"cluster.yaml": b.files["cluster.yaml"]},
		"a broken topology":    b.edit(t, "topology.yaml", "slot: 0", "slot: x").files,
		"a topology of no use": b.edit(t, "topology.yaml", "writer: example-pg-1", "writer: z").files,
	} {
		found := new(build.Builder).Check(b.cluster, files)
		if len(found) != 1 {
			t.Errorf("%s: %s", name, lines(found))
		}
		wantFinding(t, found, build.Error, "topology.yaml", "topology.yaml")
	}
}

func TestD18DanglingAndOrphanEntries(t *testing.T) {
	b := golden(t, "three-instances")
	dangling := b.with(nil)
	maps.DeleteFunc(dangling.files, func(name string, _ []byte) bool { return strings.HasPrefix(name, "instances/example-pg-2/") })
	wantFinding(t, dangling.check(t), build.Error, "kustomization.yaml", "instances/example-pg-2")

	orphan := b.with(map[string]string{
		"instances/gone/kustomization.yaml": string(b.files["instances/example-pg-2/kustomization.yaml"]),
		"instances/gone/pgbouncer.ini":      string(b.files["instances/example-pg-2/pgbouncer.ini"]),
	})
	found := orphan.check(t)
	wantFinding(t, found, build.Warning, "instances/gone", "orphan")
	if len(found) != 1 {
		t.Errorf("more than the orphan:\n%s", lines(found))
	}
}

// A drawing never leaves a dangling entry behind: what Changes makes of a removal builds.
func TestD18ARemovalIsOneChangeThatBuilds(t *testing.T) {
	b := golden(t, "three-instances")
	less := b.state
	less.Members = less.Members[:2]
	want, err := render.Draw(b.cluster, less, render.Given{})
	if err != nil {
		t.Fatal(err)
	}
	put, gone := render.Changes(b.files, want, false)
	after := b.with(nil)
	maps.Copy(after.files, put)
	for _, file := range gone {
		delete(after.files, file)
	}
	if found := after.check(t); len(found) > 0 {
		t.Error(lines(found))
	}
}

func TestD14EachDeploymentMountsItsOwnIni(t *testing.T) {
	b := golden(t, "three-instances")
	var members []plan.Member
	for i := range 15 {
		name := fmt.Sprintf("example-pg-%d", i+1)
		members = append(members, plan.Member{Name: name, Host: name + ".example.com", Port: 5432, Slot: i})
	}
	b.state.Members = members
	b.files = map[string][]byte{"cluster.yaml": b.files["cluster.yaml"]}
	b = b.custom(t, nil)
	if found := b.check(t); len(found) > 0 {
		t.Fatal(lines(found))
	}
	manifests := b.build(t)
	all := objects(t, manifests)
	if n := len(ofKind(all, "Deployment")); n != 15 {
		t.Fatalf("%d Deployments", n)
	}
	one, two := configMap(t, all, "example-pg-example-pg-1"), configMap(t, all, "example-pg-example-pg-2")
	swapped := strings.NewReplacer("name: "+one+"\n          - secret", "name: "+two+"\n          - secret").Replace(string(manifests))
	swapped = strings.ReplaceAll(swapped, "              name: "+one+"\n", "              name: "+two+"\n")
	if swapped == string(manifests) {
		t.Fatal("the fixture swaps nothing")
	}
	wantFinding(t, build.Verify(t, b.cluster, b.state, []byte(swapped)), build.Error, "Deployment example-pg-example-pg-1", "leads to example-pg-2.example.com:5432")
}

// configMap is the ConfigMap that an instance's ini is in.
func configMap(t *testing.T, all map[string]object, prefix string) string {
	t.Helper()
	for _, title := range ofKind(all, "ConfigMap") {
		if name := strings.TrimPrefix(title, "ConfigMap "); strings.HasPrefix(name, prefix+"-") && len(name) == len(prefix)+11 {
			return name
		}
	}
	t.Fatalf("no ConfigMap %s", prefix)
	return ""
}

func TestD14AnOverlayThatNamesAnothersIniIsFound(t *testing.T) {
	b := golden(t, "three-instances").edit(t, "instances/example-pg-1/pgbouncer.ini", "host=example-pg-1.", "host=example-pg-2.")
	wantFinding(t, b.check(t), build.Error, "Deployment example-pg-example-pg-1", "not to example-pg-1.")
}

// selectors are all selectors of a build, by object.
func selectors(t *testing.T, manifests []byte) map[string]any {
	all := map[string]any{}
	for title, o := range objects(t, manifests) {
		if s := at(o, "spec", "selector"); s != nil {
			all[title] = s
		}
	}
	return all
}

func TestD11LabelsOfPeopleNeverEnterASelector(t *testing.T) {
	b := golden(t, "three-instances")
	want := selectors(t, b.build(t))
	if len(want) != 11 {
		t.Fatalf("%d selectors", len(want))
	}
	for _, team := range []string{"x", "y"} {
		b.cluster.Metadata.Labels = map[string]string{"team": team, "poolwright.dev/cluster": "evil", "app.kubernetes.io/name": "evil"}
		b.cluster.Spec.PgBouncer.Labels = map[string]string{"team": team, "poolwright.dev/instance": "evil", "slot.poolwright.dev/0": "in"}
		b = b.custom(t, nil)
		if found := b.check(t); len(found) > 0 {
			t.Errorf("%s:\n%s", team, lines(found))
		}
		built := b.build(t)
		if diff := cmp.Diff(want, selectors(t, built)); diff != "" {
			t.Errorf("team %s: %s", team, diff)
		}
		for title, o := range objects(t, built) {
			if at(o, "metadata", "labels", "team") != team {
				t.Errorf("%s has no label team", title)
			}
		}
	}
}

func TestD11FieldsThatChangeSelectorsAreRefused(t *testing.T) {
	b := golden(t, "three-instances")
	root := b.edit(t, "kustomization.yaml", "namespace: db", "namespace: db\ncommonLabels: {team: x}")
	wantFinding(t, root.check(t), build.Error, "kustomization.yaml", "commonLabels is not allowed here it changes selectors, which are immutable")
	theirs := b.custom(t, map[string]string{"custom/kustomization.yaml": component + "labels: [{pairs: {team: x}, includeSelectors: true}]\n"})
	wantFinding(t, theirs.check(t), build.Error, "custom/kustomization.yaml", "selectors are immutable")
	ok := b.custom(t, map[string]string{"custom/kustomization.yaml": component + "labels: [{pairs: {team: x}, includeTemplates: true}]\n"})
	if found := ok.check(t); len(found) > 0 {
		t.Errorf("labels that touch no selector:\n%s", lines(found))
	}
}

// Argo CD writes app.kubernetes.io/instance on every object; it must not matter.
func TestD12SelectorsUseOnlyOurOwnDomain(t *testing.T) {
	for _, b := range beds(t) {
		for title, s := range selectors(t, b.build(t)) {
			labels, _ := s.(map[string]any)
			if inner, ok := labels["matchLabels"].(map[string]any); ok {
				labels = inner
			}
			for key := range labels {
				if !strings.HasPrefix(key, "poolwright.dev/") && !strings.HasPrefix(key, "slot.poolwright.dev/") {
					t.Errorf("%s: %s selects %s", b.name, title, key)
				}
			}
		}
	}
	patch := func(kind, spec string) map[string]string {
		return map[string]string{"custom/kustomization.yaml": component + "patches: [{target: {kind: " + kind + "}, path: p.yaml}]\n", "custom/p.yaml": "kind: " + kind + "\nmetadata: {name: any}\n" + spec}
	}
	b := golden(t, "three-instances")
	service := b.custom(t, patch("Service", "spec: {selector: {app.kubernetes.io/instance: x}}\n"))
	wantFinding(t, service.check(t), build.Error, "Service example-pg-writer", "Argo CD rewrites")
	deployment := b.custom(t, patch("Deployment", "spec: {selector: {matchLabels: {team: x}}, template: {metadata: {labels: {team: x}}}}\n"))
	wantFinding(t, deployment.check(t), build.Error, "Deployment example-pg-example-pg-1", "team=x")
}

func TestD09RoleServicesAreProtectedAndOverlaysCanGo(t *testing.T) {
	for _, b := range beds(t) {
		roles := []string{b.cluster.WriterServiceName(), b.cluster.ReaderServiceName()}
		for title, o := range objects(t, b.build(t)) {
			name := at(o, "metadata", "name").(string)
			options, _ := at(o, "metadata", "annotations", "argocd.argoproj.io/sync-options").(string)
			argo := slices.Contains(strings.Split(options, ","), "Prune=false")
			flux := at(o, "metadata", "annotations", "kustomize.toolkit.fluxcd.io/prune") == "disabled"
			role := strings.HasPrefix(title, "Service ") && slices.Contains(roles, name)
			if argo != role || flux != role {
				t.Errorf("%s: %s is protected from Argo CD %v, from Flux %v", b.name, title, argo, flux)
			}
		}
	}
	gone := golden(t, "three-instances").custom(t, map[string]string{
		"custom/kustomization.yaml": component + "patches: [{target: {kind: Service, name: example-pg-reader}, patch: '[{\"op\": \"remove\", \"path\": \"/metadata/annotations/kustomize.toolkit.fluxcd.io~1prune\"}]'}]\n",
	})
	wantFinding(t, gone.check(t), build.Error, "Service example-pg-reader", "pruning")
}

func TestD23LabelsAndAnnotationsAreStrings(t *testing.T) {
	b := golden(t, "three-instances")
	for name, files := range map[string]map[string]string{
		"a patch file": {
			"custom/kustomization.yaml": component + "patches: [{target: {kind: Service}, path: p.yaml}]\n",
			"custom/p.yaml":             "kind: Service\nmetadata: {name: any, annotations: {foo: true}}\n",
		},
		"an object": {
			"custom/kustomization.yaml": component + "resources: [p.yaml]\n",
			"custom/p.yaml":             "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: any, annotations: {foo: 1}}\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			wantFinding(t, b.custom(t, files).check(t), build.Error, "custom/p.yaml", "metadata.annotations.foo is not a string")
		})
	}
	inline := b.custom(t, map[string]string{
		"custom/kustomization.yaml": component + "patches:\n- target: {kind: Deployment}\n  patch: |-\n    kind: Deployment\n    metadata: {name: any}\n    spec: {template: {metadata: {labels: {a: 1}}}}\n",
	})
	wantFinding(t, inline.check(t), build.Error, "custom/kustomization.yaml", "spec.template.metadata.labels.a is not a string")
	built := strings.Replace(string(b.build(t)), `poolwright.dev/epoch: "8"`, "poolwright.dev/epoch: 8", 1)
	wantFinding(t, build.Verify(t, b.cluster, b.state, []byte(built)), build.Error, "Service example-pg-reader", "metadata.annotations.poolwright.dev/epoch is not a string")
}

func TestVerifyFindsWhatWouldMoveTraffic(t *testing.T) {
	b := golden(t, "three-instances")
	good := string(b.build(t))
	for name, tc := range map[string]struct{ old, changed, at, says string }{
		"another writer":       {"    poolwright.dev/instance: example-pg-1\n  type: ClusterIP\n---\napiVersion: apps", "    poolwright.dev/instance: example-pg-2\n  type: ClusterIP\n---\napiVersion: apps", "Service example-pg-writer", "example-pg-2"},
		"a slot let in":        {"    slot.poolwright.dev/2: out\n  type", "  type", "Service example-pg-reader", "slot.poolwright.dev/2"},
		"a pod in two slots":   {"        slot.poolwright.dev/5: out\n", "", "Deployment example-pg-example-pg-1", "its pods carry"},
		"a Service gone":       {"  name: example-pg-example-pg-1\n  namespace: db\nspec:\n  ports", "  name: other\n  namespace: db\nspec:\n  ports", "Service example-pg-example-pg-1", "missing"},
		"a stranger":           {good, good + "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: mine}\nspec: {template: {metadata: {labels: {poolwright.dev/cluster: example-pg}}}}\n", "Deployment mine", "belongs to no instance"},
		"an object twice":      {good, good + "---\napiVersion: v1\nkind: Service\nmetadata: {name: example-pg-writer}\n", "Service example-pg-writer", "twice"},
		"a ConfigMap gone":     {"kind: ConfigMap\nmetadata:\n  annotations:\n    argocd", "kind: Gone\nmetadata:\n  annotations:\n    argocd", "Deployment example-pg-example-pg-1", "which is not there"},
		"a selector that adds": {"  selector:\n    matchLabels:\n      poolwright.dev/cluster: example-pg\n      poolwright.dev/instance: example-pg-1\n  strategy", "  selector:\n    matchExpressions: []\n    matchLabels:\n      poolwright.dev/cluster: example-pg\n      poolwright.dev/instance: example-pg-1\n  strategy", "Deployment example-pg-example-pg-1", "matchExpressions"},
	} {
		t.Run(name, func(t *testing.T) {
			bad := strings.Replace(good, tc.old, tc.changed, 1)
			if bad == good {
				t.Fatal("the fixture changes nothing")
			}
			wantFinding(t, build.Verify(t, b.cluster, b.state, []byte(bad)), build.Error, tc.at, tc.says)
		})
	}
	if found := build.Verify(t, b.cluster, b.state, []byte(good)); len(found) > 0 {
		t.Error(lines(found))
	}
}

// A key that a person's overlay adds to a role Service's selector is theirs to keep.
func TestVerifyLeavesAForeignSelectorKey(t *testing.T) {
	b := golden(t, "three-instances").custom(t, map[string]string{
		"custom/kustomization.yaml": component + "patches: [{target: {kind: Service, name: example-pg-writer}, path: p.yaml}]\n",
		"custom/p.yaml":             "kind: Service\nmetadata: {name: any}\nspec: {selector: {team: x}}\n",
	})
	if found := b.check(t); len(found) > 0 {
		t.Error(lines(found))
	}
}

// The example that people copy is a directory that check passes.
func TestExampleDirectory(t *testing.T) {
	b := bed{name: "example", files: map[string][]byte{}}
	readDir(t, filepath.Join("..", "..", "clusters", "example"), b.files)
	var err error
	if b.cluster, err = clusters.Load("cluster.yaml", b.files["cluster.yaml"]); err != nil {
		t.Fatal(err)
	}
	if found := b.check(t); len(found) > 0 {
		t.Error(lines(found))
	}
	want, err := render.ReadBack(b.cluster.Metadata.Name, b.files)
	if err != nil || len(want.Members) != 3 {
		t.Fatalf("%d members, %v", len(want.Members), err)
	}
	tree, err := render.Draw(b.cluster, want, render.Given{})
	if err != nil {
		t.Fatal(err)
	}
	for file := range b.files {
		if _, drawn := tree[file]; !drawn && file != "cluster.yaml" {
			t.Errorf("%s is not drawn", file)
		}
	}
}
