package live

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poolwright/poolwright/render"
)

func TestAnswerToAWriteCountsUntilTheWatchHasIt(t *testing.T) {
	inBed(t, func(t *testing.T, b *bed) {
		b.start()
		b.delayed(time.Second)
		b.keeper.Want(wantWriter(8, "b"))
		for range 30 {
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
			if s, _ := b.keeper.Sight(); instanceOf(s.Services[Writer].Spec.Selector) != "b" {
				t.Fatal("the old selector came back")
			}
		}
		if n := len(b.made("patch", "create")); n != 3 {
			t.Errorf("%d writes, want 3", n)
		}
	})
}

func TestNothingIsWrittenWithoutHolding(t *testing.T) {
	inBed(t, func(t *testing.T, b *bed) {
		b.hold(false)
		b.keeper.next = func(Sight, Want, time.Time) Verdict { return Verdict{} }
		b.start()
		b.keeper.Want(Want{Epoch: 8, To: "a"})
		synctest.Wait()
		if v := b.keeper.Verdict(); v.Phase != Idle || len(v.Conditions) > 0 {
			t.Errorf("nothing was due, and yet: %+v", v)
		}
	})
	inBed(t, func(t *testing.T, b *bed) {
		b.hold(false)
		b.start()
		b.keeper.Want(wantWriter(8, "b"))
		time.Sleep(time.Minute)
		v := b.keeper.Verdict()
		if v.Phase != Blocked || len(v.Conditions) != 1 || v.Conditions[0].Code != NotHolder {
			t.Errorf("the verdict is %+v", v)
		}
		if n := len(b.made("patch", "create", "update")); n > 0 {
			t.Errorf("%d writes", n)
		}
		begun := time.Now()
		b.hold(true)
		b.keeper.Wake()
		synctest.Wait()
		if time.Since(begun) != 0 || b.selects(Writer) != "b" {
			t.Error("the new holder did not write at once")
		}
		expectTold(t, b,
			"phase blocked", "came not-holder cluster example/pg",
			"phase overriding", "gone not-holder cluster example/pg",
			"wrote override pg-writer", "wrote override pg-reader", "phase idle", "wrote mirror pg-control")
	})
}

func TestHoldingIsNoticedWithoutBeingTold(t *testing.T) {
	inBed(t, func(t *testing.T, b *bed) {
		b.hold(false)
		b.start()
		b.keeper.Want(wantWriter(8, "b"))
		time.Sleep(time.Minute)
		b.hold(true)
		time.Sleep(holdCheck)
		synctest.Wait()
		if b.selects(Writer) != "b" {
			t.Error("it was not noticed")
		}
	})
}

func TestHolderIsAskedBeforeEachWrite(t *testing.T) {
	inBed(t, func(t *testing.T, b *bed) {
		b.start()
		b.afterwards(func(request) { b.hold(false) })
		b.keeper.Want(wantWriter(8, "b"))
		time.Sleep(time.Minute)
		if b.selects(Writer) != "b" || b.selects(Reader) != "a" {
			t.Errorf("Writer at %s, Reader at %s: the holder lost the Lease between them", b.selects(Writer), b.selects(Reader))
		}
	})
}

func TestNothingIsWrittenBeforeSomethingIsWanted(t *testing.T) {
	inBed(t, func(t *testing.T, b *bed) {
		b.start()
		time.Sleep(time.Minute)
		if n := len(b.made("patch", "create", "update")); n > 0 {
			t.Errorf("%d writes", n)
		}
		if s, ok := b.keeper.Sight(); !ok || len(s.Services) != 2 {
			t.Error("it is not seen either")
		}
	})
}

func TestChangedTellsOfEachChangeOfWhatIsSeen(t *testing.T) {
	inBed(t, func(t *testing.T, b *bed) {
		changed := func() bool {
			synctest.Wait()
			select {
			case <-b.keeper.Changed():
				return true
			default:
				return false
			}
		}
		b.start()
		if !changed() || changed() {
			t.Error("not told, or told twice, that everything is seen")
		}
		b.add("pods", pod("c-1", "c", false))
		if changed() {
			t.Error("a pod that is not ready changes nothing")
		}
		b.add("pods", pod("c-1", "c", true))
		time.Sleep(settleTime - time.Millisecond)
		if changed() {
			t.Error("others may not know yet that the pod is ready")
		}
		time.Sleep(time.Millisecond)
		if !changed() {
			t.Error("a pod became ready")
		}
		b.add("configmaps", ourControl(map[string]string{KeyOrder: `{"writer":"b","until":"2026-11-30T09:00:00Z"}`}))
		if !changed() {
			t.Error("an order came")
		}
		if s, _ := b.keeper.Sight(); s.Control.Order == nil || s.Control.Order.Writer != "b" || s.Ready["c"] != 1 {
			t.Errorf("seen: %+v", s)
		}
		b.add("services", bedService("other", map[string]string{}))
		time.Sleep(time.Hour)
		if changed() {
			t.Error("nothing of ours changed")
		}
	})
}

func TestSlowTellDelaysNothing(t *testing.T) {
	inBed(t, func(t *testing.T, b *bed) {
		b.keeper.teller.to = func(e Event) { time.Sleep(time.Minute) }
		b.start()
		begun := time.Now()
		b.keeper.Want(wantWriter(8, "b"))
		synctest.Wait()
		if time.Since(begun) != 0 || b.selects(Reader) != "b" {
			t.Error("the writes waited")
		}
	})
}

func TestEveryEventIsToldBeforeRunEnds(t *testing.T) {
	inBed(t, func(t *testing.T, b *bed) {
		told := 0
		b.keeper.teller.to = func(e Event) { time.Sleep(time.Second); told++ }
		b.start()
		b.keeper.Want(wantWriter(8, "b"))
		synctest.Wait()
		b.stop()
		if told != 5 {
			t.Errorf("%d of 5 events told", told)
		}
	})
}

func TestNextIsAskedWithTheNewestWant(t *testing.T) {
	inBed(t, func(t *testing.T, b *bed) {
		b.start()
		b.obey(func(q request) error {
			if q.Verb == "patch" && q.Name == "pg-writer" && strings.Contains(q.Body, `"value":"b"`) {
				return errHangs
			}
			return nil
		})
		b.keeper.Want(wantWriter(8, "b"))
		synctest.Wait()
		for epoch := range 100 {
			b.keeper.Want(wantWriter(uint64(9+epoch), fmt.Sprint("c", epoch)))
		}
		time.Sleep(requestTimeout + minGap)
		synctest.Wait()
		if got := b.selects(Writer); got != "c99" {
			t.Errorf("the Writer selects %s", got)
		}
	})
}

// TestAPauseIsHeardAtOnce: a person who pauses and edits must not be undone until the next decision, which may be long in coming.
func TestAPauseIsHeardAtOnce(t *testing.T) {
	inBed(t, func(t *testing.T, b *bed) {
		var heard string
		b.keeper.next = func(_ Sight, w Want, _ time.Time) Verdict {
			heard = w.Paused
			return Verdict{}
		}
		b.start()
		b.keeper.Want(Want{Epoch: 7})
		if synctest.Wait(); heard != "" {
			t.Fatalf("it is paused %q", heard)
		}
		b.add("configmaps", &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: ControlName("pg"), Labels: map[string]string{render.LabelCluster: "pg"}},
			Data:       map[string]string{KeyPause: `{"by":"anna","reason":"because"}`},
		})
		if synctest.Wait(); heard != "anna: because" {
			t.Errorf("it is paused %q", heard)
		}
		b.keeper.Want(Want{Epoch: 7, Paused: "by spec.paused"})
		if synctest.Wait(); heard != "by spec.paused" {
			t.Errorf("it is paused %q", heard)
		}
	})
}
