package reload

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
)

var secrets = corev1.SchemeGroupVersion.WithResource("secrets")

// world is a Secret, three pods, and what was said to them.
type world struct {
	t      *testing.T
	api    *fake.FakeMetadataClient
	start  time.Time
	cancel func()

	mu     sync.Mutex
	holds  bool
	pods   []*corev1.Pod
	broken map[string]error // by address
	said   []string
	events []Event
}

func pod(name, ip string, phase corev1.PodPhase) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.PodStatus{Phase: phase, PodIP: ip}}
}

// inWorld runs a story in virtual time.
func inWorld(t *testing.T, story func(t *testing.T, w *world)) {
	synctest.Test(t, func(t *testing.T) {
		scheme := runtime.NewScheme()
		if err := metav1.AddMetaToScheme(scheme); err != nil {
			t.Fatal(err)
		}
		w := &world{
			t: t, api: fake.NewSimpleMetadataClient(scheme), start: time.Now(), holds: true, broken: map[string]error{},
			pods: []*corev1.Pod{pod("a-1", "10.0.0.1", corev1.PodRunning), pod("b-1", "10.0.0.2", corev1.PodRunning), pod("c-1", "", corev1.PodPending)},
		}
		story(t, w)
		w.cancel()
		synctest.Wait()
	})
}

func (w *world) run() {
	r := New(Config{
		Namespace: "db", Secret: "userlist", Client: w.api, Port: 6432, Now: time.Now,
		Pods:    func() []*corev1.Pod { return w.pods },
		Console: func(_ context.Context, address string) (Console, error) { return console{w, address}, nil },
		Holds: func() bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.holds
		},
		Tell: func(e Event) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.events = append(w.events, e)
		},
	})
	ctx, cancel := context.WithCancel(w.t.Context())
	w.cancel = cancel
	go r.Run(ctx)
	synctest.Wait()
}

type console struct {
	w       *world
	address string
}

func (c console) Reload(context.Context) error {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	c.w.said = append(c.w.said, fmt.Sprintf("%s at %s", c.address, time.Since(c.w.start)))
	return c.w.broken[c.address]
}

func (c console) Close() {}

// rotate gives the Secret another version.
func (w *world) rotate(version string) {
	w.t.Helper()
	o := &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "userlist", ResourceVersion: version},
	}
	tracker := w.api.Tracker()
	err := tracker.Update(secrets, o, "db")
	if apierrors.IsNotFound(err) {
		err = tracker.Create(secrets, o, "db")
	}
	if err != nil {
		w.t.Fatal(err)
	}
	synctest.Wait()
}

// take returns what was said until now, in order, and forgets it.
func (w *world) take() []string {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	said := w.said
	w.said = nil
	slices.Sort(said)
	return said
}

// told is what was told until now.
func (w *world) told() []Event {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.events)
}

func (w *world) change(do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	do()
}

// rounds is a RELOAD of both pods at each of times after a moment.
func rounds(after time.Duration) (all []string) {
	for _, d := range times {
		all = append(all, fmt.Sprintf("10.0.0.1:6432 at %s", after+d), fmt.Sprintf("10.0.0.2:6432 at %s", after+d))
	}
	slices.Sort(all)
	return all
}

func TestA23ARotatedSecretIsReadByEveryPooler(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.rotate("1")
		w.run()
		time.Sleep(10 * time.Minute)
		if diff := cmp.Diff(rounds(0), w.take()); diff != "" {
			t.Errorf("at the first sight (-want +got):\n%s", diff)
		}
		w.rotate("2")
		time.Sleep(10 * time.Minute)
		if diff := cmp.Diff(rounds(10*time.Minute), w.take()); diff != "" {
			t.Errorf("after a rotation (-want +got):\n%s", diff)
		}
		w.rotate("2") // the same again
		time.Sleep(10 * time.Minute)
		if got := w.take(); len(got) > 0 {
			t.Errorf("nothing was rotated, and yet %q", got)
		}
		if diff := cmp.Diff([]Event{{At: w.start.Add(150 * time.Second), First: true, Reloaded: 2}, {At: w.start.Add(10*time.Minute + 150*time.Second), Reloaded: 2}}, w.told()); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
	})
}

func TestA23ASecondRotationBeginsTheTimesAnew(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.rotate("1")
		w.run()
		time.Sleep(20 * time.Second)
		w.take()
		w.rotate("2")
		time.Sleep(10 * time.Minute)
		if diff := cmp.Diff(rounds(20*time.Second), w.take()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestA23WhoTakesOverGoesOn(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.holds = false
		w.rotate("1")
		w.run()
		time.Sleep(50 * time.Second)
		if got := w.take(); len(got) > 0 {
			t.Errorf("it does not hold the cluster, and says %q", got)
		}
		w.change(func() { w.holds = true })
		time.Sleep(10 * time.Minute)
		if got := w.take(); len(got) != 4 {
			t.Errorf("it took over, and says %q", got)
		}
	})
}

func TestA23WhatDidNotReachAPodIsTold(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.broken["10.0.0.2:6432"] = errors.New("denied")
		w.rotate("1")
		w.run()
		time.Sleep(10 * time.Minute)
		if got := w.told(); len(got) != 1 || got[0].Reloaded != 1 || !slices.Equal(got[0].Failed, []string{"b-1: denied"}) {
			t.Errorf("told %+v", got)
		}
	})
}

func TestA23AMissingRightIsToldOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.api.PrependReactor("list", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(secrets.GroupResource(), "userlist", errors.New("no"))
		})
		w.run()
		time.Sleep(time.Hour)
		if got := w.told(); len(got) != 1 || got[0].Err == nil || !strings.Contains(got[0].Err.Error(), "watching secret db/userlist: ") {
			t.Errorf("told %+v", got)
		}
		if got := w.take(); len(got) > 0 {
			t.Errorf("nothing is known, and yet %q", got)
		}
	})
}
