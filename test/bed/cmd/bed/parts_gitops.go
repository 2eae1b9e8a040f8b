package main

import (
	"os"
	"strings"
)

const (
	gitopsNamespaces = `apiVersion: v1
kind: Namespace
metadata: {name: NAME}
`
	// argoSetup is what Argo CD does not run without.
	argoSetup = `apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cm, namespace: argocd, labels: {app.kubernetes.io/part-of: argocd}}
data: {timeout.reconciliation: 5s, timeout.reconciliation.jitter: 0s}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-rbac-cm, namespace: argocd, labels: {app.kubernetes.io/part-of: argocd}}
---
apiVersion: v1
kind: Secret
metadata: {name: argocd-secret, namespace: argocd, labels: {app.kubernetes.io/part-of: argocd}}
stringData: {server.secretkey: a-key-of-the-test-bed}
---
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: default, namespace: argocd}
spec:
  sourceRepos: ["*"]
  destinations: [{namespace: "*", server: "*"}]
  clusterResourceWhitelist: [{group: "*", kind: "*"}]
`
	// argoVerify stands for a script of Argo CD's image: it annotates the revision
	// with its signature, and is called with signature checks off, too.
	argoVerify = "#!/bin/sh\nexit 0\n"
)

func (f fleet) sourceController() spec {
	return spec{
		name: "source-controller", ready: f.ask.get("http://127.0.0.1:9792/readyz"), env: f.fluxEnv("source-controller"),
		argv: append([]string{
			f.bin("source-controller"), "--storage-path=" + f.path("flux"),
			"--storage-addr=127.0.0.1:9790", "--storage-adv-addr=127.0.0.1:9790",
			"--metrics-addr=127.0.0.1:9791", "--health-addr=127.0.0.1:9792",
		}, fluxAlone()...),
	}
}

func (f fleet) kustomizeController() spec {
	return spec{
		name: "kustomize-controller", ready: f.ask.get("http://127.0.0.1:9794/readyz"), env: f.fluxEnv("kustomize-controller"),
		argv: append([]string{
			f.bin("kustomize-controller"), "--metrics-addr=127.0.0.1:9793", "--health-addr=127.0.0.1:9794",
		}, fluxAlone()...),
	}
}

func (f fleet) fluxEnv(user string) []string {
	return []string{"RUNTIME_NAMESPACE=flux-system", "KUBECONFIG=" + f.kubeconfig(user)}
}

// fluxAlone: no notification-controller to tell, and no second one to elect against.
func fluxAlone() []string { return []string{"--events-addr=", "--enable-leader-election=false"} }

func (f fleet) redis() spec {
	return spec{name: "redis", ready: dials("127.0.0.1:6379"), argv: []string{
		"redis-server", "--bind", "127.0.0.1", "--port", "6379", "--save", "", "--appendonly", "no", "--dir", f.path("argo", "tmp"),
	}}
}

func (f fleet) argoRepo() spec {
	return spec{name: "argo-repo", ready: f.ask.get("http://127.0.0.1:8084/healthz"), env: f.argoEnv("argo-repo"), argv: []string{
		f.bin("argo"), "repo-server", "--address", "127.0.0.1", "--port", "8081",
		"--metrics-address", "127.0.0.1", "--metrics-port", "8084", "--redis", "127.0.0.1:6379",
		"--disable-tls", "--client-ca-path=", // without TLS it still looks for a CA
	}}
}

func (f fleet) argoController() spec {
	return spec{name: "argo-controller", ready: f.ask.get("http://127.0.0.1:8082/healthz"), env: f.argoEnv("argo-controller"), argv: []string{
		f.bin("argo"), "application-controller", "--kubeconfig", f.kubeconfig("argo-controller"), "-n", "argocd",
		"--repo-server", "127.0.0.1:8081", "--repo-server-plaintext", "--redis", "127.0.0.1:6379", "--metrics-port", "8082",
	}}
}

// argoEnv: https://kubernetes.default.svc means this API server; Git is looked at
// every 5 s, and seen at once: the revision cache lives as long as that interval.
func (f fleet) argoEnv(user string) []string {
	return []string{
		"PATH=" + f.path("argo", "bin") + ":" + os.Getenv("PATH"), "KUBECONFIG=" + f.kubeconfig(user),
		"ARGOCD_FAKE_IN_CLUSTER=true", "ARGOCD_GPG_ENABLED=false",
		"ARGOCD_TLS_DATA_PATH=" + f.path("argo", "tls"), "ARGOCD_SSH_DATA_PATH=" + f.path("argo", "ssh"),
		"ARGOCD_GNUPGHOME=" + f.path("argo", "gpg"), "ARGOCD_PLUGINSOCKFILEPATH=" + f.path("argo", "plugins"),
		"TMPDIR=" + f.path("argo", "tmp"),
		"ARGOCD_RECONCILIATION_TIMEOUT=5s", "ARGOCD_RECONCILIATION_JITTER=0s",
	}
}

func (f fleet) configureArgo() error {
	for _, sub := range []string{"bin", "tls", "ssh", "gpg", "plugins", "tmp"} {
		if err := os.MkdirAll(f.path("argo", sub), 0o700); err != nil {
			return err
		}
	}
	if err := os.WriteFile(f.path("argo", "ssh", "ssh_known_hosts"), nil, 0o600); err != nil {
		return err
	}
	return os.WriteFile(f.path("argo", "bin", "git-verify-wrapper.sh"), []byte(argoVerify), 0o755)
}

func namespace(name string) string { return strings.ReplaceAll(gitopsNamespaces, "NAME", name) }
