//go:build e2e

package e2e

import (
	"strings"
	"testing"
)

// TestFlux21SecondFailover: another one comes during the hand-back of the first, in the state before Flux has the commit and in the
// one after. Only the newest is waited for, and the Writer goes from a over b to c.
func TestFlux21SecondFailover(t *testing.T) {
	for name, handBack := range map[string]func(c *cluster) (goOn func()){
		"before Flux has the commit": func(c *cluster) func() {
			c.suspend(kustomizations, "story", true)
			c.failover("b")
			c.git.AwaitSubject(2, "writer a → b (epoch 2)")
			c.awaitOverride("b")
			return func() { c.suspend(kustomizations, "story", false) }
		},
		"after the receipt, before the unfreeze": func(c *cluster) func() {
			killed, p := make(chan struct{}), c.p
			c.gate.before(unfreezes, func() { p.Kill(); close(killed) })
			c.failover("b")
			c.awaitKill(killed)
			c.start()
			return func() {}
		},
		"after the unfreeze": func(c *cluster) func() {
			killed, p := make(chan struct{}), c.p
			c.gate.after(both(isPatchOf("reader"), unfreezes), func() { p.Kill(); close(killed) })
			c.failover("b")
			c.awaitKill(killed)
			return func() { c.start() }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := bootstrap(t, flux{})
			goOn := handBack(c)
			c.pg.Rejoin("a")
			c.failover("c")
			goOn()
			c.git.Await("writer b → c", func() bool { return strings.Contains(strings.Join(c.git.Subjects(), "\n"), "writer b → c") })
			c.awaitHandedBackAtHead("c")
			var seen []string
			for _, s := range c.selections("writer") {
				if len(seen) == 0 || seen[len(seen)-1] != s.instance {
					seen = append(seen, s.instance)
				}
			}
			if got := strings.Join(seen, " "); got != "a b c" {
				t.Errorf("the Writer was at %s, want a b c\n%s", got, c.describe())
			}
			c.wantNeverTwo()
			c.wantOwner("kustomize-controller")
			c.git.WantSoundHistory()
		})
	}
}

// TestFluxFailBackBeforeMerge: Git cannot be written; the writer fails over and back before anything is committed. The Services go
// back with it and are released, for Git has said so all the time.
func TestFluxFailBackBeforeMerge(t *testing.T) {
	t.Parallel()
	c := bootstrap(t, flux{})
	c.git.Down()
	c.failover("b")
	c.awaitOverride("b")
	c.pg.Rejoin("a")
	c.failover("a")
	c.pg.Rejoin("b")
	c.awaitWriter("a")
	c.git.Up()
	c.awaitHandedBackAtHead("a")
	if all := strings.Join(c.git.Subjects(), "\n"); strings.Contains(all, "→ b") {
		t.Errorf("there are commits\n%s", all)
	}
	c.wantNeverTwo()
	c.wantOwner("kustomize-controller")
	c.failover("c") // Git is obeyed again
	c.git.Await("writer a → c", func() bool { return strings.Contains(strings.Join(c.git.Subjects(), "\n"), "writer a → c") })
	c.awaitHandedBackAtHead("c")
}

// TestFlux22ReceiptButAnotherSelector: somebody changed the Writer by hand in the very commit that Flux applies. Its receipt is there, its
// selector is not ours: nothing is released and the Writer is moved again, until Git says the truth.
func TestFlux22ReceiptButAnotherSelector(t *testing.T) {
	t.Parallel()
	c := bootstrap(t, flux{branch: "deploy"})
	c.failover("b")
	c.awaitOverride("b")
	c.git.AwaitSubject(2, "writer a → b (epoch 2)")
	c.deployEdited("main", "services.yaml", instanceKey+": b", instanceKey+": c")
	c.awaitEvent("writer", "Reasserted", "kustomize-controller put it back")
	c.awaitServing("b")
	c.deploy("main")
	c.awaitHandedBack("b", 2)
	c.wantOwner("kustomize-controller")
	c.pg.Rejoin("a") // a planned change is applied
	c.git.AwaitSubject(3, "readers gain a (epoch 3)")
	c.deploy("main")
	c.awaitHandedBack("b", 3)
}

// TestFlux26ServiceDeletedAndMadeAnew: somebody deletes the Writer during an override, and Flux makes it anew as Git said before. The
// override is put on it again from what is remembered.
func TestFlux26ServiceDeletedAndMadeAnew(t *testing.T) {
	t.Parallel()
	c := bootstrap(t, flux{branch: "deploy"})
	c.failover("b")
	c.awaitOverride("b")
	c.git.AwaitSubject(2, "writer a → b (epoch 2)")
	uid := now(c.stage, func() string { return c.service("writer").uid })
	c.kubectl("delete", "service", "story-writer")
	c.p.AwaitLine("hindered", c.object("writer")+": service-missing")
	c.request(kustomizations, "story")
	c.await(t, "another Writer Service at b", func() bool {
		svc := c.service("writer")
		return svc.exists && svc.uid != uid && svc.instance() == "b" && svc.isOverridden()
	})
	c.deploy("main")
	c.awaitHandedBack("b", 2)
	c.wantOwner("kustomize-controller")
}

// TestFlux27AnotherCommitThanOurs: what Flux applies is a squash of ours on another branch, so that no hash is ever the same. Receipts
// do not care.
func TestFlux27AnotherCommitThanOurs(t *testing.T) {
	t.Parallel()
	c := bootstrap(t, flux{branch: "deploy"})
	c.failover("b")
	c.awaitOverride("b")
	c.git.AwaitSubject(2, "writer a → b (epoch 2)")
	squash := c.git.MustGit("-c", "user.name=P", "-c", "user.email=p@example.com", "commit-tree", "-m", "release 7", "main^{tree}")
	c.deploy(squash)
	c.awaitHandedBack("b", 2)
	c.wantWriters("a by kustomize-controller", "b by "+fieldManager)
}

// TestFlux30Suspended: a person has suspended the Kustomization. The override holds, and `status` says that Git has it and that it is not
// applied; when it goes on, the Services are handed back.
func TestFlux30Suspended(t *testing.T) {
	t.Parallel()
	c := bootstrap(t, flux{})
	c.suspend(kustomizations, "story", true)
	c.failover("b")
	c.awaitOverride("b")
	c.git.AwaitSubject(2, "writer a → b (epoch 2)")
	c.p.AwaitLine("handover", "committed")
	out, said, code := c.once("status", "-f", c.file, "--lease-namespace", c.ns, "--exit-code")
	if code != 1 || !strings.Contains(out, "merged yes (2)") {
		t.Errorf("status: exit code %d\n%s%s", code, out, said)
	}
	c.wantFrozenAhead("b", "1")
	c.suspend(kustomizations, "story", false)
	c.awaitHandedBack("b", 2)
}

// TestFlux35FreezeHidesOtherChanges: another change of the Writer in Git is not applied while it is frozen. It is after the hand-back, and
// `status` says meanwhile that it is frozen.
func TestFlux35FreezeHidesOtherChanges(t *testing.T) {
	t.Parallel()
	c := bootstrap(t, flux{branch: "deploy"})
	c.failover("b")
	c.awaitOverride("b")
	c.git.AwaitSubject(2, "writer a → b (epoch 2)")
	const port, other = "port: 6432", "port: 7432"
	c.deployEdited(c.git.Commits()[0], "services.yaml", port, other)
	c.awaitApplied("deploy")
	ports := func() string {
		return strings.TrimSpace(c.kubectl("get", "service", "story-writer", "-o", "jsonpath={.spec.ports[0].port}"))
	}
	if got := ports(); got != "6432" {
		t.Errorf("the frozen Writer has port %s", got)
	}
	if out, _ := c.asPerson("status", "--lease-namespace", c.ns); !strings.Contains(out, "frozen") {
		t.Errorf("status says nothing of the freeze:\n%s", out)
	}
	c.deployEdited("main", "services.yaml", port, other)
	c.await(t, "the hand-back", func() bool { return c.isHandedBack("2") })
	if got := ports(); got != "7432" {
		t.Errorf("after the hand-back the Writer has port %s", got)
	}
}

// TestFluxD05GitOwnsAtRest: outside of an override a person changes the live Writer. Flux puts it back; poolwright only says so.
func TestFluxD05GitOwnsAtRest(t *testing.T) {
	t.Parallel()
	c := bootstrap(t, flux{})
	c.kubectl("patch", "service", "story-writer", "--type=merge", "-p", `{"spec":{"selector":{"`+instanceKey+`":"b"}}}`)
	c.p.AwaitLine("hindered", c.object("writer")+": drifted", "kubectl-patch")
	c.request(kustomizations, "story")
	c.awaitServing("a")
	c.p.AwaitLine("cleared", c.object("writer")+": drifted")
	c.wantWriters("a by kustomize-controller", "b by kubectl-patch", "a by kustomize-controller")
	if asked := c.gate.all(isServicePatch); len(asked) > 0 {
		t.Errorf("poolwright patched %v", asked)
	}
}

// TestFluxD09WrongTreePrunesNoRoleService: a commit loses services.yaml. Flux prunes what it no longer finds, and not these two.
func TestFluxD09WrongTreePrunesNoRoleService(t *testing.T) {
	t.Parallel()
	c := bootstrap(t, flux{branch: "deploy"})
	before := now(c.stage, func() string { return c.service("writer").uid })
	c.deployEdited("main", "kustomization.yaml", "  - services.yaml\n", "")
	c.awaitApplied("deploy")
	if after := now(c.stage, func() string { return c.service("writer").uid }); after != before {
		t.Error("the Writer was pruned")
	}
	c.awaitServing("a")
}
