package live

import (
	"testing"
	"testing/synctest"
	"time"
)

// Test03ExposureIsTold: how long a Service was put back is told, with the time that the pace took of it.
func Test03ExposureIsTold(t *testing.T) {
	inBed(t, func(t *testing.T, b *bed) {
		b.start()
		b.keeper.Want(wantWriter(8, "b"))
		synctest.Wait()
		for _, after := range []time.Duration{0, 30 * time.Millisecond, time.Hour} {
			time.Sleep(after)
			b.steer(Writer, "a", "argocd-controller")
			want := max(0, minGap-after)
			time.Sleep(want)
			synctest.Wait()
			e := b.lastWrite()
			if e.Wrote.Kind != Reassert || e.Exposed != want {
				t.Errorf("put back %v after the last write: told %v of %v, want %v", after, e.Exposed, e.Wrote.Kind, want)
			}
		}
	})
}

// TestExposureSpansWritesThatFail: it ends when the Service has been moved, not when that was tried.
func TestExposureSpansWritesThatFail(t *testing.T) {
	inBed(t, func(t *testing.T, b *bed) {
		b.start()
		b.keeper.Want(wantWriter(8, "b"))
		time.Sleep(time.Second)
		b.obey(rbac)
		b.steer(Writer, "a", "argocd-controller")
		time.Sleep(time.Minute)
		b.obey(nil)
		time.Sleep(maxGap)
		synctest.Wait()
		if e := b.lastWrite(); e.Err != nil || e.Exposed < time.Minute || e.Exposed > time.Minute+maxGap {
			t.Errorf("told %v, %v; want a little more than a minute", e.Exposed, e.Err)
		}
	})
}
