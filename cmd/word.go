package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/poolwright/poolwright/live"
	"github.com/poolwright/poolwright/render"

	authenticationv1 "k8s.io/api/authentication/v1"
)

// word is what a person says to a cluster: keys of the control ConfigMap with
// their new values. nil takes one back.
type word map[string]any

// The keys of the control ConfigMap that people write.
const (
	wordOrder  = "order"
	wordPause  = "pause"
	wordResume = "resume"
)

// wordManager is the field manager of the control ConfigMap.
const wordManager = "poolwright"

// say writes a word to the control ConfigMap, which is made when it is missing.
// Each key is written alone: a mirror that is written meanwhile stays.
func (s site) say(ctx context.Context, w word) error {
	data := map[string]any{}
	for key, value := range w {
		if data[key] = nil; value == nil {
			continue
		}
		text, err := json.Marshal(value)
		if err != nil {
			return fmt.Errorf("writing down %s: %w", key, err)
		}
		data[key] = string(text)
	}
	return writeControl(ctx, s.kube, s.names, data)
}

// writeControl merges data into the control ConfigMap.
func writeControl(ctx context.Context, client kubernetes.Interface, names live.Names, data map[string]any) error {
	name := live.ControlName(names.Cluster)
	doing := fmt.Sprintf("writing configmap %s/%s", names.Namespace, name)
	have, err := haveControl(ctx, client, names, name)
	switch {
	case err != nil:
		return apiProblem(err, doing)
	case !isOurs(have, names.Cluster):
		return exitf(ExitRefused, "", "%s: it has no label %s=%s, so it is somebody else's and is not touched", doing, render.LabelCluster, render.LabelValue(names.Cluster))
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": have.UID}, "data": data})
	if err == nil {
		_, err = client.CoreV1().ConfigMaps(names.Namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: wordManager})
	}
	if err != nil {
		return apiProblem(err, doing)
	}
	return nil
}

// haveControl reads the control ConfigMap, and makes it when it is missing.
func haveControl(ctx context.Context, client kubernetes.Interface, names live.Names, name string) (*corev1.ConfigMap, error) {
	maps := client.CoreV1().ConfigMaps(names.Namespace)
	have, err := maps.Get(ctx, name, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		return have, err
	}
	have, err = maps.Create(ctx, newControl(names, name), metav1.CreateOptions{FieldManager: wordManager})
	if apierrors.IsAlreadyExists(err) {
		return maps.Get(ctx, name, metav1.GetOptions{})
	}
	return have, err
}

// newControl is the ConfigMap before anything is said.
func newControl(names live.Names, name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: names.Namespace,
		Labels: map[string]string{"app.kubernetes.io/managed-by": "poolwright", render.LabelCluster: render.LabelValue(names.Cluster)},
	}}
}

// whoami is how the API server calls whoever is asking; else how the kubeconfig does.
func (s site) whoami(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	review, err := s.kube.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	switch {
	case err == nil && review.Status.UserInfo.Username != "":
		return review.Status.UserInfo.Username
	case s.kube.User != "":
		return s.kube.User
	}
	return "somebody"
}
