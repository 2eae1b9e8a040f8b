package evict

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/google/go-cmp/cmp"

	"github.com/poolwright/poolwright/live"
	"github.com/poolwright/poolwright/live/pooler"
	"github.com/poolwright/poolwright/render"
)

// entry is "1 →a" or, of demoted instances, "2 a,b→c", open or over.
func entry(number uint64, to string, done bool, from ...string) *live.Eviction {
	e := &live.Eviction{Version: 1, Number: number, To: to, From: from, At: noon}
	if done {
		e.Done = noon
	}
	return e
}

func TestBegin(t *testing.T) {
	for name, c := range map[string]struct {
		old              *live.Eviction
		selected, target string
		want             *live.Eviction
	}{
		"the first entry is over as it is written":                     {nil, "a", "a", entry(1, "a", true)},
		"also when the Service is not where it belongs":                {nil, "a", "b", entry(1, "a", true)},
		"nothing without a Service":                                    {nil, "", "b", nil},
		"nothing while it is where it was":                             {entry(1, "a", true), "a", "a", nil},
		"nothing while it is only wanted elsewhere":                    {entry(1, "a", true), "a", "b", nil},
		"A→B clears A":                                                 {entry(1, "a", true), "b", "b", entry(2, "b", false, "a")},
		"a Service that somebody moved clears nobody":                  {entry(1, "a", true), "b", "a", nil},
		"nor one that the tool put back within the eviction":           {entry(2, "b", false, "a"), "a", "b", nil},
		"nor one of which it is not known where it belongs":            {entry(1, "a", true), "b", "", nil},
		"A→B→C clears both":                                            {entry(2, "b", false, "a"), "c", "c", entry(3, "c", false, "a", "b")},
		"A→B, and later B→C, clears B":                                 {entry(2, "b", true, "a"), "c", "c", entry(3, "c", false, "b")},
		"A→B→A clears B, and A is put right":                           {entry(2, "b", false, "a"), "a", "a", &live.Eviction{Version: 1, Number: 3, To: "a", From: []string{"b"}, Restore: []string{"a"}, At: noon}},
		"A→B, and later B→A: nothing is left of ours on A":             {entry(2, "b", true, "a"), "a", "a", entry(3, "a", false, "b")},
		"A→B→A→C clears A and B":                                       {&live.Eviction{Version: 1, Number: 3, To: "a", From: []string{"b"}, Restore: []string{"a"}, At: noon}, "c", "c", entry(4, "c", false, "a", "b")},
		"nothing of the entry of an instance that is gone is in doubt": {entry(7, "gone", true, "x"), "b", "b", entry(8, "b", false, "gone")},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := begin(c.old, c.selected, c.target, noon)
			if ok != (c.want != nil) {
				t.Fatalf("begins: %v: %+v", ok, got)
			}
			if ok {
				if diff := cmp.Diff(*c.want, got); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func TestNewerEntry(t *testing.T) {
	for name, c := range map[string]struct {
		a, b *live.Eviction
		want bool
	}{
		"none":                            {nil, entry(1, "a", true), false},
		"the first":                       {entry(1, "a", true), nil, true},
		"the same":                        {entry(2, "b", false, "a"), entry(2, "b", false, "a"), false},
		"the same, over":                  {entry(2, "b", true, "a"), entry(2, "b", false, "a"), true},
		"the same, as it was before":      {entry(2, "b", false, "a"), entry(2, "b", true, "a"), false},
		"the next":                        {entry(3, "c", false, "b"), entry(2, "b", true, "a"), true},
		"the one before, of a late watch": {entry(2, "b", true, "a"), entry(3, "c", false, "b"), false},
	} {
		if got := newer(c.a, c.b); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestWhereTheServiceIsAndBelongs(t *testing.T) {
	svc := func(change func(*corev1.Service)) live.Sight {
		s := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{render.LabelCluster: "pg"}, Annotations: map[string]string{}},
			Spec:       corev1.ServiceSpec{Selector: map[string]string{render.LabelInstance: "a"}},
		}
		change(s)
		return live.Sight{Names: live.Names{Cluster: "pg", Services: map[live.Role]string{live.Writer: "pg-writer"}}, Services: map[live.Role]*corev1.Service{live.Writer: s}}
	}
	record := live.Record{Version: 1, Epoch: 8, To: "b", At: noon, Select: map[live.Role]map[string]string{live.Writer: {render.LabelCluster: "pg", render.LabelInstance: "b"}}}
	for name, c := range map[string]struct {
		sight            live.Sight
		selected, target string
	}{
		"where it is wanted":           {svc(func(*corev1.Service) {}), "a", "wanted"},
		"where the record says":        {svc(func(s *corev1.Service) { s.Annotations[live.AnnotationOverride] = record.String() }), "a", "b"},
		"somebody else's is not asked": {svc(func(s *corev1.Service) { s.Labels[render.LabelCluster] = "other" }), "", "wanted"},
		"one that goes is not asked":   {svc(func(s *corev1.Service) { s.DeletionTimestamp = &metav1.Time{Time: noon} }), "", "wanted"},
		"without a Writer":             {live.Sight{}, "", "wanted"},
	} {
		if s := understand(Seen{Sight: c.sight, Wanted: "wanted"}); s.at != c.selected || s.target != c.target || s.overridden != (c.target == "b") {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if s := understand(Seen{}); s.target != "" {
		t.Errorf("nothing is wanted, and yet it belongs to %q", s.target)
	}
}

func TestPublication(t *testing.T) {
	over := *entry(2, "b", true, "a")
	over.Evicted, over.Returned, over.Done = 20, 19, noon.Add(2300*time.Millisecond)
	stuck := Condition{Code: Stuck, Object: "pod db/a-1", Detail: "no", Hint: "do"}
	for _, c := range []struct {
		e    Event
		want string
	}{
		{Event{Changed: true, State: State{Phase: Draining, Eviction: *entry(2, "b", false, "a")}}, "Normal EvictingClients [a] → b"},
		{Event{Changed: true, State: State{Phase: Complete, Eviction: over}}, "Normal ClientsEvicted [a] → b in 2.3s: 20 connections cut, 19 seen again"},
		{Event{Changed: true, State: State{Phase: Complete, Eviction: *entry(1, "a", true)}}, "  "},
		{Event{Condition: &stuck}, "Warning ClientsStuck pod db/a-1: stuck: no (hint: do)"},
		{Event{Condition: &stuck, Gone: true}, "  "},
		{Event{Step: &Step{Kind: Disable}, Err: errors.New("x")}, "  "},
	} {
		kind, reason, message := publication(c.e)
		if got := kind + " " + reason + " " + message; got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestTallyCountsWhoComesBack(t *testing.T) {
	at := func(addr string, port int, since time.Duration) poolerClient {
		return poolerClient{Addr: addr, Port: port, User: "app", Database: "d", Since: noon.Add(since)}
	}
	y := newTally()
	y.saw("b-1", noon, []poolerClient{at("10.0.0.1", 1, -time.Hour), at("10.0.0.2", 1, 0)}) // the second may have come since
	y.cut(3, []poolerClient{at("10.0.0.1", 7, 0), at("10.0.0.1", 8, 0), at("10.0.0.2", 9, 0)})
	y.saw("b-1", noon, []poolerClient{at("10.0.0.1", 1, -time.Hour), at("10.0.0.2", 1, 0)})
	if y.evicted != 3 || y.returned != 1 {
		t.Errorf("%d cut, %d back", y.evicted, y.returned)
	}
	y.saw("b-2", noon, []poolerClient{at("10.0.0.1", 11, time.Second), at("10.0.0.1", 12, time.Second), at("10.0.0.1", 13, time.Second), at("10.0.0.9", 1, time.Second)})
	if y.returned != 3 {
		t.Errorf("%d back: a stranger counts, or one too many", y.returned)
	}
	y.saw("b-1", noon, nil)
	if y.returned != 3 {
		t.Errorf("%d back: who has been back has been back", y.returned)
	}
}

type poolerClient = pooler.Client

func TestAnEntryIsOverturned(t *testing.T) {
	for _, c := range []struct {
		target   string
		side     Side
		instance string
		want     bool
	}{
		{"b", Demoted, "a", false},
		{"b", Promoted, "b", false},
		{"a", Demoted, "a", true},
		{"a", Promoted, "b", true},
		{"c", Demoted, "a", false},
		{"c", Promoted, "b", true},
		{"", Demoted, "a", false},
		{"", Promoted, "b", false},
	} {
		if got := (situation{target: c.target}).isOverturned(c.side, c.instance); got != c.want {
			t.Errorf("%+v", c)
		}
	}
}
