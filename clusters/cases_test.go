package clusters

import (
	"strings"
	"testing"
)

const base = `
apiVersion: poolwright.dev/v1alpha1
kind: Cluster
metadata: {name: example-pg, namespace: databases}
spec:
  discovery: {clusterName: example-pg, domainName: xxxx.rds.amazonaws.com}
  pgbouncer:
    image: registry.example.com/pgbouncer:1.25.2
    authFileSecretRef: {name: userlist}
`

// problemAt loads a file and returns its problem with that path.
func problemAt(t *testing.T, text, path string) Problem {
	t.Helper()
	_, err := Load("cluster.yaml", []byte(text))
	problems, _ := err.(Errors)
	for _, p := range problems {
		if p.Path == path {
			return p
		}
	}
	t.Fatalf("no problem at %s, but: %v", path, err)
	return Problem{}
}

func withConfig(yaml string) string { return base + "    config:\n" + yaml }

func TestB15DomainsAreOpaque(t *testing.T) {
	for _, domain := range []string{
		"xyz.rds.cn-north-1.amazonaws.com.cn",
		"xyz.cn-north-1.rds.amazonaws.com.cn",
		"xyz.us-isob-east-1.rds.sc2s.sgov.gov",
		"xyz.us-gov-west-1.rds.amazonaws.com",
		"Databases.Example.internal.",
		"localhost",
	} {
		d := mustLoad(t, strings.Replace(base, "xxxx.rds.amazonaws.com", domain, 1)).Spec.Discovery
		if d.DomainName != domain || d.ClusterEndpoints.Writer.Host != "example-pg.cluster-"+domain ||
			d.ClusterEndpoints.Reader.Host != "example-pg.cluster-ro-"+domain {
			t.Errorf("%s became %q, %+v", domain, d.DomainName, d.ClusterEndpoints)
		}
		if d.RDS.Region != "" {
			t.Errorf("%s: region %q was read from the domain", domain, d.RDS.Region)
		}
	}
}

func TestC25NoCredentialIsLoaded(t *testing.T) {
	for name, config := range map[string]string{
		"password of a database":       "      databases: {app: {password: hunter2}}",
		"password of a user":           "      users: {app: {password: hunter2}}",
		"password as number":           "      databases: {app: {password: 123456}}",
		"password in capitals":         "      databases: {app: {PASSWORD: hunter2}}",
		"connect_query with password=": `      databases: {app: {connect_query: "select dblink('host=x password=hunter2')"}}`,
		"connect_query, spaces":        `      databases: {app: {connect_query: "select dblink('password = hunter2')"}}`,
		"connect_query with SQL":       `      databases: {app: {connect_query: "alter user x password 'hunter2'"}}`,
		"connect_query with a URL":     `      databases: {app: {connect_query: "select dblink('postgres://u:hunter2@h/d')"}}`,
		"inline userlist":              "      pgbouncer: {userlist: '\"app\" \"hunter2\"'}",
		"inline userlist elsewhere":    "      pgbouncer: {auth_file: '\"app\" \"hunter2\"'}",
		"SCRAM verifier":               "      pgbouncer: {auth_query: 'select $$SCRAM-SHA-256$4096:hunter2$$'}",
		"md5 verifier":                 "      pgbouncer: {auth_query: \"select 'md50123456789abcdef0123456789abcdef'\"}",
		"LDAP bind password":           "      pgbouncer: {auth_ldap_options: 'ldapbindpasswd=hunter2'}",
	} {
		_, err := Load("cluster.yaml", []byte(withConfig(config)))
		if err == nil || !strings.Contains(err.Error(), holdsCredential) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && (strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "0123456789abcdef")) {
			t.Errorf("%s: the error repeats the secret: %v", name, err)
		}
	}
}

func TestC25ReferencesToCredentialsAreFine(t *testing.T) {
	mustLoad(t, withConfig(`      pgbouncer:
        auth_query: SELECT usename, passwd FROM pg_shadow WHERE usename=$1 AND passwd=$2
        server_tls_key_file: /etc/tls/password.key
    sidecars:
      - name: exporter
        args: ["--url=postgres://stats:$(PGPASSWORD)@127.0.0.1/pgbouncer", "password=$(PGPASSWORD)"]
        env:
          - name: PGPASSWORD
            valueFrom: {secretKeyRef: {name: stats, key: password}}
`))
}

func TestC25TokensStayOutOfRepositoryAddresses(t *testing.T) {
	for _, url := range []string{"https://hunter2@git.example.com/x", "https://user:hunter2@git.example.com/x", "http://user:hunter2@git.example.com/x"} {
		p := problemAt(t, base+"  publish: {repository: '"+url+"'}", "spec.publish.repository")
		if p.Message != holdsCredential || strings.Contains(p.String(), "hunter2") {
			t.Error(p)
		}
	}
	for _, url := range []string{"ssh://git@git.example.com/x", "git@git.example.com:x", "/srv/git/x.git", "file:///srv/git/x.git", "https://git.example.com/x"} {
		mustLoad(t, base+"  publish: {repository: '"+url+"'}")
	}
}

// S02 and A18: a newline in a value or key would start a line of its own in pgbouncer.ini.
func TestS02A18NewlinesCannotInjectKeys(t *testing.T) {
	for path, config := range map[string]string{
		"spec.pgbouncer.config.pgbouncer.pool_mode":             `      pgbouncer: {pool_mode: "session\n[users]"}`,
		`spec.pgbouncer.config.pgbouncer["a\n[users]\nb"]`:      `      pgbouncer: {"a\n[users]\nb": c}`,
		`spec.pgbouncer.config.pgbouncer["a = b"]`:              `      pgbouncer: {"a = b": c}`,
		`spec.pgbouncer.config.pgbouncer["%include /etc/x"]`:    `      pgbouncer: {"%include /etc/x": c}`,
		"spec.pgbouncer.config.databases.app.application_name":  `      databases: {app: {application_name: "a\rb"}}`,
		`spec.pgbouncer.config.databases["app\n[users]"]`:       `      databases: {"app\n[users]": {}}`,
		`spec.pgbouncer.config.databases.app["dbname=x\ny"]`:    `      databases: {app: {"dbname=x\ny": z}}`,
		`spec.pgbouncer.config.users["a\n* = pool_mode"]`:       `      users: {"a\n* = pool_mode": {}}`,
		"spec.pgbouncer.config.peers.1.host":                    `      peers: {1: {host: "a\u0085b"}}`,
		"spec.pgbouncer.config.pgbouncer.server_reset_query":    "      pgbouncer:\n        server_reset_query: |\n          discard all\n",
		"spec.pgbouncer.config.pgbouncer.ignore_startup_params": `      pgbouncer: {ignore_startup_params: "a\0b"}`,
	} {
		problemAt(t, withConfig(config), path)
	}
}

// A06 and the operator's rule: an instance's pooler leads to that instance and nowhere else.
func TestA06DatabasesHaveNoHostOfTheirOwn(t *testing.T) {
	for _, key := range []string{"host", "port"} {
		problemAt(t, withConfig("      databases: {app: {"+key+": '1'}}"), "spec.pgbouncer.config.databases.app."+key)
	}
	mustLoad(t, withConfig("      peers: {1: {host: peer, port: 6432}}"))
}

func TestA28DigestsNeedAVersion(t *testing.T) {
	digest := strings.Replace(base, "pgbouncer:1.25.2", "pgbouncer@sha256:"+strings.Repeat("0123", 16), 1)
	problemAt(t, digest, versionPath)
	c := mustLoad(t, digest+"    pgbouncerVersion: 1.25.2\n")
	if v, ok := c.Spec.PgBouncer.EffectiveVersion(); !ok || v != (Version{1, 25, 2}) {
		t.Error(v, ok)
	}
}

func TestInstanceNamesThatLookLikeOtherYAML(t *testing.T) {
	for _, name := range []string{"e1e3", "no", "on", "y", "null-1", "a2026-11-29"} {
		c := mustLoad(t, base+"    instanceOverrides: [{name: "+name+"}]\n")
		if got := c.Spec.PgBouncer.InstanceOverrides[0].Name; got != name {
			t.Errorf("%s became %q", name, got)
		}
	}
	for _, name := range []string{"true", "null", "12", "1e3"} {
		p := problemAt(t, base+"    instanceOverrides: [{name: "+name+"}]\n", "spec.pgbouncer.instanceOverrides[0].name")
		if p.Line != 10 {
			t.Errorf("%s: %v", name, p)
		}
	}
}

func TestC25FlagsOfCommandLinesHoldNoCredential(t *testing.T) {
	sidecar := func(args string) string {
		return base + "    sidecars: [{name: s, image: s, args: [" + args + "]}]\n"
	}
	for args, at := range map[string]string{
		`"--password", "hunter2"`:                "1",
		`"-v", "--db.password", "hunter2"`:       "2",
		`"--token=hunter2"`:                      "0",
		`"serve", "--api-key", "hunter2", "-v"`:  "2",
		`"--client-secret", "hunter2"`:           "1",
		`"--password", "hunter2", "--token", ""`: "1",
	} {
		p := problemAt(t, sidecar(args), "spec.pgbouncer.sidecars[0].args["+at+"]")
		if p.Message != holdsCredential || strings.Contains(p.String(), "hunter2") || p.Line != 10 {
			t.Error(p)
		}
	}
	for _, args := range []string{`"--password", "$(PGPASSWORD)"`, `"--password"`, `"--no-password", "-v"`, `"--password-file", "/run/p"`, `"--token=$(T)"`, `"--tokens", "3"`} {
		mustLoad(t, sidecar(args))
	}
}
