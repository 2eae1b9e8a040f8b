//go:build e2e

package e2e

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poolwright/poolwright/test/driver"
)

// TestArgo12ControllerDown: the tool is down after the commit. The override holds, and nothing is handed back without proof.
func TestArgo12ControllerDown(t *testing.T) {
	c := bootstrapArgo(t, argo{stanza: true})
	up := c.down(t, "argo-controller")
	c.failover("b")
	c.awaitOverride("b")
	c.git.AwaitSubject(3, "writer a → b (epoch 2)")
	c.p.AwaitLine("handover", "committed")
	c.wantAhead("b")
	up()
	c.awaitHandedBack("b", 2)
	c.wantNeverTwo()
	c.p.Stop()
}

// TestArgo13HumanReverts: somebody reverts the failover's commit before Argo CD has come to it. The override stands, nothing is
// handed back to the old writer, and people are told; resume says it in Git again.
func TestArgo13HumanReverts(t *testing.T) {
	t.Parallel()
	c := bootstrapArgo(t, argo{stanza: true})
	var revert string
	reverted := make(chan struct{})
	c.git.After(sync.OnceFunc(func() { revert = c.revertHead(); close(reverted) }))
	c.failover("b")
	c.awaitOverride("b")
	<-reverted
	c.awaitApplication("the revert", isCompared(revert, "Synced"))
	c.p.AwaitLine("decided", "hold", "revert")
	c.wantAhead("b")
	if n := c.reverts("a"); n > 0 {
		t.Errorf("the Writer Service was put back %d times", n)
	}
	if out, code := c.asPerson("resume"); code != 0 {
		t.Errorf("resume: exit code %d: %s", code, out)
	}
	c.git.AwaitSubject(5, "writer a → b (epoch 3)")
	c.awaitHandedBack("b", 3)
	c.wantNeverTwo()
	c.p.Stop()
}

// revertHead takes the newest commit back, as git revert does.
func (c *cluster) revertHead() string {
	head := c.git.MustGit("rev-parse", "main")
	var files []string
	for _, path := range c.git.ChangedFiles(head) {
		files = append(files, path, c.git.MustGit("show", head+"^:"+path)+"\n")
	}
	return c.someone("Revert\n\nThis reverts commit "+head+".", files...)
}

// TestArgo14PersonEditsTheService: a person puts the live Writer back during an override, as kubectl and as a server-side apply. It is
// moved again each time, and the person named.
func TestArgo14PersonEditsTheService(t *testing.T) {
	t.Parallel()
	c := bootstrapArgo(t, argo{stanza: true})
	let := c.holdPushes()
	c.failover("b")
	c.awaitOverride("b")
	for i, edit := range [][]string{
		{"patch", "service", "story-writer", "--type=merge", "-p", `{"spec":{"selector":{"` + instanceKey + `":"a"}}}`},
		{"patch", "service", "story-writer", "--type=merge", "--field-manager=anna", "-p", `{"spec":{"selector":{"` + instanceKey + `":"c"}}}`},
	} {
		c.kubectl(edit...)
		c.awaitReverts(i + 1)
		c.awaitEvent("writer", "Reasserted", []string{"kubectl-patch", "anna"}[i]+" put it back")
	}
	let()
	c.git.AwaitSubject(3, "writer a → b (epoch 2)")
	c.awaitHandedBack("b", 2)
	c.p.Stop()
}

// TestArgo17KilledBeforeTheRelease: with RespectIgnoreDifferences Argo CD does not apply Git's selector while poolwright is among the
// managers. It dies before it has taken itself off; after its restart Git is obeyed.
func TestArgo17KilledBeforeTheRelease(t *testing.T) {
	t.Parallel()
	c := bootstrapArgo(t, argo{stanza: true, options: []string{respectIgnoreDifferences}})
	killed := make(chan struct{})
	c.gate.before(both(isPatchOf("writer"), releases), func() { c.p.Kill(); close(killed) })
	c.failover("b")
	c.await(t, "Argo CD to have applied the commit", func() bool {
		return c.service("writer").annotations[epochAnnotation] == "2" && c.service("reader").annotations[epochAnnotation] == "2"
	})
	<-killed
	if svc := now(c.stage, func() service { return c.service("writer") }); svc.isClean() || svc.instance() != "b" {
		t.Errorf("the writer is clean already, or selects %q", svc.instance())
	}
	c.restart()
	c.awaitHandedBack("b", 2)
	c.pg.Rejoin("a")
	c.git.AwaitSubject(4, "readers gain a (epoch 3)")
	c.awaitHandedBack("b", 3)
	c.wantNeverTwo()
	c.p.Stop()
}

// TestArgo21SecondFailoverDuringHandBack: the newest epoch supersedes, in whatever state the one before is.
func TestArgo21SecondFailoverDuringHandBack(t *testing.T) {
	t.Parallel()
	c := bootstrapArgo(t, argo{stanza: true})
	var second atomic.Bool
	refused := make(chan struct{}, 1000)
	for range cap(refused) {
		c.gate.before(func(q question) bool { return isServicePatch(q) && releases(q) && !second.Load() }, func() { refused <- struct{}{} })
	}
	c.failover("b")
	<-refused
	c.failover("c")
	c.awaitOverride("c")
	second.Store(true)
	c.git.AwaitSubject(4, "writer b → c (epoch 3)")
	c.awaitHandedBack("c", 3)
	c.wantNeverTwo()
	c.p.Stop()
}

// TestArgo26ReplaceTrue: a sync that replaces takes the record off the Services. It is restored from its mirror.
func TestArgo26ReplaceTrue(t *testing.T) {
	t.Parallel()
	c := bootstrapArgo(t, argo{clientSide: true, options: []string{replaceAlways}})
	c.wantDoctor(1, "Replace=true, which breaks an override")
	let := c.holdPushes()
	c.failover("b")
	c.awaitOverride("b")
	c.awaitReverts(2)
	lost := now(c.stage, func() (n int) {
		for _, p := range c.past {
			if p.object == "service/story-writer" && p.service.instance() == "a" && len(c.past) > 0 && !p.service.isOverridden() && p.service.manager != "" {
				n++
			}
		}
		return n
	})
	if lost < 2 { // the first is the Service as it was created
		t.Error("no revert took the record off: this does not test what it says")
	}
	let()
	c.git.AwaitSubject(3, "writer a → b (epoch 2)")
	c.awaitHandedBack("b", 2)
	c.wantNeverTwo()
	c.p.Stop()
}

// TestArgo26ServiceRecreated: somebody deletes the Writer Service during an override, and Argo CD makes it anew, with Git's selector. It is
// another Service now, and moved like the first.
func TestArgo26ServiceRecreated(t *testing.T) {
	t.Parallel()
	c := bootstrapArgo(t, argo{stanza: true})
	let := c.holdPushes()
	c.failover("b")
	c.awaitOverride("b")
	first := now(c.stage, func() string { return c.service("writer").uid })
	c.kubectl("delete", "service", "story-writer")
	c.await(t, "another Writer Service, ahead of Git too", func() bool {
		w := c.service("writer")
		return w.exists && w.uid != first && w.instance() == "b" && w.record().To == "b"
	})
	c.awaitServing("b")
	let()
	c.git.AwaitSubject(3, "writer a → b (epoch 2)")
	c.awaitHandedBack("b", 2)
	c.p.Stop()
}

// TestArgo29FailingRevision: the failover's commit comes on top of one that cannot be applied. Nothing of it is applied, so the override
// holds; when somebody has repaired that, it is handed back.
func TestArgo29FailingRevision(t *testing.T) {
	t.Parallel()
	c := bootstrapArgo(t, argo{stanza: true})
	let := c.holdPushes()
	c.failover("b")
	c.awaitOverride("b")
	broken := c.someone("broken", "clusters/story/custom/note.yaml", note("note", "two")+"---\napiVersion: example.com/v1\nkind: Unknown\nmetadata: {name: unknown}\n")
	c.awaitApplication("a sync that fails", func(o *unstructured.Unstructured) bool {
		return field(o, "status", "operationState", "syncResult", "revision") == broken && failing(o)
	})
	let()
	c.git.AwaitSubject(4, "writer a → b (epoch 2)")
	c.awaitApplication("our commit to fail too", func(o *unstructured.Unstructured) bool {
		return field(o, "status", "operationState", "syncResult", "revision") == c.git.Tip("main") && failing(o)
	})
	c.wantAhead("b")
	c.someone("repaired", "clusters/story/custom/note.yaml", note("note", "three"))
	c.awaitNote("three")
	c.awaitHandedBack("b", 2)
	c.wantNeverTwo()
	c.p.Stop()
}

// failing reports whether the last sync failed, whether it is tried again or not.
func failing(o *unstructured.Unstructured) bool {
	phase := field(o, "status", "operationState", "phase")
	_, retried, _ := unstructured.NestedInt64(o.Object, "status", "operationState", "retryCount")
	return phase == "Failed" || phase == "Error" || phase == "Running" && retried
}

// TestArgo30SyncedByHand: the Application waits for a person. The override holds, and status shows that Git is merged and not applied.
func TestArgo30SyncedByHand(t *testing.T) {
	t.Parallel()
	c := bootstrapArgo(t, argo{stanza: true, byHand: true})
	c.failover("b")
	c.awaitOverride("b")
	c.git.AwaitSubject(3, "writer a → b (epoch 2)")
	c.awaitApplication("our commit to wait", isCompared(c.git.Tip("main"), "OutOfSync"))
	c.wantAhead("b")
	out, _, _ := c.once("status", "-f", c.file)
	c.wantParts("status", out, "rendered yes (2) → proposed yes (2) → merged yes (2) → synced no (1) → live yes (2)")
	if n := c.reverts("a"); n > 0 {
		t.Errorf("the Writer Service was put back %d times", n)
	}
	c.sync()
	c.awaitHandedBack("b", 2)
	c.wantNeverTwo()
	c.p.Stop()
}

// TestArgo28Nudge: with the right that gitops-config prints as optional, Argo CD is asked to look as soon as Git has the commit; without
// it nothing is missing but time.
func TestArgo28Nudge(t *testing.T) {
	t.Parallel()
	c := bootstrapArgo(t, argo{stanza: true})
	c.failover("b")
	c.awaitHandedBack("b", 2)
	c.wantNudges(403)
	c.wantUnsaid("applications")

	c.grant(uncommented(c.printedLive()))
	asked := make(chan bool, 1)
	go func() {
		asked <- c.everApplication(func(o *unstructured.Unstructured) bool {
			return o.GetAnnotations()["argocd.argoproj.io/refresh"] == "normal" && managedBy(o, fieldManager)
		})
	}()
	c.pg.Rejoin("a")
	c.git.AwaitSubject(4, "readers gain a (epoch 3)")
	c.awaitHandedBack("b", 3)
	c.failover("c")
	c.awaitHandedBack("c", 4)
	if !<-asked {
		t.Error("Argo CD was not asked to look")
	}
	c.wantNudges(403, 200)
	c.p.Stop()
}

// wantNudges wants the requests to look at the Application to have been answered like this, in this order.
func (c *cluster) wantNudges(status ...int) {
	c.t.Helper()
	var got []int
	for _, q := range c.gate.all(func(q question) bool { return strings.HasSuffix(q.path, "/namespaces/argocd/applications/"+c.ns) }) {
		if len(got) == 0 || got[len(got)-1] != q.status {
			got = append(got, q.status)
		}
	}
	if !slices.Equal(got, status) {
		c.t.Errorf("asking Argo CD to look was answered %v, want %v", got, status)
	}
}

// wantUnsaid wants no line of poolwright's log with a word.
func (c *cluster) wantUnsaid(word string) {
	c.t.Helper()
	if line := driver.Line(c.p.Text(), word); line != "" {
		c.t.Errorf("poolwright says %q", line)
	}
}

// uncommented are the documents that stand as comments at the end of what gitops-config prints.
func uncommented(printed string) string {
	_, after, _ := strings.Cut(printed, "\n# ---\n")
	return strings.ReplaceAll("\n"+after, "\n# ", "\n")
}

func managedBy(o *unstructured.Unstructured, manager string) bool {
	return slices.ContainsFunc(o.GetManagedFields(), func(m metav1.ManagedFieldsEntry) bool { return m.Manager == manager })
}
