package failover

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Figure is one thing that was measured often, in milliseconds. What has not come is infinite.
type Figure []float64

// Of collects a moment of all rounds.
func Of[T any](rows []T, moment func(T) Moment) (f Figure) {
	for _, r := range rows {
		if m := moment(r); m != nil {
			f = append(f, *m)
		} else {
			f = append(f, math.Inf(1))
		}
	}
	return f
}

// Quantile is the value that a share of all does not pass: nearest rank, so that it is one that was measured.
func (f Figure) Quantile(share float64) float64 {
	if len(f) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(f))
	return sorted[max(0, int(math.Ceil(share*float64(len(sorted))))-1)]
}

// Short is p50 and p99 as people read them.
func (f Figure) Short() string {
	if len(f) == 0 {
		return ""
	}
	return short(f.Quantile(0.5)) + " / " + short(f.Quantile(0.99))
}

func short(ms float64) string {
	switch {
	case math.IsInf(ms, 1):
		return "never"
	case math.Abs(ms) >= 10_000:
		return fmt.Sprintf("%.0f s", ms/1000)
	case math.Abs(ms) >= 1000:
		return fmt.Sprintf("%.2f s", ms/1000)
	}
	return fmt.Sprintf("%.0f ms", ms)
}

// Summary is what a cell came to.
type Summary struct {
	Cell    Cell
	Rounds  []Round
	Clients []Client
}

// Summaries are the cells and trials that anything is known of, in the order of the matrix.
func Summaries(dir string) (all []Summary, err error) {
	for _, c := range append(Cells(), trials()...) {
		rounds, clients, err := FilesOf(dir, c).Read()
		if err != nil {
			return nil, err
		}
		if len(rounds) > 0 {
			all = append(all, Summary{c, rounds, clients})
		}
	}
	return all, nil
}

// apart are the cells, whose times count, and the trials: they run beside each other, and wait for no hand-back.
func apart(all []Summary) (cells, trials []Summary) {
	for _, s := range all {
		if s.Cell.IsTrial() {
			trials = append(trials, s)
		} else {
			cells = append(cells, s)
		}
	}
	return cells, trials
}

// sum adds a number of all rounds.
func (s Summary) sum(of func(Round) int) (n int) {
	for _, r := range s.Rounds {
		n += of(r)
	}
	return n
}

// most is the greatest number of all rounds.
func (s Summary) most(of func(Round) int) (n int) {
	for _, r := range s.Rounds {
		n = max(n, of(r))
	}
	return n
}

// endings are the errors with which PostgreSQL or PgBouncer ends a connection, or libpq and pgx find that it has ended.
var endings = [...]string{"08P01", "57P01", "57P02", "57P03", "connection"}

// outlived is the most errors of one application in a round with which its connection did not end.
func (s Summary) outlived() (most int) {
	for _, c := range s.Clients {
		n := c.Errors
		for part := range strings.FieldsSeq(c.Codes) {
			code, count, _ := strings.Cut(part, "×")
			if slices.Contains(endings[:], code) {
				k, _ := strconv.Atoi(count) // as Errors writes it
				n -= k
			}
		}
		most = max(most, n)
	}
	return most
}

// all is when the last application was back, for each round.
func (s Summary) all() Figure { return Of(s.Rounds, func(r Round) Moment { return r.All }) }

// noticed is how long after the break poolwright said something.
func (s Summary) noticed() Figure {
	return Of(s.Rounds, func(r Round) Moment {
		if r.Detected == nil || r.Broken == nil {
			return nil
		}
		ms := *r.Detected - *r.Broken
		return &ms
	})
}
