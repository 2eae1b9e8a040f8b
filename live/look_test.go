package live

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poolwright/poolwright/render"
)

func TestLookReadsEachObjectOnce(t *testing.T) {
	b := newBed(t)
	going := pod("b-2", "b", true)
	going.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	b.add("pods", going)
	b.add("pods", pod("b-3", "b", false))
	b.add("pods", pod("b-4", "b", true))
	stranger := pod("x-1", "b", true)
	stranger.Labels[render.LabelCluster] = "other"
	b.add("pods", stranger)
	b.add("configmaps", ourControl(map[string]string{"pause": `{"reason":"x"}`, "order": "{"}))
	s, err := Look(context.Background(), b.client("me"), b.names)
	if err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(s.Ready, map[string]int{"a": 1, "b": 2}) {
		t.Errorf("ready are %v", s.Ready)
	}
	if s.Receipt != 7 || s.Topology["epoch"] != "7" || len(s.Services) != 2 || s.Services[Writer].Name != "pg-writer" {
		t.Errorf("seen: %+v", s)
	}
	if s.Control.Pause == nil || s.Control.Order != nil || s.ControlErr == nil {
		t.Errorf("control is %+v, error %v", s.Control, s.ControlErr)
	}
	var asked []string
	for _, r := range b.made() {
		asked = append(asked, r.String())
	}
	slices.Sort(asked)
	want := []string{"get configmaps pg-control", "get configmaps pg-topology", "get services pg-reader", "get services pg-writer", "list pods"}
	if !slices.Equal(asked, want) {
		t.Errorf("asked %q", asked)
	}
}

func TestLookAtNothing(t *testing.T) {
	b := newBed(t)
	b.names.Cluster, b.names.Topology, b.names.Services = "none", "none", map[Role]string{Reader: "none"}
	s, err := Look(context.Background(), b.client("me"), b.names)
	if err != nil || len(s.Services) != 0 || s.Topology != nil || s.Receipt != 0 || s.Control != (Control{}) || s.Ready == nil || len(s.Ready) != 0 {
		t.Errorf("seen: %+v, error %v", s, err)
	}
}

func TestLookWithoutRights(t *testing.T) {
	b := newBed(t)
	for resource, want := range map[string]string{
		"pods":     "",
		"services": `reading service example/pg-`,
	} {
		b.obey(func(q request) error {
			if q.Resource == resource {
				return rbac(q)
			}
			return nil
		})
		s, err := Look(context.Background(), b.client("me"), b.names)
		switch {
		case want == "" && (err != nil || s.Ready != nil || len(s.Services) != 2):
			t.Errorf("without %s: seen %+v, error %v", resource, s, err)
		case want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)):
			t.Errorf("without %s: error %v", resource, err)
		}
	}
}

func TestLookGoesOnWithoutTheControl(t *testing.T) {
	b := newBed(t)
	b.obey(func(q request) error {
		if q.Name == "pg-control" {
			return rbac(q)
		}
		return nil
	})
	s, err := Look(context.Background(), b.client("me"), b.names)
	if err != nil || s.ControlErr == nil || s.Receipt != 7 || len(s.Services) != 2 {
		t.Errorf("seen: %+v, error %v", s, err)
	}
}

func TestTopologyThatIsNoReceipt(t *testing.T) {
	for epoch, want := range map[string]uint64{"": 0, "x": 0, "-1": 0, "12": 12} {
		o := objects{topology: &corev1.ConfigMap{Data: map[string]string{"epoch": epoch}}}
		if got := o.sight(Names{}).Receipt; got != want {
			t.Errorf("the receipt of %q is %d", epoch, got)
		}
	}
	if s := (objects{topology: &corev1.ConfigMap{}}).sight(Names{}); s.Topology == nil {
		t.Error("an empty ConfigMap counts as none")
	}
}

// aSelect is what a record must say, whatever it is.
var aSelect = map[Role]map[string]string{Reader: {render.LabelCluster: "pg"}}

// ourControl is the control ConfigMap with what it says.
func ourControl(data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "pg-control", Labels: map[string]string{render.LabelCluster: "pg"}}, Data: data}
}

func TestDo(t *testing.T) {
	b := newBed(t)
	ctx, client := context.Background(), b.client("me")
	r := &Record{Version: 1, Epoch: 8, To: "b", At: time.Unix(0, 0).UTC(), Select: aSelect}
	control := func() *corev1.ConfigMap { return read[corev1.ConfigMap](b.apiServer, "configmaps", "pg-control") }
	do := func(w Write, want Code) {
		t.Helper()
		if err := Do(ctx, client, b.names, w); CodeOf(err) != want || (want == 0) != (err == nil) {
			t.Errorf("%v: %v", w.Kind, err)
		}
	}
	do(Write{Kind: Forget, Name: "pg-control"}, 0) // there is nothing to forget
	do(Write{Kind: Mirror, Name: "pg-control", Record: r}, 0)
	if c := control(); c.Data["override"] != r.String() || c.Labels[render.LabelCluster] != "pg" {
		t.Errorf("the mirror is %+v", c)
	}
	r.Epoch = 9
	do(Write{Kind: Mirror, Name: "pg-control", Record: r}, 0)
	b.add("configmaps", ourControl(map[string]string{"order": "{}", "override": r.String()}))
	do(Write{Kind: Forget, Name: "pg-control"}, 0)
	if c := control(); len(c.Data) != 1 || c.Data["order"] != "{}" {
		t.Errorf("the mirror is %+v", c)
	}

	svc := read[corev1.Service](b.apiServer, "services", "pg-writer")
	patch := []Op{{Op: "test", Path: "/metadata/uid", Value: svc.UID}, {Op: "add", Path: "/metadata/annotations/x", Value: "y"}}
	do(Write{Kind: Override, Role: Writer, Name: "pg-writer", Patch: patch}, 0)
	svc = read[corev1.Service](b.apiServer, "services", "pg-writer")
	if svc.Annotations["x"] != "y" || !managedBy(svc, FieldManager) {
		t.Errorf("patched: %+v", svc)
	}
	do(Write{Kind: Override, Role: Writer, Name: "none", Patch: patch}, ServiceMissing)
	patch[0].Value = "another"
	if err := Do(ctx, client, b.names, Write{Kind: Override, Role: Writer, Name: "pg-writer", Patch: patch}); err == nil || CodeOf(err) != 0 {
		t.Errorf("a failed test is %v: %v", CodeOf(err), err)
	}
}
