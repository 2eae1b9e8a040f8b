package aurorasim_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/poolwright/poolwright/discovery/aurorasim"
)

func inject(t *testing.T, c *aurorasim.Cluster, instance string, f aurorasim.Fault, options ...aurorasim.Option) {
	t.Helper()
	if err := c.Inject(instance, f, options...); err != nil {
		t.Fatal(err)
	}
}

func code(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// healthy is the view of a in a cluster a (writer), b, c.
func healthy() []row { return []row{{"a", "M", -1, -1}, {"b", "R", 100, 20}, {"c", "R", 100, 20}} }

func TestFaultsOfTheView(t *testing.T) {
	type fault struct {
		in      string
		fault   aurorasim.Fault
		options []aurorasim.Option
	}
	minute := aurorasim.For(time.Minute)
	tests := map[string]struct {
		faults []fault
		asked  string // default a
		want   []row
	}{
		"none": {nil, "", healthy()},
		"two masters": {
			[]fault{{"a", aurorasim.TwoMasters, nil}},
			"",
			[]row{{"a", "M", -1, -1}, {"b", "M", 100, -1}, {"c", "R", 100, 20}},
		},
		"two masters, the second one old": {
			[]fault{{"b", aurorasim.TwoMasters, []aurorasim.Option{aurorasim.About("c"), minute}}},
			"b",
			[]row{{"a", "M", 100, -1}, {"b", "R", -1, 20}, {"c", "M", 60000, -1}},
		},
		"no master": {
			[]fault{{"a", aurorasim.NoMaster, nil}},
			"",
			[]row{{"a", "R", -1, -1}, {"b", "R", 100, 20}, {"c", "R", 100, 20}},
		},
		"zero rows": {[]fault{{"a", aurorasim.NoRows, nil}}, "", nil},
		"missing rows are all but its own": {
			[]fault{{"a", aurorasim.MissingRows, nil}},
			"",
			[]row{{"a", "M", -1, -1}},
		},
		"a missing row of one": {
			[]fault{{"a", aurorasim.MissingRows, []aurorasim.Option{aurorasim.About("b")}}},
			"",
			[]row{{"a", "M", -1, -1}, {"c", "R", 100, 20}},
		},
		"a row left over": {
			[]fault{{"a", aurorasim.LingeringRow, []aurorasim.Option{aurorasim.About("old"), minute}}},
			"",
			append(healthy(), row{"old", "R", 60000, 900000}),
		},
		"NULL timestamps": {
			[]fault{{"a", aurorasim.NullTimestamps, nil}},
			"",
			[]row{{"a", "M", -1, -1}, {"b", "R", -1, 20}, {"c", "R", -1, 20}},
		},
		"old timestamps are those of the others": {
			[]fault{{"b", aurorasim.OldTimestamps, nil}},
			"b",
			[]row{{"a", "M", 600000, -1}, {"b", "R", -1, 20}, {"c", "R", 600000, 20}},
		},
		"a timestamp on its own row, as before Aurora 13.9": {
			[]fault{{"a", aurorasim.OldTimestamps, []aurorasim.Option{aurorasim.About("a"), aurorasim.For(0)}}},
			"",
			[]row{{"a", "M", 0, -1}, {"b", "R", 100, 20}, {"c", "R", 100, 20}},
		},
		"the lag sentinel is in everybody's view": {
			[]fault{{"c", aurorasim.LagSentinel, nil}},
			"",
			[]row{{"a", "M", -1, -1}, {"b", "R", 100, 20}, {"c", "R", 100, 900000}},
		},
		"a duplicate id": {
			[]fault{{"a", aurorasim.DuplicateID, []aurorasim.Option{aurorasim.About("b")}}},
			"",
			append(healthy(), row{"b", "R", 100, 20}),
		},
		"an empty id": {
			[]fault{{"a", aurorasim.EmptyID, []aurorasim.Option{aurorasim.About("b")}}},
			"",
			[]row{{"a", "M", -1, -1}, {"", "R", 100, 20}, {"c", "R", 100, 20}},
		},
		"a writer that still holds itself for one": {
			[]fault{{"b", aurorasim.StaleWriter, nil}},
			"b",
			[]row{{"a", "R", 100, 20}, {"b", "M", -1, -1}, {"c", "R", 100, 20}},
		},
		"several at once": {
			[]fault{{"a", aurorasim.NoMaster, nil}, {"a", aurorasim.MissingRows, []aurorasim.Option{aurorasim.About("b")}}, {"c", aurorasim.LagSentinel, nil}},
			"",
			[]row{{"a", "R", -1, -1}, {"c", "R", 100, 900000}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := start(t, aurorasim.Config{Now: still})
			asked := test.asked
			if asked == "" {
				asked = "a"
			}
			conn := connect(t, c, asked)
			before := rowsOf(t, conn)
			for _, f := range test.faults {
				inject(t, c, f.in, f.fault, f.options...)
			}
			if diff := cmp.Diff(test.want, rowsOf(t, conn), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("with the fault (-want +got):\n%s", diff)
			}
			for _, f := range test.faults {
				if err := c.Clear(f.in, f.fault); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(before, rowsOf(t, conn)); diff != "" {
				t.Errorf("after the fault (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStaleViewKeepsNamingTheOldWriterAndItsAgesGrow(t *testing.T) {
	var later atomic.Int64
	c := start(t, aurorasim.Config{Now: func() time.Time { return still().Add(time.Duration(later.Load())) }})
	conn := connect(t, c, "c")
	inject(t, c, "c", aurorasim.StaleView)
	if err := c.Promote("b"); err != nil {
		t.Fatal(err)
	}
	later.Store(int64(10 * time.Second))
	want := []row{{"a", "M", 10100, -1}, {"b", "R", 10100, 20}, {"c", "R", -1, 20}}
	if diff := cmp.Diff(want, rowsOf(t, conn)); diff != "" {
		t.Errorf("stale (-want +got):\n%s", diff)
	}
	if err := c.Clear("c"); err != nil {
		t.Fatal(err)
	}
	want = []row{{"a", "R", 100, 20}, {"b", "M", 100, -1}, {"c", "R", -1, 20}}
	if diff := cmp.Diff(want, rowsOf(t, conn)); diff != "" {
		t.Errorf("cleared (-want +got):\n%s", diff)
	}
}

func TestFaultsOfWhatANodeSaysOfItself(t *testing.T) {
	tests := map[string]struct {
		in    string
		fault aurorasim.Fault
		about []string
		want  word
	}{
		"a read-only writer gives a mixed answer":  {"a", aurorasim.ReadOnlyWriter, nil, word{"a", false, "on", "on"}},
		"a reader cannot be a read-only writer":    {"b", aurorasim.ReadOnlyWriter, nil, word{"b", true, "on", "off"}},
		"a stale writer claims to be it":           {"b", aurorasim.StaleWriter, nil, word{"b", false, "off", "off"}},
		"the writer answers at a reader's address": {"b", aurorasim.WrongNode, nil, word{"a", false, "off", "off"}},
		"a reader answers at the writer's address": {"a", aurorasim.WrongNode, nil, word{"b", true, "on", "off"}},
		"a named one answers":                      {"b", aurorasim.WrongNode, []string{"c"}, word{"c", true, "on", "off"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := start(t, aurorasim.Config{})
			var options []aurorasim.Option
			if test.about != nil {
				options = append(options, aurorasim.About(test.about...))
			}
			inject(t, c, test.in, test.fault, options...)
			if got := wordOf(t, connect(t, c, test.in)); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestFaultsOfTheLogin(t *testing.T) {
	for fault, want := range map[aurorasim.Fault]string{
		aurorasim.StartingUp:         "57P03",
		aurorasim.TooManyConnections: "53300",
		aurorasim.DenyAuth:           "28P01",
	} {
		t.Run(fault.String(), func(t *testing.T) {
			c := start(t, aurorasim.Config{Password: "secret"})
			inject(t, c, "b", fault)
			if _, err := dial(within(t), c, c.Host("b")); code(err) != want {
				t.Errorf("login: %v, want SQLSTATE %s", err, want)
			}
			if err := c.Clear("b", fault); err != nil {
				t.Fatal(err)
			}
			connect(t, c, "b")
		})
	}
}

func TestStartingUpEndsTheSessions(t *testing.T) {
	c := start(t, aurorasim.Config{})
	conn := connect(t, c, "b")
	inject(t, c, "b", aurorasim.StartingUp)
	if _, err := conn.Exec(within(t), "select 1"); err == nil {
		t.Error("the session goes on")
	}
}

func TestAddedInstanceHasItsFaultsFromTheStart(t *testing.T) {
	c := start(t, aurorasim.Config{})
	if err := c.AddInstance("d", aurorasim.StartingUp); err != nil {
		t.Fatal(err)
	}
	if _, err := dial(within(t), c, c.Host("d")); code(err) != "57P03" {
		t.Errorf("login: %v, want 57P03", err)
	}
	if got := len(rowsOf(t, connect(t, c, "a"))); got != 4 {
		t.Errorf("%d rows, want 4: it is listed while it starts", got)
	}
}

func TestRefuseClosesThePortAndKeepsTheSessions(t *testing.T) {
	c := start(t, aurorasim.Config{})
	conn := connect(t, c, "b")
	addr := c.Addr("b")
	inject(t, c, "b", aurorasim.Refuse)
	if _, err := dial(within(t), c, c.Host("b")); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("through Dial: %v, want connection refused", err)
	}
	if _, err := pgconn.Connect(within(t), "postgres://app@"+addr+"/app?sslmode=disable"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("by address: %v, want connection refused", err)
	}
	wordOf(t, conn)
	if err := c.Clear("b"); err != nil {
		t.Fatal(err)
	}
	connect(t, c, "b")
}

func TestGarbage(t *testing.T) {
	c := start(t, aurorasim.Config{})
	conn := connect(t, c, "b")
	inject(t, c, "b", aurorasim.Garbage)
	if _, err := conn.Exec(within(t), "select 1"); err == nil || code(err) != "" {
		t.Errorf("in a session: %v, want a protocol error", err)
	}
	if _, err := dial(within(t), c, c.Host("b")); err == nil || code(err) != "" {
		t.Errorf("in a login: %v, want a protocol error", err)
	}
}

// unanswered runs f under a context that is cancelled once the cluster holds want sessions of b and proves that f has no answer by then.
func TestFaultNames(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range aurorasim.Faults() {
		text, err := f.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var back aurorasim.Fault
		if err := back.UnmarshalText(text); err != nil || back != f {
			t.Errorf("%s is read back as %v, %v", text, back, err)
		}
		if seen[string(text)] || strings.Contains(string(text), "(") {
			t.Errorf("%s is no name of its own", text)
		}
		seen[string(text)] = true
	}
	if f := aurorasim.Fault(0); f.UnmarshalText([]byte("hiccup")) == nil {
		t.Error("an unknown name was read")
	}
	c := start(t, aurorasim.Config{})
	if c.Inject("a", 0) == nil || c.Inject("z", aurorasim.Hang) == nil {
		t.Error("an unknown fault or instance was accepted")
	}
}

// TestEveryFaultIsObserved: whatever the fault, a client that asks all nodes sees something else than without it.
func TestEveryFaultIsObserved(t *testing.T) {
	for _, f := range aurorasim.Faults() {
		t.Run(f.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				promote := f == aurorasim.StaleView || f == aurorasim.StaleWriter
				without, with := story(t, 0, promote), story(t, f, promote)
				if slices.Contains(without, noAnswer) || slices.Equal(without, with) {
					t.Errorf("without the fault %q, with it %q", without, with)
				}
			})
		})
	}
}

// story is what a cluster's nodes say whose writer has the fault, 0 for none, and may have lost its role since.
func story(t *testing.T, f aurorasim.Fault, promote bool) []string {
	c := start(t, aurorasim.Config{InMemory: true, Now: still})
	if f != 0 {
		inject(t, c, "a", f)
	}
	if promote {
		if err := c.Promote("b"); err != nil {
			t.Fatal(err)
		}
	}
	return report(t, c)
}

const noAnswer = "no answer"

// report is what all three nodes say within half a second each.
func report(t *testing.T, c *aurorasim.Cluster) []string {
	var all []string
	for _, instance := range []string{"a", "b", "c"} {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		all = append(all, ask(ctx, c, instance))
		cancel()
	}
	return all
}

func ask(ctx context.Context, c *aurorasim.Cluster, instance string) string {
	conn, err := dial(ctx, c, c.Host(instance))
	if err != nil {
		return noAnswer
	}
	defer func() { _ = conn.Close(context.Background()) }()
	var said strings.Builder
	for _, q := range []string{probe, view} {
		rows, err := conn.Query(ctx, q, pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			return noAnswer
		}
		for rows.Next() {
			for _, v := range rows.RawValues() {
				said.Write(v)
				said.WriteByte('|')
			}
		}
		if rows.Err() != nil {
			return noAnswer
		}
	}
	return said.String()
}
