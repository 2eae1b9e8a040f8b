package clusters

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// imageReference is [registry[:port]/]repository[:tag][@digest]. Only the registry may have upper case letters.
var imageReference = regexp.MustCompile(`^(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::[0-9]+)?/)?` +
	`[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*` +
	`(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@[a-z0-9]+:[0-9a-fA-F]{32,})?$`)

const (
	notImage  = "is not an image reference"
	imageHint = "such as registry.example.com/pgbouncer:1.25.2; only the registry may have upper case letters"
)

func isImage(text string) bool { return imageReference.MatchString(text) }

// podContainer is the one container that is poolwright's.
const podContainer = "pgbouncer"

// containers checks the names and images of sidecars.
func (r *report) containers(at string, sidecars []Object) {
	seen := map[string]bool{podContainer: true}
	for i, c := range sidecars {
		item := fmt.Sprintf("%s[%d]", at, i)
		name, _ := c["name"].(string)
		r.label(item+".name", name)
		if seen[name] {
			r.wrong(item+".name", "is the name of another container of the pod", "every container needs a name of its own, and "+podContainer+" is taken")
		}
		seen[name] = name != ""
		if image, has := c["image"].(string); has && !isImage(image) {
			r.wrong(item+".image", notImage, imageHint)
		}
	}
}

// ownVolume starts the names of the volumes that poolwright adds.
const ownVolume = "poolwright-"

// volumes checks names, and that what is mounted is there.
func (r *report) volumes(at string, p PgBouncer) {
	known := map[string]bool{}
	for i, v := range p.Volumes {
		item := fmt.Sprintf("%s.volumes[%d].name", at, i)
		name, _ := v["name"].(string)
		r.label(item, name)
		switch {
		case strings.HasPrefix(name, ownVolume):
			r.wrong(item, "is one of poolwright's own names", "choose one that does not start with "+ownVolume)
		case name != "" && known[name]:
			r.wrong(item, "is the name of an earlier volume too", "")
		}
		known[name] = name != ""
	}
	delete(known, "")
	for _, name := range ownVolumes(p.Config.PgBouncer) {
		known[name] = true
	}
	r.mounts(at+".volumeMounts", objectsOf(p.VolumeMounts), known)
	for i, c := range p.Sidecars {
		list, _ := c["volumeMounts"].([]any)
		r.mounts(fmt.Sprintf("%s.sidecars[%d].volumeMounts", at, i), list, known)
	}
}

func objectsOf(list []Object) (out []any) {
	for _, o := range list {
		out = append(out, map[string]any(o))
	}
	return out
}

func (r *report) mounts(at string, mounts []any, known map[string]bool) {
	for i, item := range mounts {
		m, _ := item.(map[string]any)
		if name, _ := m["name"].(string); name != "" && !known[name] {
			r.wrong(fmt.Sprintf("%s[%d].name", at, i), "names no volume", suggest(name, keys(known)))
		}
	}
}

// etcDir holds pgbouncer.ini in every pod.
const etcDir = "/etc/pgbouncer"

// ownVolumes are the volumes that the drawn pod has for PgBouncer's files: the ini, the auth file when it is elsewhere, and
// a writable directory for each path that PgBouncer writes to.
func ownVolumes(options map[string]Scalar) []string {
	names := []string{ownVolume + "config"}
	if path.Dir(path.Clean(option(options, "auth_file"))) != etcDir {
		names = append(names, ownVolume+"auth")
	}
	var dirs []string
	for _, key := range writtenKeys() {
		if dir, ok := writtenDir(key, option(options, key)); ok {
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs)
	for i := range slices.Compact(dirs) {
		names = append(names, ownVolume+"run-"+strconv.Itoa(i))
	}
	return names
}

// option is a value as pgbouncer.ini has it.
func option(options map[string]Scalar, key string) string {
	return strings.TrimSpace(string(options[key]))
}

// writtenKeys name what PgBouncer writes to.
func writtenKeys() []string { return []string{"logfile", "pidfile", "unix_socket_dir"} }

// writtenDir is the directory that has to be writable; an abstract socket has none.
func writtenDir(key, value string) (string, bool) {
	if value == "" || strings.HasPrefix(value, "@") {
		return "", false
	}
	if key == "unix_socket_dir" {
		return path.Clean(value), true
	}
	return path.Dir(path.Clean(value)), true
}

// systemDirs would take the image's own files away when mounted over.
func systemDirs() []string {
	return []string{"/", "/bin", "/dev", "/etc", "/lib", "/lib64", "/proc", "/sbin", "/sys", "/usr", "/usr/bin", "/usr/local/bin", "/usr/sbin"}
}

// files checks the paths whose directories are mounted.
func (r *report) files(at string, options map[string]Scalar) {
	auth := path.Clean(option(options, "auth_file"))
	const mounted = "the Secret of spec.pgbouncer.authFileSecretRef is mounted there: such as " + etcDir + "/userlist.txt"
	switch {
	case !path.IsAbs(auth):
		r.wrong(at+".auth_file", "is not an absolute path", mounted)
	case slices.Contains(systemDirs(), path.Dir(auth)):
		r.wrong(at+".auth_file", "is in a directory of the system, which a mount would hide", mounted)
	case auth == etcDir+"/pgbouncer.ini":
		r.wrong(at+".auth_file", "is the ini itself", mounted)
	}
	for _, key := range writtenKeys() {
		dir, ok := writtenDir(key, option(options, key))
		if ok && (!path.IsAbs(dir) || dir == etcDir || slices.Contains(systemDirs(), dir)) {
			r.wrong(at+"."+key, "needs a writable directory of its own", "an absolute path such as /run/pgbouncer")
		}
	}
}
