package driver

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/poolwright/poolwright/test/pgcluster"
)

// WhenPromoted receives the last moment in which a server was known to be a standby. It is asked every millisecond, for at most Patience.
func WhenPromoted(t testing.TB, node *pgcluster.Node) <-chan time.Time {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	t.Cleanup(cancel)
	conn, err := pgx.Connect(ctx, node.DSN())
	if err != nil {
		t.Fatal(err)
	}
	last := make(chan time.Time, 1)
	go func() {
		defer conn.Close(ctx)
		before, again := time.Now(), time.NewTicker(time.Millisecond)
		defer again.Stop()
		for standby := true; ; <-again.C {
			asked := time.Now()
			err := conn.QueryRow(ctx, "SELECT pg_is_in_recovery()").Scan(&standby)
			if err != nil {
				t.Errorf("asking %s whether it was promoted: %v", node.Name, err)
			}
			if err != nil || !standby {
				last <- before
				return
			}
			before = asked
		}
	}()
	return last
}
