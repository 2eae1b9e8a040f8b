package live

import (
	"context"
	"slices"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcoordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

// AnnotationClusters on a Lease names the clusters that its holder keeps, "namespace/name", separated by commas.
const AnnotationClusters = "poolwright.dev/clusters"

// ClustersOn reads from a Lease which clusters its holder keeps, nil when it does not say.
func ClustersOn(lease *coordinationv1.Lease) (names []string) {
	for name := range strings.SplitSeq(lease.Annotations[AnnotationClusters], ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// telling are Leases that tell which clusters their holder keeps: client-go's lock writes no annotation of ours.
type telling struct {
	typedcoordinationv1.LeasesGetter
	h *Holder
}

// Leases is called by client-go's lock.
func (t telling) Leases(namespace string) typedcoordinationv1.LeaseInterface {
	return tellingIn{t.LeasesGetter.Leases(namespace), t.h}
}

type tellingIn struct {
	typedcoordinationv1.LeaseInterface
	h *Holder
}

// Get hears what the holder says.
func (t tellingIn) Get(ctx context.Context, name string, o metav1.GetOptions) (*coordinationv1.Lease, error) {
	lease, err := t.LeaseInterface.Get(ctx, name, o)
	if err == nil {
		t.h.mu.Lock()
		defer t.h.mu.Unlock()
		t.h.says = ClustersOn(lease)
	}
	return lease, err
}

// Create says what this process keeps.
func (t tellingIn) Create(ctx context.Context, lease *coordinationv1.Lease, o metav1.CreateOptions) (*coordinationv1.Lease, error) {
	return t.LeaseInterface.Create(ctx, t.h.tell(lease), o)
}

// Update says what this process keeps, or takes that away with a release.
func (t tellingIn) Update(ctx context.Context, lease *coordinationv1.Lease, o metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	return t.LeaseInterface.Update(ctx, t.h.tell(lease), o)
}

func (h *Holder) tell(lease *coordinationv1.Lease) *coordinationv1.Lease {
	var names []string
	if holder := lease.Spec.HolderIdentity; h.config.Clusters != nil && holder != nil && *holder == h.config.Identity {
		names = h.config.Clusters()
	}
	if slices.Equal(names, ClustersOn(lease)) {
		return lease
	}
	lease = lease.DeepCopy()
	delete(lease.Annotations, AnnotationClusters)
	if len(names) > 0 {
		metav1.SetMetaDataAnnotation(&lease.ObjectMeta, AnnotationClusters, strings.Join(names, ","))
	}
	return lease
}
