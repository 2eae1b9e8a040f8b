package pgbouncer

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// User and Password are those of package pgcluster, so that PgBouncer passes
// them on. User is in admin_users.
const (
	User     = "poolwright"
	Password = "it's a secret"
)

// Port is the default port.
const Port = 6432

// defaults are the settings that Options.Settings go over.
var defaults = map[string]string{
	"admin_users":               User,
	"auth_type":                 "scram-sha-256",
	"ignore_startup_parameters": "extra_float_digits",
	"max_client_conn":           "1000",
	"pool_mode":                 "transaction",
	"server_login_retry":        "1",
	"unix_socket_dir":           "",
}

// Options say what Start runs.
type Options struct {
	// Version is one of Versions, or exact. Default: the newest.
	Version string
	// Backend is host:port of the server that every database is on.
	Backend string
	// Databases are further entries of [databases] by their names, in which PgBouncer takes no quotes, as connection strings, which
	// must name their host when there is one. Default: "*" on Backend, when that is given.
	Databases map[string]string
	// Settings are those of [pgbouncer], over the defaults.
	Settings map[string]string
	// Users and their passwords, plain or as secrets, besides User.
	Users map[string]string
	// Port default 6432.
	Port int
}

// configure writes what the process reads.
func (p *Process) configure(o Options) error {
	settings := maps.Clone(defaults)
	maps.Copy(settings, map[string]string{
		"listen_addr": p.Host, "listen_port": fmt.Sprint(p.Port),
		"auth_file": filepath.Join(p.dir, "userlist.txt"),
	})
	maps.Copy(settings, o.Settings)
	databases := map[string]string{}
	if host, port, ok := strings.Cut(o.Backend, ":"); ok {
		databases["*"] = fmt.Sprintf("host=%s port=%s", host, port)
	}
	maps.Copy(databases, o.Databases)
	if err := p.write("pgbouncer.ini", ini(databases, settings)); err != nil {
		return err
	}
	users := map[string]string{User: Password}
	maps.Copy(users, o.Users)
	return p.write("userlist.txt", userlist(users))
}

func ini(databases, settings map[string]string) string {
	var text strings.Builder
	text.WriteString("[databases]\n")
	for _, name := range slices.Sorted(maps.Keys(databases)) {
		fmt.Fprintf(&text, "%s = %s\n", name, databases[name])
	}
	text.WriteString("[pgbouncer]\n")
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		fmt.Fprintf(&text, "%s = %s\n", key, settings[key])
	}
	return text.String()
}

func double(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

func userlist(users map[string]string) string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(users)) {
		fmt.Fprintf(&text, "%s %s\n", double(name), double(users[name]))
	}
	return text.String()
}

// write makes a file of the process's own.
func (p *Process) write(name, text string) error {
	path := filepath.Join(p.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return err
	}
	return own(path)
}
