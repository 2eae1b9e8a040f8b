package live

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/poolwright/poolwright/render"
)

// Names are the objects of one cluster that are read or written.
type Names struct {
	Cluster, Namespace string
	// Services by role. In a global secondary there is no Writer.
	Services map[Role]string
	// Topology is the rendered ConfigMap that serves as receipt.
	Topology string
}

// Own reports whether an object is the cluster's own, by its label.
func (n Names) Own(o metav1.Object) bool {
	return o.GetLabels()[render.LabelCluster] == render.LabelValue(n.Cluster)
}

// PodSelector selects the pods of the cluster.
func (n Names) PodSelector() string {
	return labels.Set{render.LabelCluster: render.LabelValue(n.Cluster)}.String()
}

// Sight is what is seen of one cluster in Kubernetes. Objects are not to be changed.
type Sight struct {
	Names Names
	// Services that exist, by role.
	Services map[Role]*corev1.Service
	// Receipt is the epoch in the topology ConfigMap: the GitOps tool has applied that commit. 0: none.
	Receipt uint64
	// Topology is that ConfigMap's data, nil when it does not exist: the declared state as far as applied.
	Topology map[string]string
	Control  Control
	// ControlErr is what could not be read of it.
	ControlErr error
	// Ready is the number of ready pods by the value of their instance label; nil when pods cannot be seen.
	Ready map[string]int
}
