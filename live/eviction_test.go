package live

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/poolwright/poolwright/render"
)

func TestEvictionIsReadAsItWasWritten(t *testing.T) {
	for _, e := range []Eviction{
		{Version: 1, Number: 1, To: "a", At: start, Done: start},
		{Version: 1, Number: 7, To: "a", From: []string{"b", "c"}, Restore: []string{"a"}, At: start.Add(time.Millisecond)},
		{Version: 1, Number: 8, To: "b", From: []string{"a"}, At: start, Done: start.Add(time.Second), Evicted: 20, Returned: 19},
	} {
		c, err := ParseControl(map[string]string{keyEviction: e.String()})
		if err != nil || c.Eviction == nil {
			t.Fatalf("%v: %v", e, err)
		}
		if diff := cmp.Diff(e, *c.Eviction); diff != "" {
			t.Error(diff)
		}
		if c.Eviction.Open() != e.Done.IsZero() {
			t.Errorf("open: %v", e)
		}
	}
}

func TestEvictionThatPoolwrightWouldNotWrite(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON":            `{`,
		"another version":    `{"v":2,"n":1,"to":"a","at":"2026-11-30T08:00:00Z","done":"2026-11-30T08:00:00Z"}`,
		"without a number":   `{"v":1,"to":"a","at":"2026-11-30T08:00:00Z","done":"2026-11-30T08:00:00Z"}`,
		"without an end":     `{"v":1,"n":1,"at":"2026-11-30T08:00:00Z","done":"2026-11-30T08:00:00Z"}`,
		"without a time":     `{"v":1,"n":1,"to":"a","done":"2026-11-30T08:00:00Z"}`,
		"open, about nobody": `{"v":1,"n":1,"to":"a","at":"2026-11-30T08:00:00Z"}`,
	} {
		c, err := ParseControl(map[string]string{keyEviction: text, KeyPause: `{"by":"me"}`})
		if err == nil || !strings.Contains(err.Error(), "data.evictions") || c.Eviction != nil || c.Pause == nil {
			t.Errorf("%s: %v, %+v", name, err, c)
		}
	}
}

func FuzzParseEviction(f *testing.F) {
	f.Add(Eviction{Number: 7, To: "a", From: []string{"b"}, At: start}.String())
	f.Add(`{"v":1,"n":1,"to":"a","at":"2026-11-30T08:00:00Z","done":"0001-01-01T00:00:00Z"}`)
	f.Fuzz(func(t *testing.T, text string) {
		e, err := ParseEviction(text)
		if err != nil {
			return
		}
		again, err := ParseEviction(e.String())
		if err != nil || again.String() != e.String() {
			t.Errorf("%q is read as %v, and that as %v: %v", text, e, again, err)
		}
	})
}

func TestPutEvictionLeavesOtherKeysAlone(t *testing.T) {
	e := Eviction{Version: 1, Number: 2, To: "b", From: []string{"a"}, At: start}
	for name, before := range map[string]map[string]string{"none yet": nil, "others": {"pause": "{}", "evictions": "old"}} {
		a := newAPIServer(t)
		if before != nil {
			a.add("configmaps", ourControl(before))
		}
		if err := PutEviction(t.Context(), a.client("poolwright"), bedNames(), e); err != nil {
			t.Fatal(err)
		}
		c := read[corev1.ConfigMap](a, "configmaps", "pg-control")
		if c.Data["evictions"] != e.String() || c.Data["pause"] != before["pause"] {
			t.Errorf("%s: %v", name, c.Data)
		}
		if before == nil && c.Labels[render.LabelCluster] != "pg" {
			t.Errorf("its labels are %v", c.Labels)
		}
	}
	a := newAPIServer(t)
	a.obey(rbac)
	c := ControlTrouble(bedNames(), PutEviction(t.Context(), a.client("poolwright"), bedNames(), e))
	if c.Code != Forbidden || c.Object != "configmap example/pg-control" || !strings.Contains(c.Hint, "resourceNames: [pg-control]") {
		t.Errorf("the trouble is %+v", c)
	}
}

func TestPodsAreThoseThatAreSeen(t *testing.T) {
	inBed(t, func(t *testing.T, b *bed) {
		if got := b.keeper.Pods(); got != nil {
			t.Errorf("seen before anything was: %v", got)
		}
		b.start()
		if got := b.keeper.Pods(); len(got) != 2 {
			t.Errorf("seen: %v", got)
		}
		b.remove("pods", "a-1")
		b.remove("pods", "b-1")
		synctest.Wait()
		if got := b.keeper.Pods(); got == nil || len(got) > 0 {
			t.Errorf("there is none, and that is known: %v", got)
		}
	})
	inBed(t, func(t *testing.T, b *bed) {
		b.obey(func(q request) error {
			if q.Resource == "pods" {
				return rbac(q)
			}
			return nil
		})
		b.start()
		if got := b.keeper.Pods(); got != nil {
			t.Errorf("not allowed to see, and yet: %v", got)
		}
	})
}
