package clusters

import (
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	// fastFloor is the shortest interval inside the failover window.
	fastFloor = Duration(20e6)
	// propagationFloor is what logins that are under way need: a database that is enabled earlier than that after its clients were
	// cut can crash PgBouncer.
	propagationFloor = Duration(1e9)
)

func (r *report) failover(f Failover, p PgBouncer) {
	const at = "spec.failover"
	r.positive(at+".window", f.Window)
	if f.MaxWindow < f.Window {
		r.wrong(at+".maxWindow", "is shorter than window", "")
	}
	if f.FastInterval < fastFloor {
		r.wrong(at+".fastInterval", "must be at least 20ms", "")
	}
	r.positive(at+".evictWithin", f.EvictWithin)
	if f.Propagation < propagationFloor {
		r.wrong(at+".propagation", "must be at least 1s", "logins that are under way need that long, or PgBouncer may crash")
	}
	if f.Evict == "console" && f.Console == nil {
		r.wrong(at+".console", "is required with evict: console", "the admin user's Secret: console: {authSecretRef: {name: example-pg-console}}")
	}
	if f.Console != nil {
		r.console(at+".console", *f.Console, p)
	}
	if f.Proof != nil {
		r.proof(at+".proof", *f.Proof, p)
	}
}

// adminName is a user that admin_users can list: commas and blanks end a name there.
var adminName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}$`)

func (r *report) console(at string, c Console, p PgBouncer) {
	if c.User != "" && !adminName.MatchString(c.User) {
		r.wrong(at+".user", "is not a name for admin_users", "letters, digits, '_', '.' and '-', at most 63")
	}
	if e := c.Credentials; e != nil && e.Env != nil && e.Env.UserVar != "" {
		r.wrong(at+".credentials.env.userVar", "has no meaning for the console", "console.user is the user, since admin_users has to name it")
	}
	r.login(at, c.PoolerLogin, p)
}

var (
	// tableName is [schema.]table, in names that every tool reads the same.
	tableName = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]{0,62}\.)?[A-Za-z_][A-Za-z0-9_]{0,62}$`)
	// hostPort is host, host:port, [IPv6] or [IPv6]:port.
	hostPort = regexp.MustCompile(`^(?:\[([^\]]+:[^\]]*)\]|([A-Za-z0-9_.-]+))(?::([0-9]+))?$`)
)

func (r *report) proof(at string, f Proof, p PgBouncer) {
	if f.Database != "" && !isDatabase(f.Database) {
		r.wrong(at+".database", "is not a database that applications use", "letters, digits, '_', '.' and '-', at most 63; pgbouncer is the console")
	}
	if f.Table != "" && !tableName.MatchString(f.Table) {
		r.wrong(at+".table", "is not a table", "table or schema.table: letters, digits and '_', first no digit")
	}
	if r.given(at + ".interval") {
		r.positive(at+".interval", f.Interval)
	}
	r.hostAndPort(at+".writerAddress", f.WriterAddress)
	r.hostAndPort(at+".readerAddress", f.ReaderAddress)
	if c := f.Credentials; c != nil && c.Env != nil && c.Env.UserVar == "" {
		r.wrong(at+".credentials.env.userVar", "is required", "the variable with the user that asks")
	}
	r.login(at, f.PoolerLogin, p)
}

// isDatabase tells whether a name is that of one database, and not of PgBouncer's console.
func isDatabase(name string) bool {
	return name != "*" && name != "pgbouncer" && len(name) <= maxLabel && entryName.MatchString(name)
}

// given tells whether the file has a key.
func (r *report) given(at string) bool {
	_, ok := r.places[at]
	return ok
}

func (r *report) hostAndPort(at, address string) {
	if address == "" {
		return
	}
	if _, port, ok := splitAddress(address); !ok {
		r.wrong(at, "is not host or host:port", "one DNS name or IP address")
	} else if n, _ := strconv.Atoi(port); port != "" && (n < 1 || n > 65535) {
		r.wrong(at, "has no port from 1 to 65535", "")
	}
}

// splitAddress parts host and port; a port that is not there is "". IPv6 alone needs no brackets.
func splitAddress(address string) (host, port string, ok bool) {
	if m := hostPort.FindStringSubmatch(address); m != nil {
		address, port = m[1]+m[2], m[3]
	}
	if _, err := netip.ParseAddr(address); err != nil && (strings.Contains(address, ":") || !hostName.MatchString(address)) {
		return "", "", false
	}
	return address, port, true
}

func joinAddress(host, port string) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + port
}

// login wants exactly one source, and TLS that both sides can agree on.
func (r *report) login(at string, l PoolerLogin, p PgBouncer) {
	c := l.Credentials
	if c == nil {
		c = &PoolerCredentials{}
	}
	used := r.oneSource(at, []source{
		{"authSecretRef", l.AuthSecretRef != nil}, {"credentials.env", c.Env != nil}, {"credentials.file", c.File != nil},
	})
	if len(used) == 0 {
		r.wrong(at, "has no source of credentials", "authSecretRef, or credentials with env or file")
	}
	if l.AuthSecretRef != nil {
		r.object(at+".authSecretRef.name", l.AuthSecretRef.Name)
	}
	if c.Env != nil {
		r.variable(at+".credentials.env.userVar", c.Env.UserVar)
		r.variable(at+".credentials.env.passwordVar", c.Env.PasswordVar)
	}
	r.tls(at, l.SSLMode, p.Config.PgBouncer)
	for _, o := range p.InstanceOverrides {
		if _, differs := o.Config.PgBouncer[clientTLS]; differs {
			r.tls(at, l.SSLMode, o.Config.PgBouncer)
		}
	}
}

// clientTLS is the key with what PgBouncer asks of its clients; without it, it speaks no TLS with them.
const clientTLS = "client_tls_sslmode"

// tls refuses what no handshake can bring together.
func (r *report) tls(at, ours string, options map[string]Scalar) {
	theirs := option(options, clientTLS)
	switch {
	case strings.HasPrefix(theirs, "verify-"):
		r.wrong(at, "cannot log in where "+clientTLS+" is "+theirs, "poolwright has no client certificate to show: require asks for none")
	case theirs == "require" && ours == "disable":
		r.wrong(at+".sslMode", "is disable, and "+clientTLS+" is require", "prefer, require, verify-ca or verify-full")
	case (theirs == "" || theirs == "disable") && slices.Contains([]string{"require", "verify-ca", "verify-full"}, ours):
		r.wrong(at+".sslMode", "is "+ours+", and PgBouncer speaks no TLS with its clients", "set "+clientTLS+" in spec.pgbouncer.config.pgbouncer, or use prefer")
	}
}
