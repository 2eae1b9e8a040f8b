//go:build e2e

package e2e

import (
	"maps"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/poolwright/poolwright/test/driver"
)

// wantAsInGit wants the live Services to select what main says.
func (c *cluster) wantAsInGit() {
	c.t.Helper()
	text := c.git.File("main", "services.yaml")
	for _, role := range []string{"writer", "reader"} {
		var live []string
		selector := now(c.stage, func() map[string]string { return c.service(role).selector })
		for _, k := range slices.Sorted(maps.Keys(selector)) {
			live = append(live, k+": "+selector[k])
		}
		if diff := cmp.Diff(driver.Selector(text, role), live); diff != "" {
			c.t.Errorf("the %s is not as in Git (-Git +live):\n%s", role, diff)
		}
	}
}

// wantWriters wants the Writer Service to have selected exactly this, in this order: "a by kustomize-controller".
func (c *cluster) wantWriters(want ...string) {
	c.t.Helper()
	var got []string
	for _, s := range c.selections("writer") {
		got = append(got, s.instance+" by "+s.manager)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		c.t.Errorf("the Writer Service's history (-want +got):\n%s", diff)
	}
}

// reverts is how often somebody took the Writer Service back to an instance after poolwright had moved it away.
func (c *cluster) reverts(to string) (n int) {
	moved := false
	for _, s := range c.selections("writer") {
		if s.manager == fieldManager {
			moved = true
		} else if moved && s.instance == to {
			n++
		}
	}
	return n
}

// wantNeverTwo wants no two instances ever behind the Writer Service, and never none after there was one.
func (c *cluster) wantNeverTwo() {
	c.t.Helper()
	c.wantNeverTwoAtOnce()
	sets := c.everBehind("writer")
	if i := slices.IndexFunc(sets, func(s string) bool { return s != "" }); i >= 0 && slices.Contains(sets[i:], "") {
		c.t.Errorf("nobody stood behind the Writer Service: %q", sets)
	}
}

// wantCommits wants these commits on main, each by a part of its subject.
func (c *cluster) wantCommits(parts ...string) {
	c.t.Helper()
	got := c.git.Subjects()
	ok := len(got) == len(parts)
	for i := range got {
		ok = ok && strings.Contains(got[i], parts[i])
	}
	if !ok {
		c.t.Errorf("got commits %q, want %q", got, parts)
	}
}

// wantNeverTwoAtOnce is wantNeverTwo where the pods themselves come and go.
func (c *cluster) wantNeverTwoAtOnce() {
	c.t.Helper()
	if sets := c.everBehind("writer"); slices.ContainsFunc(sets, func(s string) bool { return strings.Contains(s, " ") }) {
		c.t.Errorf("two instances stood behind the Writer Service: %q", sets)
	}
}

// wantSaid wants a line of poolwright's log.
func (c *cluster) wantSaid(parts ...string) {
	c.t.Helper()
	if driver.Line(c.p.Text(), parts...) == "" {
		c.t.Errorf("poolwright's log has no line with %q", parts)
	}
}

// wantOwner wants the selectors of both Services to be owned by one manager alone.
func (c *cluster) wantOwner(manager string) {
	c.t.Helper()
	for _, role := range []string{"writer", "reader"} {
		if got := now(c.stage, func() []string { return c.service(role).owners }); !slices.Equal(got, []string{manager + " Apply"}) {
			c.t.Errorf("the %s's selector is owned by %q, want %s alone", role, got, manager)
		}
	}
}
