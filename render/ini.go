package render

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/poolwright/poolwright/clusters"
	"github.com/poolwright/poolwright/plan"
)

// An ini is drawn from three maps, of which the later wins: defaults, yours (the cluster's, then the
// instance's), forced. What PgBouncer's version does not know is never a default.

// settings is one section's entry: key to value.
type settings = map[string]clusters.Scalar

// defaults carries what incidents taught. Every key is in PgBouncer 1.18, unless knownSince says
// otherwise; Load adds auth_type, auth_file, listen_addr and listen_port.
func defaults(p clusters.PgBouncer, v clusters.Version) settings {
	all := settings{
		"dns_max_ttl":               "5",    // bounds the cache; never the way a failover is done
		"ignore_startup_parameters": "",     // a union, see unionKey
		"listen_backlog":            "4096", // all clients come back at once after a failover
		"max_prepared_statements":   "0",    // pinned: 1.24 turned it on by itself
		"server_connect_timeout":    "3",    // default 15 s
		"server_login_retry":        "1",    // default 15 s of failing clients after a short hiccup
		"tcp_keepalive":             "1",    // sockets can be dead in silence after a failover
		"tcp_keepcnt":               "3",
		"tcp_keepidle":              "10",
		"tcp_keepintvl":             "3",
		"tcp_user_timeout":          "5000", // milliseconds
		"unix_socket_dir":           "",     // the root filesystem is read-only
	}
	if p.ClientTimeout > 0 {
		all["query_wait_timeout"] = waitBelow(time.Duration(p.ClientTimeout))
	}
	maps.DeleteFunc(all, func(k string, _ clusters.Scalar) bool {
		since, gated := knownSince[k]
		return gated && v.Compare(since) < 0
	})
	return all
}

// longestWait is PgBouncer's own default of query_wait_timeout, in seconds: nobody waits longer for a declared timeout.
const longestWait = 120

// waitBelow is three quarters of the applications' timeout, in whole seconds: whoever queues gets an answer while
// the application still listens, PgBouncer looking about three times a second. Load wants at least 2 s.
func waitBelow(timeout time.Duration) clusters.Scalar {
	return clusters.Scalar(strconv.Itoa(min(int((timeout / 4 * 3).Seconds()), longestWait)))
}

// knownSince gates what PgBouncer exits at when it is too old.
var knownSince = map[string]clusters.Version{
	"max_prepared_statements": {Major: 1, Minor: 21},
	"[peers]":                 {Major: 1, Minor: 19},
}

// unionKey is a list: the last of two lines would win, so there is one line with all of it.
const unionKey = "ignore_startup_parameters"

// adminKey is a list too; but a person's is taken as it would stand in the ini: an override's in the place of the cluster's.
const adminKey = "admin_users"

// alwaysIgnored is sent by most drivers.
const alwaysIgnored = "extra_float_digits"

// globalOnly are settings that base/ or a Service follows: one value for all instances.
var globalOnly = []string{"auth_file", "listen_addr", "listen_port", "logfile", "pidfile", "unix_socket_dir"}

// forced points a database at the instance, whatever was written.
func forced(m plan.Member) settings {
	return settings{"host": clusters.Scalar(m.Host), "port": clusters.Scalar(strconv.Itoa(m.Port))}
}

// ini is pgbouncer.ini before it is written: section, entry, settings. [pgbouncer] has one entry, "".
type ini map[string]map[string]settings

const (
	sectionDatabases = "databases"
	sectionPgBouncer = "pgbouncer"
	sectionPeers     = "peers"
	sectionUsers     = "users"
)

// mergeIni applies the three maps for one instance.
func mergeIni(c clusters.Cluster, m plan.Member) (ini, error) {
	version, ok := c.Spec.PgBouncer.EffectiveVersion()
	if !ok {
		return nil, errors.New("the version of PgBouncer is not known: set pgbouncerVersion")
	}
	yours, its := c.Spec.PgBouncer.Config, c.Override(m.Name).Config
	for _, k := range globalOnly {
		if _, set := its.PgBouncer[k]; set {
			return nil, fmt.Errorf("%s is one setting for all instances, not for an override", k)
		}
	}
	main, err := mergeMain(c, version, its)
	if err != nil {
		return nil, err
	}
	databases := mergedEntries(map[string]settings{"*": {}}, yours.Databases, its.Databases)
	for name := range databases {
		maps.Copy(databases[name], forced(m))
	}
	f := ini{
		sectionDatabases: databases,
		sectionPgBouncer: {"": main},
		sectionUsers:     mergedEntries(yours.Users, its.Users),
		sectionPeers:     mergedEntries(yours.Peers, its.Peers),
	}
	if len(f[sectionPeers]) > 0 && version.Compare(knownSince["[peers]"]) < 0 {
		return nil, fmt.Errorf("PgBouncer %s has no section [peers], 1.19 has", version)
	}
	return f, nil
}

// mergeMain is section [pgbouncer] of one instance.
func mergeMain(c clusters.Cluster, version clusters.Version, its clusters.Config) (settings, error) {
	yours := c.Spec.PgBouncer.Config
	main := merged(defaults(c.Spec.PgBouncer, version), yours.PgBouncer, its.PgBouncer)
	if console := c.Spec.Failover.Console; console != nil {
		main[adminKey] = withAdmin(main[adminKey], console.User)
	}
	union, err := ignored(yours.PgBouncer[unionKey], its.PgBouncer[unionKey])
	main[unionKey] = union
	return main, err
}

// withAdmin adds poolwright's own administrator to a person's, sorted, each once. PgBouncer parts the names at commas and blanks.
func withAdmin(theirs clusters.Scalar, ours string) clusters.Scalar {
	all := strings.FieldsFunc(string(theirs), func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	all = append(all, ours)
	slices.Sort(all)
	return clusters.Scalar(strings.Join(slices.Compact(all), ","))
}

// ignored joins lists of startup parameters, sorted, each once.
func ignored(lists ...clusters.Scalar) (clusters.Scalar, error) {
	all := []string{alwaysIgnored}
	for _, list := range lists {
		for name := range strings.SplitSeq(string(list), ",") {
			name = strings.TrimSpace(name)
			if strings.ContainsAny(name, " \t") {
				return "", fmt.Errorf("%s: %q: names are separated by commas, PgBouncer takes this for one name", unionKey, name)
			}
			if name != "" {
				all = append(all, name)
			}
		}
	}
	slices.Sort(all)
	return clusters.Scalar(strings.Join(slices.Compact(all), ",")), nil
}

func merged(layers ...settings) settings {
	all := settings{}
	for _, layer := range layers {
		maps.Copy(all, layer)
	}
	return all
}

func mergedEntries(layers ...map[string]settings) map[string]settings {
	all := map[string]settings{}
	for _, layer := range layers {
		for name, entry := range layer {
			all[name] = merged(all[name], entry)
		}
	}
	return all
}

// drawIni writes an instance's pgbouncer.ini.
func drawIni(c clusters.Cluster, m plan.Member) ([]byte, error) {
	f, err := mergeIni(c, m)
	if err != nil {
		return nil, err
	}
	w := iniWriter{}
	fmt.Fprintln(&w.out, header)
	w.entries(sectionDatabases, f[sectionDatabases])
	w.main(f[sectionPgBouncer][""])
	w.entries(sectionUsers, f[sectionUsers])
	w.entries(sectionPeers, f[sectionPeers])
	if err := errors.Join(w.wrong...); err != nil {
		return nil, err
	}
	return w.out.Bytes(), nil
}

// iniWriter writes sorted sections, and collects what cannot be written.
type iniWriter struct {
	out   bytes.Buffer
	wrong []error
}

func (w *iniWriter) refuse(section, entry, key, why string) {
	where := strings.Trim(entry+"."+key, ".")
	w.wrong = append(w.wrong, fmt.Errorf("pgbouncer.ini [%s] %s: %s", section, where, why))
}

// main writes key = value lines. PgBouncer takes the value to the end of the line, without blanks around it.
func (w *iniWriter) main(s settings) {
	fmt.Fprintf(&w.out, "\n[%s]\n", sectionPgBouncer)
	for _, key := range slices.Sorted(maps.Keys(s)) {
		if value, ok := w.clean(sectionPgBouncer, "", key, s[key]); ok {
			fmt.Fprintln(&w.out, strings.TrimRight(key+" = "+value, " "))
		}
	}
}

// entries writes name = key=value key=value lines: host and port first, the rest sorted.
func (w *iniWriter) entries(section string, all map[string]settings) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(&w.out, "\n[%s]\n", section)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !entryName.MatchString(name) {
			w.refuse(section, strconv.Quote(name), "", `PgBouncer reads letters, digits and _.- here, and takes no quotes; entry "*" serves any name`)
			continue
		}
		var line strings.Builder
		line.WriteString(name + " =")
		for _, key := range slices.SortedFunc(maps.Keys(all[name]), hostFirst) {
			if value, ok := w.clean(section, name, key, all[name][key]); ok {
				line.WriteString(" " + key + "=" + quoted(value))
			}
		}
		fmt.Fprintln(&w.out, line.String())
	}
}

func hostFirst(a, b string) int {
	order := func(k string) int { return slices.Index([]string{"host", "port"}, k) & 3 } // -1, the rest, is 3
	if d := order(a) - order(b); d != 0 {
		return d
	}
	return strings.Compare(a, b)
}

var (
	iniKey = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)
	// entryName is what PgBouncer's reader takes left of =, whatever its manual says about quotes:
	// 1.18 exits at a quoted name.
	entryName = regexp.MustCompile(`^([A-Za-z0-9_.-]+|\*)$`)
	// bareValue has nothing that anybody's idea of a blank could end.
	bareValue = regexp.MustCompile(`^[A-Za-z0-9_.,:/@+*-]+$`)
	// secretText finds a password in a text that is not a SELECT of the column.
	secretText = regexp.MustCompile(`(?i)password\s*['=]`)
)

// clean is a value that may stand in a line of its own. A credential never may: a ConfigMap is no
// place for it, and Git forgets nothing. The value is not in the message.
func (w *iniWriter) clean(section, entry, key string, v clusters.Scalar) (string, bool) {
	value := strings.TrimSpace(string(v))
	switch {
	case !iniKey.MatchString(key):
		w.refuse(section, entry, strconv.Quote(key), "not the name of a setting")
	case key == "password" || section != sectionPgBouncer && secretText.MatchString(value):
		w.refuse(section, entry, key, "a credential does not go to Git: put it into the Secret of authFileSecretRef")
	case badText(value):
		w.refuse(section, entry, key, "a line break, another control character, or no UTF-8")
	default:
		return value, true
	}
	return "", false
}

// quoted is a value of a connection string: single quotes around it when needed, doubled inside.
func quoted(v string) string {
	if bareValue.MatchString(v) {
		return v
	}
	return "'" + strings.ReplaceAll(v, "'", "''") + "'"
}
