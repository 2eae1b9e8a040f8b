package live

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

func podAt(name, version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: version}}
}

func newSource() *source[*corev1.Pod] {
	return &source[*corev1.Pod]{changed: func() {}, seen: map[string]*corev1.Pod{}}
}

func (s *source[T]) words() string {
	var words []string
	for name, o := range s.seen {
		words = append(words, name+"@"+o.GetResourceVersion())
	}
	slices.Sort(words)
	return fmt.Sprint(words)
}

func TestSourceKnowsTheNewest(t *testing.T) {
	for name, c := range map[string]struct {
		happens func(s *source[*corev1.Pod])
		want    string
	}{
		"an answer counts before the watch has it": {func(s *source[*corev1.Pod]) { s.put(podAt("a", "12")) }, "[a@12 b@9]"},
		"and after an older event":                 {func(s *source[*corev1.Pod]) { s.put(podAt("a", "12")); _ = s.Update(podAt("a", "11")) }, "[a@12 b@9]"},
		"a newer event counts":                     {func(s *source[*corev1.Pod]) { s.put(podAt("a", "12")); _ = s.Update(podAt("a", "13")) }, "[a@13 b@9]"},
		"an answer that is late does not":          {func(s *source[*corev1.Pod]) { _ = s.Update(podAt("a", "13")); s.put(podAt("a", "12")) }, "[a@13 b@9]"},
		"nor after a deletion":                     {func(s *source[*corev1.Pod]) { _ = s.Delete(podAt("a", "13")); s.put(podAt("a", "12")) }, "[b@9]"},
		"a deletion before the answer was made":    {func(s *source[*corev1.Pod]) { s.put(podAt("a", "12")); _ = s.Delete(podAt("a", "11")) }, "[a@12 b@9]"},
		"a deletion of what is not known":          {func(s *source[*corev1.Pod]) { _ = s.Delete(podAt("c", "13")) }, "[a@8 b@9]"},
		"a list forgets what is gone":              {func(s *source[*corev1.Pod]) { _ = s.Replace([]any{podAt("b", "9")}, "20") }, "[b@9]"},
		"but not what is newer than it":            {func(s *source[*corev1.Pod]) { s.put(podAt("a", "21")); _ = s.Replace([]any{podAt("a", "8")}, "20") }, "[a@21]"},
		"a list from before, of storage restored":  {func(s *source[*corev1.Pod]) { s.put(podAt("a", "12")); _ = s.Replace([]any{podAt("a", "5")}, "6") }, "[a@5]"},
		"and what is answered then counts":         {func(s *source[*corev1.Pod]) { _ = s.Replace([]any{podAt("a", "5")}, "6"); s.put(podAt("a", "7")) }, "[a@7]"},
		"versions are numbers":                     {func(s *source[*corev1.Pod]) { s.put(podAt("a", "100")); _ = s.Update(podAt("a", "99")) }, "[a@100 b@9]"},
		"what cannot be compared is believed":      {func(s *source[*corev1.Pod]) { _ = s.Update(podAt("a", "x")) }, "[a@x b@9]"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSource()
			_ = s.Replace([]any{podAt("a", "8"), podAt("b", "9")}, "10")
			c.happens(s)
			if got := s.words(); got != c.want {
				t.Errorf("known are %s, want %s", got, c.want)
			}
		})
	}
}

// TestSourceConverges: whatever of our own answers comes between the events, and
// however late, in the end it is known what the watch has told.
func TestSourceConverges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newSource()
		_ = s.Replace(nil, "10")
		truth := map[string]string{}
		var events []func()
		var answers []*corev1.Pod
		for version := 11; version < 11+rapid.IntRange(1, 30).Draw(t, "n"); version++ {
			o := podAt(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "name"), fmt.Sprint(version))
			if _, exists := truth[o.Name]; exists && rapid.IntRange(0, 3).Draw(t, "delete") == 0 {
				delete(truth, o.Name)
				events = append(events, func() { _ = s.Delete(o) })
				continue
			}
			truth[o.Name] = o.ResourceVersion
			events = append(events, func() { _ = s.Update(o) })
			answers = append(answers, o)
		}
		for len(events) > 0 {
			if len(answers) > 0 && rapid.Bool().Draw(t, "answer") {
				s.put(answers[0])
				answers = answers[1:]
				continue
			}
			events[0]()
			events = events[1:]
		}
		for _, o := range answers {
			s.put(o)
		}
		known := map[string]string{}
		for name, o := range s.seen {
			known[name] = o.ResourceVersion
		}
		if !maps.Equal(known, truth) {
			t.Fatalf("known are %v, true is %v", known, truth)
		}
	})
}
