package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kubernetes/third_party/forked/golang/expansion"
)

const (
	nobody = int64(65534)
	path   = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
)

// source reads what a pod refers to.
type source struct {
	client  kubernetes.Interface
	pod     *corev1.Pod
	address string
}

// containerOf writes the files of the pod's volumes below dir and says how its first container is run.
func containerOf(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod, address, dir string) (*container, error) {
	s := source{client: client, pod: pod, address: address}
	spec := pod.Spec.Containers[0]
	env, err := s.environment(ctx, spec.Env)
	if err != nil {
		return nil, err
	}
	c := &container{
		file: filepath.Join(dir, "container.json"), ID: string(pod.UID), Address: address,
		Dir: cmp.Or(spec.WorkingDir, "/"),
	}
	expand := expansion.MappingFuncFor(env)
	for _, word := range append(append([]string{}, spec.Command...), spec.Args...) {
		c.Command = append(c.Command, expansion.Expand(word, expand))
	}
	if len(spec.Command) == 0 {
		return nil, errors.New("no command: the image is not looked at")
	}
	for name, value := range env {
		c.Env = append(c.Env, name+"="+value)
	}
	c.identify(pod.Spec.SecurityContext, spec.SecurityContext)
	for _, v := range pod.Spec.Volumes {
		if err := s.write(ctx, filepath.Join(dir, "volumes", v.Name), v); err != nil {
			return nil, fmt.Errorf("volume %s: %w", v.Name, err)
		}
	}
	for _, m := range spec.VolumeMounts {
		from := filepath.Join(dir, "volumes", m.Name, m.SubPath)
		c.Mounts = append(c.Mounts, mount{Source: from, Target: m.MountPath, ReadOnly: m.ReadOnly})
	}
	content, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	return c, os.WriteFile(c.file, content, 0o600)
}

// identify takes the user and the rest from the pod's and the container's security contexts.
func (c *container) identify(pod *corev1.PodSecurityContext, own *corev1.SecurityContext) {
	pod, own = cmp.Or(pod, &corev1.PodSecurityContext{}), cmp.Or(own, &corev1.SecurityContext{})
	user, group := nobody, nobody
	for to, from := range map[*int64][]*int64{&user: {pod.RunAsUser, own.RunAsUser}, &group: {pod.RunAsGroup, own.RunAsGroup}} {
		for _, id := range from {
			if id != nil {
				*to = *id
			}
		}
	}
	c.User, c.Group = int(user), int(group)
	c.ReadOnly = own.ReadOnlyRootFilesystem != nil && *own.ReadOnlyRootFilesystem
}

func (s source) environment(ctx context.Context, vars []corev1.EnvVar) (map[string]string, error) {
	env := map[string]string{"PATH": path, "HOME": "/", "HOSTNAME": s.pod.Name, "POD_IP": s.address, "POD_NAME": s.pod.Name}
	for _, v := range vars {
		value := expansion.Expand(v.Value, expansion.MappingFuncFor(env))
		if v.ValueFrom != nil {
			var err error
			if value, err = s.value(ctx, *v.ValueFrom); err != nil {
				return nil, fmt.Errorf("variable %s: %w", v.Name, err)
			}
		}
		env[v.Name] = value
	}
	return env, nil
}

func (s source) value(ctx context.Context, from corev1.EnvVarSource) (string, error) {
	switch {
	case from.FieldRef != nil:
		return s.field(from.FieldRef.FieldPath)
	case from.ConfigMapKeyRef != nil:
		data, err := s.configMap(ctx, from.ConfigMapKeyRef.Name, from.ConfigMapKeyRef.Optional)
		return string(data[from.ConfigMapKeyRef.Key]), err
	case from.SecretKeyRef != nil:
		data, err := s.secret(ctx, from.SecretKeyRef.Name, from.SecretKeyRef.Optional)
		return string(data[from.SecretKeyRef.Key]), err
	}
	return "", errors.New("not a source that fakenode knows")
}

func (s source) field(path string) (string, error) {
	if key, ok := strings.CutPrefix(path, "metadata.labels['"); ok {
		return s.pod.Labels[strings.TrimSuffix(key, "']")], nil
	}
	value, ok := map[string]string{
		"metadata.name": s.pod.Name, "metadata.namespace": s.pod.Namespace, "metadata.uid": string(s.pod.UID),
		"spec.nodeName": nodeName, "status.podIP": s.address, "status.hostIP": nodeAddress,
	}[path]
	if !ok {
		return "", fmt.Errorf("not a field that fakenode knows: %s", path)
	}
	return value, nil
}

// write makes the directory of a volume.
func (s source) write(ctx context.Context, dir string, v corev1.Volume) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	switch {
	case v.EmptyDir != nil:
		return os.Chmod(dir, 0o777)
	case v.ConfigMap != nil:
		data, err := s.configMap(ctx, v.ConfigMap.Name, v.ConfigMap.Optional)
		return errors.Join(err, s.files(dir, data, v.ConfigMap.Items, v.ConfigMap.DefaultMode))
	case v.Secret != nil:
		data, err := s.secret(ctx, v.Secret.SecretName, v.Secret.Optional)
		return errors.Join(err, s.files(dir, data, v.Secret.Items, v.Secret.DefaultMode))
	case v.Projected != nil:
		return s.project(ctx, dir, *v.Projected)
	}
	return errors.New("not a kind of volume that fakenode knows")
}

// project writes ConfigMaps and Secrets into one directory. Tokens of service accounts are left out.
func (s source) project(ctx context.Context, dir string, v corev1.ProjectedVolumeSource) error {
	for _, from := range v.Sources {
		var data map[string][]byte
		var items []corev1.KeyToPath
		var err error
		switch {
		case from.ConfigMap != nil:
			data, err = s.configMap(ctx, from.ConfigMap.Name, from.ConfigMap.Optional)
			items = from.ConfigMap.Items
		case from.Secret != nil:
			data, err = s.secret(ctx, from.Secret.Name, from.Secret.Optional)
			items = from.Secret.Items
		}
		if err := errors.Join(err, s.files(dir, data, items, v.DefaultMode)); err != nil {
			return err
		}
	}
	return nil
}

// files writes the keys of data, or the items of it when there are any.
func (s source) files(dir string, data map[string][]byte, items []corev1.KeyToPath, mode *int32) error {
	if len(items) == 0 {
		for key := range data {
			items = append(items, corev1.KeyToPath{Key: key, Path: key})
		}
	}
	if data == nil {
		return nil // optional, and not there
	}
	for _, item := range items {
		content, ok := data[item.Key]
		if !ok {
			return fmt.Errorf("no key %q", item.Key)
		}
		perm := os.FileMode(*cmp.Or(item.Mode, mode, new(int32(0o644))))
		file := filepath.Join(dir, item.Path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, content, perm); err != nil {
			return err
		}
		if err := s.own(file, perm); err != nil {
			return err
		}
	}
	return nil
}

// own lets the pod's group read the file, as a kubelet does.
func (s source) own(file string, perm os.FileMode) error {
	if c := s.pod.Spec.SecurityContext; c != nil && c.FSGroup != nil {
		return errors.Join(os.Chown(file, 0, int(*c.FSGroup)), os.Chmod(file, perm|0o440))
	}
	return os.Chmod(file, perm)
}

func (s source) configMap(ctx context.Context, name string, optional *bool) (map[string][]byte, error) {
	object, err := s.client.CoreV1().ConfigMaps(s.pod.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, unless(optional, err)
	}
	data := maps.Clone(object.BinaryData)
	if data == nil {
		data = map[string][]byte{}
	}
	for key, value := range object.Data {
		data[key] = []byte(value)
	}
	return data, nil
}

func (s source) secret(ctx context.Context, name string, optional *bool) (map[string][]byte, error) {
	object, err := s.client.CoreV1().Secrets(s.pod.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, unless(optional, err)
	}
	return object.Data, nil
}

// unless: an optional object may be missing.
func unless(optional *bool, err error) error {
	if apierrors.IsNotFound(err) && optional != nil && *optional {
		return nil
	}
	return err
}
