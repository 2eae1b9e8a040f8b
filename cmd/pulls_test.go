package cmd

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/poolwright/poolwright/clusters"
	"github.com/poolwright/poolwright/discovery"
	"github.com/poolwright/poolwright/gitsync"
	"github.com/poolwright/poolwright/gitsync/forge"
	"github.com/poolwright/poolwright/gitsync/githubfake"
	"github.com/poolwright/poolwright/gitsync/gitserver"
	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/render/build"
)

// counter is a cluster whose commits and pull requests go to a stub of GitHub, and what the databases say.
type counter struct {
	t       *testing.T
	hub     *githubfake.Server
	branch  branch
	decl    declaration
	world   *world
	memory  plan.Memory
	now     time.Time
	builder build.Builder
	forge   forge.Standing
}

// newCounter declares that these classes of change need a pull request.
func newCounter(t *testing.T, via string, classes ...string) *counter {
	t.Helper()
	c := &counter{t: t, now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), world: newWorld("a", "b", "c")}
	c.hub = githubfake.New(t, githubfake.Options{Now: func() time.Time { return c.now }})
	c.hub.PushAsPerson("main", "first", map[string]*gitserver.File{"README.md": gitserver.Text("hello\n")})
	t.Setenv("HUB_TOKEN", c.hub.Token())
	text := strings.NewReplacer(
		"    repository: https://git.example.com/fleet.git\n", fmt.Sprintf("    repository: %s\n    via: %s\n    forge: {type: github, api: %q, repository: %s, auth: {tokenEnv: HUB_TOKEN}}\n    policy: {%s}\n",
			c.hub.Repo().Dir, via, c.hub.URL(), c.hub.Name(), strings.Join(classes, ": pullRequest, ")+": pullRequest"),
	).Replace(storyFile)
	cluster, err := clusters.Load("story.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	c.decl = declaration{Cluster: cluster, Spec: specOf([]byte(text))}
	if c.branch, err = openBranch(cluster.Spec.Publish.PublishTo, func() time.Time { return c.now }); err != nil {
		t.Fatal(err)
	}
	return c
}

// evidence asks the databases, and counts.
func (c *counter) evidence(base gitsync.Base) evidence {
	seen, err := c.world.Observe(c.t.Context(), c.decl, false)
	if err != nil {
		c.t.Fatal(err)
	}
	seen.At = c.now
	e := evidence{Seen: seen, Topology: discovery.Merge(seen), Memory: c.memory, Now: c.now}
	saw, err := observationOn(c.decl, base, e)
	if err != nil {
		c.t.Fatal(err)
	}
	_, c.memory = plan.Decide(e.Memory, saw, rulesOf(c.decl, e), c.now)
	return e
}

// tick is one round: what may be committed is, and then the pull request is looked after.
func (c *counter) tick() {
	c.t.Helper()
	c.now = c.now.Add(30 * time.Second)
	ctx, dir := c.t.Context(), c.decl.Dir()
	var e evidence
	receipts, err := c.branch.git.Publish(ctx, []gitsync.Edit{{Dir: dir, Draw: func(base gitsync.Base) ([]gitsync.Change, error) {
		e = c.evidence(base)
		proposals, err := propose(c.decl, base, e)
		return changesOf(proposals), err
	}}})
	if err != nil || receipts[0].Err != nil {
		c.t.Fatal(err, receipts)
	}
	base, err := c.branch.git.Read(ctx, dir)
	if err != nil {
		c.t.Fatal(err)
	}
	w, ok, err := wishOn(c.decl, base, e)
	if err != nil {
		c.t.Fatal(err)
	}
	if !ok {
		return
	}
	order, err := w.order(&c.builder, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	if c.forge, err = c.branch.pulls.Keep(context.WithoutCancel(ctx), order); err != nil {
		c.t.Fatal(err)
	}
}

func (c *counter) ticks(n int) {
	c.t.Helper()
	for range n {
		c.tick()
	}
}

// file is what main has.
func (c *counter) file(name string) string {
	c.t.Helper()
	base, err := c.branch.git.Read(c.t.Context(), c.decl.Dir())
	if err != nil {
		c.t.Fatal(err)
	}
	return string(base.Files[name])
}

// TestC13TheLifeOfAPullRequest: a first tree is proposed, merged, and an instance that comes and goes again before the merge leaves nothing.
func TestC13TheLifeOfAPullRequest(t *testing.T) {
	for _, via := range []string{"git", "github"} {
		t.Run("via "+via, func(t *testing.T) {
			c := newCounter(t, via, "scale")
			c.ticks(3)
			if all := c.hub.AllPulls(); len(all) != 1 || c.forge.State != forge.Proposed || c.file("services.yaml") != "" {
				t.Fatalf("there are %d pull requests, standing %+v", len(all), c.forge)
			}
			c.hub.MergePull(c.forge.Number, "anna", "squash")
			c.ticks(2)
			if c.file("services.yaml") == "" || c.forge.State != forge.None {
				t.Fatalf("after the merge it stands %+v", c.forge)
			}
			c.world.names = append(c.world.names, "d")
			c.ticks(3)
			if all := c.hub.AllPulls(); len(all) != 2 || c.forge.State != forge.Proposed || c.file("instances/d/pgbouncer.ini") != "" {
				t.Fatalf("there are %d pull requests, standing %+v", len(all), c.forge)
			}
			c.world.names = c.world.names[:3]
			c.ticks(3)
			if p := c.hub.Pull(c.forge.Number); c.forge.State == forge.Proposed || p.Open || p.Merged {
				t.Errorf("d is gone again, and it stands %+v, pull request %+v", c.forge, p)
			}
		})
	}
}

// TestC22AFailoverPassesAPullRequestThatIsOpen: it is committed, and what waits is drawn on it.
func TestC22AFailoverPassesAPullRequestThatIsOpen(t *testing.T) {
	c := newCounter(t, "git", "scale")
	c.ticks(2)
	c.hub.MergePull(c.forge.Number, "anna", "merge")
	c.ticks(2)
	c.world.names = append(c.world.names, "d")
	c.ticks(2)
	number := c.forge.Number
	c.world.writer = "b"
	c.ticks(3)
	if got := c.file("topology.yaml"); !strings.Contains(got, "writer: b") {
		t.Errorf("main says\n%s", got)
	}
	if c.forge.Number != number || c.forge.State != forge.Proposed || len(c.hub.AllPulls()) != 2 {
		t.Errorf("it stands %+v, was #%d", c.forge, number)
	}
	c.hub.MergePull(c.forge.Number, "anna", "squash")
	c.ticks(2)
	if c.file("instances/d/pgbouncer.ini") == "" || !strings.Contains(c.file("topology.yaml"), "writer: b") {
		t.Error("the merge has lost one of both")
	}
}

// TestC22StatusShowsThePullRequest: proposed is not merged, and merged is not applied.
func TestC22StatusShowsThePullRequest(t *testing.T) {
	c := newCounter(t, "git", "scale")
	c.ticks(2)
	look := func() *survey {
		v := &survey{site: site{declared: &c.decl}, now: c.now, fromGit: true, uncommitted: true}
		v.readPull(t.Context())
		return v
	}
	states := func(v *survey) string {
		s := v.proposed(stateView{State: "proposed", Reached: reachedNo})
		return v.pull.State + " " + s.Reached
	}
	if v := look(); states(v) != "open yes" || !strings.Contains(v.pull.text(c.now), "#1 open for ") {
		t.Errorf("it shows %q: %q", states(v), v.pull.text(c.now))
	}
	c.hub.MergePull(1, "anna", "squash")
	if v := look(); states(v) != "merged no" {
		t.Errorf("after the merge it shows %q", states(v))
	}
	c.hub.Revoke(c.hub.Token())
	if v := look(); v.pull.Error == "" || !strings.HasPrefix(v.pull.text(c.now), "not known: ") {
		t.Errorf("without a credential it shows %+v", v.pull)
	}
}
