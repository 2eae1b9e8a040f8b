package cmd

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poolwright/poolwright/live"
	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/render"
)

// DoctorCmd checks whether an override would work, and what would break it.
type DoctorCmd struct {
	SiteFlags  `embed:""`
	As         string `placeholder:"USER" help:"Ask as this user, such as system:serviceaccount:poolwright:poolwright; needs the right to impersonate."`
	LeaseFlags `embed:""`
	Output     `embed:""`
}

// Help is shown by --help.
func (DoctorCmd) Help() string {
	return "One line for each check: ok, warn or fail, and what to do. Nothing is changed: the override is tried on the Writer Service as a dry run. " +
		"It exits with 1 when something fails.\n\n" +
		example("poolwright doctor --cluster example-pg -n databases --as system:serviceaccount:poolwright:poolwright")
}

// Run checks and tells.
func (c DoctorCmd) Run(ctx context.Context, std *Stdio) error {
	d, err := c.declaration()
	if err != nil {
		return err
	}
	k, err := c.connectAs(c.As)
	if err != nil {
		return noKube(err)
	}
	s, err := c.siteIn(ctx, k, d)
	if err != nil {
		return err
	}
	found := s.examine(ctx, theWorld(ctx), c.leaseOf(k))
	v := doctorView{Cluster: s.names.Cluster, Namespace: s.names.Namespace, Findings: found}
	if err := c.write(std.Out, v, func(w io.Writer) error { return writeFindings(w, found) }); err != nil {
		return err
	}
	if slices.ContainsFunc(found, func(f finding) bool { return f.Result == resultFail }) {
		return &ExitError{Code: ExitDiffers}
	}
	return nil
}

// leaseOf is the Lease; that of a service account is in its own namespace, where its pods are.
func (c DoctorCmd) leaseOf(k kube) leaseView {
	if account, ok := strings.CutPrefix(c.As, "system:serviceaccount:"); ok {
		k.Namespace, _, _ = strings.Cut(account, ":")
	}
	return c.view(k)
}

// doctorView is all checks of a cluster for machines.
type doctorView struct {
	Cluster   string    `json:"cluster"`
	Namespace string    `json:"namespace"`
	Findings  []finding `json:"findings"`
}

// finding is what one check came to.
type finding struct {
	Check  string `json:"check"`
	Result string `json:"result"`
	Text   string `json:"text"`
	Hint   string `json:"hint,omitempty"`
}

// The results of a check.
const (
	resultOK   = "ok"
	resultWarn = "warn"
	resultFail = "fail"
)

func writeFindings(w io.Writer, found []finding) error {
	for _, f := range found {
		if _, err := fmt.Fprintf(w, "%-4s  %-10s %s\n", f.Result, f.Check, printable(f.Text)); err != nil {
			return err
		}
		if f.Hint != "" {
			fmt.Fprintf(w, "      hint: %s\n", printable(f.Hint))
		}
	}
	return nil
}

// exam is a cluster under examination.
type exam struct {
	site
	world outside
	lease leaseView
	sight live.Sight
	// state is what is applied, the zero State when that cannot be read.
	state plan.State
	found []finding
}

// examine makes every check.
func (s site) examine(ctx context.Context, world outside, lease leaseView) []finding {
	e := &exam{site: s, world: world, lease: lease}
	e.sight = live.Sight{Names: s.names, Services: map[live.Role]*corev1.Service{}}
	for _, check := range []func(context.Context){
		e.services, e.topology, e.control, e.pods, e.owner, e.keys, e.receipts, e.leftovers, e.rights, e.dryRun, e.holder, e.consoles, e.proofs, e.publishing,
	} {
		bounded, cancel := context.WithTimeout(ctx, siteTimeout)
		check(bounded)
		cancel()
	}
	return e.found
}

func (e *exam) ok(check, format string, args ...any) {
	e.found = append(e.found, finding{check, resultOK, fmt.Sprintf(format, args...), ""})
}

func (e *exam) warn(check, hint, format string, args ...any) {
	e.found = append(e.found, finding{check, resultWarn, fmt.Sprintf(format, args...), hint})
}

func (e *exam) fail(check, hint, format string, args ...any) {
	e.found = append(e.found, finding{check, resultFail, fmt.Sprintf(format, args...), hint})
}

// unread tells of an object that could not be read: what may not be read is no fault of the object.
func (e *exam) unread(check, verb, resource, namespace, name string, err error) {
	if apierrors.IsForbidden(err) {
		e.warn(check, "add to the Role in namespace "+namespace+": "+verb+" "+resource+" "+name, "%s %s/%s may not be read: the right to %s it is missing", resource, namespace, name, verb)
		return
	}
	e.fail(check, "", "%s %s/%s cannot be read: %s", resource, namespace, name, err)
}

// roles are those of the cluster, in order, with the Services that could be read.
func (e *exam) roles(visit func(role live.Role, svc *corev1.Service)) {
	for _, role := range []live.Role{live.Writer, live.Reader} {
		if svc := e.sight.Services[role]; svc != nil {
			visit(role, svc)
		}
	}
}

func (e *exam) services(ctx context.Context) {
	for _, role := range []live.Role{live.Writer, live.Reader} {
		name, ok := e.names.Services[role]
		if !ok {
			continue
		}
		svc, err := e.kube.CoreV1().Services(e.names.Namespace).Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			e.fail("service", "let your GitOps tool apply the cluster's directory", "service %s/%s does not exist", e.names.Namespace, name)
		case err != nil:
			e.unread("service", "get", "services", e.names.Namespace, name, err)
		case !e.names.Own(svc):
			e.fail("service", "rename that Service, or set spec.services in the Cluster file", "service %s/%s has no label %s=%s: it is somebody else's, and never written",
				e.names.Namespace, name, render.LabelCluster, render.LabelValue(e.names.Cluster))
		default:
			e.sight.Services[role] = svc
			e.ok("service", "service %s/%s exists and is poolwright's", e.names.Namespace, name)
		}
	}
}

func (e *exam) topology(ctx context.Context) {
	object := e.names.Namespace + "/" + e.names.Topology
	found, err := e.kube.CoreV1().ConfigMaps(e.names.Namespace).Get(ctx, e.names.Topology, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		e.fail("topology", "let your GitOps tool apply the cluster's directory", "configmap %s does not exist: nothing of the directory is applied", object)
		return
	case err != nil:
		e.unread("topology", "get", "configmaps", e.names.Namespace, e.names.Topology, err)
		return
	}
	e.sight.Topology = found.Data
	if e.state, err = render.ReadLive(e.names.Cluster, found.Data); err != nil {
		e.fail("topology", "poolwright check CLUSTER-DIRECTORY", "configmap %s cannot be used: %s", object, err)
		return
	}
	e.sight.Receipt = e.state.Epoch
	e.ok("topology", "configmap %s: epoch %d, writer %s", object, e.state.Epoch, orDash(e.state.Writer))
}

func (e *exam) control(ctx context.Context) {
	name := live.ControlName(e.names.Cluster)
	object := e.names.Namespace + "/" + name
	found, err := e.kube.CoreV1().ConfigMaps(e.names.Namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		e.ok("control", "configmap %s does not exist: nothing has been said yet", object)
		return
	case err != nil:
		e.unread("control", "get", "configmaps", e.names.Namespace, name, err)
		return
	case !e.names.Own(found):
		e.fail("control", "rename that ConfigMap", "configmap %s has no label %s=%s: it is somebody else's", object, render.LabelCluster, render.LabelValue(e.names.Cluster))
		return
	}
	e.sight.Control, e.sight.ControlErr = live.ParseControl(found.Data)
	switch p := e.sight.Control.Pause; {
	case e.sight.ControlErr != nil:
		e.fail("control", "kubectl -n "+e.names.Namespace+" edit configmap "+name, "configmap %s: %s", object, e.sight.ControlErr)
	case p != nil:
		e.warn("control", e.command("resume"), "%s is paused since %s by %s: %s", e.names.Cluster, stamp(p.At), p.By, p.Reason)
	default:
		e.ok("control", "configmap %s can be read", object)
	}
}

func (e *exam) pods(ctx context.Context) {
	list, err := e.kube.CoreV1().Pods(e.names.Namespace).List(ctx, metav1.ListOptions{LabelSelector: e.names.PodSelector()})
	switch {
	case apierrors.IsForbidden(err):
		e.warn("pods", "add to the Role in namespace "+e.names.Namespace+": list, watch pods", "pods may not be listed: whether a new writer has a ready one is not known, so no failover runs ahead of Git")
		return
	case err != nil:
		e.fail("pods", "", "pods cannot be listed: %s", err)
		return
	}
	ready := map[string]bool{}
	for i := range list.Items {
		if live.IsReady(&list.Items[i]) {
			ready[list.Items[i].Labels[render.LabelInstance]] = true
		}
	}
	for _, m := range e.state.Members {
		if !ready[render.LabelValue(m.Name)] && m.Out == plan.In {
			e.warn("pods", "kubectl -n "+e.names.Namespace+" get pods -l "+render.LabelInstance+"="+render.LabelValue(m.Name), "%s has no ready pod", m.Name)
		}
	}
	e.ok("pods", "pods can be listed; instances with a ready one: %d", len(ready))
}

func (e *exam) holder(ctx context.Context) {
	if e.lease.name == "" {
		return
	}
	cluster := e.names.Namespace + "/" + e.names.Cluster
	switch h, object := e.lease.read(ctx, e.kube), e.lease.String(); {
	case h.Error != "":
		e.warn("lease", "add --lease-namespace, or the right to get leases", "%s", h.Error)
	case h.Identity == "":
		e.warn("lease", "start `poolwright run`, or name its Lease: --lease NAME --lease-namespace NAMESPACE", "nobody holds lease %s: no poolwright acts", object)
	case !h.Alive:
		e.fail("lease", "look at the log of `poolwright run`", "%s holds lease %s, and has not renewed it since %s", h.Identity, object, stamp(h.Renewed))
	case neglected(h.Clusters, cluster):
		e.fail("lease", neglectHint, "%s holds lease %s and keeps other clusters (%s): nobody keeps %s", h.Identity, object, few(h.Clusters), cluster)
	default:
		e.ok("lease", "%s holds lease %s", h.Identity, object)
	}
}
