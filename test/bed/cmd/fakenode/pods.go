package main

import (
	"context"
	"fmt"
	"log"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

const (
	readyAnnotation = "bed.poolwright.dev/ready"
	runAnnotation   = "bed.poolwright.dev/run"
)

// pods are the pods of the node. Each has a goroutine that alone acts on it.
type pods struct {
	client kubernetes.Interface
	dir    string

	mu        sync.Mutex
	seen      map[types.UID]chan *corev1.Pod // holds the newest state that the goroutine has not seen; closed when gone
	addresses map[string]types.UID
	last      int
}

func newPods(client kubernetes.Interface, dir string) *pods {
	return &pods{client: client, dir: dir, seen: map[types.UID]chan *corev1.Pod{}, addresses: map[string]types.UID{}}
}

// keepAddress keeps the address of a pod that an earlier fakenode gave it.
func (p *pods) keepAddress(pod *corev1.Pod) {
	if pod.Status.PodIP != "" {
		p.addresses[pod.Status.PodIP] = pod.UID
	}
}

// address is the pod's address, or a free one. It needs p.mu.
func (p *pods) address(pod *corev1.Pod) string {
	if p.addresses[pod.Status.PodIP] == pod.UID {
		return pod.Status.PodIP
	}
	for {
		p.last = p.last%(250*250) + 1
		a := fmt.Sprintf("10.244.%d.%d", 1+p.last/250, 1+p.last%250)
		if _, taken := p.addresses[a]; !taken {
			p.addresses[a] = pod.UID
			return a
		}
	}
}

// saw passes the pod's state on to its goroutine.
func (p *pods) saw(ctx context.Context, pod *corev1.Pod) {
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	states, known := p.seen[pod.UID]
	if !known {
		states = make(chan *corev1.Pod, 1)
		p.seen[pod.UID] = states
		w := &worker{client: p.client, dir: p.dir, address: p.address(pod), states: states}
		go w.work(ctx)
	}
	select {
	case <-states: // older
	default:
	}
	states <- pod
}

// gone lets the pod's goroutine end.
func (p *pods) gone(o any) {
	if unknown, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = unknown.Obj
	}
	pod, ok := o.(*corev1.Pod)
	if !ok {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if states, known := p.seen[pod.UID]; known {
		close(states)
		delete(p.seen, pod.UID)
	}
	for address, uid := range p.addresses {
		if uid == pod.UID {
			delete(p.addresses, address)
		}
	}
}

// worker acts on one pod.
type worker struct {
	client  kubernetes.Interface
	dir     string
	address string
	states  <-chan *corev1.Pod

	process *process // when the pod asks for one
}

// work follows the pod until it is gone.
func (w *worker) work(ctx context.Context) {
	var pod *corev1.Pod
	listens := make(chan bool)
	for {
		select {
		case next, there := <-w.states:
			if !there || next.DeletionTimestamp != nil {
				w.end(ctx, next)
				return
			}
			if pod == nil && next.Annotations[runAnnotation] == "true" {
				w.process = startProcess(ctx, w, next, listens)
			}
			pod = next
		case up := <-listens:
			w.process.listens = up
		}
		w.report(ctx, pod)
	}
}

// report writes the pod's status when it is not what it should be, again and again until that succeeds.
func (w *worker) report(ctx context.Context, pod *corev1.Pod) {
	ready := pod.Annotations[readyAnnotation] != "false"
	restarts := int32(0)
	if w.process != nil {
		ready = ready && w.process.listens
		restarts = w.process.restarts.Load()
	}
	patch, differs := statusPatch(pod, w.address, ready, restarts)
	if !differs {
		return
	}
	for {
		_, err := w.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
		// A conflict or an invalid patch is about the uid: another pod has the name by now.
		if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) || apierrors.IsInvalid(err) || ctx.Err() != nil {
			return
		}
		log.Printf("%s/%s: status: %v", pod.Namespace, pod.Name, err)
		time.Sleep(100 * time.Millisecond)
	}
}

// end ends the pod's process, in its grace period, and then the pod. It is nil
// when the API has no such pod any more.
func (w *worker) end(ctx context.Context, pod *corev1.Pod) {
	if w.process != nil {
		w.process.end(pod)
	}
	for pod != nil {
		err := w.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
			GracePeriodSeconds: new(int64(0)), Preconditions: &metav1.Preconditions{UID: &pod.UID},
		})
		if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) || ctx.Err() != nil {
			return
		}
		log.Printf("%s/%s: deleting: %v", pod.Namespace, pod.Name, err)
		time.Sleep(100 * time.Millisecond)
	}
}
