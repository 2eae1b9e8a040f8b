package clusters

import (
	"strings"
	"testing"
)

func TestEffectiveVersion(t *testing.T) {
	for _, c := range []struct {
		image, declared string
		want            string
	}{
		{"pgbouncer:1.25.2", "", "1.25.2"},
		{"docker.io/edoburu/pgbouncer:v1.24.1-p1", "", "1.24.1"},
		{"registry:5000/bitnami/pgbouncer:1.24.1-debian-12-r0", "", "1.24.1"},
		{"pgbouncer:1.25.2@sha256:0123", "", "1.25.2"},
		{"registry:5000/pgbouncer", "", "unknown"},
		{"pgbouncer", "", "unknown"},
		{"pgbouncer:latest", "", "unknown"},
		{"pgbouncer:1.25", "", "unknown"},
		{"pgbouncer:stable-1.25.2", "", "unknown"},
		{"pgbouncer@sha256:0123", "", "unknown"},
		{"pgbouncer@sha256:0123", "1.25.2", "1.25.2"},
		{"platform/pooler:7.0.0", "1.23.1", "1.23.1"},
		{"pgbouncer:1.25.2", "new", "unknown"},
	} {
		got := "unknown"
		if v, ok := (PgBouncer{Image: c.image, Version: c.declared}).EffectiveVersion(); ok {
			got = v.String()
		}
		if got != c.want {
			t.Errorf("image %q, pgbouncerVersion %q: %s, want %s", c.image, c.declared, got, c.want)
		}
	}
}

func TestVersionsAreOrdered(t *testing.T) {
	order := []Version{{1, 9, 9}, {1, 18, 0}, {1, 23, 1}, {1, 24, 0}, {1, 24, 1}, {2, 0, 0}}
	for i, v := range order {
		for j, w := range order {
			if got := v.Compare(w); (got < 0) != (i < j) || (got > 0) != (i > j) {
				t.Errorf("%s against %s: %d", v, w, got)
			}
		}
	}
}

func TestAccessors(t *testing.T) {
	c := mustLoad(t, base+`    replicas: 2
    config: {pgbouncer: {listen_port: 6433}}
    instanceOverrides: [{name: example-pg-1, enabled: false}, {name: example-pg-2, replicas: 3}]
  services: {writer: {name: rw}}
  publish: {path: prod/example}
`)
	if c.Dir() != "prod/example" || c.WriterServiceName() != "example-pg-rw" || c.ReaderServiceName() != "example-pg-reader" || c.Spec.PgBouncer.ListenPort() != 6433 {
		t.Error(c.Dir(), c.WriterServiceName(), c.ReaderServiceName(), c.Spec.PgBouncer.ListenPort())
	}
	if dir := mustLoad(t, base).Dir(); dir != "clusters/example-pg" {
		t.Error(dir)
	}
	for _, want := range []struct {
		instance string
		enabled  bool
		replicas int
	}{{"example-pg-1", false, 2}, {"example-pg-2", true, 3}, {"example-pg-3", true, 2}} {
		o := c.Override(want.instance)
		if o.Name != want.instance || *o.Enabled != want.enabled || *o.Replicas != want.replicas {
			t.Errorf("%+v: enabled %t, %d replicas", want, *o.Enabled, *o.Replicas)
		}
	}
}

func TestServicesArePatchedAheadOfGitUnlessAPersonSaysNo(t *testing.T) {
	for text, want := range map[string]bool{
		"":                                     true,
		"  failover: {window: 1m}\n":           true,
		"  failover: {patchServices: true}\n":  true,
		"  failover: {patchServices: false}\n": false,
	} {
		c := mustLoad(t, base+text)
		if c.PatchesServices() != want || c.Spec.Failover.PatchServices == nil {
			t.Errorf("%q: %t", text, c.PatchesServices())
		}
	}
	if !(Cluster{}).PatchesServices() {
		t.Error("a cluster that says nothing is not patched")
	}
}

func TestArgoCDNamespace(t *testing.T) {
	for text, want := range map[string]string{"": "argocd", "  gitops: {}\n": "argocd", "  gitops: {argocdNamespace: gitops-system}\n": "gitops-system"} {
		if got := mustLoad(t, base+text).Spec.GitOps.ArgoCDNamespace; got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
	for _, bad := range []string{"Argo", "argo.cd", "argo cd", "-argocd", strings.Repeat("a", 64)} {
		problemAt(t, base+"  gitops: {argocdNamespace: '"+bad+"'}\n", "spec.gitops.argocdNamespace")
	}
	problemAt(t, base+"  gitops: {argoNamespace: argocd}\n", "spec.gitops.argoNamespace")
	problemAt(t, base+"  failover: {patchServices: 'false'}\n", "spec.failover.patchServices")
}
