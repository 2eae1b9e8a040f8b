//go:build e2e

package failover

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/poolwright/poolwright/test/pgcluster"
)

// crowd are the applications of a cell.
type crowd struct {
	t       testing.TB
	cell    Cell
	address string // of the Writer Service
	diaries []*Diary

	stop func()
}

// statement is that of application i, here and in the programs.
func statement(i int) string {
	return fmt.Sprintf("INSERT INTO written VALUES (%d, clock_timestamp()) RETURNING current_setting('cluster_name')", i)
}

// dsn connects to a Service. Two seconds are for a connection, none for a statement.
func dsn(address string) string {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(pgcluster.User, pgcluster.Password), Host: address,
		Path: "/postgres", RawQuery: "sslmode=disable&connect_timeout=2",
	}
	return u.String()
}

func newCrowd(t testing.TB, c Cell, host string) *crowd {
	w := &crowd{t: t, cell: c, address: net.JoinHostPort(host, "6432")}
	for range c.Clients {
		w.diaries = append(w.diaries, &Diary{})
	}
	t.Cleanup(func() { w.end() })
	return w
}

// start starts all applications, or starts them anew.
func (w *crowd) start() {
	w.end()
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	if program := programs[w.cell.Driver]; program != nil {
		all.Go(func() { w.process(ctx, program) })
	} else {
		w.pgx(ctx, &all)
	}
	w.stop = func() { cancel(); all.Wait() }
}

func (w *crowd) end() {
	if w.stop != nil {
		w.stop()
	}
	w.stop = nil
}

// clear forgets what was.
func (w *crowd) clear() {
	for _, d := range w.diaries {
		d.Clear()
	}
}

// done is how many have written on a server since a time.
func (w *crowd) done(server string, since time.Time) (n int) {
	for _, d := range w.diaries {
		if !d.Done(server, since).IsZero() {
			n++
		}
	}
	return n
}

// wait is a pause that ends with the context.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// readers read through the Reader Service with a connection for each statement or two, as what has no pool does.
func startReaders(t testing.TB, host string) []*Diary {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	var diaries []*Diary
	config, err := pgx.ParseConfig(dsn(net.JoinHostPort(host, "6432")))
	check(t, err)
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	for range 4 {
		d := &Diary{Exact: true}
		diaries = append(diaries, d)
		all.Go(func() {
			for ; ctx.Err() == nil; wait(ctx, 20*time.Millisecond) {
				read(ctx, config, d)
			}
		})
	}
	t.Cleanup(func() { cancel(); all.Wait() })
	return diaries
}

// read reads a few times on one connection. A statement has a second: the next reader's gap shows what hangs.
func read(ctx context.Context, config *pgx.ConnConfig, d *Diary) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		d.Note(OutcomeOf(err), time.Now())
		return
	}
	defer conn.Close(context.Background())
	for range 5 {
		var server string
		err := conn.QueryRow(ctx, "SELECT current_setting('cluster_name')").Scan(&server)
		if err != nil {
			d.Note(OutcomeOf(err), time.Now())
			return
		}
		d.Note(Done(server), time.Now())
		wait(ctx, 10*time.Millisecond)
	}
}
