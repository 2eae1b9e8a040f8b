package live

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
		return orNil(putControl(ctx, client, names, keyOverride, w.Record.String()))
	case Forget:
		return orNil(got(patchControl(ctx, client, names, keyOverride, nil)))
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

// putControl puts a value into the control ConfigMap, which need not exist.
func putControl(ctx context.Context, client kubernetes.Interface, names Names, key, value string) (*corev1.ConfigMap, error) {
	c, err := patchControl(ctx, client, names, key, &value)
	if !apierrors.IsNotFound(err) {
		return c, err
	}
	return client.CoreV1().ConfigMaps(names.Namespace).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: ControlName(names.Cluster), Namespace: names.Namespace,
			Labels: map[string]string{render.LabelCluster: render.LabelValue(names.Cluster)},
		},
		Data: map[string]string{key: value},
	}, metav1.CreateOptions{FieldManager: FieldManager})
}

// patchControl sets a value; nil removes it. The other keys are other people's.
func patchControl(ctx context.Context, client kubernetes.Interface, names Names, key string, value *string) (*corev1.ConfigMap, error) {
	patch, err := json.Marshal(map[string]map[string]*string{"data": {key: value}})
	if err != nil {
		panic(err) // a string
	}
	return client.CoreV1().ConfigMaps(names.Namespace).Patch(ctx, ControlName(names.Cluster), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: FieldManager})
}
