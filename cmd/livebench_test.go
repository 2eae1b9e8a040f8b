package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	"github.com/poolwright/poolwright/gitsync"
	"github.com/poolwright/poolwright/live"
	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/render"
)

// liveBench is a cluster in an API server that is a double, with databases that
// say what a test lets them say.
type liveBench struct {
	site
	t     *testing.T
	api   *fake.Clientset
	state plan.State
	files gitsync.Files
	said  map[string][3]string // by instance: the answer to question
	env   map[string]string
	clock time.Time
	// apart is how far the API server's clock is ahead of clock; mute does not tell it.
	apart time.Duration
	mute  bool
}

// told is the time that the API server tells.
func (b *liveBench) told() metav1.Time {
	if b.mute {
		return metav1.Time{}
	}
	return metav1.NewTime(b.clock.Add(b.apart))
}

// benchState is a membership of three; a is the writer.
func benchState() plan.State {
	s := plan.State{Epoch: 7, Writer: "a"}
	for i, name := range []string{"a", "b", "c"} {
		s.Members = append(s.Members, plan.Member{Name: name, Host: name + ".example.internal", Port: 5432, Slot: i, Since: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)})
	}
	return s
}

// newBench is the cluster of a state, applied by Flux, with a ready pod for everybody.
func newBench(t *testing.T, s plan.State) *liveBench {
	t.Helper()
	b := &liveBench{
		t: t, state: s, clock: time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC), env: map[string]string{"PGUSER": "u", "PGSSLMODE": "disable"},
		said: map[string][3]string{"a": {"f", "off", "off"}, "b": {"f", "off", "off"}, "c": {"t", "on", "off"}},
	}
	d := storyDeclaration(t)
	tree, err := render.Draw(d.Cluster, s, render.GivenIn(nil))
	if err != nil {
		t.Fatal(err)
	}
	b.files = gitsync.Files(tree)
	b.api = fake.NewSimpleClientset(b.applied()...)
	b.api.PrependReactor("create", "selfsubjectreviews", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, &authenticationv1.SelfSubjectReview{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: b.told()}, Status: authenticationv1.SelfSubjectReviewStatus{UserInfo: authenticationv1.UserInfo{Username: "alice"}}}, nil
	})
	b.site = site{
		kube:  kube{Interface: b.api, Dynamic: dynamicfake.NewSimpleDynamicClient(runtime.NewScheme()), Namespace: "db"},
		names: namesOf(d.Cluster), address: []string{"--cluster", "story", "-n", "db"}, argo: argoNamespace,
	}
	return b
}

// applied are the objects that a GitOps tool and the kubelet have made.
func (b *liveBench) applied() (objects []runtime.Object) {
	for i, text := range strings.Split(string(b.files["services.yaml"]), "\n---\n") {
		var svc corev1.Service
		if err := yaml.UnmarshalStrict([]byte(text), &svc); err != nil {
			b.t.Fatal(err)
		}
		svc.Namespace, svc.UID, svc.ResourceVersion = "db", types.UID(fmt.Sprint("uid-", i)), "1"
		svc.Labels["kustomize.toolkit.fluxcd.io/name"], svc.Labels["kustomize.toolkit.fluxcd.io/namespace"] = "pools", "flux-system"
		svc.ManagedFields = []metav1.ManagedFieldsEntry{owning("kustomize-controller")}
		objects = append(objects, &svc)
	}
	objects = append(objects, b.newTopology(render.Tree(b.files)))
	for _, m := range b.state.Members {
		objects = append(objects, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "pod-" + m.Name, Namespace: "db", Labels: map[string]string{render.LabelCluster: "story", render.LabelInstance: m.Name}},
			Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
		})
	}
	return objects
}

// newTopology is the ConfigMap of a tree.
func (b *liveBench) newTopology(tree render.Tree) *corev1.ConfigMap {
	var topology corev1.ConfigMap
	if err := yaml.UnmarshalStrict(tree["topology.yaml"], &topology); err != nil {
		b.t.Fatal(err)
	}
	topology.Namespace = "db"
	return &topology
}

// owning is a managedFields entry that owns a selector.
func owning(manager string) metav1.ManagedFieldsEntry {
	at := metav1.NewTime(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC))
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, Time: &at, FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:selector":{}}}`),
	}
}

// world reaches the databases of the bench.
func (b *liveBench) world() outside {
	return outside{
		Now: func() time.Time { return b.clock }, Getenv: func(key string) string { return b.env[key] },
		Lookup: func(_ context.Context, host string) ([]string, error) { return []string{host}, nil },
		Dial:   b.dial,
	}
}

func (b *liveBench) dial(_ context.Context, _, address string) (net.Conn, error) {
	name, _, _ := strings.Cut(address, ".")
	answer, ok := b.said[name]
	if !ok {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	ours, theirs := net.Pipe()
	go serve(ours, answer)
	return theirs, nil
}

// serve is a PostgreSQL that knows one question.
func serve(conn net.Conn, answer [3]string) {
	defer conn.Close()
	pg := pgproto3.NewBackend(conn, conn)
	if _, err := pg.ReceiveStartupMessage(); err != nil {
		return
	}
	pg.Send(&pgproto3.AuthenticationOk{})
	pg.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	for pg.Flush() == nil {
		message, err := pg.Receive()
		if err != nil {
			return
		}
		q, ok := message.(*pgproto3.Query)
		if !ok {
			return
		}
		if q.String != question {
			pg.Send(&pgproto3.ErrorResponse{Severity: "ERROR", Code: "42601", Message: "not a question that is known here"})
		} else {
			row := &pgproto3.DataRow{}
			for _, v := range answer {
				row.Values = append(row.Values, []byte(v))
			}
			pg.Send(&pgproto3.RowDescription{Fields: make([]pgproto3.FieldDescription, len(answer))})
			pg.Send(row)
			pg.Send(&pgproto3.CommandComplete{CommandTag: []byte("SELECT 1")})
		}
		pg.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	}
}

// refuse lets the API server refuse a verb on a resource, as RBAC does.
func (b *liveBench) refuse(verb, resource string) {
	b.api.PrependReactor(verb, resource, func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", fmt.Errorf(`User "alice" cannot %s resource %q`, verb, resource))
	})
}

func (b *liveBench) service(role live.Role) *corev1.Service {
	b.t.Helper()
	svc, err := b.api.CoreV1().Services("db").Get(context.Background(), b.names.Services[role], metav1.GetOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	return svc
}

// edit changes a Service behind everybody's back.
func (b *liveBench) edit(role live.Role, change func(*corev1.Service)) {
	b.t.Helper()
	svc := b.service(role)
	change(svc)
	if _, err := b.api.CoreV1().Services("db").Update(context.Background(), svc, metav1.UpdateOptions{}); err != nil {
		b.t.Fatal(err)
	}
}

// control is what the control ConfigMap says.
func (b *liveBench) control() live.Control {
	b.t.Helper()
	cm, err := b.api.CoreV1().ConfigMaps("db").Get(context.Background(), live.ControlName("story"), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return live.Control{}
	}
	if err != nil {
		b.t.Fatal(err)
	}
	c, err := live.ParseControl(cm.Data)
	if err != nil {
		b.t.Fatal(err)
	}
	return c
}

// writes are the changes that were asked for since the last call, "verb resource name".
func (b *liveBench) writes() (found []string) {
	for _, a := range b.api.Actions() {
		verb, resource := a.GetVerb(), a.GetResource().Resource
		switch {
		case verb == "get" || verb == "list" || strings.HasPrefix(resource, "selfsubject"):
			continue
		case verb == "patch":
			resource += " " + a.(clienttesting.PatchAction).GetName()
		}
		found = append(found, verb+" "+resource)
	}
	b.api.ClearActions()
	return found
}

// order runs `patch`.
func (b *liveBench) order(c PatchCmd) (out, errs string, err error) {
	b.api.ClearActions()
	var o, e bytes.Buffer
	err = b.patch(b.t.Context(), b.world(), &Stdio{In: strings.NewReader(""), Out: &o, Err: &e}, c)
	return o.String(), e.String(), err
}

// pause and resume run those verbs.
func (b *liveBench) pause(ctx context.Context, out io.Writer, reason string, now time.Time) error {
	v, err := b.paused(ctx, io.Discard, reason, now)
	if err != nil {
		return err
	}
	return v.text(out)
}

func (b *liveBench) resume(ctx context.Context, out io.Writer, now time.Time) error {
	v, err := b.resumed(ctx, io.Discard, now)
	if err != nil {
		return err
	}
	return v.text(out)
}

func to(name string) PatchCmd {
	return PatchCmd{To: name, Reason: "a hangs", For: 30 * time.Minute, Yes: true}
}

func wantExit(t *testing.T, err error, code int, words ...string) {
	t.Helper()
	exit, ok := errors.AsType[*ExitError](err)
	if !ok || exit.Code != code {
		t.Fatalf("got error %v, want exit code %d", err, code)
	}
	for _, word := range words {
		if !strings.Contains(exit.Error()+"\n"+exit.Hint, word) {
			t.Errorf("got error %q with hint %q, want %q in it", exit.Error(), exit.Hint, word)
		}
	}
}

func wantWords(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("got %q, want %q in it", text, word)
		}
	}
}

func wantWrites(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got writes %q, want %q", got, want)
	}
}
