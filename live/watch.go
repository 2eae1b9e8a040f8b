package live

import (
	"context"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// source is what one watch knows: one object by its name, or the pods of a
// cluster. It is the store behind a reflector, and takes the answers to our own
// writes as well. Of each object the newest is known, whoever told it.
type source[T metav1.Object] struct {
	changed func()
	watched cache.ListerWatcher
	sample  T

	mu     sync.Mutex
	seen   map[string]T
	synced bool
	// version that the watch has come to.
	version string
	// err is why there is no watch now, nil when there is one.
	err error
}

// resource is a kind of object in a namespace, as client-go's typed clients have it.
type resource[L runtime.Object] interface {
	List(context.Context, metav1.ListOptions) (L, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// watching is a source of the objects that an option selects. changed is called after each change, and must return at once.
// The client is asked whether it can stream the first list.
func watching[T metav1.Object, L runtime.Object](client kubernetes.Interface, sample T, r resource[L], selected func(*metav1.ListOptions), changed func()) *source[T] {
	s := &source[T]{changed: changed, sample: sample, seen: map[string]T{}}
	s.watched = cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			selected(&o)
			found, err := r.List(ctx, o)
			if err != nil {
				s.note(err)
			}
			return found, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			selected(&o)
			w, err := r.Watch(ctx, o)
			s.note(err)
			return w, err
		},
	}, client)
	return s
}

// quiet drops the log lines of client-go's loops: what they would say is a condition.
func quiet(ctx context.Context) context.Context { return logr.NewContext(ctx, logr.Logger{}) }

// run watches until ctx ends.
func (s *source[T]) run(ctx context.Context) {
	backoff := wait.Backoff{Duration: minGap, Factor: 2, Jitter: 1, Steps: 7, Cap: maxGap}
	cache.NewReflectorWithOptions(s.watched, s.sample, s, cache.ReflectorOptions{Logger: new(logr.Logger), Backoff: &backoff}).
		RunWithContext(quiet(ctx))
}

// state reports whether everything has been seen once, and why there is no watch now.
func (s *source[T]) state() (synced bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.synced, s.err
}

// all are the objects that are known, in no order.
func (s *source[T]) all() (found []T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.seen {
		found = append(found, o)
	}
	return found
}

// get is the object of a name; nil when it does not exist.
func (s *source[T]) get(name string) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[name]
}

// put takes the answer to a write or a get of ours, which the watch may be behind.
func (s *source[T]) put(o T) {
	s.update(func() {
		if newer(o.GetResourceVersion(), s.version) {
			s.keep(o)
		}
	})
}

// note takes whether the last try to watch succeeded. A right that is missing was said with the first try:
// the next one names another verb, and nothing has changed.
func (s *source[T]) note(err error) {
	s.update(func() {
		if CodeOf(err) != Forbidden || CodeOf(s.err) != Forbidden {
			s.err = err
		}
	})
}

func (s *source[T]) update(change func()) {
	s.mu.Lock()
	change()
	s.mu.Unlock()
	s.changed()
}

// keep takes an object that is not older than the one known.
func (s *source[T]) keep(o T) {
	if known, ok := s.seen[o.GetName()]; !ok || !newer(known.GetResourceVersion(), o.GetResourceVersion()) {
		s.seen[o.GetName()] = o
	}
}

// newer compares resource versions; one that cannot be compared is not newer.
func newer(a, b string) bool {
	if b == "" {
		return a != ""
	}
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order > 0
}

// Add is called by the reflector.
func (s *source[T]) Add(o any) error {
	s.update(func() { s.advance(o.(T)); s.keep(o.(T)) })
	return nil
}

// Update is called by the reflector.
func (s *source[T]) Update(o any) error { return s.Add(o) }

// Delete is called by the reflector with the object as it was last, at the version of its deletion.
func (s *source[T]) Delete(o any) error {
	s.update(func() {
		gone := o.(T)
		s.advance(gone)
		if known, ok := s.seen[gone.GetName()]; ok && !newer(known.GetResourceVersion(), gone.GetResourceVersion()) {
			delete(s.seen, gone.GetName())
		}
	})
	return nil
}

// Replace is called by the reflector with all there is at a version. One that is older than what the watch
// had come to is that of an API server whose storage was restored: nothing from before counts.
func (s *source[T]) Replace(list []any, version string) error {
	s.update(func() {
		if newer(s.version, version) {
			clear(s.seen)
		}
		for name, o := range s.seen {
			if !newer(o.GetResourceVersion(), version) {
				delete(s.seen, name)
			}
		}
		for _, o := range list {
			s.keep(o.(T))
		}
		s.version, s.synced = version, true
	})
	return nil
}

// Resync is called by no reflector without a period.
func (s *source[T]) Resync() error { return nil }

func (s *source[T]) advance(o T) { s.version = o.GetResourceVersion() }

// named selects one object: a Role that names it is enough.
func named(name string) func(*metav1.ListOptions) {
	return func(o *metav1.ListOptions) { o.FieldSelector = "metadata.name=" + name }
}

// labelled selects objects by their labels.
func labelled(selector string) func(*metav1.ListOptions) {
	return func(o *metav1.ListOptions) { o.LabelSelector = selector }
}

var _ cache.ReflectorStore = (*source[metav1.Object])(nil)

// ping says in a channel of one place that something has happened.
func ping(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// sorted puts conditions into the order in which people want to read them, each code once for an object.
func sorted(list []Condition) []Condition {
	SortConditions(list)
	seen := map[[2]string]bool{}
	return slices.DeleteFunc(list, func(c Condition) bool {
		key := [2]string{c.Code.String(), c.Object}
		defer func() { seen[key] = true }()
		return seen[key]
	})
}
