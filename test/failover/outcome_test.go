package failover

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"
)

func TestDiaryTellsWhereAStatementWasDone(t *testing.T) {
	zero := time.Unix(1000, 0)
	at := func(ms int) time.Time { return zero.Add(time.Duration(ms) * time.Millisecond) }
	for name, tt := range map[string]struct {
		notes      string // "=a@-20 25006@10 ..."
		done, last Moment
		errors     string
	}{
		"it goes over":                        {"=a@-20 =a@-10 08P01@40 =b@90 =b@95", ms(90), ms(-10), "08P01×1"},
		"it stays":                            {"=a@-10 25006@10 25006@20 timeout@25 25006@30", nil, ms(-10), "25006×3 timeout×1"},
		"it was there before, and comes back": {"=b@-900 =a@-500 connection@5 =b@50", ms(50), ms(-500), "connection×1"},
		"it was there, and not since":         {"=b@-900 =a@-500 connection@5", nil, ms(-500), "connection×1"},
		"it has never been away":              {"=b@-10 =b@10", ms(0), nil, ""},
		"it was quiet for long":               {"=b@-300 =b@10", ms(10), nil, ""},
		"it is cut, and refused for a while":  {"=a@-10 08P01@40 !08P01@50 !08P01@60 =b@90", ms(90), ms(-10), "!08P01×2 08P01×1"},
	} {
		t.Run(name, func(t *testing.T) {
			var d Diary
			for note := range strings.FieldsSeq(tt.notes) {
				outcome, after, _ := strings.Cut(note, "@")
				var n int
				if _, err := fmt.Sscan(after, &n); err != nil {
					t.Fatal(err)
				}
				d.Note(Outcome(outcome), at(n))
			}
			if diff := cmp.Diff(tt.done, At(zero, d.Done("b", zero))); diff != "" {
				t.Errorf("first on b (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.last, At(zero, d.LastElsewhere("b", zero))); diff != "" {
				t.Errorf("last on another (-want +got):\n%s", diff)
			}
			if _, _, codes := Errors(time.Time{}, &d); codes != tt.errors {
				t.Errorf("errors are %q, want %q", codes, tt.errors)
			}
		})
	}
}

// TestErrorsCountFromATimeOn: those of the time without a writer are nobody's fault.
func TestErrorsCountFromATimeOn(t *testing.T) {
	var a, b Diary
	zero := time.Unix(1000, 0)
	for _, ms := range []int{-20, -10, 0, 10} {
		a.Note("08P01", zero.Add(time.Duration(ms)*time.Millisecond))
	}
	b.Note("25006", zero.Add(time.Second))
	b.Note("!08P01", zero.Add(time.Second))
	if n, refused, codes := Errors(zero, &a, &b); n != 3 || refused != 1 || codes != "!08P01×1 08P01×2 25006×1" {
		t.Errorf("from zero on there are %d errors and %d refusals, %s; want three and one", n, refused, codes)
	}
	if n, refused, _ := Errors(time.Time{}, &a, &b); n != 5 || refused != 1 {
		t.Errorf("there are %d errors and %d refusals in all, want five and one", n, refused)
	}
}

func TestALoginThatFailsIsNoStatementThatFailed(t *testing.T) {
	_, err := pgconn.Connect(t.Context(), "postgres://127.0.0.1:1/x")
	if got := OutcomeOf(err); got != "!connection" {
		t.Errorf("nobody listens: %q", got)
	}
	if got := OutcomeOf(&pgconn.PgError{Code: "08P01"}); got != "08P01" {
		t.Errorf("a statement: %q", got)
	}
}

func TestADiaryForgets(t *testing.T) {
	var d Diary
	d.Note(Done("a"), time.Unix(1000, 0))
	d.Note("25006", time.Unix(1000, 0))
	d.Clear()
	if n, _, _ := Errors(time.Time{}, &d); n != 0 || !d.Done("a", time.Time{}).IsZero() {
		t.Error("it knows what was before Clear")
	}
}

func TestReadersTogetherHaveTheGapsOfAll(t *testing.T) {
	zero := time.Unix(1000, 0)
	var a, b Diary
	for ms := 0; ms <= 1000; ms += 100 {
		if at := zero.Add(time.Duration(ms) * time.Millisecond); ms <= 300 {
			a.Note(Done("a"), at)
		} else if ms >= 600 {
			b.Note(Done("b"), at)
		}
	}
	a.Note("08P01", zero.Add(450*time.Millisecond)) // an error is no read
	if got := LongestGap([]*Diary{&a, &b}, zero, zero.Add(time.Second)); got != 300*time.Millisecond {
		t.Errorf("the gap is %v, want 300ms", got)
	}
	if got := LongestGap([]*Diary{&a}, zero, zero.Add(time.Second)); got != 700*time.Millisecond {
		t.Errorf("the gap of one is %v, want 700ms", got)
	}
}

func TestOutcomesAreSaidByTheServerElseByTheWayThere(t *testing.T) {
	for want, err := range map[Outcome]error{
		"25006":      fmt.Errorf("writing: %w", &pgconn.PgError{Code: "25006"}),
		"timeout":    os.ErrDeadlineExceeded,
		"connection": io.ErrUnexpectedEOF,
	} {
		if got := OutcomeOf(err); got != want {
			t.Errorf("%v is %q, want %q", err, got, want)
		}
	}
}
