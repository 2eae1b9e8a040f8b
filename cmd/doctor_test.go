package cmd

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	"github.com/poolwright/poolwright/live"
	"github.com/poolwright/poolwright/render"
)

// patient is a bench with everything that doctor asks for, in order. Edit it, then examine it.
type patient struct {
	*liveBench
	owner string // the tool's object, YAML
	// lacks are rights, "verb resource", that are refused.
	lacks []string
	// turns is what the API server makes of a dry run.
	turns func(*corev1.Service) (*corev1.Service, error)
}

const (
	healthyKustomization = `{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {name: pools, namespace: flux-system}, spec: {force: false, interval: 10m}}`
	healthyApplication   = `
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: pools, namespace: argocd}
spec:
  ignoreDifferences:
  - {group: "", kind: Service, name: story-writer, namespace: db, managedFieldsManagers: [poolwright-failover]}
  - {group: "", kind: Service, name: story-reader, namespace: db, managedFieldsManagers: [poolwright-failover]}
  syncPolicy: {automated: {selfHeal: true}, syncOptions: [ServerSideApply=true, ApplyOutOfSyncOnly=true]}
`
)

func newPatient(t *testing.T) *patient {
	p := &patient{liveBench: newBench(t, benchState()), owner: healthyKustomization}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "poolwright", Namespace: "poolwright"}}
	who, now := "poolwright-0", metav1.NewMicroTime(time.Now())
	lease.Spec.HolderIdentity, lease.Spec.RenewTime = &who, &now
	if _, err := p.api.CoordinationV1().Leases("poolwright").Create(t.Context(), lease, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	p.turns = func(svc *corev1.Service) (*corev1.Service, error) {
		svc.ManagedFields = append(svc.ManagedFields, owning(live.FieldManager))
		svc.Spec.Selector = map[string]string{render.LabelCluster: "story", render.LabelInstance: "b"}
		return svc, nil
	}
	p.api.PrependReactor("create", "selfsubjectaccessreviews", p.allow)
	return p
}

// byArgo lets Argo CD apply the Services.
func (p *patient) byArgo(text string) {
	p.owner = text
	for _, role := range []live.Role{live.Writer, live.Reader} {
		p.edit(role, func(svc *corev1.Service) {
			delete(svc.Labels, "kustomize.toolkit.fluxcd.io/name")
			svc.Annotations["argocd.argoproj.io/tracking-id"] = "pools:/Service:db/" + svc.Name
		})
	}
}

func (p *patient) allow(a clienttesting.Action) (bool, runtime.Object, error) {
	review := a.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview)
	asked := review.Spec.ResourceAttributes
	review.Status.Allowed = !slices.Contains(p.lacks, asked.Verb+" "+asked.Resource)
	return true, review, nil
}

// examined are the findings, as lines "result check text".
func (p *patient) examined() string {
	p.t.Helper()
	var object unstructured.Unstructured
	if err := yaml.Unmarshal([]byte(p.owner), &object.Object); err != nil {
		p.t.Fatal(err)
	}
	kinds := map[schema.GroupVersionResource]string{
		{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Resource: "kustomizations"}: "KustomizationList",
		{Group: "argoproj.io", Version: "v1alpha1", Resource: "applications"}:             "ApplicationList",
	}
	p.kube.Dynamic = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, &object)
	seen := p.service(live.Writer)
	p.api.PrependReactor("patch", "services", func(a clienttesting.Action) (bool, runtime.Object, error) {
		options := a.(clienttesting.PatchActionImpl).PatchOptions
		if len(options.DryRun) != 1 || options.DryRun[0] != metav1.DryRunAll || options.FieldManager != live.FieldManager {
			p.t.Errorf("got a patch with options %+v, want a dry run by %s", options, live.FieldManager)
		}
		svc, err := p.turns(seen.DeepCopy())
		return true, svc, err
	})
	p.api.ClearActions()
	found := p.examine(p.t.Context(), p.world(), leaseView{"poolwright", "poolwright"})
	for _, w := range p.writes() {
		if w != "patch services story-writer" {
			p.t.Errorf("got %q, want nothing written but the dry run", w)
		}
	}
	var out bytes.Buffer
	if err := writeFindings(&out, found); err != nil {
		p.t.Fatal(err)
	}
	return out.String()
}

func TestAHealthyClusterHasOnlyGoodFindings(t *testing.T) {
	for name, prepare := range map[string]func(*patient){
		"Flux":    func(*patient) {},
		"Argo CD": func(p *patient) { p.byArgo(healthyApplication) },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPatient(t)
			prepare(p)
			for line := range strings.Lines(p.examined()) {
				if !strings.HasPrefix(line, "ok ") {
					t.Errorf("got %q", line)
				}
			}
		})
	}
}

// TestEachAilmentHasItsLine: one thing is spoilt, one line says so.
func TestEachAilmentHasItsLine(t *testing.T) {
	argo := func(old, with string) func(*patient) {
		return func(p *patient) { p.byArgo(strings.Replace(healthyApplication, old, with, 1)) }
	}
	flux := func(spec string) func(*patient) {
		return func(p *patient) { p.owner = strings.Replace(healthyKustomization, "force: false", spec, 1) }
	}
	service := func(change func(*corev1.Service)) func(*patient) {
		return func(p *patient) { p.edit(live.Writer, change) }
	}
	dryRun := func(turns func(*corev1.Service) (*corev1.Service, error)) func(*patient) {
		return func(p *patient) { p.turns = turns }
	}
	for name, c := range map[string]struct {
		spoil func(*patient)
		want  string
	}{
		"D04 no stanza":                     {argo("managedFieldsManagers: [poolwright-failover]", "jsonPointers: [/spec/ports]"), "fail  argocd     application argocd/pools has no ignoreDifferences with managedFieldsManagers: [poolwright-failover] for story-writer"},
		"D04 half of it":                    {argo(", ApplyOutOfSyncOnly=true", ""), "fail  argocd     application argocd/pools has neither ApplyOutOfSyncOnly=true nor RespectIgnoreDifferences=true"},
		"D04 the other half":                {argo("ApplyOutOfSyncOnly=true", "RespectIgnoreDifferences=true"), "warn  argocd     application argocd/pools has RespectIgnoreDifferences=true and not ApplyOutOfSyncOnly=true"},
		"D05 Argo CD ignores the selector":  {argo("managedFieldsManagers: [poolwright-failover]", "jsonPointers: [/spec/selector]"), "fail  argocd     application argocd/pools ignores the selector of story-writer: it is not applied from Git"},
		"D05 Flux ignores the selector":     {flux("ignore: [{paths: [/spec/selector]}]"), "fail  flux       kustomization flux-system/pools ignores /spec/selector: selectors are not applied from Git"},
		"the stanza of another Service":     {argo("name: story-writer", "name: other-writer"), "fail  argocd     application argocd/pools has no ignoreDifferences with managedFieldsManagers: [poolwright-failover] for story-writer"},
		"Replace":                           {argo("ServerSideApply=true", "ServerSideApply=true, Replace=true"), "fail  argocd     application argocd/pools has Replace=true, which breaks an override"},
		"client-side apply":                 {argo("ServerSideApply=true, ", ""), "warn  argocd     application argocd/pools has no ServerSideApply=true"},
		"synced by hand":                    {argo("automated: {selfHeal: true}, ", ""), "warn  argocd     application argocd/pools is synced by hand"},
		"no self-heal is fine":              {argo("selfHeal: true", "selfHeal: false"), "ok    argocd     application argocd/pools is synced automatically, without self-heal"},
		"Argo CD elsewhere":                 {argo("namespace: argocd", "namespace: hub"), "warn  owner      applications argocd/pools is not here"},
		"force":                             {flux("force: true"), "fail  flux       kustomization flux-system/pools has force: true"},
		"suspended":                         {flux("suspend: true"), "fail  flux       kustomization flux-system/pools is suspended"},
		"wait":                              {flux("wait: true"), "warn  flux       kustomization flux-system/pools has wait: true"},
		"Force on the Service":              {service(func(s *corev1.Service) { s.Annotations[argoSyncOptions] += ",Force=true" }), "fail  options    service db/story-writer has Force=true"},
		"webhooks compared":                 {service(func(s *corev1.Service) { s.Annotations[argoCompareOptions] = "IncludeMutationWebhook=true" }), "fail  options    service db/story-writer has IncludeMutationWebhook=true"},
		"Flux's force on the Service":       {service(func(s *corev1.Service) { s.Annotations[fluxForce] = "enabled" }), "fail  options    service db/story-writer has kustomize.toolkit.fluxcd.io/force: enabled"},
		"not protected":                     {service(func(s *corev1.Service) { delete(s.Annotations, fluxPrune) }), "warn  options    service db/story-writer is not protected from being pruned by both tools"},
		"a foreign key":                     {service(func(s *corev1.Service) { s.Spec.Selector["team"] = "x" }), "warn  selector   service db/story-writer selects by keys that are not poolwright's: team=x"},
		"a key too many":                    {service(func(s *corev1.Service) { s.Spec.Selector[render.SlotLabel(2)] = "out" }), "fail  selector   service db/story-writer and epoch 7 differ in keys: only live slot.poolwright.dev/2"},
		"a key too few":                     {service(func(s *corev1.Service) { delete(s.Spec.Selector, render.LabelInstance) }), "only declared poolwright.dev/instance"},
		"another value":                     {service(func(s *corev1.Service) { s.Spec.Selector[render.LabelInstance] = "b" }), "fail  selector   service db/story-writer has the keys of epoch 7, with other values"},
		"an old receipt":                    {service(func(s *corev1.Service) { s.Annotations[render.AnnotationEpoch] = "6" }), "fail  receipt    service db/story-writer is of epoch 6, story-topology of 7"},
		"somebody's freeze":                 {service(func(s *corev1.Service) { s.Annotations[freeze] = "disabled" }), "fail  leftovers  service db/story-writer is frozen for Flux, and not by poolwright"},
		"our fields":                        {service(func(s *corev1.Service) { s.ManagedFields = append(s.ManagedFields, owning(live.FieldManager)) }), "warn  leftovers  service db/story-writer has fields of poolwright-failover, but no override stands"},
		"a record that cannot be read":      {service(func(s *corev1.Service) { s.Annotations[live.AnnotationOverride] = "{" }), "fail  leftovers  service db/story-writer: reading the override record"},
		"an override of long ago":           {func(p *patient) { p.overridden(3 * time.Hour) }, "fail  leftovers  service db/story-writer is ahead of Git for 3h0m"},
		"an override of a while ago":        {func(p *patient) { p.overridden(20 * time.Minute) }, "warn  leftovers  service db/story-writer is ahead of Git for 20m"},
		"somebody else's Service":           {service(func(s *corev1.Service) { s.Labels[render.LabelCluster] = "x" }), "fail  service    service db/story-writer has no label poolwright.dev/cluster=story"},
		"nobody's Services":                 {func(p *patient) { p.byArgo(healthyApplication); p.disown() }, "warn  owner      no GitOps tool says that it applies the Services"},
		"no right to patch":                 {func(p *patient) { p.lacks = []string{"patch services"} }, "fail  rights     get, list, watch, patch services story-writer, story-reader in namespace db: missing patch story-writer, patch story-reader"},
		"no right to tell":                  {func(p *patient) { p.lacks = []string{"create events"} }, "warn  rights     create, patch events in namespace db: missing create: reverts and the like"},
		"no right to read the topology":     {func(p *patient) { p.refuse("get", "configmaps") }, "warn  topology   configmaps db/story-topology may not be read: the right to get it is missing"},
		"no right to list pods":             {func(p *patient) { p.refuse("list", "pods") }, "warn  pods       pods may not be listed"},
		"paused":                            {func(p *patient) { p.paused() }, "warn  control    story is paused since 2026-11-30T08:00:00Z by alice: maintenance"},
		"admission denies":                  {dryRun(func(*corev1.Service) (*corev1.Service, error) { return nil, denied() }), "fail  dry-run    an override of service db/story-writer is denied"},
		"a webhook changes it":              {dryRun(func(s *corev1.Service) (*corev1.Service, error) { return s, nil }), "fail  dry-run    an override of service db/story-writer comes out changed"},
		"managedFields are somebody else's": {dryRun(unowned), "fail  dry-run    after an override of service db/story-writer its selector does not belong to poolwright-failover"},
		"nobody leads":                      {func(p *patient) { p.leased("", 0) }, "warn  lease      nobody holds lease poolwright/poolwright"},
		"the leader is dead":                {func(p *patient) { p.leased("poolwright-0", time.Minute) }, "fail  lease      poolwright-0 holds lease poolwright/poolwright, and has not renewed it since"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPatient(t)
			c.spoil(p)
			wantWords(t, p.examined(), c.want)
		})
	}
}

// TestTheRuleInArgocdCmCountsToo: for all Applications at once.
func TestTheRuleInArgocdCmCountsToo(t *testing.T) {
	p := newPatient(t)
	p.byArgo(strings.ReplaceAll(healthyApplication, "managedFieldsManagers: [poolwright-failover]", "jsonPointers: [/spec/ports]"))
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "argocd-cm", Namespace: "argocd"}, Data: map[string]string{
		"resource.customizations.ignoreDifferences.all": "managedFieldsManagers:\n- poolwright-failover\n",
	}}
	if _, err := p.api.CoreV1().ConfigMaps("argocd").Create(t.Context(), cm, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := p.examined(); strings.Contains(got, "\nfail ") {
		t.Errorf("got %s, want no failure", got)
	}
}

// overridden lets the Writer be ahead of Git for so long, as poolwright would have left it.
func (p *patient) overridden(age time.Duration) {
	sel := render.Select("story", benchState())
	r := live.Record{Version: 1, Epoch: 8, To: "a", At: whole(time.Now().Add(-age)), Select: map[live.Role]map[string]string{live.Writer: sel.Writer, live.Reader: sel.Reader}}
	p.edit(live.Writer, func(s *corev1.Service) { s.Annotations[live.AnnotationOverride] = r.String() })
}

func (p *patient) disown() {
	for _, role := range []live.Role{live.Writer, live.Reader} {
		p.edit(role, func(s *corev1.Service) { delete(s.Annotations, "argocd.argoproj.io/tracking-id") })
	}
}

func (p *patient) paused() {
	if err := p.pause(p.t.Context(), &bytes.Buffer{}, "maintenance", p.clock); err != nil {
		p.t.Fatal(err)
	}
}

// leased lets somebody have renewed the Lease so long ago.
func (p *patient) leased(who string, ago time.Duration) {
	lease, err := p.api.CoordinationV1().Leases("poolwright").Get(p.t.Context(), "poolwright", metav1.GetOptions{})
	if err == nil {
		at := metav1.NewMicroTime(time.Now().Add(-ago))
		lease.Spec.HolderIdentity, lease.Spec.RenewTime = &who, &at
		_, err = p.api.CoordinationV1().Leases("poolwright").Update(p.t.Context(), lease, metav1.UpdateOptions{})
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

func denied() error {
	return apierrors.NewForbidden(corev1.Resource("services"), "story-writer", errors.New(`ValidatingAdmissionPolicy "p" with binding "b" denied request: no`))
}

func unowned(s *corev1.Service) (*corev1.Service, error) {
	s.Spec.Selector = map[string]string{render.LabelCluster: "story", render.LabelInstance: "b"}
	return s, nil
}

// TestTheRoleHasTheRightsThatDoctorAsksFor: what is printed is what is checked, and RBAC takes it.
func TestTheRoleHasTheRightsThatDoctorAsksFor(t *testing.T) {
	for _, text := range []string{argoText, fluxText} {
		for evict, rights := range map[string]int{"none": 8, "console": 10, "deletePods": 10} {
			d := storyDeclaration(t)
			d.Cluster.Spec.Failover.Evict = evict
			printed := printedRights(t, d, text)
			var checked []string
			e := exam{site: site{names: namesOf(d.Cluster), declared: &d}, lease: leaseView{"poolwright", "poolwright"}}
			for _, r := range e.needed() {
				checked = append(checked, fmt.Sprint(r.namespace, []string{r.group}, []string{r.resource}, r.names, r.verbs))
			}
			if !slices.Equal(printed, checked) || len(checked) != rights {
				t.Errorf("failover.evict %s: got a Role with\n%s\nwant\n%s", evict, strings.Join(printed, "\n"), strings.Join(checked, "\n"))
			}
		}
	}
}

// printedRights are the rules of the Roles in what `gitops-config` prints.
func printedRights(t *testing.T, d declaration, text string) (printed []string) {
	t.Helper()
	v := viewOfNames(namesOf(d.Cluster))
	v.AccountNamespace, v.Account, v.OwnerNamespace, v.Evict = "poolwright", "poolwright", "there", d.Cluster.Spec.Failover.Evict
	var out bytes.Buffer
	if err := v.write(&out, text+rightsText+argoNudge); err != nil {
		t.Fatal(err)
	}
	for _, doc := range strings.Split(out.String(), "\n---\n")[1:] {
		var role rbacv1.Role
		if strings.Contains(doc, "\nkind: Role\n") {
			if err := yaml.UnmarshalStrict([]byte(doc), &role); err != nil {
				t.Fatal(err)
			}
		}
		for _, r := range role.Rules {
			printed = append(printed, fmt.Sprint(role.Namespace, r.APIGroups, r.Resources, r.ResourceNames, r.Verbs))
		}
	}
	return printed
}

// TestD02D04TheStanzaIsAboutExactlyTheRoleServices: no rule catches all, and doctor finds it complete.
func TestD02D04TheStanzaIsAboutExactlyTheRoleServices(t *testing.T) {
	p := newPatient(t)
	v := viewOfNames(p.names)
	v.OwnerNamespace, v.Owner = "argocd", "pools"
	var out bytes.Buffer
	if err := v.write(&out, argoText); err != nil {
		t.Fatal(err)
	}
	var a application
	if err := yaml.Unmarshal(out.Bytes(), &a); err != nil {
		t.Fatal(err)
	}
	var about []string
	for _, rule := range a.Spec.IgnoreDifferences {
		about = append(about, rule.Kind+" "+rule.Namespace+"/"+rule.Name+" "+strings.Join(rule.ManagedFieldsManagers, ","))
		if len(rule.JSONPointers)+len(rule.JQPathExpressions) > 0 {
			t.Errorf("got rule %+v, want one by manager only", rule)
		}
	}
	wantIs(t, "rules", strings.Join(about, "; "), "Service db/story-writer poolwright-failover; Service db/story-reader poolwright-failover")
	p.byArgo(out.String())
	if got := p.examined(); strings.Contains(got, "\nfail ") || strings.Contains(got, "\nwarn ") {
		t.Errorf("got %s, want nothing to complain of", got)
	}
	if strings.Contains(strings.ReplaceAll(fluxText, "# ", ""), "\nignore") {
		t.Error("Flux is told to ignore something: Git's selectors would never be applied again")
	}
}
