package build_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/poolwright/poolwright/clusters"
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

func TestA05ARolloutNeverRefusesConnections(t *testing.T) {
	for _, grace := range []int{30, 300} {
		d := deployment(t, fmt.Sprintf("    terminationGracePeriodSeconds: %d", grace))
		pod := at(d, "spec", "template", "spec").(map[string]any)
		container := pod["containers"].([]any)[0].(map[string]any)
		if got := at(container, "lifecycle", "preStop", "exec", "command"); !cmp.Equal(got, []any{"sleep", "5"}) {
			t.Errorf("preStop is %v: it must wait 5 s before the signal", got)
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
