package build_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/poolwright/poolwright/clusters"
	"github.com/poolwright/poolwright/render/build"
)

// deployment is the first instance's, under lines below spec.pgbouncer.
func deployment(t *testing.T, spec string) object {
	t.Helper()
	return objects(t, drawn(t, spec).build(t))["Deployment example-pg-example-pg-1"]
}

// drawn is the golden tree of three instances under other lines below spec.pgbouncer.
func drawn(t *testing.T, spec string) bed {
	t.Helper()
	b := golden(t, "three-instances")
	text := strings.TrimRight(string(b.files["cluster.yaml"]), "\n") + "\n" + spec + "\n"
	var err error
	if b.cluster, err = clusters.Load("cluster.yaml", []byte(text)); err != nil {
		t.Fatal(err)
	}
	return b.custom(t, nil)
}

// preStop is how long a container serves on before it is told to end, and how long it then has, in seconds.
func preStop(t *testing.T, container map[string]any) (drain, finish int) {
	t.Helper()
	command, _ := at(container, "lifecycle", "preStop", "exec", "command").([]any)
	if len(command) != 3 || command[0] != "sh" || command[1] != "-c" {
		t.Fatalf("preStop is %v", command)
	}
	if n, err := fmt.Sscanf(command[2].(string), "sleep %d; kill -INT 1; sleep %d", &drain, &finish); n != 2 {
		t.Fatalf("preStop is %q: %v", command[2], err)
	}
	return drain, finish
}

func TestA05ARolloutNeverRefusesConnections(t *testing.T) {
	for _, grace := range []int{30, 300} {
		d := deployment(t, fmt.Sprintf("    terminationGracePeriodSeconds: %d", grace))
		pod := at(d, "spec", "template", "spec").(map[string]any)
		container := pod["containers"].([]any)[0].(map[string]any)
		if drain, _ := preStop(t, container); drain < 5 {
			t.Errorf("preStop waits %d s: endpoints need 5 s before the signal", drain)
		}
		live := at(container, "livenessProbe").(map[string]any)
		if patience := live["failureThreshold"].(int) * live["periodSeconds"].(int); patience <= grace {
			t.Errorf("liveness kills after %d s, a drain may take %d s", patience, grace)
		}
		rolling := at(d, "spec", "strategy", "rollingUpdate")
		if !cmp.Equal(rolling, any(map[string]any{"maxUnavailable": 0, "maxSurge": 1})) {
			t.Errorf("rolls with %v", rolling)
		}
	}
}

// A04: the drain and what transactions have after it are the grace period, in every version: the hook never ends before
// the process does, so that the SIGTERM that follows it meets nothing that could still end by itself.
func TestA04TheDrainFillsTheGracePeriod(t *testing.T) {
	for spec, want := range map[string][2]int{
		"":                                       {20, 10},
		"    terminationGracePeriodSeconds: 300": {290, 10},
		"    terminationGracePeriodSeconds: 12":  {5, 7},
		"    terminationGracePeriodSeconds: 0":   {5, 0},
		"    terminationGracePeriodSeconds: 660\n    drain: 10m": {600, 60},
	} {
		container := at(deployment(t, spec), "spec", "template", "spec").(map[string]any)["containers"].([]any)[0].(map[string]any)
		if drain, finish := preStop(t, container); [2]int{drain, finish} != want {
			t.Errorf("%q: drains %d s and has %d s more, want %v", spec, drain, finish, want)
		}
	}
}

func TestA04TheHookHasToReachPgBouncer(t *testing.T) {
	shared := func(more string) bed {
		return golden(t, "three-instances").custom(t, map[string]string{
			"custom/kustomization.yaml": component + "patches: [{target: {kind: Deployment, name: example-pg-example-pg-1}, path: p.yaml}]\n",
			"custom/p.yaml":             "kind: Deployment\nmetadata: {name: any}\nspec: {template: {spec: {shareProcessNamespace: true" + more + "}}}\n",
		})
	}
	found := shared("").check(t)
	wantFinding(t, found, build.Warning, "Deployment example-pg-example-pg-1", "process 1 is not PgBouncer")
	if len(found) != 1 {
		t.Errorf("more than that:\n%s", lines(found))
	}
	theirs := shared(", containers: [{name: pgbouncer, lifecycle: {preStop: {exec: {command: [mine]}}}}]")
	if found := theirs.check(t); len(found) > 0 {
		t.Errorf("a hook of theirs:\n%s", lines(found))
	}
}

// A23: nothing of the Secret is in the tree but its name. The mount is a directory, so that a new content arrives in pods that run;
// a Secret of another name rolls each pooler once.
func TestA23ASecretIsMountedByNameAlone(t *testing.T) {
	b := golden(t, "three-instances")
	before, manifests := templates(t, b), b.build(t)
	if bytes.Contains(manifests, []byte("subPath")) || !bytes.Contains(manifests, []byte("name: example-pg-userlist\n")) {
		t.Errorf("the Secret is not mounted as a directory:\n%s", manifests)
	}
	b.cluster.Spec.PgBouncer.AuthFileSecretRef.Name = "example-pg-userlist-2"
	after := templates(t, b.custom(t, nil))
	for title := range before {
		if cmp.Equal(before[title], after[title]) {
			t.Errorf("%s does not roll", title)
		}
	}
}

func TestA21LivenessAsksOnlyItself(t *testing.T) {
	d := deployment(t, "")
	container := at(d, "spec", "template", "spec").(map[string]any)["containers"].([]any)[0].(map[string]any)
	for _, probe := range []string{"livenessProbe", "readinessProbe"} {
		if at(container, probe, "tcpSocket", "port") != "pgbouncer" || at(container, probe, "tcpSocket", "host") != nil {
			t.Errorf("%s is %v", probe, container[probe])
		}
	}
}

// templates are the pod templates by Deployment.
func templates(t *testing.T, b bed) map[string]any {
	all := map[string]any{}
	for title, o := range objects(t, b.build(t)) {
		if strings.HasPrefix(title, "Deployment ") {
			all[title] = at(o, "spec", "template")
		}
	}
	return all
}

func TestA22AnIniChangeRollsExactlyWhoHasIt(t *testing.T) {
	before := templates(t, drawn(t, "    config: {pgbouncer: {query_wait_timeout: 0}}"))
	everybody := templates(t, drawn(t, "    config: {pgbouncer: {query_wait_timeout: 600}}"))
	one := templates(t, drawn(t, "    config: {pgbouncer: {query_wait_timeout: 0}}\n    instanceOverrides: [{name: example-pg-2, config: {pgbouncer: {query_wait_timeout: 600}}}]"))
	for title := range before {
		if cmp.Equal(before[title], everybody[title]) {
			t.Errorf("%s does not roll", title)
		}
		if rolls := !cmp.Equal(before[title], one[title]); rolls != (title == "Deployment example-pg-example-pg-2") {
			t.Errorf("%s rolls: %v", title, rolls)
		}
	}
	for _, b := range beds(t) {
		if bytes.Contains(b.build(t), []byte("subPath")) {
			t.Errorf("%s mounts a subPath", b.name)
		}
	}
}

// B23: the same name with another machine rolls that instance once.
func TestB23AnotherMachineRollsItsPodsOnce(t *testing.T) {
	b := golden(t, "three-instances")
	before := templates(t, b)
	b.state.Members = slices.Clone(b.state.Members)
	b.state.Members[1].Resource = "db-NEW"
	after := templates(t, b.custom(t, nil))
	for title := range before {
		if rolls := !cmp.Equal(before[title], after[title]); rolls != (title == "Deployment example-pg-example-pg-2") {
			t.Errorf("%s rolls: %v", title, rolls)
		}
	}
}

func TestA24NothingIsWrittenOnAReadOnlyRoot(t *testing.T) {
	d := deployment(t, "")
	pod := at(d, "spec", "template", "spec").(map[string]any)
	container := pod["containers"].([]any)[0].(map[string]any)
	if at(container, "securityContext", "readOnlyRootFilesystem") != true || at(pod, "securityContext", "runAsNonRoot") != true {
		t.Errorf("security is %v and %v", container["securityContext"], pod["securityContext"])
	}
	b := golden(t, "files-elsewhere")
	d = objects(t, b.build(t))["Deployment example-pg-example-pg-1"]
	pod = at(d, "spec", "template", "spec").(map[string]any)
	container = pod["containers"].([]any)[0].(map[string]any)
	writable := map[string]bool{}
	for _, v := range pod["volumes"].([]any) {
		volume := v.(map[string]any)
		_, empty := volume["emptyDir"]
		for _, m := range container["volumeMounts"].([]any) {
			if mount := m.(map[string]any); empty && mount["name"] == volume["name"] && mount["readOnly"] == nil {
				writable[mount["mountPath"].(string)] = true
			}
		}
	}
	for _, dir := range []string{"/run/pgbouncer", "/tmp"} {
		if !writable[dir] {
			t.Errorf("%s is not writable", dir)
		}
	}
}
