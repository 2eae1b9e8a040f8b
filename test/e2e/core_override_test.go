//go:build e2e

package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCore23OverrideAndHandBack: the Writer is the first write, then the Reader, then the mirror; each patch tests uid and old
// selector; nothing else is written; and what is ours goes when the commit is applied.
func TestCore23OverrideAndHandBack(t *testing.T) {
	t.Parallel()
	c := bootstrap(t, hands{})
	s := c.sample()
	c.failover("b")
	c.awaitOverride("b")
	c.git.AwaitSubject(2, "writer a → b (epoch 2)")
	c.wantWrites("PATCH story-writer", "PATCH story-reader", "POST configmaps")
	for _, role := range []string{"writer", "reader"} {
		q := c.gate.all(isPatchOf(role))[0]
		var got []string
		for _, o := range q.operations() {
			got = append(got, o.Op+" "+o.Path)
		}
		want := []string{"test /metadata/uid", "test /spec/selector", "replace /spec/selector", "add " + overridePath}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the patch of the %s (-want +got):\n%s", role, diff)
		}
		if q.query.Get("fieldManager") != fieldManager {
			t.Errorf("the field manager is %q", q.query.Get("fieldManager"))
		}
		if got := now(c.stage, func() []string { return c.service(role).owners }); !slices.Equal(got, []string{fieldManager + " Update"}) {
			t.Errorf("the %s's selector is owned by %q, want our Update alone", role, got)
		}
	}
	c.awaitEvent("writer", "FailoverPatched", "a → b")
	c.apply("main", "--server-side", "--force-conflicts")
	c.awaitHandedBack("b", 2)
	c.awaitEvent("writer", "HandedBack")
	c.wantNeverTwo()
	if reads, two, none := s.end(); two+none > 0 || reads < 100 {
		t.Errorf("of %d reads of the Writer's EndpointSlices %d had two instances and %d none", reads, two, none)
	}
	c.p.Stop()
}

// wantWrites wants exactly these writes so far, the Lease and Events aside: method and last part of the path.
func (c *cluster) wantWrites(want ...string) {
	c.t.Helper()
	var got []string
	for _, q := range c.gate.all(isWrite) {
		got = append(got, q.method+" "+q.path[strings.LastIndex(q.path, "/")+1:])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		c.t.Errorf("writes (-want +got):\n%s", diff)
	}
}

// TestCore24KeysOfOthersAreKept: a label selector that somebody's overlay added stays through override and hand-back.
func TestCore24KeysOfOthersAreKept(t *testing.T) {
	t.Parallel()
	c := bootstrap(t, hands{})
	const key = "example.com/shard"
	c.kubectl("label", "pods", "--all", key+"=one")
	for _, role := range []string{"writer", "reader"} {
		c.kubectl("patch", "service", "story-"+role, "--type=merge", "-p", `{"spec":{"selector":{"`+key+`":"one"}}}`)
	}
	c.failover("b")
	c.awaitOverride("b")
	c.awaitServing("b")
	for _, role := range []string{"writer", "reader"} {
		if got := now(c.stage, func() string { return c.service(role).selector[key] }); got != "one" {
			t.Errorf("the %s's foreign key is %q, want it kept", role, got)
		}
	}
	c.wantNeverTwo()
	for _, q := range c.gate.all(func(q question) bool { return isServicePatch(q) && q.status != http.StatusOK }) {
		t.Errorf("patch refused: %d %s", q.status, q.body)
	}
}
