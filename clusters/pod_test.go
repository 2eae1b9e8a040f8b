package clusters

import (
	"strings"
	"testing"
)

func TestImages(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("0a", 32)
	for _, good := range []string{
		"pgbouncer:1.25.2", "registry:5000/a/b-c__d/pgbouncer:1.25.2", "Registry.Example.com/pgbouncer:v1.25.2-p1", "localhost/pgbouncer:1.25.2" + digest,
		"123.dkr.ecr.eu-west-1.amazonaws.com/pgbouncer:1.25.2",
	} {
		mustLoad(t, strings.Replace(base, "registry.example.com/pgbouncer:1.25.2", good, 1))
	}
	for _, bad := range []string{
		"<your-registry>/pgbouncer:1.25.2", "registry.example.com/PgBouncer:1.25.2", "https://registry.example.com/pgbouncer:1.25.2", "pgbouncer:1.25.2 ",
		"a//pgbouncer:1.25.2", "pgbouncer:1.25.2:1.25.2", "pgbouncer@sha256:0123", "${IMAGE}:1.25.2", "-x/pgbouncer:1.25.2",
	} {
		text := strings.Replace(base, "registry.example.com/pgbouncer:1.25.2", `"`+bad+`"`, 1)
		if p := problemAt(t, text, imagePath); p.Message != notImage || p.Line != 8 {
			t.Errorf("%s: %v", bad, p)
		}
	}
}

func TestPlaceholderImagesAreNotedByImport(t *testing.T) {
	cr := strings.NewReplacer(APIVersion, importGroup+"v1alpha1", "kind: Cluster", "kind: "+importKind, "registry.example.com/", "<your-registry>/").Replace(base)
	text, notes, err := Import([]byte(cr))
	if err != nil || !strings.Contains(string(text), "#   "+imagePath+": the image") || !strings.Contains(strings.Join(notes, "\n"), "line 8: "+imagePath+": "+notImage) {
		t.Errorf("%v\n%q\n%s", err, notes, text)
	}
	mustLoadImported(t, text)
}

func TestPodsAreOnesThatKubernetesTakes(t *testing.T) {
	for path, yaml := range map[string]string{
		"sidecars[0].name":                 "sidecars: [{name: pgbouncer, image: x}]",
		"sidecars[1].name":                 "sidecars: [{name: x, image: x}, {name: x, image: x}]",
		"sidecars[0].name ":                "sidecars: [{name: X_1, image: x}]",
		"sidecars[0].image":                "sidecars: [{name: x, image: <registry>/x}]",
		"volumes[1].name":                  "volumes: [{name: v, emptyDir: {}}, {name: v, emptyDir: {}}]",
		"volumes[0].name":                  "volumes: [{name: poolwright-config, emptyDir: {}}]",
		"volumes[0].name ":                 "volumes: [{name: a.b, emptyDir: {}}]",
		"volumeMounts[0].name":             "volumeMounts: [{name: v, mountPath: /v}]",
		"volumeMounts[0].name ":            "volumeMounts: [{name: poolwright-auth, mountPath: /v}]",
		"sidecars[0].volumeMounts[0].name": "sidecars: [{name: x, image: x, volumeMounts: [{name: v, mountPath: /v}]}]",
	} {
		if p := problemAt(t, base+"    "+yaml+"\n", "spec.pgbouncer."+strings.TrimSpace(path)); p.Line != 10 {
			t.Errorf("%s: %v", yaml, p)
		}
	}
	mustLoad(t, base+`    volumes: [{name: v, emptyDir: {}}]
    volumeMounts: [{name: v, mountPath: /v}]
    sidecars:
      - {name: x, image: x, volumeMounts: [{name: poolwright-config, mountPath: /ini}, {name: poolwright-auth, mountPath: /a}, {name: v, mountPath: /v}]}
      - {name: y, image: x, volumeMounts: [{name: poolwright-run-1, mountPath: /ini}]}
    config: {pgbouncer: {auth_file: /run/auth/users, pidfile: /run/a/pid, logfile: /run/a/log, unix_socket_dir: /run/b}}
`)
}

// What the drawing refuses is refused with its line.
func TestPgBouncerFilesAndNames(t *testing.T) {
	for path, yaml := range map[string]string{
		"pgbouncer.auth_file":         "pgbouncer: {auth_file: /etc/userlist.txt}",
		"pgbouncer.auth_file ":        "pgbouncer: {auth_file: /usr/bin/../bin/x}",
		"pgbouncer.auth_file  ":       "pgbouncer: {auth_file: /etc/pgbouncer/pgbouncer.ini}",
		"pgbouncer.pidfile":           "pgbouncer: {pidfile: /etc/pgbouncer/pid}",
		"pgbouncer.logfile":           "pgbouncer: {logfile: log}",
		"pgbouncer.unix_socket_dir":   "pgbouncer: {unix_socket_dir: /dev}",
		"pgbouncer.POOL_MODE":         "pgbouncer: {POOL_MODE: session}",
		"databases.app.connect_query": "databases: {app: {connect_query: 'select dblink(''password=$(X)'')'}}",
		`databases["my db"]`:          "databases: {'my db': {}}",
		`databases["\"app\""]`:        `databases: {'"app"': {}}`,
		`users["joe@example.com"]`:    "users: {joe@example.com: {pool_mode: session}}",
		`users["r\u00e9my"]`:          "users: {rémy: {pool_mode: session}}",
	} {
		path = strings.ReplaceAll(strings.TrimSpace(path), `\u00e9`, "é")
		if p := problemAt(t, base+"    config: {"+yaml+"}\n", "spec.pgbouncer.config."+path); p.Line != 10 {
			t.Errorf("%s: %v", yaml, p)
		}
	}
	mustLoad(t, base+"    config: {databases: {'*': {}, a.b-c_1: {}}, pgbouncer: {unix_socket_dir: '@x', pidfile: /tmp/p}}\n")
}

func TestHostsAreDifferentServers(t *testing.T) {
	hosts := func(list string) string {
		return strings.Replace(base, "clusterName: example-pg, domainName: xxxx.rds.amazonaws.com", "provider: postgres, hosts: ["+list+"]", 1)
	}
	for _, list := range []string{
		"{name: a, host: x}, {name: b, host: x}", "{name: a, host: x}, {name: b, host: X., port: 5432}", "{name: a, host: x, port: 1}, {name: b, host: x, port: 1}",
	} {
		p := problemAt(t, hosts(list), "spec.discovery.hosts[1].host")
		if p.Line != 6 || !strings.HasPrefix(p.Message, "is the address of a too") {
			t.Error(p)
		}
	}
	mustLoad(t, hosts("{name: a, host: x}, {name: b, host: x, port: 5433}"))
}

func TestRepositoriesHaveNoQuery(t *testing.T) {
	for _, url := range []string{"https://git.example.com/x?private_token=hunter2", "https://git.example.com/x#main", "ssh://git@git.example.com/x?a"} {
		p := problemAt(t, base+"  publish: {repository: '"+url+"'}", "spec.publish.repository")
		if p.Line != 10 || !strings.Contains(p.Hint, "spec.publish.auth") || strings.Contains(p.String(), "hunter2") {
			t.Error(p)
		}
	}
	mustLoad(t, base+"  publish: {repository: '/srv/git/c#.git'}")
}

func TestNumbersOutOfBounds(t *testing.T) {
	for value, want := range map[string]string{
		"-1": "must be at least 1", "2147483648": "needs a whole number up to 2147483647", "99999999999999999999999": "needs a whole number up to 2147483647",
		"1.5": "needs a whole number, has a decimal number",
	} {
		if p := problemAt(t, base+"    replicas: "+value+"\n", "spec.pgbouncer.replicas"); p.Message != want {
			t.Errorf("%s: %s, want %s", value, p.Message, want)
		}
	}
}
