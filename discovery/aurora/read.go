package aurora

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/poolwright/poolwright/discovery"
	"github.com/poolwright/poolwright/discovery/session"
)

// read puts what came of query into a.
func read(a *discovery.Answer, results []*pgconn.Result, err error) {
	if failure, ok := errors.AsType[*session.Error](err); ok {
		a.Fault, a.Detail = failure.Fault, failure.Detail
		return
	}
	said := *a
	if err := parse(&said, results); err != nil {
		a.Fault, a.Detail = discovery.Broken, "reading the answer: "+err.Error()
		return
	}
	*a = said
}

func parse(a *discovery.Answer, results []*pgconn.Result) error {
	if len(results) != 2 || len(results[0].Rows) != 1 || len(results[0].Rows[0]) != 4 {
		return errors.New("not the results of the question")
	}
	self := results[0].Rows[0]
	if a.Name = string(self[0]); a.Name == "" {
		return errors.New("the node does not say who it is")
	}
	for i, into := range []*bool{&a.InRecovery, &a.ReadOnly, &a.DefaultReadOnly} {
		if err := session.Bool(self[i+1], into); err != nil {
			return err
		}
	}
	for _, columns := range results[1].Rows {
		row, err := parseRow(columns)
		if err != nil {
			return err
		}
		a.Rows = append(a.Rows, row)
	}
	return nil
}

// parseRow reads one row of the view. NULL ids become empty ones, which discovery.Merge has a word for.
func parseRow(columns [][]byte) (discovery.Row, error) {
	if len(columns) != 4 {
		return discovery.Row{}, fmt.Errorf("a row of %d columns", len(columns))
	}
	row := discovery.Row{ServerID: string(columns[0]), SessionID: string(columns[1])}
	if columns[2] != nil {
		age, err := strconv.ParseInt(string(columns[2]), 10, 64)
		if err != nil {
			return discovery.Row{}, fmt.Errorf("age %q", columns[2])
		}
		row.AgeMillis = &age
	}
	if columns[3] != nil {
		lag, err := strconv.ParseFloat(string(columns[3]), 64)
		if err != nil {
			return discovery.Row{}, fmt.Errorf("lag %q", columns[3])
		}
		if !math.IsNaN(lag) && !math.IsInf(lag, 0) {
			row.LagMillis = &lag
		}
	}
	return row, nil
}
