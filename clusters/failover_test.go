package clusters

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// failoverWith is a file with keys below spec.failover, in a flow mapping.
func failoverWith(keys string) string { return base + "  failover: {" + keys + "}\n" }

const consoleSecret = "console: {authSecretRef: {name: console}}"

func TestEvictionGoesThroughTheConsoleThatIsDeclared(t *testing.T) {
	for keys, want := range map[string]string{
		"":                                    "none",
		"window: 1m":                          "none",
		consoleSecret:                         "console",
		"evict: none, " + consoleSecret:       "none",
		"evict: deletePods":                   "deletePods",
		"evict: deletePods, " + consoleSecret: "deletePods",
		"evict: console, " + consoleSecret:    "console",
	} {
		f := mustLoad(t, failoverWith(keys)).Spec.Failover
		if f.Evict != want || text(f.EvictWithin) != "5s" || text(f.Propagation) != "2s" {
			t.Errorf("%q: evict %s within %s, propagation %s", keys, f.Evict, text(f.EvictWithin), text(f.Propagation))
		}
	}
}

func TestDefaultsOfTheConsoleAndOfAProof(t *testing.T) {
	f := mustLoad(t, failoverWith(consoleSecret+", proof: {credentials: {file: {directory: /run/proof}}}")).Spec.Failover
	want := Failover{
		Window: Duration(30e9), MaxWindow: Duration(600e9), FastInterval: Duration(100e6), PatchServices: f.PatchServices,
		Evict: "console", EvictWithin: Duration(5e9), Propagation: Duration(2e9),
		Console: &Console{User: "poolwright", PoolerLogin: PoolerLogin{AuthSecretRef: &SecretRef{Name: "console"}, SSLMode: "prefer"}},
		Proof: &Proof{Database: "postgres", Interval: Duration(30e9), PoolerLogin: PoolerLogin{
			Credentials: &PoolerCredentials{File: &FileCredentials{Directory: "/run/proof"}}, SSLMode: "prefer",
		}},
	}
	if diff := cmp.Diff(want, f); diff != "" {
		t.Error(diff)
	}
	if f := mustLoad(t, failoverWith("console: {}, proof: {}")).Spec.Failover; f.Console != nil || f.Proof != nil {
		t.Error("an empty mapping is more than no key")
	}
}

// proofWith is a file with config.databases and keys below spec.failover.proof.
func proofWith(databases, keys string) string {
	return withConfig("      databases: {"+databases+"}\n      pgbouncer: {listen_port: 6433}\n") +
		"  failover: {proof: {authSecretRef: {name: proof}, " + keys + "}}\n"
}

func TestAProofAsksADatabaseThatIsServed(t *testing.T) {
	for _, c := range []struct{ databases, keys, want string }{
		{"", "", "postgres"},
		{"'*': {}", "", "postgres"},
		{"b: {}, a: {}, '*': {}", "", "a"},
		{"b: {}, a: {}", "database: b", "b"},
		{"b: {}", "database: other", "other"}, // by "*", which is always drawn
		{"pgbouncer: {}", "", "postgres"},
		{strings.Repeat("a", 64) + ": {}, b: {}", "", "b"},
	} {
		if got := mustLoad(t, proofWith(c.databases, c.keys)).Spec.Failover.Proof.Database; got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

func TestAddressesOfAProof(t *testing.T) {
	for given, want := range map[string]string{
		"writer.db": "writer.db:6433", "writer.db:1": "writer.db:1", "10.0.0.1": "10.0.0.1:6433", "10.0.0.1:65535": "10.0.0.1:65535",
		"'::1'": "[::1]:6433", "'[::1]'": "[::1]:6433", "'[fe80::1%eth0]:6432'": "[fe80::1%eth0]:6432",
	} {
		p := mustLoad(t, proofWith("", "writerAddress: "+given+", readerAddress: "+given)).Spec.Failover.Proof
		if p.WriterAddress != want || p.ReaderAddress != want {
			t.Errorf("%s: %s and %s", given, p.WriterAddress, p.ReaderAddress)
		}
	}
	for _, bad := range []string{"a:b", "a:", ":6432", "a b", "a,b", "a:0", "a:65536", "a:99999999999999999999", "http://a", "[::1", "[a]", "::1]:6432", "a:1:2"} {
		p := problemAt(t, proofWith("", "readerAddress: '"+bad+"'"), "spec.failover.proof.readerAddress")
		if p.Line != 13 {
			t.Errorf("%s: %v", bad, p)
		}
	}
}

func TestFailoverFieldsThatCannotBe(t *testing.T) {
	for path, keys := range map[string]string{
		"console":                             "evict: console",
		"console ":                            "console: {user: admin}",
		"console.user":                        "console: {user: 'a,b', authSecretRef: {name: x}}",
		"console.user ":                       "console: {user: 'a b', authSecretRef: {name: x}}",
		"console.authSecretRef.name":          "console: {authSecretRef: {name: 'a b'}}",
		"console.credentials.env":             "console: {authSecretRef: {name: x}, credentials: {env: {passwordVar: P}}}",
		"console.credentials.file":            "console: {credentials: {env: {passwordVar: P}, file: {directory: /x}}}",
		"console.credentials.env.userVar":     "console: {credentials: {env: {userVar: U, passwordVar: P}}}",
		"console.credentials.env.passwordVar": "console: {credentials: {env: {passwordVar: 'a b'}}}",
		"console.credentials.iamToken":        "console: {credentials: {iamToken: {user: x, region: y}}}",
		"console.sslMode":                     "console: {authSecretRef: {name: x}, sslMode: strict}",
		"console.password":                    "console: {authSecretRef: {name: x}, password: hunter2}",
		"proof":                               "proof: {table: t}",
		"proof.database":                      "proof: {authSecretRef: {name: x}, database: pgbouncer}",
		"proof.database ":                     "proof: {authSecretRef: {name: x}, database: '*'}",
		"proof.database  ":                    "proof: {authSecretRef: {name: x}, database: 'a b'}",
		"proof.table":                         "proof: {authSecretRef: {name: x}, table: 'a; drop table b'}",
		"proof.table ":                        "proof: {authSecretRef: {name: x}, table: a.b.c}",
		"proof.interval":                      "proof: {authSecretRef: {name: x}, interval: 0s}",
		"proof.credentials.env.userVar":       "proof: {credentials: {env: {passwordVar: P}}}",
		"proof.credentials.env.passwordVar":   "proof: {credentials: {env: {userVar: U}}}",
		"propagation":                         "propagation: 999ms",
		"evictWithin":                         "evictWithin: 0s",
		"evict":                               "evict: restart",
	} {
		p := problemAt(t, failoverWith(keys), "spec.failover."+strings.TrimSpace(path))
		if p.Line != 10 || strings.Contains(p.String(), "hunter2") {
			t.Errorf("%s: %v", keys, p)
		}
	}
	p := mustLoad(t, failoverWith("proof: {authSecretRef: {name: x}, table: app.heartbeat, interval: 10ms}")).Spec.Failover.Proof
	if p.Table != "app.heartbeat" || text(p.Interval) != "1s" {
		t.Error(p.Table, text(p.Interval))
	}
}

// What no handshake can bring together would be an eviction that always falls back to deleting pods.
func TestTLSOnBothSidesOfThePooler(t *testing.T) {
	login := func(theirs, override, ours string) string {
		return withConfig("      pgbouncer: {"+theirs+"}\n") + "    instanceOverrides: [{name: a, config: {pgbouncer: {" + override + "}}}]\n" +
			"  failover: {console: {authSecretRef: {name: x}" + ours + "}}\n"
	}
	const at = "spec.failover.console"
	for _, c := range []struct{ theirs, override, ours, at string }{
		{"", "", ", sslMode: require", at + ".sslMode"},
		{"client_tls_sslmode: disable", "", ", sslMode: verify-ca", at + ".sslMode"},
		{"client_tls_sslmode: require", "", ", sslMode: disable", at + ".sslMode"},
		{"", "client_tls_sslmode: require", ", sslMode: disable", at + ".sslMode"},
		{"client_tls_sslmode: require", "client_tls_sslmode: disable", ", sslMode: require", at + ".sslMode"},
		{"client_tls_sslmode: verify-ca", "", "", at},
		{"", "client_tls_sslmode: verify-full", "", at},
	} {
		problemAt(t, login(c.theirs, c.override, c.ours), c.at)
	}
	for _, c := range [][3]string{
		{"", "", ""},
		{"", "", ", sslMode: disable"},
		{"client_tls_sslmode: require", "", ""},
		{"client_tls_sslmode: require", "", ", sslMode: verify-full"},
		{"client_tls_sslmode: prefer", "client_tls_sslmode: allow", ", sslMode: require"},
		{"client_tls_sslmode: allow", "", ", sslMode: disable"},
	} {
		mustLoad(t, login(c[0], c[1], c[2]))
	}
}
