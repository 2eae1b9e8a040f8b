package live

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/render"
)

const cluster = "shop"

var start = time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)

// world is Kubernetes, Git and a GitOps tool as far as Next can tell them apart.
// Services are changed by the very patches of the verdicts.
type world struct {
	t        tester
	tool     Tool
	stanza   bool // Argo CD has been told to leave our fields alone
	services map[Role]*corev1.Service
	receipt  uint64
	control  Control
	ready    map[string]int
	git      []plan.State // head last
	now      time.Time
	version  int
}

// tester is what *testing.T and *rapid.T have in common.
type tester interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// newWorld is a cluster of three whose writer is a, applied by tool.
func newWorld(t tester, tool Tool) *world {
	w := &world{t: t, tool: tool, services: map[Role]*corev1.Service{}, ready: map[string]int{"a": 1, "b": 1, "c": 1}, now: start}
	w.commit(state(1, "a"))
	w.sync()
	return w
}

// state is a membership of three in which everybody but the writer reads.
func state(epoch uint64, writer string) plan.State {
	s := plan.State{Epoch: epoch, Writer: writer}
	for i, name := range []string{"a", "b", "c"} {
		s.Members = append(s.Members, plan.Member{Name: name, Slot: i})
	}
	return s
}

// withoutC takes c from the readers.
func withoutC(s plan.State) plan.State {
	s.Members[2].Out = plan.Unproven
	return s
}

func (w *world) head() plan.State { return w.git[len(w.git)-1] }

func (w *world) commit(s plan.State) { w.git = append(w.git, s) }

// sync lets the tool apply the head.
func (w *world) sync() { w.apply(w.head()) }

// apply lets the tool apply one commit, as far as its rules let it.
func (w *world) apply(s plan.State) {
	for role, keys := range selectOf(s) {
		svc := w.services[role]
		epoch := strconv.FormatUint(s.Epoch, 10)
		switch {
		case svc == nil:
			svc = w.create(role)
		case w.tool == Flux && isFrozen(svc):
			continue
		case w.tool == ArgoCD && w.stanza && managedBy(svc, FieldManager) && svc.Annotations[render.AnnotationEpoch] == epoch:
			continue // ignored, and in sync otherwise
		}
		if !maps.Equal(OurKeys(svc.Spec.Selector), keys) || svc.Annotations[render.AnnotationEpoch] != epoch {
			w.edit(role, toolManager(w.tool), func(s *corev1.Service) {
				s.Spec.Selector = withKeys(s.Spec.Selector, keys)
				s.Annotations[render.AnnotationEpoch] = epoch
			})
		}
	}
	w.receipt = s.Epoch
}

func toolManager(t Tool) string {
	if t == Flux {
		return "kustomize-controller"
	}
	return "argocd-controller"
}

func selectOf(s plan.State) map[Role]map[string]string {
	sel := render.Select(cluster, s)
	return map[Role]map[string]string{Writer: sel.Writer, Reader: sel.Reader}
}

// create makes a Service as the tool would.
func (w *world) create(role Role) *corev1.Service {
	w.version++
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{
		Name: cluster + "-" + string(role), Namespace: "db", UID: types.UID(fmt.Sprint("uid-", w.version)), ResourceVersion: strconv.Itoa(w.version),
		Labels: map[string]string{render.LabelCluster: cluster}, Annotations: map[string]string{},
	}, Spec: corev1.ServiceSpec{Selector: map[string]string{"team": "shop"}}}
	if w.tool == Flux {
		svc.Labels["kustomize.toolkit.fluxcd.io/name"], svc.Labels["kustomize.toolkit.fluxcd.io/namespace"] = "db", "flux-system"
	} else {
		svc.Annotations["argocd.argoproj.io/tracking-id"] = "db:/Service:db/" + svc.Name
	}
	w.services[role] = svc
	return svc
}

// edit changes a Service as a field manager, which then owns the selector if it changed it.
func (w *world) edit(role Role, manager string, change func(*corev1.Service)) {
	next := w.services[role].DeepCopy()
	if next.Annotations == nil {
		next.Annotations = map[string]string{}
	}
	change(next)
	w.version++
	next.ResourceVersion = strconv.Itoa(w.version)
	before := w.services[role]
	if !maps.Equal(next.Spec.Selector, before.Spec.Selector) || manager != FieldManager {
		next.ManagedFields = own(next.ManagedFields, manager, w.now)
	}
	if isFrozen(next) && !weFroze(next) && (weFroze(before) || manager == FieldManager && !isFrozen(before)) {
		next.ManagedFields = append(next.ManagedFields, metav1.ManagedFieldsEntry{
			Manager: FieldManager, Subresource: "of the freeze", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:` + annotationFreeze + `":{}}}}`),
		})
	}
	w.services[role] = next
}

// own gives the selector to one manager and takes it from all others. A manager left with nothing is gone.
func own(list []metav1.ManagedFieldsEntry, manager string, at time.Time) (next []metav1.ManagedFieldsEntry) {
	for _, m := range list {
		if m.Manager != manager && m.Manager != FieldManager {
			m.FieldsV1 = metav1.NewFieldsV1(`{"f:metadata":{}}`)
			next = append(next, m)
		}
	}
	if manager != FieldManager && managedIn(list, FieldManager) {
		next = append(next, metav1.ManagedFieldsEntry{Manager: FieldManager, FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{}}`)})
	}
	now := metav1.NewTime(at)
	return append(next, metav1.ManagedFieldsEntry{Manager: manager, Time: &now, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:selector":{}}}`)})
}

func managedIn(list []metav1.ManagedFieldsEntry, manager string) bool {
	return managedBy(&corev1.Service{ObjectMeta: metav1.ObjectMeta{ManagedFields: list}}, manager)
}

func (w *world) sight() Sight {
	return Sight{
		Names: Names{
			Cluster: cluster, Namespace: "db", Topology: cluster + "-topology",
			Services: map[Role]string{Writer: cluster + "-writer", Reader: cluster + "-reader"},
		},
		Services: maps.Clone(w.services), Receipt: w.receipt, Control: w.control, Ready: w.ready,
	}
}

// wish is the Want for a membership: a failover when its writer is not Git's.
func (w *world) wish(writer string) Want {
	head := w.head()
	want := Want{Epoch: head.Epoch, Declared: head.Epoch, Head: fmt.Sprint("commit-", len(w.git)), From: head.Writer, To: writer, Reason: "writer-moved " + writer, Applied: w.sight().Applied()}
	if writer != head.Writer {
		want.Epoch, want.Begin = w.nextEpoch(), true
	}
	if o := w.sight().Order(); o != nil && o.Writer == writer && want.Begin {
		want.By, want.Until = o.By, o.Until
	}
	want.Known = w.sight().Records()
	for _, r := range want.Known { // Git is read again and again
		want.Read = max(want.Read, r.Epoch)
	}
	chosen, declared := selectOf(state(want.Epoch, writer)), selectOf(head)
	for _, r := range []Role{Writer, Reader} {
		want.Roles = append(want.Roles, Target{Role: r, Select: chosen[r], Declared: declared[r]})
	}
	return want
}

// nextEpoch is that of the next decision: none that was taken back comes again.
func (w *world) nextEpoch() uint64 {
	next := w.head().Epoch + 1
	if r := w.control.Release; r != nil {
		next = max(next, r.Epoch+1)
	}
	return next
}

// held is the Want of a decision that may change nothing.
func (w *world) held() Want {
	want := w.wish(w.head().Writer)
	want.Hold = true
	for i, t := range want.Roles {
		want.Roles[i].Select = t.Declared
	}
	return want
}

// perform makes the first n writes of a verdict: a crash comes after them.
func (w *world) perform(v Verdict, n int) {
	for _, write := range v.Writes[:min(n, len(v.Writes))] {
		switch write.Kind {
		case Mirror:
			record, err := ParseRecord(write.Record.String())
			if err != nil {
				w.t.Fatal("it writes what it does not read: ", err)
			}
			w.control.Override = &record
		case Forget:
			w.control.Override = nil
		default:
			w.patch(write)
		}
	}
}

// patch applies a JSON Patch as our field manager.
func (w *world) patch(write Write) {
	w.t.Helper()
	ops, err := json.Marshal(write.Patch)
	if err != nil {
		w.t.Fatal(err)
	}
	patch, err := jsonpatch.DecodePatch(ops)
	if err != nil {
		w.t.Fatal(err)
	}
	before, err := json.Marshal(w.services[write.Role])
	if err != nil {
		w.t.Fatal(err)
	}
	after, err := patch.Apply(before)
	if err != nil {
		w.t.Fatalf("%s %s: %v\n%s\n%s", write.Kind, write.Role, err, ops, before)
	}
	w.edit(write.Role, FieldManager, func(s *corev1.Service) {
		*s = corev1.Service{}
		if err := json.Unmarshal(after, s); err != nil {
			w.t.Fatal(err)
		}
	})
}

// settle lets poolwright act until it has nothing left to write, with the tool in between.
func (w *world) settle(writer string) Verdict {
	w.t.Helper()
	for range 12 {
		w.now = w.now.Add(time.Second)
		v := Next(w.sight(), w.wish(writer), w.now)
		w.perform(v, len(v.Writes))
		if want := w.wish(writer); want.Begin {
			w.commit(state(want.Epoch, writer))
		}
		w.sync()
		if len(v.Writes) == 0 && v.Phase == Idle {
			return v
		}
	}
	w.t.Fatalf("not settled: %+v", Next(w.sight(), w.wish(writer), w.now))
	return Verdict{}
}

func (w *world) selected(role Role) string { return instanceOf(w.services[role].Spec.Selector) }

// traces are what is left of an override on the objects.
func (w *world) traces() (found []string) {
	for role, svc := range w.services {
		if svc.Annotations[AnnotationOverride] != "" {
			found = append(found, string(role)+" has a record")
		}
		if isFrozen(svc) {
			found = append(found, string(role)+" is frozen")
		}
		if managedBy(svc, FieldManager) {
			found = append(found, string(role)+" has our entry among the managers")
		}
	}
	if w.control.Override != nil {
		found = append(found, "the record is mirrored")
	}
	return found
}
