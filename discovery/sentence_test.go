package discovery

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The tests write evidence as sentences, one answer a line:
//
//	a writer: a:M@null b:R@1s     a answered: not in recovery, writable; its view
//	b reader: a:M@1s b:R@null     b answered: in recovery
//	c timeout                     c gave no answer
//	d reader as x                 x answered at d's endpoint
//	writer-endpoint b reader: ... b answered at the writer's cluster endpoint
//	a writer tl=8                 provider postgres: a timeline
//
// A row is id:M@age or id:R@age, M for MASTER_SESSION_ID; more may follow after commas: c:R@2s,lag=900000.

var at = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

func aurora(t testing.TB, lines ...string) Observation {
	t.Helper()
	o := Observation{Cluster: "pg", Provider: Aurora, Domain: "example.com", Port: 5432, At: at}
	for _, l := range lines {
		a, err := parseAnswer(l)
		if err != nil {
			t.Fatalf("%q: %v", l, err)
		}
		o.Answers = append(o.Answers, a)
	}
	return o
}

func postgres(t testing.TB, lines ...string) Observation {
	t.Helper()
	o := aurora(t, lines...)
	o.Provider, o.Domain = Postgres, ""
	return o
}

func parseAnswer(text string) (Answer, error) {
	head, view, hasView := strings.Cut(text, ": ")
	head = strings.TrimSuffix(head, ":")
	words := strings.Fields(head)
	var a Answer
	switch words[0] {
	case "writer-endpoint":
		a.Via, words = Writer, words[1:]
	case "reader-endpoint":
		a.Via, words = Reader, words[1:]
	default:
		a.Asked = words[0]
	}
	a.Name, a.Endpoint = words[0], words[0]+".example.com:5432"
	if err := says(&a, words[1]); err != nil {
		return a, err
	}
	if len(words) == 4 && words[2] == "as" {
		a.Name = words[3]
	}
	if n, ok := strings.CutPrefix(words[len(words)-1], "tl="); ok {
		timeline, err := strconv.ParseUint(n, 10, 32)
		if err != nil {
			return a, err
		}
		a.Timeline = uint32(timeline)
	}
	if !hasView {
		return a, nil
	}
	for r := range strings.FieldsSeq(view) {
		row, err := parseRow(r)
		if err != nil {
			return a, err
		}
		a.Rows = append(a.Rows, row)
	}
	return a, nil
}

func says(a *Answer, word string) error {
	switch word {
	case "writer":
	case "reader":
		a.InRecovery, a.ReadOnly, a.DefaultReadOnly = true, true, false
	case "read-only":
		a.ReadOnly = true
	case "read-only-by-default":
		a.ReadOnly, a.DefaultReadOnly = true, true
	case "default-read-only": // but this session may write
		a.DefaultReadOnly = true
	case "forwarding": // in recovery, writes are forwarded
		a.InRecovery = true
	default:
		a.Name = ""
		return a.Fault.UnmarshalText([]byte(word))
	}
	return nil
}

func parseRow(text string) (Row, error) {
	fields := strings.Split(text, ",")
	head, age, ok := strings.Cut(fields[0], "@")
	id, role, ok2 := strings.Cut(head, ":")
	if !ok || !ok2 {
		return Row{}, fmt.Errorf("row %q is not id:role@age", text)
	}
	row := Row{ServerID: id, SessionID: "session-" + id}
	if role == "M" {
		row.SessionID = MasterSession
	}
	if age != "null" {
		d, err := time.ParseDuration(age)
		if err != nil {
			return Row{}, err
		}
		row.AgeMillis = new(d.Milliseconds())
	}
	for _, f := range fields[1:] {
		lag, err := strconv.ParseFloat(strings.TrimPrefix(f, "lag="), 64)
		if err != nil {
			return Row{}, err
		}
		row.LagMillis = &lag
	}
	return row, nil
}

// sentence is a topology in one line: what a person would say of it.
//
//	a=writer b=reader c=reader(timeout); doubts: two-writers a; notes: no-answer c
//	a=reader b=writer; timeline 8
func sentence(t Topology) string {
	var roles, doubts, notes []string
	for _, i := range t.Instances {
		word := i.Name + "=" + i.Role.String()
		if i.Probe != None {
			word += "(" + i.Probe.String() + ")"
		}
		if i.Deleting {
			word += "(deleting)"
		}
		roles = append(roles, word)
	}
	for _, d := range t.Doubts {
		doubts = append(doubts, strings.TrimSpace(d.Code.String()+" "+d.Instance))
	}
	for _, n := range t.Notes {
		notes = append(notes, strings.TrimSpace(n.Code.String()+" "+n.Instance))
	}
	text := strings.Join(roles, " ")
	if t.Timeline != 0 {
		text += "; timeline " + strconv.FormatUint(uint64(t.Timeline), 10)
	}
	if len(doubts) > 0 {
		text += "; doubts: " + strings.Join(doubts, ", ")
	}
	if len(notes) > 0 {
		text += "; notes: " + strings.Join(notes, ", ")
	}
	return text
}
