package evict

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/poolwright/poolwright/live/pooler"
)

var (
	noon    = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	old     = pooler.Version{Major: 1, Minor: 18}
	current = pooler.Version{Major: 1, Minor: 24, Patch: 1}
)

// words are a move in one line.
func (m Move) words() string {
	var list []string
	for _, s := range m.Steps {
		word := s.Kind.String()
		if s.Database != "" {
			word += " " + s.Database
		}
		for _, c := range s.Clients {
			word += " " + c.ID
		}
		list = append(list, word)
	}
	text := strings.Join(list, ", ")
	if m.Opening {
		text += " opening"
	}
	if m.Done {
		text += " done"
	}
	return strings.TrimSpace(text)
}

// db makes databases: "a", "a!" disabled, "a=" paused.
func dbs(names ...string) (found []pooler.Database) {
	for _, n := range names {
		found = append(found, pooler.Database{Name: strings.Trim(n, "!="), Disabled: strings.Contains(n, "!"), Paused: strings.Contains(n, "=")})
	}
	return found
}

// on makes a client of each database named.
func on(names ...string) (found []pooler.Client) {
	for i, n := range names {
		found = append(found, pooler.Client{ID: fmt.Sprint("#", i+1), User: "app", Database: n, Addr: "10.0.0.1", Port: 1000 + i})
	}
	return found
}

func answered(names ...string) map[string]bool {
	m := map[string]bool{}
	for _, n := range names {
		m[n] = true
	}
	return m
}

func TestNext(t *testing.T) {
	draining := Moment{Now: noon, Side: Demoted, Mode: ModeConsole, Entry: Recorded, Known: answered("a", "b", "late"), Began: noon.Add(-time.Second), Within: 5 * time.Second, Propagation: 2 * time.Second}
	moment := func(change func(*Moment)) Moment { m := draining; change(&m); return m }
	moved := func(ago time.Duration) Moment { return moment(func(m *Moment) { m.Moved = noon.Add(-ago) }) }
	welcoming := moment(func(m *Moment) { m.Side = Promoted })
	for _, c := range []struct {
		name string
		v    View
		m    Moment
		want string
	}{
		{"first nobody gets in any more", View{Version: current, Databases: dbs("a", "b"), Clients: on("a")}, draining, "disable a, disable b"},
		{"then who is in is cut, by id", View{Version: current, Databases: dbs("a!", "b!"), Clients: on("a", "b", "a"), Disabled: answered("a", "b")}, draining, "kill-clients #1 #3 #2"},
		{"before 1.24 by name, where anybody is, and what that paused goes on", View{Version: old, Databases: dbs("a!", "b!"), Clients: on("b"), Disabled: answered("a", "b")}, draining, "kill b #1, resume b"},
		{"nobody is cut who is not of a database", View{Version: current, Databases: dbs("a!"), Clients: on("gone"), Disabled: answered("a")}, draining, ""},
		{"a name that came later is disabled too", View{Version: old, Databases: dbs("a!", "late"), Clients: on("a", "late"), Disabled: answered("a")}, draining, "disable late"},
		{"one that the entry does not name yet waits, and so do its clients", View{Version: old, Databases: dbs("a!", "unnamed"), Clients: on("a", "unnamed"), Disabled: answered("a")}, draining, "kill a #1, resume a"},
		{"also where they are cut by id", View{Version: current, Databases: dbs("a!", "unnamed"), Clients: on("unnamed", "a"), Disabled: answered("a")}, draining, "kill-clients #2"},
		{"and it is not opened without it", View{Version: current, Databases: dbs("a!", "unnamed"), Disabled: answered("a")}, moved(time.Hour), ""},
		{"a database that this connection has not answered for is disabled again, not killed", View{Version: old, Databases: dbs("a!"), Clients: on("a")}, draining, "disable a"},
		{"a database that somebody enabled is disabled again", View{Version: old, Databases: dbs("a"), Clients: on("a"), Disabled: answered("a")}, draining, "disable a"},
		{"F03 what a crash left paused goes on", View{Version: old, Databases: dbs("a!=", "b!"), Disabled: answered("a", "b")}, draining, "resume a"},
		{"F03 what a person paused stays paused, and its clients go", View{Version: old, Databases: dbs("a!="), Clients: on("a"), Disabled: answered("a"), Kept: map[string]pooler.Database{"a": {Paused: true}}}, draining, "kill a #1"},
		{"nothing while the entry is being written", View{Version: current, Databases: dbs("a"), Clients: on("a")}, moment(func(m *Moment) { m.Entry = Pending }), ""},

		{"the margin is waited for", View{Version: current, Databases: dbs("a!"), Disabled: answered("a")}, moved(2*time.Second - 1), ""},
		{"who is still in is cut during it", View{Version: current, Databases: dbs("a!"), Clients: on("a"), Disabled: answered("a")}, moved(time.Second), "kill-clients #1"},
		{"after the margin it is opened", View{Version: current, Databases: dbs("a!", "b!="), Disabled: answered("a", "b")}, moved(2 * time.Second), "resume b, enable a, enable b opening"},
		{"not before the last of them is cut", View{Version: current, Databases: dbs("a!"), Clients: on("a"), Disabled: answered("a")}, moved(2 * time.Second), "kill-clients #1"},
		{"not within a second of a KILL", View{Version: old, Databases: dbs("a!"), Disabled: answered("a"), Killed: noon.Add(1 - time.Second)}, moved(2 * time.Second), ""},
		{"a second after it", View{Version: old, Databases: dbs("a!"), Disabled: answered("a"), Killed: noon.Add(-time.Second)}, moved(2 * time.Second), "enable a opening"},
		{"not by a new connection, which knows of no DISABLE", View{Version: current, Databases: dbs("a!")}, moved(3 * time.Second), "disable a"},
		{"whoever cannot be cut keeps readers out only for so long", View{Version: current, Databases: dbs("a!"), Clients: on("a"), Disabled: answered("a"), Refusing: noon.Add(-7 * time.Second)}, moved(4 * time.Second), "enable a opening"},
		{"but the time before a pod could be reached does not count", View{Version: current, Databases: dbs("a!"), Clients: on("a"), Disabled: answered("a"), Refusing: noon.Add(-time.Second)}, moved(time.Hour), "kill-clients #1"},
		{"opened, and all is well", View{Version: current, Databases: dbs("a"), Clients: on("a"), Opened: noon}, moved(2 * time.Second), "done"},
		{"opened in part before the connection broke", View{Version: current, Databases: dbs("a", "b!"), Clients: on("a"), Opened: noon}, moved(2 * time.Second), "enable b"},
		{"opened before the data plane moved back and again", View{Version: current, Databases: dbs("a"), Clients: on("a"), Opened: noon.Add(-2 * time.Second)}, moved(time.Second), "disable a"},
		{"what a person disabled stays so", View{Version: current, Databases: dbs("a!", "b!"), Disabled: answered("a", "b"), Kept: map[string]pooler.Database{"b": {Disabled: true}}}, moved(2 * time.Second), "enable a opening"},
		{"and is no reason to wait", View{Version: current, Databases: dbs("b!"), Opened: noon, Kept: map[string]pooler.Database{"b": {Disabled: true}}}, moved(2 * time.Second), "done"},

		{"a data plane that does not move keeps nobody refused", View{Version: current, Databases: dbs("a!"), Disabled: answered("a")}, moment(func(m *Moment) { m.Began = noon.Add(-5 * time.Second) }), "enable a"},
		{"and nobody is cut until it moves", View{Version: current, Databases: dbs("a"), Clients: on("a")}, moment(func(m *Moment) { m.Began = noon.Add(-5 * time.Second) }), ""},
		{"then they are, however late", View{Version: current, Databases: dbs("a"), Clients: on("a")}, moment(func(m *Moment) { m.Began, m.Moved = noon.Add(-time.Hour), noon }), "disable a"},

		{"a pause enables at once", View{Version: current, Databases: dbs("a!", "b="), Clients: on("b"), Disabled: answered("a")}, moment(func(m *Moment) { m.Repair = true }), "resume b, enable a"},
		{"also while the entry is being written", View{Version: current, Databases: dbs("a!")}, moment(func(m *Moment) { m.Repair, m.Entry = true, Pending }), "enable a"},
		{"but not within a second of a KILL", View{Version: old, Databases: dbs("a!="), Killed: noon}, moment(func(m *Moment) { m.Repair = true }), "resume a"},
		{"and then there is nothing to do", View{Version: current, Databases: dbs("a"), Clients: on("a")}, moment(func(m *Moment) { m.Repair = true }), "done"},

		{"without an entry nobody is disabled, or cut before they can come back elsewhere", View{Version: current, Databases: dbs("a"), Clients: on("a")}, moment(func(m *Moment) { m.Entry = Refused }), ""},
		{"then they are cut by id", View{Version: current, Databases: dbs("a"), Clients: on("a")}, moment(func(m *Moment) { m.Entry, m.Moved = Refused, noon }), "kill-clients #1"},
		{"and once more after the margin", View{Version: current, Databases: dbs("a"), Clients: on("a")}, moment(func(m *Moment) { m.Entry, m.Moved = Refused, noon.Add(-2*time.Second) }), "kill-clients #1 opening"},
		{"after which who comes is a reader", View{Version: current, Databases: dbs("a"), Clients: on("a"), Opened: noon}, moment(func(m *Moment) { m.Entry, m.Moved = Refused, noon.Add(-2*time.Second) }), "done"},
		{"before 1.24 there is no KILL without DISABLE", View{Version: old, Databases: dbs("a"), Clients: on("a")}, moment(func(m *Moment) { m.Entry, m.Moved = Refused, noon }), ""},

		{"the new writer's pods forget what they learnt, once", View{Version: current, Databases: dbs("a", "b", "new"), Clients: on("a"), Stale: answered("a", "b")}, welcoming, "reconnect a, reconnect b"},
		{"also one that is hidden because nobody uses it", View{Version: current, Stale: answered("hidden")}, welcoming, "reconnect hidden"},
		{"a pooler that nobody has used has learnt nothing", View{Version: current}, welcoming, "done"},
		{"not while it is paused", View{Version: current, Databases: dbs("a"), Stale: answered("a")}, moment(func(m *Moment) { m.Side, m.Repair = Promoted, true }), "done"},
		{"once is enough", View{Version: current, Databases: dbs("a"), Clients: on("a"), Stale: map[string]bool{"a": false}}, welcoming, "done"},
		{"what is ours there is put right first", View{Version: current, Databases: dbs("a!="), Stale: answered("a")}, welcoming, "resume a, enable a, reconnect a"},
		{"what a person disabled there stays so", View{Version: current, Databases: dbs("a!"), Kept: map[string]pooler.Database{"a": {Disabled: true}}}, welcoming, "done"},
		{"nobody waits for a console there", View{Failing: noon.Add(-time.Second)}, welcoming, "done"},
		{"unless something of ours may be behind it", View{Failing: noon.Add(-time.Second), Ours: true}, welcoming, ""},

		{"a console that has just failed is asked again", View{Failing: noon.Add(1 - time.Second), Old: true}, draining, ""},
		{"after a second the pod is deleted", View{Failing: noon.Add(-time.Second), Old: true}, draining, "delete"},
		{"and that was that", View{Failing: noon.Add(-time.Second), Old: true, Gone: true}, draining, "done"},
		{"it is tried again, but not at once", View{Failing: noon.Add(-time.Minute), Old: true, Deleted: noon.Add(1 - 5*time.Second)}, draining, ""},
		{"but after a while", View{Failing: noon.Add(-time.Minute), Old: true, Deleted: noon.Add(-5 * time.Second)}, draining, "delete"},
		{"a pod that came later is not deleted, and nobody waits for it", View{Failing: noon.Add(-time.Second)}, draining, "done"},
		{"nor is one while it is paused", View{Failing: noon.Add(-time.Minute), Old: true}, moment(func(m *Moment) { m.Repair = true }), ""},
		{"nor one of the new writer", View{Failing: noon.Add(-time.Minute), Old: true, Ours: true}, welcoming, ""},
		{"where pods are deleted, they are at once", View{Old: true}, moment(func(m *Moment) { m.Mode = ModeDeletePods }), "delete"},
		{"but not those that came later", View{}, moment(func(m *Moment) { m.Mode = ModeDeletePods }), "done"},
		{"where nobody is to be cut, what an earlier mode left is put right", View{Version: current, Databases: dbs("a!"), Clients: on("a")}, moment(func(m *Moment) { m.Mode, m.Repair = ModeNone, true }), "enable a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Next(c.v, c.m).words(); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
