package aurora

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/poolwright/poolwright/discovery"
)

// results are those of query as text: fields by commas, rows by semicolons, \N is NULL.
func results(self, rows string) []*pgconn.Result {
	return []*pgconn.Result{{Rows: table(self)}, {Rows: table(rows)}}
}

func table(text string) (rows [][][]byte) {
	for line := range strings.SplitSeq(text, ";") {
		var row [][]byte
		for field := range strings.SplitSeq(line, ",") {
			value := []byte(field)
			if field == `\N` {
				value = nil
			}
			row = append(row, value)
		}
		if line != "" {
			rows = append(rows, row)
		}
	}
	return rows
}

func TestReadingAnAnswer(t *testing.T) {
	a := discovery.Answer{Asked: "a"}
	read(&a, results("a,t,on,off", `a,MASTER_SESSION_ID,\N,\N;b,x,-12,3.5;\N,\N,1500,NaN`), nil)
	want := discovery.Answer{
		Asked: "a", Name: "a", InRecovery: true, ReadOnly: true,
		Rows: []discovery.Row{
			{ServerID: "a", SessionID: discovery.MasterSession},
			{ServerID: "b", SessionID: "x", AgeMillis: new(int64(-12)), LagMillis: new(3.5)},
			{AgeMillis: new(int64(1500))},
		},
	}
	if diff := cmp.Diff(want, a); diff != "" {
		t.Error(diff)
	}
}

func TestAnswersThatAreNone(t *testing.T) {
	for name, given := range map[string][]*pgconn.Result{
		"nothing":             nil,
		"one result":          results("a,t,on,off", "")[:1],
		"no row of the node":  results("", ""),
		"too few columns":     results("a,t,on", ""),
		"no name":             results(`\N,t,on,off`, ""),
		"an empty name":       results(`,t,on,off`, ""),
		"a word for a bool":   results("a,maybe,on,off", ""),
		"NULL for a bool":     results(`a,\N,on,off`, ""),
		"an age of words":     results("a,t,on,off", "a,x,old,1"),
		"a lag of words":      results("a,t,on,off", "a,x,1,much"),
		"a row too short":     results("a,t,on,off", "a,x,1"),
		"an age out of range": results("a,t,on,off", "a,x,99999999999999999999,1"),
	} {
		a := discovery.Answer{Endpoint: "a:5432", Asked: "a"}
		read(&a, given, nil)
		if a.Fault != discovery.Broken || a.Detail == "" || a.Name != "" || a.Rows != nil {
			t.Errorf("%s: got %+v", name, a)
		}
	}
}

// FuzzRows reads arbitrary rows, judges them, and writes them down.
func FuzzRows(f *testing.F) {
	f.Add("a,f,off,off", `a,MASTER_SESSION_ID,\N,\N;b,x,1000,20`)
	f.Add("a,t,on,on", `,,,;a,a,-1,Infinity`)
	f.Fuzz(func(t *testing.T, self, rows string) {
		a := discovery.Answer{Endpoint: "a:5432", Asked: "a"}
		read(&a, results(self, rows), nil)
		o := discovery.Observation{Cluster: "c", Provider: discovery.Aurora, Answers: []discovery.Answer{a}}
		o.At = o.At.AddDate(2026, 0, 0)
		topology := discovery.Merge(o)
		if w, ok := topology.Writer(); ok && w.Name != "a" {
			t.Fatalf("%s is the writer by the word of a", w.Name)
		}
		if _, err := discovery.WriteSnapshot(o); err != nil {
			t.Fatal(err)
		}
	})
}
