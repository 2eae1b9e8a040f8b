package evict

import (
	"context"
	"slices"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/poolwright/poolwright/live"
)

// The pace of writes of an entry.
const (
	minGap     = 100 * time.Millisecond
	maxGap     = 30 * time.Second
	writeAgain = 5 * time.Second // when what was written is still not seen: somebody took it away, or the watch is behind
)

// recording is what has become of an entry.
type recording struct {
	written string   // the entry that was written last
	names   []string // of databases, in it
	at      time.Time
	pace    time.Duration // until the next try
	err     error
}

// state is that of an entry; told is the one that is seen.
func (r recording) state(entry, told *live.Eviction) Entry {
	switch {
	case told != nil && told.Number == entry.Number, r.written != "":
		return Recorded
	case r.err != nil:
		return Refused
	}
	return Pending
}

// known are the databases that the entry is known to name.
func (r recording) known(entry, told *live.Eviction) []string {
	names := slices.Clone(r.names)
	if told != nil && told.Number == entry.Number {
		names = append(names, told.Databases...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// write writes the entry when another one is seen. It says when to look again, 0 for never.
func (r *Runner) write(ctx context.Context, now time.Time) time.Duration {
	if r.entry == nil || r.writing {
		return 0
	}
	entry, text := *r.entry, r.entry.String()
	if told := r.seen.Sight.Control.Eviction; told != nil && told.String() == text {
		r.record.err = nil
		return 0
	}
	gap := r.record.pace
	if r.record.written == text {
		gap = writeAgain
	}
	if wait := r.record.at.Add(gap).Sub(now); wait > 0 {
		return wait
	}
	r.writing = true
	r.errands.Go(func() { r.put(ctx, entry, text) })
	return 0
}

// name adds the databases of the demoted pods to the entry.
func (r *Runner) name() {
	entry := *r.entry
	entry.Databases = slices.Clone(entry.Databases)
	for _, w := range r.workers {
		if w.report.Side == Demoted {
			entry.Databases = append(entry.Databases, w.names...)
		}
	}
	slices.Sort(entry.Databases)
	if entry.Databases = slices.Compact(entry.Databases); len(entry.Databases) > len(r.entry.Databases) {
		r.entry, r.record.pace = &entry, 0
	}
}

// put writes an entry, and wakes the Runner.
func (r *Runner) put(ctx context.Context, entry live.Eviction, text string) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var err error
	if r.config.Holds() {
		err = live.PutEviction(ctx, r.config.Client, r.config.Names, entry)
	} else {
		err = context.Canceled
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.Wake()
	r.writing = false
	if r.entry == nil || r.entry.Number != entry.Number {
		return
	}
	r.record.at = r.config.Now()
	if err == nil {
		r.record.written, r.record.names, r.record.pace, r.record.err = text, entry.Databases, 0, nil
		return
	}
	r.record.pace = min(max(2*r.record.pace, minGap), maxGap)
	if live.CodeOf(err) != 0 { // else the world has moved
		r.record.err = err
	}
}

// sighting is what the EndpointSlices of the Writer Service say.
type sighting struct {
	busy  bool
	asked time.Time
	// pods that stand behind the Service; known is false before the first answer.
	pods  []string
	known bool
	// denied is why the slices cannot be read at all.
	denied error
	// away is since when the Service has been seen to select nobody who is demoted; moved since when the slices say so, too.
	away, moved time.Time
}

// judge is since when the data plane is known to have moved; zero when it is not. back is true while the Service
// selects a demoted instance; stray tells whether a pod may be of one.
func (s *sighting) judge(now time.Time, back bool, stray func(pod string) bool) time.Time {
	if back {
		s.away, s.moved, s.known = time.Time{}, time.Time{}, false
		return time.Time{}
	}
	if s.away.IsZero() {
		s.away = now
	}
	if s.denied != nil {
		return s.away
	}
	if !s.known {
		return s.moved
	}
	if slices.ContainsFunc(s.pods, stray) {
		s.moved = time.Time{}
		return s.moved
	}
	if s.moved.IsZero() {
		s.moved = now
	}
	return s.moved
}

// look asks for the EndpointSlices when it is time to.
func (r *Runner) look(ctx context.Context, now time.Time) {
	gap := interval
	if now.Sub(r.began) > r.config.Within {
		gap = slowInterval
	}
	if r.slices.busy || now.Sub(r.slices.asked) < gap {
		return
	}
	r.slices.busy, r.slices.asked = true, now
	number := r.entry.Number
	r.errands.Go(func() { r.list(ctx, number, now) })
}

// list asks for the EndpointSlices, and wakes the Runner.
func (r *Runner) list(ctx context.Context, number uint64, asked time.Time) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	names := r.config.Names
	found, err := r.config.Client.DiscoveryV1().EndpointSlices(names.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: labels.Set{discoveryv1.LabelServiceName: names.Services[live.Writer]}.String(),
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.Wake()
	if r.entry == nil || r.entry.Number != number {
		return
	}
	s := &r.slices
	s.busy = false
	switch {
	case live.CodeOf(err) == live.Forbidden, apierrors.IsNotFound(err):
		s.denied = err
	case err != nil, s.away.IsZero(), asked.Before(s.away):
		// no answer, or one from before the Service was moved
	default:
		s.denied, s.known, s.pods = nil, true, podsBehind(found.Items)
	}
}

// podsBehind are the pods behind a Service, ready or not; "" for what is none.
func podsBehind(list []discoveryv1.EndpointSlice) (pods []string) {
	for _, slice := range list {
		for _, e := range slice.Endpoints {
			name := ""
			if e.TargetRef != nil && e.TargetRef.Kind == "Pod" {
				name = e.TargetRef.Name
			}
			pods = append(pods, name)
		}
	}
	return pods
}
