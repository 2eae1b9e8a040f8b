package clusters

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func (r *report) pgbouncer(p PgBouncer) {
	const at = "spec.pgbouncer"
	r.image(at, p)
	r.containers(at+".sidecars", p.Sidecars)
	r.volumes(at, p)
	r.object(at+".authFileSecretRef.name", p.AuthFileSecretRef.Name)
	r.object(at+".serviceAccountName", p.ServiceAccountName)
	r.object(at+".priorityClassName", p.PriorityClassName)
	r.object(at+".runtimeClassName", p.RuntimeClassName)
	for i, s := range p.ImagePullSecrets {
		r.object(fmt.Sprintf("%s.imagePullSecrets[%d].name", at, i), s.Name)
	}
	r.labels(at+".labels", p.Labels)
	r.labelKeys(at+".annotations", p.Annotations)
	r.labels(at+".nodeSelector", p.NodeSelector)
	r.config(at+".config", p.Config)
	r.global(at+".config.pgbouncer", p.Config.PgBouncer)
	r.overrides(at+".instanceOverrides", p.InstanceOverrides)
	r.leaving(at, p)
	r.waiting(at, p)
	r.environment(at+".sidecars", p.Sidecars)
}

// versionPath is where a missing version is reported, for Import to know it.
const versionPath = "spec.pgbouncer.pgbouncerVersion"

// imagePath is where a bad image is reported, for Import to know it.
const imagePath = "spec.pgbouncer.image"

func (r *report) image(at string, p PgBouncer) {
	if _, given := r.places[versionPath]; !given {
		r.places[versionPath] = r.places[at+".image"] // the line to look at
	}
	_, known := p.EffectiveVersion()
	switch {
	case p.Image == "":
	case !isImage(p.Image):
		r.wrong(imagePath, notImage, imageHint)
	case !known && p.Version != "":
		r.wrong(versionPath, "is not a full version", "such as 1.25.2")
	case !known:
		r.wrong(versionPath, "is required, because the image's tag does not tell the version of PgBouncer", `such as pgbouncerVersion: "1.25.2"`)
	}
}

// optionKey is what stands left of = in an ini line or a connection string.
var optionKey = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// entryName is what PgBouncer reads left of = in the sections of entries; it takes no quotes there.
var entryName = regexp.MustCompile(`^([A-Za-z0-9_.-]+|\*)$`)

// secretText finds a password in the value of an entry, even one by reference: PgBouncer resolves none.
var secretText = regexp.MustCompile(`(?i)password\s*['=]`)

// config checks the keys of all sections; the values are scalars on one line already.
func (r *report) config(at string, c Config) {
	r.options(at+".pgbouncer", c.PgBouncer)
	r.section(at+".databases", c.Databases)
	r.section(at+".users", c.Users)
	r.section(at+".peers", c.Peers)
	for _, name := range keys(c.Databases) {
		r.address(join(at+".databases", name), c.Databases[name])
	}
}

func (r *report) section(at string, entries map[string]map[string]Scalar) {
	for _, name := range keys(entries) {
		entry := join(at, name)
		if !entryName.MatchString(name) {
			r.wrong(entry, "is not a name for pgbouncer.ini", "letters, digits, '_', '.' and '-', or * for any; PgBouncer takes no quotes here")
		}
		r.options(entry, entries[name])
		for _, k := range keys(entries[name]) {
			if secretText.MatchString(string(entries[name][k])) {
				r.refuse(join(entry, k), holdsCredential, "put it into userlist.txt of the Secret that spec.pgbouncer.authFileSecretRef names")
			}
		}
	}
}

func (r *report) options(at string, options map[string]Scalar) {
	for _, k := range keys(options) {
		lower := strings.ToLower(k)
		switch {
		case strings.Contains(lower, "passw") || strings.Contains(lower, "userlist"):
			r.refuse(join(at, k), holdsCredential, "put it into userlist.txt of the Secret that spec.pgbouncer.authFileSecretRef names")
		case !optionKey.MatchString(k):
			r.wrong(join(at, k), "is not a key of pgbouncer.ini", "lower case letters, digits and '_'")
		}
	}
}

// address: every entry of [databases] leads to the one instance of its pooler.
func (r *report) address(at string, options map[string]Scalar) {
	for _, k := range []string{"host", "port"} {
		if _, ok := options[k]; ok {
			r.refuse(join(at, k), "cannot be set", "every instance's pooler leads to that instance; spec.discovery.port is the port")
		}
	}
}

// globalOnly are the keys of [pgbouncer] that Services, probes and mounts depend on.
func globalOnly() []string {
	return []string{"auth_file", "listen_addr", "listen_port", "logfile", "pidfile", "unix_socket_dir"}
}

func (r *report) global(at string, options map[string]Scalar) {
	if port, err := strconv.Atoi(string(options["listen_port"])); err != nil || port < 1 || port > 65535 {
		r.refuse(at+".listen_port", "must be from 1 to 65535", "")
	}
	r.files(at, options)
}

func (r *report) overrides(at string, overrides []InstanceOverride) {
	var seen []string
	for i, o := range overrides {
		item := fmt.Sprintf("%s[%d]", at, i)
		r.label(item+".name", o.Name)
		if slices.Contains(seen, o.Name) {
			r.wrong(item+".name", "is the name of an earlier override too", "put both into one")
		}
		seen = append(seen, o.Name)
		r.config(item+".config", o.Config)
		for _, k := range globalOnly() {
			if _, ok := o.Config.PgBouncer[k]; ok {
				r.refuse(join(item+".config.pgbouncer", k), "cannot differ between instances", "set it in spec.pgbouncer.config.pgbouncer")
			}
		}
	}
}
