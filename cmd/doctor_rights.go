package cmd

import (
	"context"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poolwright/poolwright/live"
)

// right is one rule of the Role that gitops-config prints.
type right struct {
	group, resource string
	namespace       string
	names           []string // nil: all
	verbs           []string
	// without is what does not work without it; "" when nothing does.
	without string
}

// needed are the rules of the Role, in its order.
func (e *exam) needed() []right {
	var services []string
	for _, role := range []live.Role{live.Writer, live.Reader} {
		if name, ok := e.names.Services[role]; ok {
			services = append(services, name)
		}
	}
	n := e.names.Namespace
	return slices.Concat([]right{
		{"", "services", n, services, []string{"get", "list", "watch", "patch"}, ""},
		{"", "pods", n, nil, []string{"list", "watch"}, ""},
		{"", "configmaps", n, []string{e.names.Topology}, []string{"get", "list", "watch"}, ""},
		{"", "configmaps", n, []string{live.ControlName(e.names.Cluster)}, []string{"get", "list", "watch", "update", "patch"}, ""},
		{"", "configmaps", n, nil, []string{"create"}, ""},
	}, e.toEvict(), e.toReload(), []right{
		{"", "events", n, nil, []string{"create", "patch"}, "reverts and the like are told in the log alone"},
	}, e.toLead())
}

// toLead are the rules for the Lease, none for a process that is alone.
func (e *exam) toLead() []right {
	if e.lease.name == "" {
		return nil
	}
	return []right{
		{"coordination.k8s.io", "leases", e.lease.namespace, []string{e.lease.name}, []string{"get", "update"}, ""},
		{"coordination.k8s.io", "leases", e.lease.namespace, nil, []string{"create"}, ""},
	}
}

// toEvict are the rules for the Cluster file's way to take clients off a demoted instance.
func (e *exam) toEvict() []right {
	if e.declared == nil {
		return nil
	}
	n := e.names.Namespace
	follow := right{"discovery.k8s.io", "endpointslices", n, nil, []string{"list"}, "time alone tells when the nodes have followed a Service"}
	pods := right{"", "pods", n, nil, []string{"delete"}, ""}
	switch e.declared.Cluster.Spec.Failover.Evict {
	case "console":
		pods.without = "a pod whose console gives no answer keeps its clients"
		return []right{follow, pods}
	case "deletePods":
		return []right{follow, pods}
	}
	return nil
}

// toReload is the rule for a Secret that is rotated, none without a way into the poolers.
func (e *exam) toReload() []right {
	if e.declared == nil || e.declared.Cluster.Spec.Failover.Console == nil {
		return nil
	}
	name := e.declared.Cluster.Spec.PgBouncer.AuthFileSecretRef.Name
	return []right{{"", "secrets", e.names.Namespace, []string{name}, []string{"list", "watch"}, "a rotated userlist.txt reaches no pooler before it is restarted"}}
}

// rights asks for each rule whether whoever asks has it.
func (e *exam) rights(ctx context.Context) {
	for _, r := range e.needed() {
		lacking, err := e.lacking(ctx, r)
		switch {
		case err != nil:
			e.warn("rights", "", "%s: cannot be asked for: %s", r, err)
			return
		case len(lacking) == 0:
			e.ok("rights", "%s", r)
		case r.without != "":
			e.warn("rights", "the Role of `poolwright gitops-config`", "%s: missing %s: %s", r, strings.Join(lacking, ", "), r.without)
		default:
			e.fail("rights", "the Role of `poolwright gitops-config`", "%s: missing %s", r, strings.Join(lacking, ", "))
		}
	}
}

// String is the rule for people.
func (r right) String() string {
	text := strings.Join(r.verbs, ", ") + " " + r.resource
	if len(r.names) > 0 {
		text += " " + strings.Join(r.names, ", ")
	}
	return text + " in namespace " + r.namespace
}

// lacking are the verbs that are missing, with the name where that differs.
func (e *exam) lacking(ctx context.Context, r right) (found []string, err error) {
	names := r.names
	if names == nil {
		names = []string{""}
	}
	for _, name := range names {
		for _, verb := range r.verbs {
			review, err := e.kube.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
				Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
					Namespace: r.namespace, Verb: verb, Group: r.group, Resource: r.resource, Name: name,
				}},
			}, metav1.CreateOptions{})
			if err != nil {
				return nil, err
			}
			if !review.Status.Allowed {
				found = append(found, strings.TrimSpace(verb+" "+name))
			}
		}
	}
	return found, nil
}
