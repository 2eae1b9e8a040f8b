package main

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func podWith(uid, address string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: uid, Namespace: "ns", UID: types.UID(uid)},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		Status:     corev1.PodStatus{PodIP: address},
	}
}

func TestNoTwoPodsHaveOneAddress(t *testing.T) {
	p := newPods(nil, "")
	old := podWith("old", "10.244.1.3")
	p.keepAddress(old)
	seen := map[string]bool{}
	for range 1000 {
		a := p.address(podWith("new", ""))
		if seen[a] || a == old.Status.PodIP {
			t.Fatalf("%s was given twice", a)
		}
		seen[a] = true
	}
	if got := p.address(old); got != old.Status.PodIP {
		t.Errorf("the address of a pod changed from %s to %s", old.Status.PodIP, got)
	}
	p.gone(old)
	if _, taken := p.addresses[old.Status.PodIP]; taken {
		t.Error("the address of a pod that is gone is still taken")
	}
}

func TestStatusIsWrittenOnceForEachChange(t *testing.T) {
	pod := podWith("u", "")
	for _, step := range []struct {
		ready    bool
		restarts int32
		want     bool
	}{
		{true, 0, true},
		{true, 0, false},
		{false, 0, true},
		{false, 0, false},
		{false, 1, true},
		{false, 1, false},
		{true, 1, true},
	} {
		before := conditions(pod)
		patch, differs := statusPatch(pod, "10.244.1.2", step.ready, step.restarts)
		if differs != step.want {
			t.Fatalf("%+v: differs is %v", step, differs)
		}
		var patched corev1.Pod
		if err := json.Unmarshal(patch, &patched); err != nil {
			t.Fatal(err)
		}
		if patched.UID != pod.UID || patched.Status.PodIP != "10.244.1.2" || patched.Status.Phase != corev1.PodRunning {
			t.Fatalf("%+v: the patch is %s", step, patch)
		}
		after := conditions(&patched)
		if got := after[corev1.PodReady].Status == corev1.ConditionTrue; got != step.ready {
			t.Errorf("%+v: ready is %v", step, got)
		}
		for kind, was := range before {
			if was.Status == after[kind].Status && was != after[kind] {
				t.Errorf("%+v: %s did not change, yet its condition did", step, kind)
			}
		}
		pod.Status = patched.Status
	}
}

func conditions(pod *corev1.Pod) map[corev1.PodConditionType]corev1.PodCondition {
	all := map[corev1.PodConditionType]corev1.PodCondition{}
	for _, c := range pod.Status.Conditions {
		all[c.Type] = c
	}
	return all
}
