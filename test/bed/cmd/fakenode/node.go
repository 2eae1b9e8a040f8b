package main

import (
	"context"
	"log"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

const (
	leaseNamespace = "kube-node-lease"
	leaseSeconds   = int32(40)
)

// heartbeats keep the node registered and Ready. The first comes at once and is
// tried again every 100 ms: the lease's namespace may not be there yet.
func heartbeats(ctx context.Context, client kubernetes.Interface) {
	for {
		pause := 10 * time.Second
		if err := heartbeat(ctx, client); err != nil {
			log.Print("heartbeat: ", err)
			pause = 100 * time.Millisecond
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

func heartbeat(ctx context.Context, client kubernetes.Interface) error {
	nodes := client.CoreV1().Nodes()
	node, err := nodes.Get(ctx, nodeName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		// A new node keeps the status that it is created with: it is Ready at once.
		_, err = nodes.Create(ctx, describe(&corev1.Node{}), metav1.CreateOptions{})
	} else if err == nil {
		_, err = nodes.UpdateStatus(ctx, describe(node), metav1.UpdateOptions{})
	}
	if err != nil {
		return err
	}
	return renew(ctx, client)
}

func renew(ctx context.Context, client kubernetes.Interface) error {
	leases := client.CoordinationV1().Leases(leaseNamespace)
	spec := coordinationv1.LeaseSpec{
		HolderIdentity:       new(nodeName),
		LeaseDurationSeconds: new(leaseSeconds),
		RenewTime:            new(metav1.NowMicro()),
	}
	lease, err := leases.Get(ctx, nodeName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		meta := metav1.ObjectMeta{Name: nodeName, Namespace: leaseNamespace}
		_, err = leases.Create(ctx, &coordinationv1.Lease{ObjectMeta: meta, Spec: spec}, metav1.CreateOptions{})
		return err
	}
	if err != nil {
		return err
	}
	lease.Spec = spec
	_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
	return err
}

func describe(node *corev1.Node) *corev1.Node {
	room := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("1000"),
		corev1.ResourceMemory: resource.MustParse("1000Gi"),
		corev1.ResourcePods:   resource.MustParse("1000"),
	}
	now := metav1.Now()
	node.Name = nodeName
	if node.Labels == nil {
		node.Labels = map[string]string{}
	}
	node.Labels[corev1.LabelHostname] = nodeName
	node.Labels[corev1.LabelOSStable] = "linux"
	node.Labels[corev1.LabelTopologyZone] = "zone-a"
	node.Status.Capacity, node.Status.Allocatable = room, room
	node.Status.Addresses = []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: nodeAddress}, {Type: corev1.NodeHostName, Address: nodeName},
	}
	node.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "Fake", LastHeartbeatTime: now, LastTransitionTime: now,
	}}
	return node
}
