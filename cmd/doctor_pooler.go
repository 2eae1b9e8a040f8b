package cmd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poolwright/poolwright/live/pooler"
)

// consoles asks the admin console of every pooler, as an eviction will have to.
func (e *exam) consoles(ctx context.Context) {
	if e.declared == nil || e.declared.Cluster.Spec.Failover.Console == nil {
		return
	}
	pods, err := e.kube.CoreV1().Pods(e.names.Namespace).List(ctx, metav1.ListOptions{LabelSelector: e.names.PodSelector()})
	if err != nil {
		e.unread("consoles", "list", "pods", e.names.Namespace, "", err)
		return
	}
	open := e.world.console(*e.declared.Cluster.Spec.Failover.Console)
	var versions []string
	asked, backends := 0, backends{exam: e}
	for _, pod := range pods.Items {
		if pod.Status.Phase != corev1.PodRunning || pod.Status.PodIP == "" {
			continue
		}
		asked++
		version, servers, err := e.console(ctx, open, net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(e.declared.Cluster.Spec.PgBouncer.ListenPort())))
		if err != nil {
			e.consoleFails(pod.Name, err)
			continue
		}
		versions = append(versions, version)
		backends.compare(ctx, pod, servers)
	}
	backends.tell()
	if len(versions) == 0 {
		return
	}
	kinds := slices.Compact(slices.Sorted(slices.Values(versions)))
	e.ok("consoles", "%d of %d poolers let poolwright administer them: PgBouncer %s", len(versions), asked, strings.Join(kinds, ", "))
	if declared, known := e.declared.Cluster.Spec.PgBouncer.EffectiveVersion(); known && !slices.Equal(kinds, []string{declared.String()}) {
		e.warn("consoles", "set spec.pgbouncer.pgbouncerVersion to what the image has", "the Cluster file says PgBouncer %s, the poolers are %s", declared, strings.Join(kinds, ", "))
	}
}

// errNoAdmin is about a user who may look, and not act.
var errNoAdmin = errors.New("the user may not administer it")

// nowhere is a database that no pooler has.
const nowhere = "poolwright_doctor"

// console gives a command that only an administrator may give, and that changes nothing: to enable a database that is not there.
func (e *exam) console(ctx context.Context, open opener, address string) (version string, servers []pooler.Server, err error) {
	c, err := open(ctx, address)
	if err != nil {
		return "", nil, err
	}
	defer c.Close()
	err = c.Enable(ctx, nowhere)
	if fault, ok := errors.AsType[*pooler.Error](err); err != nil && (!ok || fault.Fault != pooler.Refused) {
		return "", nil, fmt.Errorf("%w: %w", errNoAdmin, err)
	}
	servers, err = c.Servers(ctx)
	return c.Version().String(), servers, err
}

func (e *exam) consoleFails(pod string, err error) {
	fault, ok := errors.AsType[*pooler.Error](err)
	user := e.declared.Cluster.Spec.Failover.Console.User
	switch {
	case !ok, errors.Is(err, errNoAdmin), fault.Fault == pooler.Denied:
		e.fail("consoles", "put "+user+" and its password into userlist.txt, and into the Secret of failover.console", "pod %s: %s", pod, err)
	case fault.Fault == pooler.Unreachable, fault.Fault == pooler.Timeout:
		e.warn("consoles", "run doctor where poolwright runs: kubectl exec", "pod %s: %s; pods may be out of reach from here", pod, err)
	default:
		e.fail("consoles", "", "pod %s: %s", pod, err)
	}
}

// proofs asks both Services what an application would ask.
func (e *exam) proofs(ctx context.Context) {
	if e.declared == nil {
		return
	}
	for _, a := range e.world.proofs(ctx, *e.declared, e.sight.Services) {
		e.proof(a)
	}
}

func (e *exam) proof(a answer) {
	switch {
	case a.Outcome == pooler.Proven:
		e.ok("proofs", "%s at %s, in %s", a.access, a.address, a.Took.Round(time.Millisecond/10))
	case a.Outcome == pooler.RoleMismatch:
		e.fail("proofs", e.command("status"), "%s at %s: who answers cannot write: %s", a.access, a.address, a.Detail)
	case a.Fault == pooler.Unreachable, a.Fault == pooler.Timeout:
		e.warn("proofs", "run doctor where poolwright runs, or set failover.proof.writerAddress and readerAddress", "%s at %s: %s: %s", a.access, a.address, a.Fault, a.Detail)
	default:
		e.fail("proofs", "", "%s at %s: %s: %s", a.access, a.address, a.Fault, a.Detail)
	}
}
