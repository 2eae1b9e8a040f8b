package main

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// statusPatch is the pod's status as a strategic merge patch, as a kubelet sends
// it. It differs when the pod does not have that status already.
func statusPatch(pod *corev1.Pod, address string, ready bool, restarts int32) (patch []byte, differs bool) {
	status := corev1.PodStatus{
		Phase:  corev1.PodRunning,
		HostIP: nodeAddress, HostIPs: []corev1.HostIP{{IP: nodeAddress}},
		PodIP: address, PodIPs: []corev1.PodIP{{IP: address}},
		StartTime: pod.Status.StartTime,
	}
	if status.StartTime == nil {
		status.StartTime = new(metav1.Now())
	}
	differs = pod.Status.Phase != status.Phase || pod.Status.PodIP != address || len(pod.Status.ContainerStatuses) == 0 ||
		pod.Status.ContainerStatuses[0].RestartCount != restarts
	for _, c := range []struct {
		kind  corev1.PodConditionType
		holds bool
	}{
		{corev1.PodReadyToStartContainers, true},
		{corev1.PodInitialized, true},
		{corev1.ContainersReady, ready},
		{corev1.PodReady, ready},
	} {
		condition, changed := conditionOf(pod, c.kind, c.holds)
		status.Conditions = append(status.Conditions, condition)
		differs = differs || changed
	}
	for _, c := range pod.Spec.Containers {
		status.ContainerStatuses = append(status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, ImageID: c.Image, ContainerID: "process://" + string(pod.UID) + "/" + c.Name,
			Ready: ready, Started: new(true), RestartCount: restarts,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: *status.StartTime}},
		})
	}
	patch, err := json.Marshal(struct {
		Metadata struct {
			UID types.UID `json:"uid"`
		} `json:"metadata"`
		Status corev1.PodStatus `json:"status"`
	}{struct {
		UID types.UID `json:"uid"`
	}{pod.UID}, status})
	if err != nil {
		panic(err) // these types always have JSON
	}
	return patch, differs
}

func conditionOf(pod *corev1.Pod, kind corev1.PodConditionType, holds bool) (c corev1.PodCondition, changed bool) {
	status := corev1.ConditionFalse
	if holds {
		status = corev1.ConditionTrue
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == kind && c.Status == status {
			return c, false
		}
	}
	return corev1.PodCondition{Type: kind, Status: status, LastTransitionTime: metav1.Now()}, true
}
