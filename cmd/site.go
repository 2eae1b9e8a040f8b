package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/poolwright/poolwright/live"
	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/render"
)

// labelRole is on the two role Services.
const labelRole = "poolwright.dev/role"

// siteTimeout bounds what a verb reads from the API server. Nobody waits longer in an emergency.
const siteTimeout = 5 * time.Second

// SiteFlags say which cluster is meant: by its Cluster file, or by its name where a kubeconfig leads to.
type SiteFlags struct {
	File      string `name:"file" short:"f" required:"" xor:"site" placeholder:"FILE" help:"The Cluster file."`
	Cluster   string `required:"" xor:"site" placeholder:"NAME" help:"The cluster's name, without its file: its Services are found by their labels."`
	Namespace string `short:"n" placeholder:"NAME" help:"The namespace of --cluster; default that of the kubeconfig."`
	KubeFlags `embed:""`
}

// site is a cluster as Kubernetes has it.
type site struct {
	kube  kube
	names live.Names
	// declared is the Cluster file, nil when the cluster was only named.
	declared *declaration
	// address are the flags that lead here again.
	address []string
	// argo is the namespace of Argo CD's Applications.
	argo string
}

// argoNamespace is where Applications are unless the Cluster file says otherwise.
const argoNamespace = "argocd"

// declaration reads the Cluster file, if one is meant.
func (f SiteFlags) declaration() (*declaration, error) {
	if f.File == "" {
		return nil, nil
	}
	if f.Namespace != "" {
		return nil, exitf(ExitUsage, "", "reading the command line: -n goes with --cluster; the Cluster file says its namespace itself")
	}
	d, err := declare(f.File)
	return &d, err
}

// reach connects and finds the names of the cluster's objects.
func (f SiteFlags) reach(ctx context.Context) (site, error) {
	d, err := f.declaration()
	if err != nil {
		return site{}, err
	}
	k, err := f.connect()
	if err != nil {
		return site{}, noKube(err)
	}
	return f.siteIn(ctx, k, d)
}

// noKube gives the error of connecting its exit code: a kubeconfig that cannot be used is an input.
func noKube(err error) error {
	if errors.Is(err, errNoKube) {
		return exitf(ExitUnreachable, "add --kubeconfig FILE", "%w", err)
	}
	return err
}

// siteIn is the cluster in a Kubernetes.
func (f SiteFlags) siteIn(ctx context.Context, k kube, d *declaration) (site, error) {
	s := site{kube: k, declared: d, address: f.address(k), argo: argoNamespace}
	if d != nil {
		s.names, s.argo = namesOf(d.Cluster), d.Cluster.Spec.GitOps.ArgoCDNamespace
		return s, nil
	}
	ctx, cancel := context.WithTimeout(ctx, siteTimeout)
	defer cancel()
	var err error
	s.names, err = findNames(ctx, k, cmp.Or(f.Namespace, k.Namespace), f.Cluster)
	return s, err
}

// address are the words that lead to the same cluster again.
func (f SiteFlags) address(k kube) []string {
	words := []string{"-f", f.File}
	if f.File == "" {
		words = []string{"--cluster", f.Cluster, "-n", cmp.Or(f.Namespace, k.Namespace)}
	}
	if f.Kubeconfig != "" {
		words = append(words, "--kubeconfig", f.Kubeconfig)
	}
	if f.Context != "" {
		words = append(words, "--context", f.Context)
	}
	return words
}

// command is a command line about this cluster, to be typed.
func (s site) command(verb string, more ...string) string {
	return commandLine(slices.Concat([]string{verb}, s.address, more)...)
}

// findNames finds a cluster's objects by the labels of its role Services. A Service that is not found has the name that is the
// default, unless what is applied says that the cluster has no writer: so it is missed, and not taken for one that need not be.
// Who may not list Services gets the default names too.
func findNames(ctx context.Context, client kubernetes.Interface, namespace, cluster string) (live.Names, error) {
	names := live.Names{Cluster: cluster, Namespace: namespace, Topology: cluster + "-topology", Services: map[live.Role]string{}}
	label := fmt.Sprintf("%s=%s,%s", render.LabelCluster, render.LabelValue(cluster), labelRole)
	list, err := client.CoreV1().Services(namespace).List(ctx, metav1.ListOptions{LabelSelector: label})
	if err != nil && !apierrors.IsForbidden(err) {
		return names, apiProblem(err, fmt.Sprintf("looking for the Services of %s in namespace %s", cluster, namespace))
	}
	if err == nil {
		if err := nameRoles(&names, list.Items); err != nil {
			return names, err
		}
	}
	applied := readApplied(ctx, client, names)
	if err == nil && len(names.Services) == 0 && !applied.exists {
		hint := "kubectl get services -A -l " + render.LabelCluster + "=" + render.LabelValue(cluster)
		return names, exitf(ExitUsage, hint, "looking for the Services of %s: namespace %s has none with its labels", cluster, namespace)
	}
	for _, role := range []live.Role{live.Writer, live.Reader} {
		if names.Services[role] == "" && (role == live.Reader || !applied.writerless) {
			names.Services[role] = cluster + "-" + string(role)
		}
	}
	return names, nil
}

// nameRoles takes the names of Services by their roles.
func nameRoles(names *live.Names, services []corev1.Service) error {
	for _, service := range services {
		role := live.Role(service.Labels[labelRole])
		if role != live.Writer && role != live.Reader {
			continue
		}
		if other, taken := names.Services[role]; taken {
			return exitf(ExitRefused, "", "looking for the Services of %s: %s and %s both say that they are its %s", names.Cluster, other, service.Name, role)
		}
		names.Services[role] = service.Name
	}
	return nil
}

// appliedView is what the topology ConfigMap says about a cluster's Services.
type appliedView struct {
	// exists is true when there is one.
	exists bool
	// writerless is true when it says that the cluster has no writer: a global secondary.
	writerless bool
}

func readApplied(ctx context.Context, client kubernetes.Interface, names live.Names) appliedView {
	found, err := client.CoreV1().ConfigMaps(names.Namespace).Get(ctx, names.Topology, metav1.GetOptions{})
	if err != nil {
		return appliedView{}
	}
	state, err := render.ReadLive(names.Cluster, found.Data)
	return appliedView{exists: true, writerless: err == nil && state.Writer == ""}
}

// look reads everything once.
func (s site) look(ctx context.Context) (live.Sight, error) {
	ctx, cancel := context.WithTimeout(ctx, siteTimeout)
	defer cancel()
	sight, err := live.Look(ctx, s.kube, s.names)
	if err != nil {
		return sight, apiProblem(err, "looking at "+s.names.Cluster)
	}
	return sight, nil
}

// unusable is the error about a role's Service that does not exist, or is not ours.
func (s site) unusable(sight live.Sight, role live.Role) error {
	name := s.names.Services[role]
	service := sight.Services[role]
	switch {
	case service == nil || service.DeletionTimestamp != nil:
		return exitf(ExitRefused, "apply the cluster's directory from Git first", "reading service %s/%s: it does not exist", s.names.Namespace, name)
	case !s.names.Own(service):
		return exitf(ExitRefused, "", "reading service %s/%s: it has no label %s=%s, so it is somebody else's and is not touched",
			s.names.Namespace, name, render.LabelCluster, render.LabelValue(s.names.Cluster))
	}
	return nil
}

// state is the declared state as far as the GitOps tool has applied it.
func (s site) state(sight live.Sight) (plan.State, error) {
	object := s.names.Namespace + "/" + s.names.Topology
	if sight.Topology == nil {
		return plan.State{}, exitf(ExitRefused, "apply the cluster's directory from Git first", "reading configmap %s: it does not exist", object)
	}
	state, err := render.ReadLive(s.names.Cluster, sight.Topology)
	if err != nil {
		return plan.State{}, exitf(ExitRefused, "", "reading configmap %s: %w", object, err)
	}
	return state, nil
}

// apiProblem gives an answer of the API server its exit code, and a hint where one is certain.
func apiProblem(err error, doing string) error {
	err = fmt.Errorf("%s: %w", doing, err)
	switch live.CodeOf(err) {
	case live.Forbidden:
		return exitf(ExitRefused, "use a kubeconfig with the rights that `poolwright gitops-config` prints", "%w", err)
	case live.Unreachable:
		return exitf(ExitUnreachable, "kubectl cluster-info", "%w", err)
	}
	return exitf(ExitRefused, "", "%w", err)
}

// memberNames are the names of a state's members, for people.
func memberNames(s plan.State) string {
	names := make([]string, len(s.Members))
	for i, m := range s.Members {
		names[i] = m.Name
	}
	return strings.Join(names, ", ")
}
