package main

import (
	"os"
	"path/filepath"
)

// fleet knows where the parts of a world are and makes their specs.
type fleet struct {
	dir string
	ask asker
}

func (f fleet) path(elem ...string) string { return filepath.Join(append([]string{f.dir}, elem...)...) }

func (f fleet) bin(name string) string { return f.path("bin", name) }

func (f fleet) kubeconfig(user string) string { return f.path(user + ".kubeconfig") }

func (f fleet) etcd() spec {
	const client, peer = "http://127.0.0.1:2379", "http://127.0.0.1:2380"
	return spec{name: "etcd", ready: f.ask.get(client + "/health"), argv: apart(
		f.bin("etcd"), "--data-dir="+f.path("etcd"), "--log-level=warn",
		"--listen-client-urls="+client, "--advertise-client-urls="+client,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=default="+peer,
		"--unsafe-no-fsync", // it survives its own death, not the machine's
	)}
}

func (f fleet) apiserver() spec {
	return spec{name: "apiserver", ready: f.ask.get(server + "/readyz"), argv: apart(
		f.bin("kube"), "apiserver", "--etcd-servers=http://127.0.0.1:2379",
		"--bind-address=0.0.0.0", "--secure-port=6443", "--advertise-address=10.200.0.1",
		"--tls-cert-file="+f.path("pki", "apiserver.crt"), "--tls-private-key-file="+f.path("pki", "apiserver.key"),
		"--client-ca-file="+f.path("pki", "ca.crt"), "--token-auth-file="+f.path("pki", "tokens.csv"),
		"--authorization-mode=Node,RBAC", "--allow-privileged=true",
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file="+f.path("pki", "sa.pub"),
		"--service-account-signing-key-file="+f.path("pki", "sa.key"), "--service-cluster-ip-range=10.96.0.0/16",
		"--audit-policy-file="+f.path("pki", "audit.yaml"), "--audit-log-path="+f.path("audit.log"), "--audit-log-maxsize=2000",
	)}
}

// apart gives a part the processor when it wants it: a cluster's control plane
// has machines of its own, here it shares two cores with everything that it serves.
func apart(argv ...string) []string {
	return append([]string{"nice", "-n", "-10"}, argv...)
}

// auditPolicy makes one line for each request, when it is answered.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules: [{level: Metadata}]
`

func (f fleet) controllerManager() spec {
	return spec{name: "controller-manager", ready: f.ask.get("https://127.0.0.1:10257/healthz"), argv: append([]string{
		f.bin("kube"), "controller-manager", "--kubeconfig=" + f.kubeconfig("controller-manager"),
		"--use-service-account-credentials=true", "--service-account-private-key-file=" + f.path("pki", "sa.key"),
		"--root-ca-file=" + f.path("pki", "ca.crt"), "--allocate-node-cidrs=false", "--service-cluster-ip-range=10.96.0.0/16",
	}, f.servesAlone()...)}
}

func (f fleet) scheduler() spec {
	return spec{name: "scheduler", ready: f.ask.get("https://127.0.0.1:10259/healthz"), argv: append([]string{
		f.bin("kube"), "scheduler", "--kubeconfig=" + f.kubeconfig("scheduler"),
	}, f.servesAlone()...)}
}

// servesAlone: no second one to elect against, and the API server's certificate for the health check.
func (f fleet) servesAlone() []string {
	return []string{
		"--leader-elect=false", "--bind-address=127.0.0.1",
		"--tls-cert-file=" + f.path("pki", "apiserver.crt"), "--tls-private-key-file=" + f.path("pki", "apiserver.key"),
	}
}

func (f fleet) fakenode() spec {
	return spec{name: "fakenode", ready: f.ask.get("http://127.0.0.1:10248/healthz"), argv: []string{
		f.bin("fakenode"), "-kubeconfig", f.kubeconfig("fakenode"), "-dir", f.path("pods"), "-health", "127.0.0.1:10248",
	}}
}

func (f fleet) gitd() spec {
	return spec{name: "gitd", ready: f.ask.get("http://127.0.0.1:3000/healthz"), argv: []string{
		f.bin("gitd"), "-addr", "127.0.0.1:3000", "-root", f.path("git"),
	}}
}

func (f fleet) proxy() spec {
	return spec{name: "proxy", ready: f.ask.get("http://127.0.0.1:10256/healthz"), argv: []string{
		f.bin("kube"), "proxy", "--config=" + f.path("pki", "proxy.yaml"),
	}}
}

// proxyConfig keeps kube-proxy away from what the kernel does not let it set in here.
func (f fleet) proxyConfig() string {
	return `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
hostnameOverride: fake1
clientConnection: {kubeconfig: ` + f.kubeconfig("proxy") + `}
clusterCIDR: 10.244.0.0/16
bindAddress: 10.200.0.1
healthzBindAddress: 127.0.0.1:10256
metricsBindAddress: 127.0.0.1:10249
conntrack: {maxPerCore: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
`
}

// configure writes the files that the parts read.
func (f fleet) configure() error {
	for file, content := range map[string]string{
		f.path("pki", "audit.yaml"): auditPolicy,
		f.path("pki", "proxy.yaml"): f.proxyConfig(),
	} {
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			return err
		}
	}
	return writePKI(f.dir)
}
