package rds

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/poolwright/poolwright/discovery"
)

// Floor is the least time between two attempts for one cluster.
const Floor = 10 * time.Second

// intervalsUntilStale is the age, in intervals, at which an answer is stale
// although no attempt has failed: they may be waiting for their turn.
const intervalsUntilStale = 5

// Enricher holds what AWS last said of one cluster.
type Enricher struct {
	region   *Region
	cluster  string
	interval time.Duration
	pull     chan struct{}

	mu    sync.Mutex
	began time.Time // the first call of the last attempt
	tried bool
	last  discovery.Metadata // State is computed by Metadata
	err   error              // of the last attempt
}

// Cluster makes the enricher of one cluster, by its DBClusterIdentifier. interval
// is the time between refreshes; what is below Floor is taken as Floor.
func (r *Region) Cluster(name string, interval time.Duration) *Enricher {
	return &Enricher{region: r, cluster: name, interval: max(interval, Floor), pull: make(chan struct{}, 1)}
}

// Metadata returns what is known, at once. It is nil before the first attempt
// has ended. The caller may keep it: later refreshes do not change it.
func (e *Enricher) Metadata() *discovery.Metadata {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.tried {
		return nil
	}
	m := e.last
	m.Instances = slices.Clone(m.Instances)
	switch {
	case e.err != nil:
		m.State, m.Detail = discovery.MetadataStale, detail(e.err)
	case time.Since(m.At) > intervalsUntilStale*e.interval:
		m.State, m.Detail = discovery.MetadataStale, "no answer for five intervals"
	default:
		m.State = discovery.MetadataFresh
	}
	return &m
}

// Refresh asks for an attempt soon. It returns at once, and asking twice is
// asking once. Without Run it does nothing.
func (e *Enricher) Refresh() {
	select {
	case e.pull <- struct{}{}:
	default:
	}
}

// Run refreshes until ctx ends.
func (e *Enricher) Run(ctx context.Context) {
	for ctx.Err() == nil {
		if isThrottled(e.Fetch(ctx)) {
			continue // the region rests before the next call
		}
		e.wait(ctx)
	}
}

// wait ends after the interval or when it is pulled forward.
func (e *Enricher) wait(ctx context.Context) {
	timer := time.NewTimer(e.interval)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-e.pull:
		_ = sleep(ctx, time.Until(e.lastBegin().Add(Floor))) // Run sees the end of ctx
	}
}

// begin is when the first call of an attempt is made, which may be long after
// the attempt was due. It answers every pull until now.
func (e *Enricher) begin() {
	select {
	case <-e.pull:
	default:
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.began = time.Now()
}

func (e *Enricher) lastBegin() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.began
}

// Fetch makes one attempt now and waits for it. It is for commands that look
// once; a loop uses Run. The error is also in what Metadata returns.
func (e *Enricher) Fetch(ctx context.Context) error {
	instances, err := e.describe(ctx)
	if ctx.Err() != nil {
		return ctx.Err() // the caller's end says nothing about AWS
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tried, e.err = true, err
	if err == nil {
		e.last.Instances, e.last.At = instances, time.Now()
	}
	return err
}
