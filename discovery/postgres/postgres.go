package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/poolwright/poolwright/discovery"
	"github.com/poolwright/poolwright/discovery/session"
)

// Config says whom to ask, and how.
type Config struct {
	// Cluster is the name that observations carry.
	Cluster string
	// Hosts are the nodes by name.
	Hosts map[string]session.Address
	// Port of the hosts that do not say their own, default 5432.
	Port int
	// Session is how to connect; its Timeout (default 3 s) is the deadline of every probe.
	Session session.Config
	// Now is the clock, default time.Now.
	Now func() time.Time
}

// Observer asks one cluster. It keeps connections, and nothing else.
type Observer struct {
	session.Cluster
	config Config
	mu     sync.Mutex // one observation at a time
}

// New returns an Observer that has asked nobody yet.
func New(config Config) *Observer {
	if config.Now == nil {
		config.Now = time.Now
	}
	return &Observer{config: config, Cluster: session.NewCluster(config.Session)}
}

// Observe asks everybody. It never fails: faults are in the answers. It ends by ctx or by the probes' deadlines.
func (o *Observer) Observe(ctx context.Context) discovery.Observation {
	o.mu.Lock()
	defer o.mu.Unlock()
	said := make(chan discovery.Answer)
	for name, at := range o.config.Hosts {
		at.Port = cmp.Or(at.Port, o.config.Port, 5432)
		go func() { said <- o.ask(ctx, name, at) }()
	}
	seen := discovery.Observation{Cluster: o.config.Cluster, Provider: discovery.Postgres, Port: cmp.Or(o.config.Port, 5432)}
	for range o.config.Hosts {
		seen.Answers = append(seen.Answers, <-said)
	}
	seen.At = o.config.Now()
	slices.SortFunc(seen.Answers, func(a, b discovery.Answer) int {
		return cmp.Or(cmp.Compare(a.Endpoint, b.Endpoint), cmp.Compare(a.Asked, b.Asked))
	})
	o.Follow(seen)
	return seen
}

// The question, with a timeline and without. A primary's is in the name of the WAL file it writes: its control file is
// behind for a moment after a promotion.
const (
	role     = `SELECT pg_is_in_recovery(), current_setting('transaction_read_only'), current_setting('default_transaction_read_only'), `
	timeline = `CASE WHEN pg_is_in_recovery() THEN greatest(` +
		`(SELECT timeline_id FROM pg_control_checkpoint()), (SELECT min_recovery_end_timeline FROM pg_control_recovery()), ` +
		`(SELECT received_tli FROM pg_stat_wal_receiver))::int8 ` +
		`ELSE ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int8 END`
	withTimeline    = role + timeline
	withoutTimeline = role + `0`
)

func (o *Observer) ask(ctx context.Context, name string, at session.Address) discovery.Answer {
	a := discovery.Answer{Endpoint: at.String(), Asked: name}
	results, err := o.Sessions.Ask(ctx, at, withTimeline)
	var failure *session.Error
	if errors.As(err, &failure) && isRevoked(failure.Code) {
		results, err = o.Sessions.Ask(ctx, at, withoutTimeline)
	}
	if errors.As(err, &failure) {
		a.Fault, a.Detail = failure.Fault, failure.Detail
		return a
	}
	said := a
	said.Name = name
	if err := parse(&said, results); err != nil {
		a.Fault, a.Detail = discovery.Broken, "reading the answer: "+err.Error()
		return a
	}
	return said
}

// isRevoked: insufficient_privilege, undefined_function.
func isRevoked(code string) bool { return code == "42501" || code == "42883" }

func parse(a *discovery.Answer, results []*pgconn.Result) error {
	if len(results) != 1 || len(results[0].Rows) != 1 || len(results[0].Rows[0]) != 4 {
		return errors.New("not the results of the question")
	}
	row := results[0].Rows[0]
	for i, into := range []*bool{&a.InRecovery, &a.ReadOnly, &a.DefaultReadOnly} {
		if err := session.Bool(row[i], into); err != nil {
			return err
		}
	}
	timeline, err := strconv.ParseUint(string(row[3]), 10, 32)
	if err != nil {
		return fmt.Errorf("timeline %q", row[3])
	}
	a.Timeline = uint32(timeline)
	return nil
}
