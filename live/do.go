package live

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/poolwright/poolwright/render"
)

// Do makes one write. The tests in a Service's patch hold it back when the world
// has moved since it was decided. [CodeOf] says what an error means. A caller
// bounds it with ctx.
func Do(ctx context.Context, client kubernetes.Interface, names Names, w Write) error {
	_, err := do(ctx, client, names, w)
	return err
}

// do makes one write and returns the object as it is then, nil when there is none.
func do(ctx context.Context, client kubernetes.Interface, names Names, w Write) (metav1.Object, error) {
	switch w.Kind {
	case Mirror:
		return orNil(putControl(ctx, client, names, map[string]string{keyOverride: w.Record.String()}))
	case Forget:
		return orNil(putControl(ctx, client, names, nil, keyOverride))
	default:
		return orNil(patchService(ctx, client, names, w))
	}
}

// orNil keeps a nil pointer from becoming an object.
func orNil[T any, P interface {
	*T
	metav1.Object
}](object P, err error) (metav1.Object, error) {
	if object == nil || err != nil {
		return nil, err
	}
	return object, nil
}

func patchService(ctx context.Context, client kubernetes.Interface, names Names, w Write) (*corev1.Service, error) {
	patch, err := json.Marshal(w.Patch)
	if err != nil {
		return nil, fmt.Errorf("encoding the patch of %s: %w", names.object("service", w.Name), err)
	}
	return client.CoreV1().Services(names.Namespace).Patch(ctx, w.Name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: FieldManager})
}

// PutControl sets values in the control ConfigMap, which need not exist, and removes keys. Other keys are left alone. A ConfigMap
// of that name that is somebody else's is not written. [CodeOf] says what an error means. A caller bounds it with ctx.
func PutControl(ctx context.Context, client kubernetes.Interface, names Names, set map[string]string, remove ...string) error {
	_, err := putControl(ctx, client, names, set, remove...)
	return err
}

func putControl(ctx context.Context, client kubernetes.Interface, names Names, set map[string]string, remove ...string) (*corev1.ConfigMap, error) {
	configMaps := client.CoreV1().ConfigMaps(names.Namespace)
	have, err := got(configMaps.Get(ctx, ControlName(names.Cluster), metav1.GetOptions{}))
	switch {
	case err != nil:
		return nil, err
	case have == nil && len(set) == 0:
		return nil, nil
	case have == nil:
		return configMaps.Create(ctx, newControl(names, set), metav1.CreateOptions{FieldManager: FieldManager})
	case !names.Own(have):
		return nil, foreign(have.Labels)
	}
	patch := controlPatch(have, set, remove)
	return configMaps.Patch(ctx, have.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: FieldManager})
}

// newControl is the control ConfigMap of a cluster.
func newControl(names Names, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: ControlName(names.Cluster), Namespace: names.Namespace,
			Labels: map[string]string{"app.kubernetes.io/managed-by": "poolwright", render.LabelCluster: render.LabelValue(names.Cluster)},
		},
		Data: data,
	}
}

// controlPatch is a merge patch that holds only for the ConfigMap that was read, not for another of its name.
func controlPatch(have *corev1.ConfigMap, set map[string]string, remove []string) []byte {
	data := map[string]*string{}
	for _, key := range remove {
		data[key] = nil
	}
	for key, value := range set {
		data[key] = &value
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": have.UID}, "data": data})
	if err != nil {
		panic(err) // strings
	}
	return patch
}
