package build_test

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/discovery"
	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/render"
	"github.com/poolwright/poolwright/render/build"
)

// aPersons is a component that changes the role Services in ways that are a person's to choose.
var aPersons = map[string]string{"custom/kustomization.yaml": `apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
labels:
  - pairs: {example.com/team: orders}
    fields: [{path: spec/selector, create: true, kind: Service, version: v1}]
patches:
  - target: {kind: Service, labelSelector: poolwright.dev/role}
    patch: |-
      - {op: add, path: /spec/selector/example.com~1tier, value: gold}
      - {op: add, path: /metadata/annotations/example.com~1owner, value: platform}
`}

// aPersonsKeys are what it adds to selectors.
var aPersonsKeys = map[string]string{"example.com/team": "orders", "example.com/tier": "gold"}

// somePlan is the last of a few decisions on what a cluster may come to, a person's orders included.
func somePlan(t *rapid.T) plan.Plan {
	rules := plan.DefaultRules()
	rules.AllowShrink, rules.RecoveryThreshold, rules.FailureThreshold = "a test", 1, 1
	rules.RemoveAfterMissingCount, rules.RemoveAfterMissing, rules.Retention = 1, 0, time.Minute
	rules.Fallback = rapid.SampledFrom([]plan.FallbackPolicy{plan.FallbackWriter, plan.FallbackNone}).Draw(t, "fallback")
	rules.GlobalSecondary = rapid.IntRange(0, 9).Draw(t, "mode") == 0
	var decided plan.Plan
	var mem plan.Memory
	saw := plan.Observation{Window: true}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for step := range rapid.IntRange(1, 6).Draw(t, "decisions") {
		now = now.Add(time.Minute)
		saw.Topology = someTopology(t, rules.GlobalSecondary)
		saw.Topology.At, saw.Order = now, nil
		if m := saw.Declared.State.Members; step > 0 && len(m) > 0 && rapid.IntRange(0, 3).Draw(t, "order") == 0 {
			who := rapid.SampledFrom(m).Draw(t, "ordered").Name
			saw.Order = &plan.Order{Writer: who, Reason: "why", By: "dba", Until: now.Add(time.Second)}
		}
		decided, mem = plan.Decide(mem, saw, rules, now)
		saw.Declared.State = decided.Want
	}
	return decided
}

func someTopology(t *rapid.T, secondary bool) discovery.Topology {
	top := discovery.Topology{Cluster: "example-pg"}
	names := []string{"a", "b-1", "c", "example-pg-1", "no", "writer", strings.Repeat("l", 60) + "-1", strings.Repeat("l", 60) + "-2"}
	slices.Sort(names)
	there := rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, 5, rapid.ID[string]).Draw(t, "instances")
	slices.Sort(there)
	for _, n := range there {
		top.Instances = append(top.Instances, discovery.Instance{
			Name: n, Host: n + ".example", Port: 5432, Role: discovery.Reader,
			Probe: rapid.SampledFrom([]discovery.Fault{discovery.None, discovery.None, discovery.Timeout}).Draw(t, "probe"),
		})
	}
	if !secondary {
		top.Instances[rapid.IntRange(0, len(there)-1).Draw(t, "writer")].Role = discovery.Writer
	}
	return top
}

// What a patch of the live Services selects is what the tree selects that is committed beside it, as drawn and as built;
// and the state can be read back from the ConfigMap that is applied.
func TestAPatchSelectsWhatTheCommittedBuildSelects(t *testing.T) {
	plain := golden(t, "three-instances")
	builder := new(build.Builder)
	seen := map[string]int{}
	for seed := range 20 { // a build takes long under the race detector
		p := rapid.Custom(somePlan).Example(seed)
		for feature, has := range map[string]bool{
			"failover": p.Action == plan.Failover,
			"order":    slices.ContainsFunc(p.Reasons, func(r plan.Reason) bool { return r.Code == plan.WriterOrdered }),
			"scale":    p.Class == plan.ScaleChange,
			"fallback": p.Want.Fallback,
			"readers":  !p.Want.Fallback && len(p.Want.Readers()) > 0,
			"nobody":   len(p.Want.Readers()) == 0,
			"noWriter": p.Want.Writer == "",
		} {
			if has {
				seen[feature]++
			}
		}
		checkSelectors(t, builder, plain, p.Want, seed%2 == 0)
	}
	if len(seen) != 7 {
		t.Errorf("no plan of these has some of the seven features: %v", seen)
	}
}

func checkSelectors(t *testing.T, builder *build.Builder, b bed, want plan.State, custom bool) {
	t.Helper()
	files, theirs := map[string][]byte{"cluster.yaml": b.files["cluster.yaml"]}, map[string]string{}
	if custom {
		theirs = aPersonsKeys
		for name, text := range aPersons {
			files[name] = []byte(text)
		}
	}
	tree, err := render.Draw(b.cluster, want, render.GivenIn(files))
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(files, tree)
	built, err := builder.Build(files)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(patched(b, want, nil), roleSelectors(t, b, tree[render.ServicesFile])); diff != "" {
		t.Errorf("-patch +drawn:\n%s", diff)
	}
	if diff := cmp.Diff(patched(b, want, theirs), roleSelectors(t, b, built)); diff != "" {
		t.Errorf("-patch +built:\n%s", diff)
	}
	applied, _ := manifest(built, "ConfigMap "+render.TopologyName(b.cluster))
	live, err := render.ReadLive(b.cluster.Metadata.Name, texts(t, at(applied, "data")))
	if diff := cmp.Diff(want, live); err != nil || diff != "" {
		t.Errorf("the applied ConfigMap reads back otherwise: %v\n%s", err, diff)
	}
}

// patched are the selectors by Service after a patch: poolwright's keys, and a person's that are kept.
func patched(b bed, s plan.State, theirs map[string]string) map[string]map[string]string {
	sel := render.Select(b.cluster.Metadata.Name, s)
	all := map[string]map[string]string{b.cluster.ReaderServiceName(): sel.Reader}
	if sel.Writer != nil {
		all[b.cluster.WriterServiceName()] = sel.Writer
	}
	for _, keys := range all {
		maps.Copy(keys, theirs)
	}
	return all
}

// roleSelectors are the selectors of the role Services in manifests.
func roleSelectors(t *testing.T, b bed, manifests []byte) map[string]map[string]string {
	all := map[string]map[string]string{}
	for _, name := range []string{b.cluster.WriterServiceName(), b.cluster.ReaderServiceName()} {
		if o, ok := manifest(manifests, "Service "+name); ok {
			all[name] = texts(t, at(o, "spec", "selector"))
		}
	}
	return all
}

// manifest finds the object with a title such as "Service example-pg-writer".
func manifest(manifests []byte, title string) (object, bool) {
	kind, name, _ := strings.Cut(title, " ")
	for dec := yaml.NewDecoder(bytes.NewReader(manifests)); ; {
		var o object
		if err := dec.Decode(&o); err != nil {
			return nil, false
		}
		if o["kind"] == kind && at(o, "metadata", "name") == name {
			return o, true
		}
	}
}

// texts is a mapping of text to text; anything else in it is an error, as it is for Kubernetes.
func texts(t *testing.T, v any) map[string]string {
	m, ok := v.(map[string]any)
	if !ok {
		t.Fatalf("%v is no mapping", v)
	}
	all := map[string]string{}
	for k, value := range m {
		text, ok := value.(string)
		if !ok {
			t.Fatalf("%s: %v is no text", k, value)
		}
		all[k] = text
	}
	return all
}
