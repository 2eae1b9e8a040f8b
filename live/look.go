package live

import (
	"context"
	"errors"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/poolwright/poolwright/render"
)

// Look reads every object once: one get of each, one list of the pods. What does
// not exist is absent from the Sight; pods that may not be listed are not seen
// (Ready is nil), and a control ConfigMap that may not be read is in ControlErr: in
// an emergency a person may have fewer rights than poolwright. Any other error ends
// it. A caller bounds it with ctx.
func Look(ctx context.Context, client kubernetes.Interface, names Names) (Sight, error) {
	o := objects{services: map[Role]*corev1.Service{}}
	for role, name := range names.Services {
		svc, err := got(client.CoreV1().Services(names.Namespace).Get(ctx, name, metav1.GetOptions{}))
		if err != nil {
			return Sight{}, fmt.Errorf("reading %s: %w", names.object("service", name), err)
		}
		if svc != nil {
			o.services[role] = svc
		}
	}
	var unread error
	for name, into := range map[string]**corev1.ConfigMap{names.Topology: &o.topology, ControlName(names.Cluster): &o.control} {
		found, err := got(client.CoreV1().ConfigMaps(names.Namespace).Get(ctx, name, metav1.GetOptions{}))
		if apierrors.IsForbidden(err) && into == &o.control {
			unread = err
			continue
		}
		if err != nil {
			return Sight{}, fmt.Errorf("reading %s: %w", names.object("configmap", name), err)
		}
		*into = found
	}
	pods, err := client.CoreV1().Pods(names.Namespace).List(ctx, metav1.ListOptions{LabelSelector: names.PodSelector()})
	if err != nil && !apierrors.IsForbidden(err) {
		return Sight{}, fmt.Errorf("listing %s: %w", names.pods(), err)
	}
	if err == nil {
		o.ready = map[string]int{}
		for i := range pods.Items {
			if IsReady(&pods.Items[i]) {
				o.ready[pods.Items[i].Labels[render.LabelInstance]]++
			}
		}
	}
	s := o.sight(names)
	if unread != nil {
		s.ControlErr = unread
	}
	return s, nil
}

// got turns "not found" into nil.
func got[T any](found *T, err error) (*T, error) {
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return found, err
}

func (n Names) object(kind, name string) string { return kind + " " + n.Namespace + "/" + name }

func (n Names) pods() string { return "pods of " + n.Namespace + "/" + n.Cluster }

// objects are the objects of a cluster as the API server gave them. What is nil does not exist.
type objects struct {
	services          map[Role]*corev1.Service
	topology, control *corev1.ConfigMap
	// ready pods by instance; nil when pods cannot be seen.
	ready map[string]int
}

// sight reads the objects.
func (o objects) sight(names Names) Sight {
	s := Sight{Names: names, Services: o.services, Ready: o.ready}
	if o.topology != nil {
		s.Topology = o.topology.Data
		if s.Topology == nil {
			s.Topology = map[string]string{}
		}
		s.Receipt = epochOf(s.Topology["epoch"])
	}
	switch c := o.control; {
	case c == nil:
	case !names.Own(c):
		s.ControlErr = foreign(c.Labels)
	default:
		s.Control, s.ControlErr = ParseControl(c.Data)
	}
	return s
}

// errForeign is about a ConfigMap that has the control ConfigMap's name, and is somebody else's.
var errForeign = errors.New("it is somebody else's")

func foreign(labels map[string]string) error {
	return fmt.Errorf("its label %s is %q: %w", render.LabelCluster, labels[render.LabelCluster], errForeign)
}

// ControlIsForeign reports whether the ConfigMap that has the name of the cluster's
// own is somebody else's. Nothing in it is believed, and it is not written.
func (s Sight) ControlIsForeign() bool { return errors.Is(s.ControlErr, errForeign) }

// same reports whether nothing has changed since p.
func (o objects) same(p objects) bool {
	return maps.EqualFunc(o.services, p.services, func(a, b *corev1.Service) bool { return a.ResourceVersion == b.ResourceVersion }) &&
		version(o.topology) == version(p.topology) && version(o.control) == version(p.control) &&
		(o.ready == nil) == (p.ready == nil) && maps.Equal(o.ready, p.ready)
}

func version(c *corev1.ConfigMap) string {
	if c == nil {
		return ""
	}
	return c.ResourceVersion
}
