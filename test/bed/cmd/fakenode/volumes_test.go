package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

const aPod = `
metadata: {name: p, namespace: ns, uid: u, labels: {role: "x"}}
spec:
  securityContext: {runAsUser: 70, runAsGroup: 71}
  containers:
    - name: c
      command: [pgbouncer, -R, "$(ADDRESS):$(PORT)"]
      args: ["$(NOTHING)", "$$(PORT)"]
      securityContext: {runAsUser: 72, readOnlyRootFilesystem: true}
      env:
        - {name: PORT, value: "6432"}
        - {name: ADDRESS, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
        - {name: BOTH, value: "$(ADDRESS):$(PORT)"}
        - {name: ROLE, valueFrom: {fieldRef: {fieldPath: "metadata.labels['role']"}}}
        - {name: WORD, valueFrom: {secretKeyRef: {name: secret, key: word}}}
        - {name: NONE, valueFrom: {configMapKeyRef: {name: missing, key: k, optional: true}}}
      volumeMounts:
        - {name: ini, mountPath: /etc/pgbouncer, readOnly: true}
        - {name: secret, mountPath: /secret/word, subPath: the/word}
        - {name: scratch, mountPath: /scratch}
  volumes:
    - {name: ini, projected: {sources: [{configMap: {name: ini}}, {configMap: {name: missing, optional: true}}]}}
    - {name: secret, secret: {secretName: secret, defaultMode: 0400, items: [{key: word, path: the/word}]}}
    - {name: scratch, emptyDir: {}}
`

func TestContainerOfAPod(t *testing.T) {
	dir := t.TempDir()
	c, err := containerOf(t.Context(), clientOf(t, map[string]any{
		"/api/v1/namespaces/ns/configmaps/ini": corev1.ConfigMap{Data: map[string]string{"pgbouncer.ini": "[pgbouncer]\n"}},
		"/api/v1/namespaces/ns/secrets/secret": corev1.Secret{Data: map[string][]byte{"word": []byte("s3cret")}},
	}), podOf(t), "10.244.1.2", dir)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"pgbouncer", "-R", "10.244.1.2:6432", "$(NOTHING)", "$(PORT)"}; !slices.Equal(c.Command, want) {
		t.Errorf("the command is %q, want %q", c.Command, want)
	}
	for _, want := range []string{"BOTH=10.244.1.2:6432", "ROLE=x", "WORD=s3cret", "NONE=", "POD_IP=10.244.1.2"} {
		if !slices.Contains(c.Env, want) {
			t.Errorf("the environment is %q, want %s in it", c.Env, want)
		}
	}
	if c.User != 72 || c.Group != 71 || !c.ReadOnly {
		t.Errorf("it runs as %d:%d, root read-only %v; want 72:71, true", c.User, c.Group, c.ReadOnly)
	}
	ini, err := os.ReadFile(filepath.Join(c.Mounts[0].Source, "pgbouncer.ini"))
	if err != nil || string(ini) != "[pgbouncer]\n" || c.Mounts[0].Target != "/etc/pgbouncer" || !c.Mounts[0].ReadOnly {
		t.Errorf("the first mount is %+v with %q, %v", c.Mounts[0], ini, err)
	}
	info, err := os.Stat(c.Mounts[1].Source)
	if err != nil || info.Mode().Perm() != 0o400 {
		t.Errorf("the secret is %v, %v; want a file of mode 0400", info, err)
	}
	info, err = os.Stat(c.Mounts[2].Source)
	if err != nil || info.Mode().Perm() != 0o777 {
		t.Errorf("the empty directory is %v, %v; want mode 0777", info, err)
	}
}

func TestPodWaitsForWhatIsMissing(t *testing.T) {
	if c, err := containerOf(t.Context(), clientOf(t, nil), podOf(t), "10.244.1.2", t.TempDir()); err == nil {
		t.Errorf("without its ConfigMap and Secret it is %+v", c)
	}
}

func podOf(t *testing.T) *corev1.Pod {
	t.Helper()
	var pod corev1.Pod
	if err := yaml.UnmarshalStrict([]byte(aPod), &pod); err != nil {
		t.Fatal(err)
	}
	return &pod
}

// clientOf is a client of a server that has these objects.
func clientOf(t *testing.T, objects map[string]any) kubernetes.Interface {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer, ok := objects[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			answer = metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(server.Close)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
	if err != nil {
		t.Fatal(err)
	}
	return client
}
