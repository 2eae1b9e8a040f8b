package cmd

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poolwright/poolwright/live"
	"github.com/poolwright/poolwright/plan"
)

// TestAServiceThatIsMissedHasItsDefaultName: by what is applied, a cluster has a Writer Service or has none.
func TestAServiceThatIsMissedHasItsDefaultName(t *testing.T) {
	secondary := benchState()
	secondary.Writer = ""
	for name, c := range map[string]struct {
		state    plan.State
		gone     []live.Role
		topology string // "gone", "broken" or "" for as it is
		want     string
	}{
		"both are there":                             {benchState(), nil, "", "map[reader:story-reader writer:story-writer]"},
		"the Writer is gone":                         {benchState(), []live.Role{live.Writer}, "", "map[reader:story-reader writer:story-writer]"},
		"the Reader is gone":                         {benchState(), []live.Role{live.Reader}, "", "map[reader:story-reader writer:story-writer]"},
		"both are gone":                              {benchState(), []live.Role{live.Writer, live.Reader}, "", "map[reader:story-reader writer:story-writer]"},
		"the Writer, and what is applied, are gone":  {benchState(), []live.Role{live.Writer}, "gone", "map[reader:story-reader writer:story-writer]"},
		"the Writer is gone, what is applied broken": {benchState(), []live.Role{live.Writer}, "broken", "map[reader:story-reader writer:story-writer]"},
		"everything is gone":                         {benchState(), []live.Role{live.Writer, live.Reader}, "gone", "looking for the Services of story: namespace db has none with its labels"},
		"a global secondary":                         {secondary, nil, "", "map[reader:story-reader]"},
		"the Reader of one is gone":                  {secondary, []live.Role{live.Reader}, "", "map[reader:story-reader]"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, c.state)
			for _, role := range c.gone {
				b.gone(role)
			}
			b.spoilTopology(c.topology)
			names, err := findNames(t.Context(), b.api, "db", "story")
			got := fmt.Sprint(names.Services)
			if err != nil {
				got = err.Error()
			}
			wantIs(t, "names", got, c.want)
		})
	}
}

func (b *liveBench) spoilTopology(how string) {
	b.t.Helper()
	maps := b.api.CoreV1().ConfigMaps("db")
	var err error
	switch how {
	case "gone":
		err = maps.Delete(b.t.Context(), "story-topology", metav1.DeleteOptions{})
	case "broken":
		cm, _ := maps.Get(b.t.Context(), "story-topology", metav1.GetOptions{})
		cm.Data["epoch"] = "x"
		_, err = maps.Update(b.t.Context(), cm, metav1.UpdateOptions{})
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// found turns the bench to what --cluster finds.
func (b *liveBench) found() {
	b.t.Helper()
	names, err := findNames(b.t.Context(), b.api, "db", "story")
	if err != nil {
		b.t.Fatal(err)
	}
	b.names = names
}

// TestAMissingWriterServiceIsSaidByEveryVerb: and no command is without a name.
func TestAMissingWriterServiceIsSaidByEveryVerb(t *testing.T) {
	b := newBench(t, benchState())
	b.gone(live.Writer)
	b.found()
	_, _, err := b.order(to("b"))
	wantExit(t, err, ExitRefused, "reading service db/story-writer: it does not exist", "apply the cluster's directory")
	wantWrites(t, b.writes())

	v := b.surveyed()
	text := textOf(t, v)
	wantWords(t, text, "  story-writer  does not exist", "- service db/story-writer: service-missing: it does not exist", "patch service story-reader")
	if v.view().InOrder || strings.Contains(text, "patch service story-writer") || strings.Contains(text, "patch service  ") {
		t.Errorf("in order %v, and got %s", v.view().InOrder, text)
	}

	p := newPatient(t)
	p.gone(live.Writer)
	p.found()
	var out bytes.Buffer
	if err := writeFindings(&out, p.examine(t.Context(), p.world(), leaseView{"poolwright", "poolwright"})); err != nil {
		t.Fatal(err)
	}
	wantWords(t, out.String(), "fail  service    service db/story-writer does not exist", "warn  dry-run    no override was tried: there is no Writer Service")
}

// TestAMissingReaderServiceKeepsTheWriterFromNothing: it is said.
func TestAMissingReaderServiceKeepsTheWriterFromNothing(t *testing.T) {
	b := newBench(t, benchState())
	b.gone(live.Reader)
	b.found()
	out, _, err := b.order(to("b"))
	if err != nil {
		t.Fatal(err)
	}
	wantWords(t, out, "story-reader  does not exist", "- service db/story-reader: service-missing: it does not exist; hint: let your GitOps tool apply the cluster's directory", "moved    story-writer")
	wantWrites(t, b.writes(), "create configmaps", "patch services story-writer", "patch configmaps story-control")
}

// TestAGlobalSecondaryHasNoWriterToOrder: and nothing that names one.
func TestAGlobalSecondaryHasNoWriterToOrder(t *testing.T) {
	s := benchState()
	s.Writer = ""
	b := newBench(t, s)
	b.found()
	_, _, err := b.order(to("b"))
	wantExit(t, err, ExitRefused, "moving the Services of story: it has no writer: it is a global secondary")
	v := b.surveyed()
	if lines := v.breakGlass(); len(lines) != 2 || !strings.Contains(lines[0], "patch service story-reader ") || strings.Contains(lines[1], "writer") {
		t.Errorf("got %q, want the lines of the Reader alone", lines)
	}
}
