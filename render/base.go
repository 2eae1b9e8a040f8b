package render

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/poolwright/poolwright/clusters"
	"github.com/poolwright/poolwright/plan"
)

const (
	etcDir = "/etc/pgbouncer"
	// ConfigVolume holds an instance's ini, and the auth file beside it.
	ConfigVolume = "poolwright-config"
	authVolume   = "poolwright-auth"
	secretKey    = "userlist.txt"
	// nobody is a user id that needs no entry in the image's passwd.
	nobody      = 65532
	probePeriod = 10
)

// baseView is everything that all instances share.
type baseView struct {
	Header              string
	Cluster, ClusterKey string
	Labels, Annotations []pair
	ServiceAnnotations  []pair
	ServiceType         string
	Replicas, Port      int
	PodLabels           []pair
	PodAnnotations      []pair
	PodSpec, Container  []field
	Image, IniPath      string
	PreStop             string
	VolumeMounts        []any
	Sidecars, Volumes   []any
	ConfigVolume        string
}

// field is one optional key of a Kubernetes object.
type field struct {
	Key   string
	Value any
}

// drawBase adds base/ to a tree.
func drawBase(t Tree, c clusters.Cluster) error {
	v, err := viewBase(c)
	if err != nil {
		return err
	}
	for _, name := range []string{"deployment", "kustomization", "poddisruptionbudget", "service"} {
		data, err := execute("base."+name+".yaml.tmpl", v)
		if err != nil {
			return err
		}
		t[path.Join(baseDir, name+".yaml")] = data
	}
	return nil
}

func viewBase(c clusters.Cluster) (baseView, error) {
	p := c.Spec.PgBouncer
	files, err := filesOf(p)
	if err != nil {
		return baseView{}, err
	}
	v := baseView{
		Header: header, Cluster: LabelValue(c.Metadata.Name), ClusterKey: LabelCluster,
		Labels: pairs(objectLabels(c)), Annotations: pairs(theirs(c.Metadata.Annotations)),
		ServiceAnnotations: pairs(theirs(c.Metadata.Annotations), theirs(c.Spec.Services.PerInstances.Annotations)),
		ServiceType:        c.Spec.Services.PerInstances.Type,
		Replicas:           *p.Replicas, Port: p.ListenPort(),
		PodLabels:      append(pairs(theirs(p.Labels), podLabels(c)), slotLabels()...),
		PodAnnotations: pairs(theirs(p.Annotations)),
		PodSpec:        podSpec(p), Container: container(p),
		Image: p.Image, IniPath: path.Join(etcDir, iniFile), PreStop: preStop(p),
		VolumeMounts: append(files.mounts, others(p.VolumeMounts, files.mounts, "name", "mountPath")...),
		Volumes:      append(files.volumes, others(p.Volumes, append(files.volumes, map[string]any{"name": ConfigVolume}), "name")...),
		ConfigVolume: ConfigVolume, Sidecars: objects(p.Sidecars),
	}
	return v, nil
}

// podLabels are in every pod from its template, forever. The overlay adds the instance.
func podLabels(c clusters.Cluster) map[string]string {
	return map[string]string{
		"app.kubernetes.io/name":       "pgbouncer",
		"app.kubernetes.io/managed-by": "poolwright",
		LabelCluster:                   LabelValue(c.Metadata.Name),
	}
}

// slotLabels say out for every slot, in order. The overlay takes its own away.
func slotLabels() []pair {
	list := make([]pair, plan.Slots)
	for n := range list {
		list[n] = pair{SlotLabel(n), SlotOut}
	}
	return list
}

// podSpec is the optional and the hardened part of the pod, sorted by key.
func podSpec(p clusters.PgBouncer) []field {
	return present(map[string]any{
		"affinity":                      map[string]any(p.Affinity),
		"automountServiceAccountToken":  automount(p),
		"enableServiceLinks":            false,
		"imagePullSecrets":              secretRefs(p.ImagePullSecrets),
		"nodeSelector":                  textMap(p.NodeSelector),
		"priorityClassName":             p.PriorityClassName,
		"runtimeClassName":              p.RuntimeClassName,
		"securityContext":               over(podSecurity(), p.PodSecurityContext),
		"serviceAccountName":            p.ServiceAccountName,
		"terminationGracePeriodSeconds": *p.TerminationGracePeriodSeconds,
		"tolerations":                   objects(p.Tolerations),
		"topologySpreadConstraints":     objects(p.TopologySpreadConstraints),
	})
}

// automount is false unless a person chose a ServiceAccount: PgBouncer does not talk to the API.
func automount(p clusters.PgBouncer) any {
	if p.ServiceAccountName != "" {
		return nil
	}
	return false
}

// preStop lets a pod that leaves drain. SIGTERM is no use for it: before 1.23 it ends the process in the middle of
// transactions; since 1.23 it waits for the last client, and the end of the grace period then does the same. So the pod
// goes on as if nothing were (its console too, through which clients are evicted), and is sent SIGINT, which in each version
// lets transactions end and no other begin, and exits. The last sleep keeps SIGTERM away until then.
func preStop(p clusters.PgBouncer) string {
	drain := p.DrainTime()
	rest := max(p.GracePeriod()-drain, 0)
	return fmt.Sprintf("sleep %d; kill -INT 1; sleep %d", int(drain.Seconds()), int(rest.Seconds()))
}

func podSecurity() map[string]any {
	return map[string]any{
		"runAsNonRoot": true, "runAsUser": nobody, "runAsGroup": nobody,
		"seccompProfile": map[string]any{"type": "RuntimeDefault"},
	}
}

// container is the optional and the hardened part of the container, sorted by key.
func container(p clusters.PgBouncer) []field {
	return present(map[string]any{
		"livenessProbe":  probe(p.LivenessProbe, liveness(p)),
		"readinessProbe": probe(p.ReadinessProbe, readiness()),
		"resources":      map[string]any(p.Resources),
		"securityContext": over(map[string]any{
			"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
			"capabilities": map[string]any{"drop": []any{"ALL"}},
		}, p.ContainerSecurityContext),
	})
}

// liveness asks the process itself and nothing behind it. It is slower than the grace period, so
// that it never kills a pod that is draining.
func liveness(p clusters.PgBouncer) map[string]any {
	return map[string]any{
		"tcpSocket":        map[string]any{"port": sectionPgBouncer},
		"periodSeconds":    probePeriod,
		"timeoutSeconds":   3,
		"failureThreshold": *p.TerminationGracePeriodSeconds/probePeriod + 2,
	}
}

func readiness() map[string]any {
	return map[string]any{
		"tcpSocket":      map[string]any{"port": sectionPgBouncer},
		"periodSeconds":  5,
		"timeoutSeconds": 3,
	}
}

// probe is the person's when there is one: a merge of two probes is no probe.
func probe(yours clusters.Object, otherwise map[string]any) map[string]any {
	if len(yours) > 0 {
		return yours
	}
	return otherwise
}

// over puts a person's keys over the defaults; null takes a default away.
func over(defaults map[string]any, yours clusters.Object) map[string]any {
	maps.Copy(defaults, yours)
	maps.DeleteFunc(defaults, func(_ string, v any) bool { return v == nil })
	return defaults
}

// present keeps the fields that have a value, sorted.
func present(all map[string]any) []field {
	var list []field
	for _, k := range slices.Sorted(maps.Keys(all)) {
		if v := all[k]; !empty(v) {
			list = append(list, field{k, v})
		}
	}
	return list
}

func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

func objects(list []clusters.Object) []any {
	out := make([]any, 0, len(list))
	for _, o := range list {
		out = append(out, map[string]any(o))
	}
	return out
}

func secretRefs(list []clusters.SecretRef) []any {
	out := make([]any, 0, len(list))
	for _, s := range list {
		out = append(out, map[string]any{"name": s.Name})
	}
	return out
}

func textMap(m map[string]string) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}

// others are a person's list entries that share none of the keys with one of ours: ours win.
func others(yours []clusters.Object, ours []any, keys ...string) []any {
	clash := func(o clusters.Object) bool {
		return slices.ContainsFunc(ours, func(our any) bool {
			return slices.ContainsFunc(keys, func(k string) bool { return o[k] != nil && o[k] == our.(map[string]any)[k] })
		})
	}
	return objects(slices.DeleteFunc(slices.Clone(yours), clash))
}

// podFiles are the volumes and mounts that PgBouncer's files need. Directories only: a subPath
// mount never changes again.
type podFiles struct{ volumes, mounts []any }

// filesOf mounts the ini and the auth file, which share a directory unless a person moved one,
// and a writable directory for each path that PgBouncer was told to write to.
func filesOf(p clusters.PgBouncer) (podFiles, error) {
	f := podFiles{mounts: []any{mount(ConfigVolume, etcDir, true)}}
	auth, err := authFile(p)
	if err != nil {
		return f, err
	}
	if dir := path.Dir(auth); dir != etcDir {
		f.volumes = append(f.volumes, map[string]any{"name": authVolume, "secret": secretSource("secretName", p, path.Base(auth))})
		f.mounts = append(f.mounts, mount(authVolume, dir, true))
	}
	dirs, err := writableDirs(p)
	if err != nil {
		return f, err
	}
	for i, dir := range dirs {
		name := "poolwright-run-" + strconv.Itoa(i)
		f.volumes = append(f.volumes, map[string]any{"name": name, "emptyDir": map[string]any{}})
		f.mounts = append(f.mounts, mount(name, dir, false))
	}
	return f, nil
}

func mount(name, dir string, readOnly bool) map[string]any {
	m := map[string]any{"name": name, "mountPath": dir}
	if readOnly {
		m["readOnly"] = true
	}
	return m
}

// secretSource names the auth file's Secret; nameKey differs between a volume and a projection.
func secretSource(nameKey string, p clusters.PgBouncer, file string) map[string]any {
	return map[string]any{
		nameKey: p.AuthFileSecretRef.Name,
		"items": []any{map[string]any{"key": secretKey, "path": file}},
	}
}

// setting is a value as drawIni writes it.
func setting(p clusters.PgBouncer, key string) string {
	return strings.TrimSpace(string(p.Config.PgBouncer[key]))
}

func authFile(p clusters.PgBouncer) (string, error) {
	file := path.Clean(setting(p, "auth_file"))
	if err := mountable(path.Dir(file)); err != nil {
		return "", fmt.Errorf("auth_file %s: %w", file, err)
	}
	if file == path.Join(etcDir, iniFile) {
		return "", fmt.Errorf("auth_file %s: that is the ini itself", file)
	}
	return file, nil
}

// writableDirs are the directories of pidfile, logfile and unix_socket_dir, when set: the root
// filesystem is read-only.
func writableDirs(p clusters.PgBouncer) ([]string, error) {
	var dirs []string
	for _, key := range []string{"logfile", "pidfile", "unix_socket_dir"} {
		value := setting(p, key)
		if value == "" || strings.HasPrefix(value, "@") { // an abstract socket has no directory
			continue
		}
		dir := path.Clean(value)
		if key != "unix_socket_dir" {
			dir = path.Dir(dir)
		}
		if err := mountable(dir); err != nil || dir == etcDir {
			return nil, fmt.Errorf("%s %s: a writable directory of its own is needed, such as /run/pgbouncer", key, value)
		}
		dirs = append(dirs, dir)
	}
	slices.Sort(dirs)
	return slices.Compact(dirs), nil
}

// systemDirs would take the image's own files away when mounted over.
var systemDirs = []string{"/", "/bin", "/dev", "/etc", "/lib", "/lib64", "/proc", "/sbin", "/sys", "/usr", "/usr/bin", "/usr/local/bin", "/usr/sbin"}

func mountable(dir string) error {
	if !path.IsAbs(dir) {
		return fmt.Errorf("%s is not an absolute path", dir)
	}
	if slices.Contains(systemDirs, dir) {
		return fmt.Errorf("mounting over %s would hide files of the image", dir)
	}
	return nil
}
