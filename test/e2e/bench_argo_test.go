//go:build e2e

package e2e

import (
	"strconv"
	"testing"
	"time"
)

// benchStanza measures how long after poolwright's push the Services are Git's again where the Application has the stanza: n failovers with
// self-heal on, in each of which somebody else's commit is synced while the Services are ahead.
func benchStanza(t *testing.T, r *report, n int, how string, a argo) {
	a.stanza = true
	b := &failovers{cluster: bootstrapArgo(t, a), pushes: &pushes{}}
	b.p.Stop()
	b.kubeconfig = b.direct()
	b.restart()
	b.git.After(func() { b.pushes.note(b.git.Tip("main")); a.look(b.cluster) })
	back := &figure{what: "Argo CD with the stanza, " + how + ": pushed → handed back"}
	writers := []string{"b", "c", "a"}
	for i := range n {
		back.add(b.overAndBack(a, writers[i%3], "note "+strconv.Itoa(i)))
	}
	r.add(back)
	r.count("the same: put back by Argo CD", strconv.Itoa(b.reverts), n, "≤ 1 each")
	b.p.Stop()
}

// overAndBack is one failover to a writer, with somebody's note in the middle of it. It returns how long the hand-back took from the push.
func (b *failovers) overAndBack(a argo, to, text string) time.Duration {
	b.t.Helper()
	from := b.pg.Primary().Name
	mark := now(b.stage, func() int { return len(b.past) })
	let := b.holdPushes()
	b.failover(to)
	b.awaitServing(to)
	b.someone(text, "clusters/story/custom/note.yaml", note("note", text))
	a.look(b.cluster)
	b.awaitNote(text)
	begun := time.Now()
	let()
	b.await(b.t, "the end of the override to "+to, func() bool { return b.isBack(mark, to) })
	took := time.Since(b.pushes.first(begun))
	reverts := now(b.stage, func() int { return b.revertsSince(mark, to) })
	if b.reverts += reverts; reverts > 1 {
		b.t.Errorf("%s → %s: put back %d times", from, to, reverts)
	}
	b.pg.Rejoin(from)
	return took
}
