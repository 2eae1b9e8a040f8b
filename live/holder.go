package live

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// The times of the Lease. A holder that cannot renew stops acting after
// renewDeadline, well before another may take over after leaseDuration.
// A rival asks every 1 to 2.2 retryPeriods (client-go jitters), which bounds the
// takeover after a release: with the usual 2 s it could take 4.4 s, with 1 s it takes 2.2 s.
const (
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	retryPeriod   = time.Second
)

// Holder says whether this process is the one that acts.
type Holder struct {
	config  HolderConfig
	changed chan struct{}

	mu sync.Mutex
	// renewed is when this process last asked for the Lease and got it; zero when it does not hold it.
	renewed time.Time
	// other holds the Lease, as read at heard; says are the clusters that whoever holds it says it keeps.
	other string
	heard time.Time
	says  []string
	err   error
	// holds and holder are what was told last; expiry tells when they end for want of an answer.
	holds  bool
	holder string
	expiry *time.Timer
}

// HolderConfig names the Lease.
type HolderConfig struct {
	Client          kubernetes.Interface
	Namespace, Name string
	// Identity of this process, unique among its rivals.
	Identity string
	// Clusters are those that this process keeps, "namespace/name", sorted; nil while that is not known, and a nil function never tells.
	// They stand on the Lease while this process holds it, so that a rival that keeps others can say so.
	Clusters func() []string
}

// NewHolder makes a Holder. It holds nothing before Run.
func NewHolder(c HolderConfig) *Holder {
	return &Holder{config: c, changed: make(chan struct{}, 1)}
}

// Run takes and keeps the Lease until ctx ends, and gives it back then: whoever
// acts on Holds must have stopped before. It makes one request a second.
func (h *Holder) Run(ctx context.Context) {
	ctx = quiet(ctx)
	for ctx.Err() == nil {
		h.elector().Run(ctx) // until ctx ends, or the Lease is lost
	}
	h.update(func() { h.renewed = time.Time{} })
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.expiry != nil {
		h.expiry.Stop()
	}
}

func (h *Holder) elector() *leaderelection.LeaderElector {
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock{h: h, Interface: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: h.config.Namespace, Name: h.config.Name},
			Client:     telling{h.config.Client.CoordinationV1(), h},
			LockConfig: resourcelock.ResourceLockConfig{Identity: h.config.Identity},
		}},
		LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod,
		ReleaseOnCancel: true,
		Callbacks:       leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) {}, OnStoppedLeading: func() {}},
	})
	if err != nil {
		panic(err) // the durations are constants
	}
	return elector
}

// Holds reports whether this process holds the Lease now: only then may it patch.
// It ends renewDeadline after the last renewal was asked for, whatever became of the answer.
func (h *Holder) Holds() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.holdsNow()
}

func (h *Holder) holdsNow() bool { return !h.renewed.IsZero() && time.Since(h.renewed) < renewDeadline }

// Other is the identity of another process that is known to hold the Lease; "" when nobody else
// does, or when the API server gives no answer. Git is written unless there is another.
func (h *Holder) Other() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.otherNow()
}

// OthersClusters are the clusters that Other says it keeps, nil when it does not say.
func (h *Holder) OthersClusters() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.otherNow() == "" {
		return nil
	}
	return h.says
}

// Lease is "namespace/name" of the Lease.
func (h *Holder) Lease() string { return h.config.Namespace + "/" + h.config.Name }

func (h *Holder) otherNow() string {
	if time.Since(h.heard) >= renewDeadline {
		return ""
	}
	return h.other
}

// Changed receives after Holds or Other has changed.
func (h *Holder) Changed() <-chan struct{} { return h.changed }

// Err is what the last request for the Lease was answered with, nil when it was
// answered well. A right that is missing shows here.
func (h *Holder) Err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}

// update changes the state, tells what is new of it, and comes back when it would end by itself.
func (h *Holder) update(change func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change()
	holds, other := h.holdsNow(), h.otherNow()
	if holds != h.holds || other != h.holder {
		h.holds, h.holder = holds, other
		ping(h.changed)
	}
	if h.expiry != nil {
		h.expiry.Stop()
	}
	if holds || other != "" {
		h.expiry = time.AfterFunc(h.lasts(), func() { h.update(func() {}) })
	}
}

// lasts is how long the state stands without another answer.
func (h *Holder) lasts() time.Duration {
	if h.holdsNow() {
		return renewDeadline - time.Since(h.renewed)
	}
	return renewDeadline - time.Since(h.heard)
}

// lock is the Lease, with an ear on what the API server says of it. Each request is bounded.
type lock struct {
	resourcelock.Interface
	h *Holder
}

// Get is called by the elector.
func (l lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	record, raw, err := l.Interface.Get(ctx)
	l.h.update(func() {
		l.h.answered(err)
		if err == nil {
			l.h.read(record.HolderIdentity)
		}
	})
	return record, raw, err
}

// Create is called by the elector.
func (l lock) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, r, l.Interface.Create)
}

// Update is called by the elector, to renew and to release.
func (l lock) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	if r.HolderIdentity != l.Identity() { // a release begins: nobody acts from here on
		l.h.update(func() { l.h.renewed = time.Time{} })
	}
	return l.write(ctx, r, l.Interface.Update)
}

func (l lock) write(ctx context.Context, r resourcelock.LeaderElectionRecord, write func(context.Context, resourcelock.LeaderElectionRecord) error) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	asked := time.Now()
	err := write(ctx, r)
	l.h.update(func() {
		l.h.answered(err)
		if err == nil && r.HolderIdentity == l.Identity() {
			l.h.renewed, l.h.other = asked, ""
		}
	})
	return err
}

// answered takes what a request came to. An answer of whatever kind shows that the API server is there.
func (h *Holder) answered(err error) {
	h.err = err
	if err == nil || CodeOf(err) != Unreachable || apierrors.IsTooManyRequests(err) {
		h.heard = time.Now()
	}
	if apierrors.IsNotFound(err) {
		h.other, h.renewed = "", time.Time{}
	}
	if errors.Is(err, context.Canceled) {
		h.err = nil
	}
}

// read takes who holds the Lease. It is not this process merely because it says so: that takes a renewal.
func (h *Holder) read(holder string) {
	if holder == h.config.Identity {
		h.other = ""
		return
	}
	h.other, h.renewed = holder, time.Time{}
}
