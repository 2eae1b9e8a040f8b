package live

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/poolwright/poolwright/render"
)

// settleTime is how long a pod that has just become ready counts for nothing. The
// EndpointSlice controller has a watch of its own, which may be behind ours: a
// Service that is moved to the pod before would have nobody for a moment.
const settleTime = time.Second

// readiness counts ready pods, once others can be expected to know of them too.
type readiness struct {
	now  func() time.Time
	wake func()

	mu    sync.Mutex
	since map[types.UID]time.Time // nil before the first count
}

// count is the number of ready pods by instance. Those of the first count were ready before; those of the instance that the Writer Service
// selects now count at once, for nobody is moved to them: that it has somebody is a reason not to move to who has nobody.
func (r *readiness) count(pods []*corev1.Pod, serves string) map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, counts, next := r.now(), map[string]int{}, map[types.UID]time.Time{}
	for _, pod := range pods {
		if !IsReady(pod) {
			continue
		}
		since, known := r.since[pod.UID]
		if !known && r.since != nil {
			since = now
			time.AfterFunc(settleTime, r.wake)
		}
		instance := pod.Labels[render.LabelInstance]
		if next[pod.UID] = since; now.Sub(since) >= settleTime || instance == serves {
			counts[instance]++
		}
	}
	r.since = next
	return counts
}

// IsReady reports whether a pod is ready, and stays.
func IsReady(pod *corev1.Pod) bool {
	if pod.DeletionTimestamp != nil {
		return false
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
