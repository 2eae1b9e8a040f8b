package live

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
)

func TestPublicise(t *testing.T) {
	on := &corev1.ObjectReference{Kind: "Service", Namespace: testNamespace, Name: "pg-writer", UID: "1"}
	r := &Record{Epoch: 8, From: "pg-1", To: "pg-2", Reason: "failover"}
	wrote := func(w Write) Event {
		return Event{Wrote: &w, Record: r, Service: on, Exposed: 34100 * time.Microsecond}
	}
	came := func(c Condition) Event { return Event{Condition: &c, Service: on} }
	for name, c := range map[string]struct {
		event Event
		want  string
	}{
		"moved":       {wrote(Write{Kind: Override}), "Normal FailoverPatched ahead of Git: writer pg-1 → pg-2 (epoch 8): failover"},
		"handed back": {wrote(Write{Kind: Release}), "Normal HandedBack Git owns the Service again"},
		"unfrozen":    {wrote(Write{Kind: Unfreeze}), "Normal Unfrozen Flux has come to the commit and may apply the Service again"},
		"03 reverted by Argo CD without the stanza": {
			wrote(Write{Kind: Reassert, Reverter: "argocd-controller"}),
			"Warning Reasserted argocd-controller put it back; it was moved again after 34ms: writer pg-1 → pg-2 (epoch 8): failover (hint: poolwright gitops-config --argocd prints what its Application lacks)",
		},
		"14 reverted by a person": {
			wrote(Write{Kind: Reassert, Reverter: "kubectl-edit"}),
			"Warning Reasserted kubectl-edit put it back; it was moved again after 34ms: writer pg-1 → pg-2 (epoch 8): failover",
		},
		"refused": {
			came(Condition{Denied, "service example/pg-writer", "a policy", "ask"}), "Warning Refused denied: a policy (hint: ask)",
		},
		"refused without a next step":                  {came(Condition{NotOurs, "service example/pg-writer", "it is theirs", ""}), "Warning Refused not-ours: it is theirs"},
		"a write that failed is told as a condition":   {Event{Wrote: &Write{Kind: Override}, Err: errors.New("no"), Service: on}, ""},
		"a condition that went":                        {Event{Condition: &Condition{Code: Denied}, Gone: true, Service: on}, ""},
		"a condition that is no refusal":               {came(Condition{Code: Drifted}), ""},
		"a mirror is not about a Service":              {Event{Wrote: &Write{Kind: Mirror}}, ""},
		"a phase is not about a Service":               {Event{Changed: true, Phase: Overriding}, ""},
		"a Service that does not exist has no Events":  {Event{Wrote: &Write{Kind: Override}}, ""},
		"the end of an override that nobody remembers": {Event{Wrote: &Write{Kind: Override}, Service: on}, "Normal FailoverPatched ahead of Git: the override"},
	} {
		t.Run(name, func(t *testing.T) {
			recorder := record.NewFakeRecorder(1)
			Publicise(recorder, c.event)
			var got string
			select {
			case got = <-recorder.Events:
			default:
			}
			if got != c.want {
				t.Errorf("the Event is\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// TestEventsSayWhichService: what the Keeper tells of a Service can be publicised.
func TestEventsSayWhichService(t *testing.T) {
	inBed(t, func(t *testing.T, b *bed) {
		recorder := record.NewFakeRecorder(10)
		b.keeper.teller.to = func(e Event) { Publicise(recorder, e) }
		b.obey(func(q request) error {
			if q.Verb == "patch" && q.Name == "pg-reader" {
				return rbac(q)
			}
			return nil
		})
		b.start()
		b.keeper.Want(wantWriter(8, "b"))
		synctest.Wait()
		b.stop()
		close(recorder.Events)
		var got []string
		for e := range recorder.Events {
			got = append(got, strings.Join(strings.Fields(e)[:2], " "))
		}
		if want := "Normal FailoverPatched, Warning Refused"; strings.Join(got, ", ") != want {
			t.Errorf("the Events are %q", got)
		}
	})
}
