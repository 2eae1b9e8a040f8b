package cmd

import (
	"errors"
	"fmt"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	bare "k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/poolwright/poolwright/clusters"
	"github.com/poolwright/poolwright/live"
	"github.com/poolwright/poolwright/render"
)

// KubeFlags say which Kubernetes is meant, as kubectl does.
type KubeFlags struct {
	Kubeconfig string `placeholder:"FILE" help:"The kubeconfig; default $KUBECONFIG, the pod's service account, or ~/.kube/config."`
	Context    string `placeholder:"NAME" help:"The context in it; default the current one."`
}

// kube is Kubernetes in reach.
type kube struct {
	kubernetes.Interface
	Dynamic dynamic.Interface
	// Metadata reads objects without their content.
	Metadata bare.Interface
	// Namespace is the current one: of the context, or of the pod.
	Namespace string
	// User is how the kubeconfig calls whoever is asking, "" in a pod.
	User string
}

// errNoKube says that nothing names a Kubernetes.
var errNoKube = errors.New("connecting to Kubernetes: there is no kubeconfig, and this is no pod")

// connect makes the clients. Nothing is asked yet. Requests are not throttled on
// this side: in a failover none may wait, and the loops bound themselves.
func (f KubeFlags) connect() (kube, error) { return f.connectAs("") }

// connectAs is connect as another user, "" for oneself.
func (f KubeFlags) connectAs(user string) (kube, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.Kubeconfig
	load := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: f.Context})
	config, err := load.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return kube{}, errNoKube
	}
	if err != nil {
		return kube{}, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	namespace, _, err := load.Namespace()
	if err != nil {
		return kube{}, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.Impersonate.UserName = user
	k, err := clientsOf(config)
	k.Namespace, k.User = namespace, userOf(load)
	return k, err
}

func clientsOf(config *rest.Config) (kube, error) {
	config.QPS = -1
	config.UserAgent = "poolwright"
	config.WarningHandler = rest.NoWarnings{} // they are for authors of manifests
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		return kube{}, fmt.Errorf("connecting to Kubernetes: %w", err)
	}
	loose, err := dynamic.NewForConfig(config)
	if err != nil {
		return kube{}, fmt.Errorf("connecting to Kubernetes: %w", err)
	}
	outline, err := bare.NewForConfig(config)
	if err != nil {
		return kube{}, fmt.Errorf("connecting to Kubernetes: %w", err)
	}
	return kube{Interface: typed, Dynamic: loose, Metadata: outline}, nil
}

// userOf is the name of the current context's user.
func userOf(load clientcmd.ClientConfig) string {
	raw, err := load.RawConfig()
	if err != nil || raw.Contexts[raw.CurrentContext] == nil {
		return ""
	}
	return raw.Contexts[raw.CurrentContext].AuthInfo
}

// namesOf are the objects of a declared cluster.
func namesOf(c clusters.Cluster) live.Names {
	services := map[live.Role]string{live.Writer: c.WriterServiceName(), live.Reader: c.ReaderServiceName()}
	if c.Spec.Discovery.Mode == "global-secondary" {
		delete(services, live.Writer)
	}
	return live.Names{Cluster: c.Metadata.Name, Namespace: c.Metadata.Namespace, Services: services, Topology: render.TopologyName(c)}
}
