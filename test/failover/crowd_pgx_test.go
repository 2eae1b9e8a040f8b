//go:build e2e

package failover

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// pgx starts an application in Go: a pool, and for each connection somebody who holds it while it is well.
func (w *crowd) pgx(ctx context.Context, all *sync.WaitGroup) {
	config, err := pgxpool.ParseConfig(dsn(w.address))
	check(w.t, err)
	config.MaxConns = int32(len(w.diaries))
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	once := config.ConnConfig.Copy()
	pool, err := pgxpool.NewWithConfig(ctx, config)
	check(w.t, err)
	for i, d := range w.diaries {
		live := func(ctx context.Context) error { return w.keep(ctx, pool, i, d) }
		if w.cell.Style == Churn {
			live = func(ctx context.Context) error { return w.churn(ctx, once, i, d) }
		}
		all.Go(func() {
			for ctx.Err() == nil {
				err := live(ctx)
				if err != nil && ctx.Err() == nil {
					d.Note(OutcomeOf(err), time.Now())
					wait(ctx, w.cell.Pace())
				}
			}
		})
	}
	all.Go(func() { <-ctx.Done(); pool.Close() }) // when nobody holds a connection any more
}

// keep holds a connection of the pool until its first error.
func (w *crowd) keep(ctx context.Context, pool *pgxpool.Pool, i int, d *Diary) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release() // the pool throws away what is broken
	for ctx.Err() == nil {
		if err := w.write(ctx, conn.Conn(), i, d); err != nil {
			return err
		}
		wait(ctx, w.cell.Pace())
	}
	return nil
}

// life is how long a connection lives that is not kept.
const life = 30 * time.Millisecond

// churn opens a connection, writes, and closes it.
func (w *crowd) churn(ctx context.Context, config *pgx.ConnConfig, i int, d *Diary) error {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer conn.Close(context.Background())
	if err := w.write(ctx, conn, i, d); err != nil {
		return err
	}
	wait(ctx, life)
	return nil
}

// idleFor is how long an idle transaction is idle.
const idleFor = 300 * time.Millisecond

// write is one statement, alone or in a transaction of its own.
func (w *crowd) write(ctx context.Context, conn *pgx.Conn, i int, d *Diary) error {
	var server string
	if w.cell.Style != Idle {
		if err := conn.QueryRow(ctx, statement(i)).Scan(&server); err != nil {
			return err
		}
		d.Note(Done(server), time.Now())
		return nil
	}
	err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, statement(i)).Scan(&server); err != nil {
			return err
		}
		wait(ctx, idleFor)
		return nil
	})
	if err == nil {
		d.Note(Done(server), time.Now())
	}
	return err
}
