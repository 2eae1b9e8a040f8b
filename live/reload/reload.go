package reload

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
)

// times are when RELOAD is said after a change of the Secret was seen.
var times = [...]time.Duration{time.Second, 15 * time.Second, 45 * time.Second, 90 * time.Second, 150 * time.Second}

// Console is the admin console of one pooler. [pooler.Console] is one.
type Console interface {
	Reload(ctx context.Context) error
	Close()
}

// Config is how a Reloader works. Every field is needed.
type Config struct {
	// Namespace and Secret name what is watched.
	Namespace, Secret string
	Client            metadata.Interface
	// Pods are the pods of the cluster as they are now; nil while they cannot be seen.
	Pods func() []*corev1.Pod
	// Console opens the console at host:port, and bounds itself.
	Console func(ctx context.Context, address string) (Console, error)
	// Port of the poolers.
	Port int
	// Holds reports whether this process holds the cluster now.
	Holds func() bool
	// Tell hears of each rotation once, and of a missing right.
	Tell func(Event)
	// Now is the clock.
	Now func() time.Time
}

// Event is what became of a rotation.
type Event struct {
	At time.Time
	// First is true when the Secret was seen for the first time: nobody has to have rotated it.
	First bool
	// Reloaded pods were told at the last time. Failed says why not of each other one, by name.
	Reloaded int
	Failed   []string
	// Err is why the Secret cannot be watched; all else is empty then.
	Err error
}

// Reloader watches one Secret. Make it with [New].
type Reloader struct {
	config  Config
	changed chan bool // whether it is the first sight
}

// New makes a Reloader. It does nothing before Run.
func New(c Config) *Reloader { return &Reloader{config: c, changed: make(chan bool, 1)} }

// Run watches, and tells the poolers, until ctx ends.
func (r *Reloader) Run(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() { r.watch(ctx) })
	defer all.Wait()
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	var since time.Time
	var first bool
	next := len(times)
	for {
		select {
		case <-ctx.Done():
			return
		case first = <-r.changed:
			since, next = r.config.Now(), 0
		case <-timer.C:
			event := r.reload(ctx)
			if next++; next == len(times) && r.config.Holds() && ctx.Err() == nil {
				event.At, event.First = r.config.Now(), first
				r.config.Tell(event)
			}
		}
		if next < len(times) {
			timer.Reset(since.Add(times[next]).Sub(r.config.Now()))
		}
	}
}

// watch sends for each version of the Secret.
func (r *Reloader) watch(ctx context.Context) {
	secrets := corev1.SchemeGroupVersion.WithResource("secrets")
	informer := metadatainformer.NewFilteredMetadataInformer(r.config.Client, secrets, r.config.Namespace, 0, cache.Indexers{}, func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, r.config.Secret).String()
	}).Informer()
	var said sync.Once
	_ = informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) { // fails only once it runs
		said.Do(func() {
			r.config.Tell(Event{At: r.config.Now(), Err: fmt.Errorf("watching secret %s/%s: %w", r.config.Namespace, r.config.Secret, err)})
		})
	})
	version := ""
	see := func(o any) {
		if now := o.(metav1.Object).GetResourceVersion(); now != version {
			r.see(version == "")
			version = now
		}
	}
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: see, UpdateFunc: func(_, o any) { see(o) }}) // fails only once it has ended
	informer.RunWithContext(ctx)
}

// see begins the times anew.
func (r *Reloader) see(first bool) {
	select {
	case was := <-r.changed: // nobody has taken it yet
		first = first || was
	default:
	}
	r.changed <- first
}

// reload tells every pod that runs.
func (r *Reloader) reload(ctx context.Context) (e Event) {
	if !r.config.Holds() {
		return e
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	for _, pod := range r.config.Pods() {
		if pod.Status.Phase != corev1.PodRunning || pod.Status.PodIP == "" || pod.DeletionTimestamp != nil {
			continue
		}
		all.Go(func() {
			err := r.tell(ctx, net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(r.config.Port)))
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				e.Failed = append(e.Failed, pod.Name+": "+err.Error())
				return
			}
			e.Reloaded++
		})
	}
	all.Wait()
	slices.SortFunc(e.Failed, strings.Compare)
	return e
}

func (r *Reloader) tell(ctx context.Context, address string) error {
	console, err := r.config.Console(ctx, address)
	if err != nil {
		return err
	}
	defer console.Close()
	return console.Reload(ctx)
}
