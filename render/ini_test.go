package render_test

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/clusters"
	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/render"
)

// iniOf is the ini of the one instance, under config lines below spec.pgbouncer.
func iniOf(t testing.TB, c clusters.Cluster) string {
	t.Helper()
	return string(draw(t, c, state(1, at("pg-1", 0, plan.In)))["instances/pg-1/pgbouncer.ini"])
}

// value is a setting's value; exactly one line may set it.
func value(t testing.TB, ini, key string) string {
	t.Helper()
	all := regexp.MustCompile(`(?m)^`+key+` =(.*)$`).FindAllStringSubmatch(ini, -1)
	if len(all) != 1 {
		t.Fatalf("%d lines set %s in\n%s", len(all), key, ini)
	}
	return strings.TrimSpace(all[0][1])
}

func TestA06DatabasesNameTheInstanceAndDNSIsBounded(t *testing.T) {
	ini := iniOf(t, load(t, "    config: {databases: {app: {dbname: app}, other: {}}}"))
	lines := regexp.MustCompile(`(?m)^(\*|app|other) = (.*)$`).FindAllStringSubmatch(ini, -1)
	if len(lines) != 3 {
		t.Fatalf("%d databases in\n%s", len(lines), ini)
	}
	for _, l := range lines {
		if !strings.HasPrefix(l[2], "host=pg-1."+domain+" port=5432") {
			t.Errorf("%s leads to %s", l[1], l[2])
		}
	}
	if ttl, _ := strconv.Atoi(value(t, ini, "dns_max_ttl")); ttl < 1 || ttl > 15 {
		t.Errorf("dns_max_ttl = %d", ttl)
	}
}

func TestA06RefusesEndpointsThatMove(t *testing.T) {
	c := load(t, "")
	for _, host := range []string{
		"example.cluster-abc.eu-central-1.rds.amazonaws.com", "example.cluster-ro-abc.eu-central-1.rds.amazonaws.com",
		"any.cluster-custom-abc.eu-central-1.rds.amazonaws.com", "rds.proxy-abc.eu-central-1.rds.amazonaws.com", "a,b", "a b", "",
	} {
		m := at("pg-1", 0, plan.In)
		m.Host = host
		if _, err := render.Draw(c, state(1, m), render.Given{}); err == nil || !strings.Contains(err.Error(), "pg-1") {
			t.Errorf("%q: %v", host, err)
		}
	}
}

func TestA07LoginRetryIsShortByDefault(t *testing.T) {
	if got := value(t, iniOf(t, load(t, "")), "server_login_retry"); got != "1" {
		t.Errorf("server_login_retry = %s", got)
	}
	if got := value(t, iniOf(t, load(t, "    config: {pgbouncer: {server_login_retry: 15}}")), "server_login_retry"); got != "15" {
		t.Errorf("yours is %s", got)
	}
}

func TestA13IgnoredParametersAreAUnion(t *testing.T) {
	c := load(t, `    config: {pgbouncer: {ignore_startup_parameters: "statement_timeout , extra_float_digits"}}
    instanceOverrides: [{name: pg-1, config: {pgbouncer: {ignore_startup_parameters: options}}}]`)
	if got := value(t, iniOf(t, c), "ignore_startup_parameters"); got != "extra_float_digits,options,statement_timeout" {
		t.Error(got)
	}
	c = load(t, `    config: {pgbouncer: {ignore_startup_parameters: "statement_timeout search_path"}}`)
	if _, err := render.Draw(c, state(1, at("pg-1", 0, plan.In)), render.Given{}); err == nil || !strings.Contains(err.Error(), "comma") {
		t.Errorf("a list with blanks: %v", err)
	}
}

// A01, as far as it is drawn: whoever evicts is an administrator everywhere, beside whom a person made one.
func TestA01TheConsolesUserIsAnAdministratorBesideYours(t *testing.T) {
	with := func(console, cluster, override string) string {
		return iniOf(t, load(t, "    config: {pgbouncer: {"+cluster+"}}\n    instanceOverrides: [{name: pg-1, config: {pgbouncer: {"+override+"}}}]\n"+console))
	}
	const console, other = "  failover: {console: {authSecretRef: {name: c}}}", "  failover: {console: {user: evictor, authSecretRef: {name: c}}}"
	for _, c := range []struct{ console, cluster, override, want string }{
		{console, "", "", "poolwright"},
		{other, "", "", "evictor"},
		{console, "admin_users: 'zoe,alice'", "", "alice,poolwright,zoe"},
		{console, "admin_users: 'zoe alice , poolwright'", "", "alice,poolwright,zoe"},
		{console, "admin_users: alice", "admin_users: zoe", "poolwright,zoe"}, // an override takes the cluster's place
		{"", "admin_users: 'zoe, alice'", "", "zoe, alice"},
	} {
		if got := value(t, with(c.console, c.cluster, c.override), "admin_users"); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
	if ini := iniOf(t, load(t, "")); strings.Contains(ini, "admin_users") {
		t.Errorf("nobody declared a console:\n%s", ini)
	}
}

func TestQueuesAreShorterThanADeclaredTimeout(t *testing.T) {
	for timeout, want := range map[string]string{"2s": "1", "7s": "5", "10s": "7", "30s": "22", "2m40s": "120", "10m": "120", "2500000h": "120"} {
		if got := value(t, iniOf(t, load(t, "    clientTimeout: "+timeout)), "query_wait_timeout"); got != want {
			t.Errorf("%s: %s, want %s", timeout, got, want)
		}
	}
	if got := value(t, iniOf(t, load(t, "    clientTimeout: 7s\n    config: {pgbouncer: {query_wait_timeout: 6}}")), "query_wait_timeout"); got != "6" {
		t.Errorf("yours is %s", got)
	}
	if ini := iniOf(t, load(t, "")); strings.Contains(ini, "query_wait_timeout") {
		t.Errorf("nobody declared a timeout:\n%s", ini)
	}
}

func TestA14PreparedStatementsArePinnedWhereKnown(t *testing.T) {
	of := func(version string) string {
		return iniOf(t, loadImage(t, "registry.example.com/pgbouncer:"+version, ""))
	}
	if strings.Contains(of("1.18.0"), "max_prepared_statements") || strings.Contains(of("1.20.1"), "max_prepared_statements") {
		t.Error("a key that the version exits at")
	}
	if value(t, of("1.21.0"), "max_prepared_statements") == "" {
		t.Error("not pinned")
	}
	if of("1.23.1") != of("1.24.1") || of("1.24.1") != of("1.25.2") {
		t.Error("an image bump changes the ini")
	}
}

func TestA27DeadSocketsAreFoundByDefault(t *testing.T) {
	ini := iniOf(t, load(t, ""))
	if value(t, ini, "tcp_keepalive") != "1" || value(t, ini, "tcp_keepidle") == "" || value(t, ini, "tcp_keepintvl") == "" || value(t, ini, "tcp_keepcnt") == "" {
		t.Error("no keepalive")
	}
	if ms, _ := strconv.Atoi(value(t, ini, "tcp_user_timeout")); ms < 3000 || ms > 30000 {
		t.Errorf("tcp_user_timeout = %d ms", ms)
	}
}

func TestA18ValuesAreEscaped(t *testing.T) {
	ini := iniOf(t, load(t, `    config: {databases: {app: {application_name: "it's x", options: "", dbname: plain}}}`))
	want := "app = host=pg-1." + domain + " port=5432 application_name='it''s x' dbname=plain options=''\n"
	if !strings.Contains(ini, want) {
		t.Errorf("no %q in\n%s", want, ini)
	}
}

// Whatever a value holds, it stays one value of one line, or is refused. A declaration built in Go
// stands for a loader that let everything pass.
func TestA18S02NoValueBecomesAnotherSetting(t *testing.T) {
	base := load(t, "")
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"a\n[users]\nb = c", "x\rhost=evil", "' host=evil '", "a'' host=evil", "\\' host=evil", "a\u2028b"})).Draw(t, "value")
		c := base
		c.Spec.PgBouncer.Config = clusters.Config{
			PgBouncer: map[string]clusters.Scalar{"application_name_add_host": clusters.Scalar(v)},
			Databases: map[string]map[string]clusters.Scalar{"app": {"application_name": clusters.Scalar(v)}},
		}
		maps.Copy(c.Spec.PgBouncer.Config.PgBouncer, base.Spec.PgBouncer.Config.PgBouncer)
		tree, err := render.Draw(c, state(1, at("pg-1", 0, plan.In)), render.Given{})
		if err != nil {
			return
		}
		ini := string(tree["instances/pg-1/pgbouncer.ini"])
		if got := settings(ini); !slices.Equal(got, settings(string(iniWith(t, base)))) {
			t.Fatalf("settings are %v in\n%s", got, ini)
		}
		if got := connection(t, ini, "app"); !slices.Equal(got, []string{"host=pg-1." + domain, "port=5432", "application_name=" + strings.TrimSpace(v)}) {
			t.Fatalf("read as %q in\n%s", got, ini)
		}
	})
}

func iniWith(t interface{ Fatal(...any) }, c clusters.Cluster) []byte {
	c.Spec.PgBouncer.Config.Databases = map[string]map[string]clusters.Scalar{"app": {}}
	c.Spec.PgBouncer.Config.PgBouncer = map[string]clusters.Scalar{"application_name_add_host": "1"}
	maps.Copy(c.Spec.PgBouncer.Config.PgBouncer, map[string]clusters.Scalar{"auth_file": "/etc/pgbouncer/userlist.txt", "auth_type": "md5", "listen_addr": "0.0.0.0", "listen_port": "6432"})
	tree, err := render.Draw(c, state(1, at("pg-1", 0, plan.In)), render.Given{})
	if err != nil {
		t.Fatal(err)
	}
	return tree["instances/pg-1/pgbouncer.ini"]
}

// settings are an ini's sections and keys as PgBouncer reads them: line by line.
func settings(ini string) []string {
	var keys []string
	for _, l := range strings.FieldsFunc(ini, func(r rune) bool { return r == '\n' || r == '\r' }) {
		if key, _, ok := strings.Cut(l, "="); ok || strings.HasPrefix(l, "[") {
			keys = append(keys, strings.TrimSpace(key))
		}
	}
	return keys
}

// connection reads a connection string by PgBouncer's rules: a value is up to a blank, or in single
// quotes that are doubled inside.
func connection(t interface{ Fatal(...any) }, ini, name string) []string {
	_, rest, ok := strings.Cut(ini, "\n"+name+" = ")
	if !ok {
		t.Fatal("no entry " + name)
	}
	rest, _, _ = strings.Cut(rest, "\n")
	var list []string
	for rest = strings.TrimLeft(rest, " "); rest != ""; rest = strings.TrimLeft(rest, " ") {
		key, after, _ := strings.Cut(rest, "=")
		value := ""
		if !strings.HasPrefix(after, "'") {
			value, rest, _ = strings.Cut(after, " ")
			list = append(list, key+"="+value)
			continue
		}
		for after = after[1:]; ; after = after[1:] {
			part, next, closed := strings.Cut(after, "'")
			if !closed {
				t.Fatal("an open quote in " + ini)
			}
			value, after = value+part, next
			if !strings.HasPrefix(after, "'") {
				break
			}
			value += "'"
		}
		rest = after
		list = append(list, key+"="+value)
	}
	return list
}

func TestC25CredentialsAreRefusedAndNotRepeated(t *testing.T) {
	for name, config := range map[string]clusters.Config{
		"a database's password": {Databases: map[string]map[string]clusters.Scalar{"app": {"password": "hunter2"}}},
		"a user's password":     {Users: map[string]map[string]clusters.Scalar{"app": {"password": "hunter2"}}},
		"inside a query":        {Databases: map[string]map[string]clusters.Scalar{"app": {"connect_query": "select dblink('password=hunter2')"}}},
		"inside a statement":    {Databases: map[string]map[string]clusters.Scalar{"app": {"connect_query": "ALTER ROLE x PASSWORD 'hunter2'"}}},
	} {
		t.Run(name, func(t *testing.T) {
			c := load(t, "")
			config.PgBouncer = c.Spec.PgBouncer.Config.PgBouncer
			c.Spec.PgBouncer.Config = config
			tree, err := render.Draw(c, state(1, at("pg-1", 0, plan.In)), render.Given{})
			if err == nil {
				t.Fatalf("drew %d files", len(tree))
			}
			if strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "app") {
				t.Errorf("the message is %q", err)
			}
		})
	}
}

func TestC25NoGoldenTreeHoldsASecret(t *testing.T) {
	for _, g := range goldens(t) {
		for file, data := range g.draw(t) {
			if strings.Contains(string(data), "kind: Secret") || regexp.MustCompile(`(?i)password ?[=:]`).Match(data) {
				t.Errorf("%s: %s", g.name, file)
			}
		}
	}
}

func TestIniRefusesWhatPgBouncerWouldExitAt(t *testing.T) {
	s := state(1, at("pg-1", 0, plan.In))
	for name, tc := range map[string]struct {
		image string
		edit  func(*clusters.Cluster)
		says  string
	}{
		"a database's name with a blank": {"p:1.24.1", func(c *clusters.Cluster) {
			c.Spec.PgBouncer.Config.Databases = map[string]map[string]clusters.Scalar{"a b": {}}
		}, `"*" serves any name`},
		"a key with a line break": {"p:1.24.1", func(c *clusters.Cluster) {
			c.Spec.PgBouncer.Config.PgBouncer["a\nb"] = "1"
		}, "not the name of a setting"},
		"no UTF-8": {"p:1.24.1", func(c *clusters.Cluster) {
			c.Spec.PgBouncer.Config.PgBouncer["logfile_x"] = "\xff"
		}, "no UTF-8"},
		"peers before 1.19": {"p:1.18.0", func(c *clusters.Cluster) {
			c.Spec.PgBouncer.Config.Peers = map[string]map[string]clusters.Scalar{"1": {"host": "x"}}
		}, "[peers]"},
		"an override of the port": {"p:1.24.1", func(c *clusters.Cluster) {
			one := 1
			c.Spec.PgBouncer.InstanceOverrides = []clusters.InstanceOverride{{Name: "pg-1", Replicas: &one, Config: clusters.Config{PgBouncer: map[string]clusters.Scalar{"listen_port": "1"}}}}
		}, "listen_port"},
		"an auth file over the ini": {"p:1.24.1", func(c *clusters.Cluster) {
			c.Spec.PgBouncer.Config.PgBouncer["auth_file"] = "/etc/pgbouncer/pgbouncer.ini"
		}, "auth_file"},
		"an auth file in /etc":            {"p:1.24.1", func(c *clusters.Cluster) { c.Spec.PgBouncer.Config.PgBouncer["auth_file"] = "/etc/users.txt" }, "auth_file"},
		"A24 a pidfile beside the ini":    {"p:1.24.1", func(c *clusters.Cluster) { c.Spec.PgBouncer.Config.PgBouncer["pidfile"] = "/etc/pgbouncer/p.pid" }, "pidfile"},
		"A24 a logfile at no path at all": {"p:1.24.1", func(c *clusters.Cluster) { c.Spec.PgBouncer.Config.PgBouncer["logfile"] = "pgb.log" }, "logfile"},
	} {
		t.Run(name, func(t *testing.T) {
			c := loadImage(t, tc.image, "")
			tc.edit(&c)
			_, err := render.Draw(c, s, render.Given{})
			if err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%v does not say %q", err, tc.says)
			}
		})
	}
}

func TestE03NoBlankIsLeftAtTheEndOfALine(t *testing.T) {
	all := goldens(t)
	c := load(t, "    config: {pgbouncer: {unix_socket_dir: ' '}}")
	c.Spec.PgBouncer.Config.PgBouncer["auth_query"] = "SELECT 1  \r\n" // Load refuses the line break
	all = append(all, golden{name: "blanks", cluster: c, state: state(1, at("pg-1", 0, plan.In))})
	for _, g := range all {
		for file, data := range g.draw(t) {
			if bad := regexp.MustCompile(`(?m)[ \t\r]+$`).Find(data); bad != nil || !strings.HasSuffix(string(data), "\n") {
				t.Errorf("%s: %s ends a line with %q, or the file without a line break", g.name, file, bad)
			}
		}
	}
}

func FuzzIni(f *testing.F) {
	base := load(f, "")
	f.Add("app", "dbname", "it's", "pool_mode", "session")
	f.Add("*", "host", "evil", "x\ny", "a\r\n[users]")
	f.Fuzz(func(t *testing.T, name, key, value, setting, text string) {
		c := base
		c.Spec.PgBouncer.Config.Databases = map[string]map[string]clusters.Scalar{name: {key: clusters.Scalar(value)}}
		c.Spec.PgBouncer.Config.PgBouncer = map[string]clusters.Scalar{}
		maps.Copy(c.Spec.PgBouncer.Config.PgBouncer, base.Spec.PgBouncer.Config.PgBouncer)
		if _, set := c.Spec.PgBouncer.Config.PgBouncer[setting]; !set && setting != "ignore_startup_parameters" {
			c.Spec.PgBouncer.Config.PgBouncer[setting] = clusters.Scalar(text)
		}
		tree, err := render.Draw(c, state(1, at("pg-1", 0, plan.In)), render.Given{})
		if err != nil {
			return
		}
		ini := string(tree["instances/pg-1/pgbouncer.ini"])
		if n := strings.Count("\n"+ini, "\n["); n != 2 {
			t.Errorf("%d sections in\n%s", n, ini)
		}
		if got := connection(t, ini, name); got[0] != "host=pg-1."+domain || got[1] != "port=5432" {
			t.Errorf("leads to %v", got)
		}
	})
}
