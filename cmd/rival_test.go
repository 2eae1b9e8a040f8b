package cmd

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poolwright/poolwright/live"
)

// TestC24AStandbySaysWhoHoldsTheLeaseAndWhetherItKeepsTheCluster: two configurations that share a Lease by accident leave one of
// them to nobody.
func TestC24AStandbySaysWhoHoldsTheLeaseAndWhetherItKeepsTheCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, k := &shelf{}, newLiveStage()
		k.rival, k.keeps = "poolwright-0", []string{"db/other"}
		st := tellLiveStory(t, newWorld("a", "b", "c"), s, k)
		after(time.Minute)
		wantSubjects(t, s)
		standby := ""
		st.mu.Lock()
		for _, e := range st.said {
			if e.Kind == Standby {
				standby = e.Detail
			}
		}
		st.mu.Unlock()
		wantIs(t, "standby", standby, "poolwright-0 holds lease poolwright/poolwright and keeps the clusters")
		if n := st.saidOf(Hindered, "nobody keeps db/story: poolwright-0 holds lease poolwright/poolwright and keeps other clusters (db/other); hint: give each `poolwright run`"); n != 1 {
			t.Errorf("said %d times that nobody keeps it, want once", n)
		}
		k.change(func(s *liveStage) { s.keeps = []string{"db/other", "db/story"} })
		after(time.Minute)
		if got := st.kinds(); got[len(got)-1] != Cleared {
			t.Errorf("got events %v, want it said that somebody keeps it", got)
		}
	})
}

// TestARivalThatDoesNotSayWhatItKeepsIsBelieved: it may be of an older version.
func TestARivalThatDoesNotSayWhatItKeepsIsBelieved(t *testing.T) {
	for name, c := range map[string]struct {
		rival rival
		want  string
	}{
		"nobody":          {rival{}, ""},
		"says nothing":    {rival{"p", "n/l", nil}, ""},
		"keeps it":        {rival{"p", "n/l", []string{"db/a", "db/story"}}, ""},
		"keeps others":    {rival{"p", "n/l", []string{"db/a", "db/b"}}, "(db/a, db/b)"},
		"keeps many":      {rival{"p", "n/l", []string{"db/a", "db/b", "db/c", "db/d", "db/e"}}, "(db/a, db/b, db/c and 2 more)"},
		"another's space": {rival{"p", "n/l", []string{"other/story"}}, "(other/story)"},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.rival.neglects("db/story")
			if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestARosterIsToldWhenItIsWhole: half of it would say that the other half is kept by nobody.
func TestARosterIsToldWhenItIsWhole(t *testing.T) {
	var r roster
	r.expect([]string{"a.yaml", "b.yaml", "broken.yaml", "b.yaml"})
	for _, step := range []struct{ file, cluster, want string }{
		{"b.yaml", "db/b", ""},
		{"broken.yaml", "", ""},
		{"a.yaml", "db/a", "db/a db/b"},
		{"a.yaml", "", "db/a db/b"},
		{"a.yaml", "db/z", "db/b db/z"},
		{"broken.yaml", "db/b", "db/b db/z"},
	} {
		r.note(step.file, step.cluster)
		wantIs(t, "after "+step.file+" "+step.cluster, strings.Join(r.names(), " "), step.want)
	}
}

// TestStatusAndDoctorLookAtTheLeaseThatRunTakes: by the same flags and the same default.
func TestStatusAndDoctorLookAtTheLeaseThatRunTakes(t *testing.T) {
	k := kube{Namespace: "here"}
	for name, c := range map[string]struct {
		got  leaseView
		want string
	}{
		"run and status":                   {LeaseFlags{Lease: "poolwright"}.view(k), "here/poolwright"},
		"named":                            {LeaseFlags{Lease: "mine", LeaseNamespace: "there"}.view(k), "there/mine"},
		"doctor":                           {DoctorCmd{LeaseFlags: LeaseFlags{Lease: "poolwright"}}.leaseOf(k), "here/poolwright"},
		"doctor as a service account":      {DoctorCmd{As: "system:serviceaccount:pw:sa", LeaseFlags: LeaseFlags{Lease: "poolwright"}}.leaseOf(k), "pw/poolwright"},
		"doctor as one, and another Lease": {DoctorCmd{As: "system:serviceaccount:pw:sa", LeaseFlags: LeaseFlags{Lease: "poolwright", LeaseNamespace: "there"}}.leaseOf(k), "there/poolwright"},
	} {
		wantIs(t, name, c.got.String(), c.want)
	}
	h := LeaseFlags{Lease: "poolwright"}.holder(k, nil)
	wantIs(t, "run", h.Lease(), "here/poolwright")
}

// TestAHolderThatKeepsOtherClustersIsNoHolder: status and doctor say so.
func TestAHolderThatKeepsOtherClustersIsNoHolder(t *testing.T) {
	p := newPatient(t)
	p.leased("poolwright-0", 0)
	p.announces("db/other")
	wantWords(t, p.examined(), "fail  lease      poolwright-0 holds lease poolwright/poolwright and keeps other clusters (db/other): nobody keeps db/story", "--lease NAME")
	v := p.surveyed()
	wantWords(t, textOf(t, v), "holder    poolwright-0 holds lease poolwright/poolwright and keeps other clusters (db/other): nobody keeps this one")
	if v.view().InOrder {
		t.Error("a cluster that nobody keeps is in order")
	}
	p.announces("db/other,db/story")
	wantWords(t, p.examined(), "ok    lease      poolwright-0 holds lease poolwright/poolwright")
	if v := p.surveyed(); !v.view().InOrder {
		t.Errorf("got %+v, want it in order", v.view())
	}
	p.leased("", 0)
	wantWords(t, textOf(t, p.surveyed()), "nobody holds lease poolwright/poolwright (another one: --lease, --lease-namespace)")
}

// announces lets the holder say which clusters it keeps.
func (p *patient) announces(clusters string) {
	leases := p.api.CoordinationV1().Leases("poolwright")
	var lease *coordinationv1.Lease
	lease, err := leases.Get(p.t.Context(), "poolwright", metav1.GetOptions{})
	if err == nil {
		lease.Annotations = map[string]string{live.AnnotationClusters: clusters}
		_, err = leases.Update(p.t.Context(), lease, metav1.UpdateOptions{})
	}
	if err != nil {
		p.t.Fatal(err)
	}
}
