//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/poolwright/poolwright/test/driver"
)

// awaitRest waits until Git's epoch is applied and nothing is ahead of it: the writer stands alone behind its Service,
// and each instance has a ready pod.
func (c *cluster) awaitRest(writer string, epoch int) {
	c.t.Helper()
	want := strconv.Itoa(epoch)
	c.await(c.t, fmt.Sprintf("rest behind %s at epoch %d", writer, epoch), func() bool {
		return c.isHandedBack(want) && c.service("writer").instance() == writer && c.behind("story-writer") == writer &&
			c.ready("a") > 0 && c.ready("b") > 0 && c.ready("c") > 0 && c.isSettled()
	})
}

// isHandedBack reports whether Git owns both Services at an epoch. It needs the stage's mutex.
func (c *cluster) isHandedBack(epoch string) bool {
	for _, role := range []string{"writer", "reader"} {
		if svc := c.service(role); !svc.isClean() || svc.annotations[epochAnnotation] != epoch {
			return false
		}
	}
	return c.data("story-control")["override"] == "" && c.data("story-topology")["epoch"] == epoch
}

// awaitWriter waits until the live Writer Service selects an instance.
func (c *cluster) awaitWriter(instance string) {
	c.t.Helper()
	c.await(c.t, "the Writer Service to select "+instance, func() bool { return c.service("writer").instance() == instance })
}

// awaitServing waits until exactly an instance's pods are behind the Writer Service.
func (c *cluster) awaitServing(instance string) {
	c.t.Helper()
	c.await(c.t, instance+" behind the Writer Service", func() bool { return c.behind("story-writer") == instance })
}

// awaitOverride waits until both Services are ahead of Git at an instance, and the record is mirrored.
func (c *cluster) awaitOverride(writer string) {
	c.t.Helper()
	c.await(c.t, "an override to "+writer, func() bool {
		w, r := c.service("writer"), c.service("reader")
		return w.instance() == writer && w.record().To == writer && r.record().To == writer && strings.Contains(c.data("story-control")["override"], `"to":"`+writer+`"`)
	})
}

// awaitHandedBack waits until an override has ended well at an epoch: nothing of poolwright's is left, and the
// Services select what Git says.
func (c *cluster) awaitHandedBack(writer string, epoch int) {
	c.t.Helper()
	want := strconv.Itoa(epoch)
	c.await(c.t, fmt.Sprintf("the hand-back of %s at epoch %d", writer, epoch), func() bool {
		return c.isHandedBack(want) && c.service("writer").instance() == writer
	})
	c.wantAsInGit()
}

// awaitEvent waits for a Kubernetes Event on a role's Service whose message has all of these parts.
func (c *cluster) awaitEvent(role, reason string, parts ...string) {
	c.t.Helper()
	c.await(c.t, fmt.Sprintf("an Event %s with %q", reason, parts), func() bool {
		for _, o := range c.objects {
			e, ok := o.(*corev1.Event)
			if ok && e.Reason == reason && e.InvolvedObject.Name == "story-"+role &&
				!slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(e.Message, p) }) {
				return true
			}
		}
		return false
	})
}

// awaitHandedBackAtHead is awaitHandedBack at the epoch that main has.
func (c *cluster) awaitHandedBackAtHead(writer string) {
	c.t.Helper()
	c.await(c.t, "the hand-back of "+writer+" at the head", func() bool { // which may go on meanwhile
		return c.isHandedBack(driver.YAMLValue(c.git.File("main", "topology.yaml"), "epoch")) && c.service("writer").instance() == writer
	})
	c.wantAsInGit()
}
