package pgbouncer

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/poolwright/poolwright/test/pgcluster"
)

// BenchmarkLogin says what a login and one statement cost a PgBouncer, in CPU time of its one thread: where its auth_file has the password itself, and
// where it has the SCRAM secret that PostgreSQL keeps.
//
//	go test -run '^$' -bench Login -benchtime 400x ./test/pgbouncer
func BenchmarkLogin(b *testing.B) {
	db := pgcluster.Start(b, pgcluster.Options{})
	for _, version := range Versions() {
		for _, kept := range []struct{ what, as string }{{"password", Password}, {"secret", db.Secret()}} {
			b.Run(version+"/"+kept.what, func(b *testing.B) {
				p := Start(b, Options{Version: version, Backend: db.Nodes()[0].Addr(), Users: map[string]string{User: kept.as}})
				login(b, p) // which opens the connection to the server
				before := p.used(b)
				for b.Loop() {
					login(b, p)
				}
				b.ReportMetric(float64((p.used(b)-before).Microseconds())/1000/float64(b.N), "CPU-ms/login")
			})
		}
	}
}

func login(b *testing.B, p *Process) {
	ctx, cancel := context.WithTimeout(b.Context(), deadline)
	defer cancel()
	conn, err := pgconn.Connect(ctx, p.DSN("postgres"))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, "SELECT 1").ReadAll(); err != nil {
		b.Fatal(err)
	}
}

// tick is the unit of CPU times in /proc, USER_HZ.
const tick = 10 * time.Millisecond

// used is the CPU time of the process.
func (p *Process) used(b *testing.B) (sum time.Duration) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		b.Fatal(err)
	}
	// The name in parentheses may contain anything; utime and stime are the 12th and 13th field after it.
	fields := strings.Fields(string(text[strings.LastIndex(string(text), ")")+1:]))
	for _, field := range fields[11:13] {
		n, err := strconv.Atoi(field)
		if err != nil {
			b.Fatal(err)
		}
		sum += time.Duration(n) * tick
	}
	return sum
}
