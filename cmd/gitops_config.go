package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/poolwright/poolwright/live"
)

// GitopsConfigCmd prints what a GitOps tool and RBAC need to have.
type GitopsConfigCmd struct {
	SiteFlags      `embed:""`
	Argocd         bool   `required:"" xor:"tool" help:"For Argo CD: the part of the Application, and the rights."`
	Flux           bool   `required:"" xor:"tool" help:"For Flux: the fields of the Kustomization, and the rights."`
	ServiceAccount string `default:"poolwright/poolwright" placeholder:"NS/NAME" help:"Who poolwright is in Kubernetes."`
	Lease          string `default:"poolwright" placeholder:"NAME" help:"The Lease of the run that keeps this cluster."`
}

// Help is shown by --help.
func (GitopsConfigCmd) Help() string {
	return "It prints YAML: what Argo CD or Flux needs so that an override is not put back, and the Role with poolwright's least rights. " +
		"With -f nothing but the file is read.\n\n" +
		example("poolwright gitops-config --argocd -f cluster.yaml")
}

// Run prints.
func (c GitopsConfigCmd) Run(ctx context.Context, std *Stdio) error {
	namespace, name, ok := strings.Cut(c.ServiceAccount, "/")
	if !ok || !dnsLabel.MatchString(namespace) || !dnsName.MatchString(name) {
		return exitf(ExitUsage, "", "reading the command line: --service-account %q is not NAMESPACE/NAME", c.ServiceAccount)
	}
	if !dnsName.MatchString(c.Lease) {
		return exitf(ExitUsage, "", "reading the command line: --lease %q is no name of an object", c.Lease)
	}
	v, err := c.view(ctx)
	if err != nil {
		return err
	}
	v.Lease = c.Lease
	v.AccountNamespace, v.Account = namespace, name
	text := fluxText + rightsText + fluxNudge
	if c.Argocd {
		text = argoText + rightsText + argoNudge
	}
	return v.write(std.Out, text)
}

var (
	dnsLabel = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	dnsName  = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$`)
)

// gitopsView is everything that the texts name.
type gitopsView struct {
	Command                   string
	Cluster, Namespace        string
	Services                  []string // Writer first
	Topology, Control         string
	Manager                   string
	Repository, Branch, Path  string // "" when not known
	Owner                     string // name of the Application or Kustomization
	OwnerNamespace            string
	Lease                     string
	Evict                     string // failover.evict, "" when not known
	Users                     string // the Secret with userlist.txt, "" when not known or when there is no way into the poolers
	AccountNamespace, Account string
}

// view names the cluster's objects: by its file, or as they are found.
func (c GitopsConfigCmd) view(ctx context.Context) (gitopsView, error) {
	d, err := c.declaration()
	if err != nil {
		return gitopsView{}, err
	}
	if d != nil {
		v := viewOfNames(namesOf(d.Cluster))
		v.Command = printable(commandLine(c.words("-f", c.File)...))
		v.OwnerNamespace = c.ownerNamespace(d.Cluster.Spec.GitOps.ArgoCDNamespace)
		p := d.Cluster.Spec.Publish
		v.Repository, v.Branch, v.Path = p.Repository, p.Branch, d.Dir()
		v.Evict = d.Cluster.Spec.Failover.Evict
		if d.Cluster.Spec.Failover.Console != nil {
			v.Users = d.Cluster.Spec.PgBouncer.AuthFileSecretRef.Name
		}
		return v, nil
	}
	s, err := c.reach(ctx)
	if err != nil {
		return gitopsView{}, err
	}
	sight, err := s.look(ctx)
	if err != nil {
		return gitopsView{}, err
	}
	v := viewOfNames(s.names)
	v.Command = printable(commandLine(c.words("--cluster", c.Cluster, "-n", s.names.Namespace)...))
	v.OwnerNamespace = c.ownerNamespace(s.argo)
	if o := ownerOf(sight); c.isFor(o.Tool) {
		v.Owner = o.Name
		if o.Namespace != "" {
			v.OwnerNamespace = o.Namespace
		}
	}
	return v, nil
}

func (c GitopsConfigCmd) words(address ...string) []string {
	words := []string{"gitops-config", "--flux"}
	if c.Argocd {
		words[1] = "--argocd"
	}
	words = append(words, address...)
	if c.ServiceAccount != "poolwright/poolwright" {
		words = append(words, "--service-account", c.ServiceAccount)
	}
	if c.Lease != leaseName {
		words = append(words, "--lease", c.Lease)
	}
	return words
}

// ownerNamespace is where the tool's objects are by default.
func (c GitopsConfigCmd) ownerNamespace(argocd string) string {
	if c.Argocd {
		return argocd
	}
	return "flux-system"
}

func (c GitopsConfigCmd) isFor(t live.Tool) bool {
	return c.Argocd && t == live.ArgoCD || c.Flux && t == live.Flux
}

// ownerOf is who applies the role Services, the Writer's first.
func ownerOf(sight live.Sight) live.Owner {
	for _, role := range []live.Role{live.Writer, live.Reader} {
		if svc := sight.Services[role]; svc != nil && live.OwnerOf(svc).Tool != live.NoTool {
			return live.OwnerOf(svc)
		}
	}
	return live.Owner{}
}

func viewOfNames(n live.Names) gitopsView {
	v := gitopsView{
		Cluster: n.Cluster, Namespace: n.Namespace, Topology: n.Topology, Control: live.ControlName(n.Cluster),
		Manager: live.FieldManager, Owner: n.Cluster, Lease: leaseName,
	}
	for _, role := range []live.Role{live.Writer, live.Reader} {
		if name, ok := n.Services[role]; ok {
			v.Services = append(v.Services, name)
		}
	}
	return v
}

// leaseName is the Lease that replicas of poolwright share by default.
const leaseName = "poolwright"

func (v gitopsView) write(w io.Writer, text string) error {
	t, err := template.New("gitops-config").Funcs(template.FuncMap{"q": yamlString, "list": yamlList}).Parse(text)
	if err != nil {
		return fmt.Errorf("writing the configuration: %w", err)
	}
	return t.Execute(w, v)
}

// plainYAML is what every YAML takes as a string, unquoted.
var plainYAML = regexp.MustCompile(`^[a-z]+[-a-z0-9./]*[a-z][-a-z0-9./]*$`)

// keywords are words that some YAML takes for something else than a string.
var keywords = []string{"true", "false", "yes", "no", "on", "off", "null", "y", "n"}

// yamlString is s as YAML; JSON strings are YAML strings.
func yamlString(s string) (string, error) {
	if plainYAML.MatchString(s) && !slices.Contains(keywords, s) {
		return s, nil
	}
	text, err := json.Marshal(s)
	return string(text), err
}

func yamlList(names []string) (string, error) {
	words := make([]string, len(names))
	for i, n := range names {
		var err error
		if words[i], err = yamlString(n); err != nil {
			return "", err
		}
	}
	return "[" + strings.Join(words, ", ") + "]", nil
}
