package hub_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/poolwright/poolwright/gitsync/hub"
)

func TestWritesGoOutOneAfterTheOther(t *testing.T) {
	k := newClock()
	under := make(chan struct{}, 1)
	var starts []time.Time
	d := serve(t, answers{"POST /repos/acme/platform/git/blobs": func(w http.ResponseWriter, r *http.Request) {
		select {
		case under <- struct{}{}:
		default:
			t.Error("two writes at once")
		}
		starts = append(starts, k.now())
		k.advance(200 * time.Millisecond) // that the call takes
		<-under
		says(201, `{"sha":"`+sha1a+`"}`)(w, r)
	}})
	c := open(t, d.URL, func(o *hub.Options) { o.Now, o.Sleep = k.now, k.sleep })
	done := make(chan error)
	for range 5 {
		go func() { done <- second(c.PutBlob(t.Context(), []byte("x"))) }()
	}
	for range 5 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	for i := 1; i < len(starts); i++ {
		if apart := starts[i].Sub(starts[i-1]); apart < 1200*time.Millisecond {
			t.Errorf("write %d came %s after the one before", i, apart)
		}
	}
	if len(k.slept) != 4 || slices.Max(k.slept) > time.Second {
		t.Errorf("slept %v", k.slept)
	}
}

func TestAWriteThatWaitsForItsTurnEndsWithItsContext(t *testing.T) {
	d := serve(t, answers{"POST /repos/acme/platform/git/blobs": says(201, `{"sha":"`+sha1a+`"}`)})
	ctx, cancel := context.WithCancel(t.Context())
	c := open(t, d.URL, func(o *hub.Options) {
		o.Sleep = func(ctx context.Context, _ time.Duration) error { cancel(); return ctx.Err() }
	})
	first, second := second(c.PutBlob(ctx, nil)), second(c.PutBlob(ctx, nil))
	if first != nil || !errors.Is(second, context.Canceled) || len(d.calls()) != 1 {
		t.Error(first, second, d.calls())
	}
	if _, err := c.PutBlob(t.Context(), nil); err != nil {
		t.Error("the turn was not given back:", err)
	}
}
