package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/poolwright/poolwright/discovery"
	"github.com/poolwright/poolwright/gitsync"
)

// lookout is the eyes of one cluster: the observer of its declaration, made
// anew when the declaration of discovery changes.
type lookout struct {
	outside  outside
	declared string
	observer observer
	metadata metadata
}

// probeInWindow bounds a look inside a failover window: one frozen instance
// must not keep the others' answers for longer.
const probeInWindow = time.Second

// Observe asks once.
func (l *lookout) Observe(ctx context.Context, d declaration, inWindow bool) (discovery.Observation, error) {
	if err := l.follow(d); err != nil {
		return discovery.Observation{}, err
	}
	if inWindow {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, probeInWindow)
		defer cancel()
	}
	seen := l.observer.Observe(ctx)
	seen.Metadata = l.metadata.now()
	if inWindow || isNews(seen) {
		l.metadata.refresh()
	}
	return seen, nil
}

// isNews reports whether somebody was asked whom metadata does not know: a new
// reader stays quarantined until it does.
func isNews(seen discovery.Observation) bool {
	if seen.Metadata == nil {
		return false
	}
	return slices.ContainsFunc(seen.Answers, func(a discovery.Answer) bool {
		return a.Asked != "" && !slices.ContainsFunc(seen.Metadata.Instances, func(i discovery.MetaInstance) bool { return i.Name == a.Asked })
	})
}

// follow makes a new observer if the declaration asks for another one.
func (l *lookout) follow(d declaration) error {
	spec := d.Cluster.Spec
	key, err := json.Marshal([]any{d.Metadata.Name, spec.Discovery, spec.Monitor.Timeout})
	if err != nil {
		return fmt.Errorf("comparing declarations: %w", err)
	}
	if l.observer != nil && l.declared == string(key) {
		return nil
	}
	next, err := l.outside.observer(d)
	if err != nil {
		return err
	}
	l.close()
	l.declared, l.observer = string(key), next
	l.metadata = l.outside.AWS.watch(spec.Discovery)
	return nil
}

// Lost receives when the connection to the writer breaks.
func (l *lookout) Lost() <-chan struct{} {
	if l.observer == nil {
		return nil
	}
	return l.observer.Lost()
}

func (l *lookout) close() {
	if l.observer != nil {
		l.observer.Close()
		l.metadata.stop()
	}
}

// observeOnce looks at a cluster once, metadata included.
func observeOnce(ctx context.Context, d declaration) (discovery.Observation, error) {
	world := theWorld(ctx)
	eyes, err := world.observer(d)
	if err != nil {
		return discovery.Observation{}, err
	}
	defer eyes.Close()
	m := world.AWS.metadata(d.Cluster.Spec.Discovery)
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		if m.enricher != nil {
			_ = m.enricher.Fetch(ctx) // what went wrong is in the metadata
		}
	}()
	seen := eyes.Observe(ctx)
	<-asked
	seen.Metadata = m.now()
	return seen, nil
}

// readRemote reads the cluster's directory in the declared repository.
func readRemote(ctx context.Context, d declaration) (base gitsync.Base, err error) {
	b, err := openBranch(d.Cluster.Spec.Publish.PublishTo, theWorld(ctx).Now)
	if err != nil {
		return base, err
	}
	return b.git.Read(ctx, d.Dir())
}
