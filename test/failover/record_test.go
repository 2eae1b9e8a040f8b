package failover

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func ms(v float64) Moment { return &v }

func TestARoundIsReadAsItWasWritten(t *testing.T) {
	files := FilesOf(t.TempDir(), base)
	none, _, err := files.Read()
	if err != nil || len(none) > 0 {
		t.Fatalf("nothing is read as %v, %v", none, err)
	}
	want := []Round{{Round: 1, From: "a", To: "b", First: ms(12.5), Clients: 2, ReadsGap: 3}, {Round: 2, To: "a", Stuck: 1}}
	rows := []Client{{Round: 1, FirstNew: ms(12.5), Codes: "08P01×1"}, {Round: 1, Client: 1, Errors: 2}}
	if err := errors.Join(files.Append(want[0], rows), files.Append(want[1], nil)); err != nil {
		t.Fatal(err)
	}
	got, clients, err := files.Read()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rounds (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(rows, clients); diff != "" {
		t.Errorf("clients (-want +got):\n%s", diff)
	}
}

// TestARunThatWasEndedInARoundGoesOn: its clients were written down and the round was not. They are not counted, and not twice
// when the round is made again.
func TestARunThatWasEndedInARoundGoesOn(t *testing.T) {
	files := FilesOf(t.TempDir(), base)
	if err := appendRows(files.Clients, []Client{{Round: 1, Errors: 7}}); err != nil {
		t.Fatal(err)
	}
	if _, clients, err := files.Read(); err != nil || len(clients) > 0 {
		t.Errorf("clients without a round are read as %v, %v", clients, err)
	}
	again := []Client{{Round: 1, Errors: 1}}
	if err := files.Append(Round{Round: 1}, again); err != nil {
		t.Fatal(err)
	}
	_, clients, err := files.Read()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(again, clients); diff != "" {
		t.Errorf("clients (-want +got):\n%s", diff)
	}
}

// TestRawDataOfAnotherVersionIsNotReadAsThis: a column more or less would move all others.
func TestRawDataOfAnotherVersionIsNotReadAsThis(t *testing.T) {
	for text, want := range map[string]string{
		"Round,Speed\n1,2\n": "another version",
		strings.Join(header[Round](), ",") + "\n" + strings.Repeat("x,", len(header[Round]())-1) + "x\n": "row 1",
		"\"": "reading",
	} {
		files := FilesOf(t.TempDir(), base)
		if err := os.WriteFile(files.Rounds, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := files.Read(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is read with the error %v, want one with %q", text, err, want)
		}
	}
}

func TestMomentsCountFromZero(t *testing.T) {
	zero := time.Unix(1000, 0)
	if got := At(zero, zero.Add(-1500*time.Microsecond)); got == nil || *got != -1.5 {
		t.Errorf("1.5 ms before zero is %v", got)
	}
	if got := At(zero, time.Time{}); got != nil {
		t.Errorf("what has not come is at %v", *got)
	}
}
