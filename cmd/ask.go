package cmd

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/poolwright/poolwright/clusters"
	"github.com/poolwright/poolwright/discovery/session"
	"github.com/poolwright/poolwright/live"
	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/render"
)

// proof is what speaks for and against an instance as the writer.
type proof struct {
	// ready pods of its pooler; unseen when pods cannot be read.
	ready  int
	unseen bool
	// what it says of itself, over a direct connection; err when it said nothing.
	recovery, readOnly, defaultReadOnly bool
	err                                 error
}

// askTimeout bounds the question to the one instance that an emergency is about.
const askTimeout = 3 * time.Second

// prove gathers the proof for a member.
func (s site) prove(ctx context.Context, world outside, sight live.Sight, m plan.Member) proof {
	p := proof{unseen: sight.Ready == nil, ready: sight.Ready[render.LabelValue(m.Name)]}
	p.err = s.ask(ctx, world, m, &p)
	return p
}

// question is what an instance is asked about itself. Aurora and PostgreSQL both know it.
const question = `SELECT pg_is_in_recovery(), current_setting('transaction_read_only'), current_setting('default_transaction_read_only')`

func (s site) ask(ctx context.Context, world outside, m plan.Member, p *proof) error {
	config, err := s.session(world)
	if err != nil {
		return err
	}
	one := session.New(config, session.Address{Host: m.Host, Port: m.Port})
	defer one.Close()
	results, err := one.Ask(ctx, question)
	if err != nil {
		return err
	}
	return p.read(results)
}

func (p *proof) read(results []*pgconn.Result) error {
	if len(results) != 1 || len(results[0].Rows) != 1 || len(results[0].Rows[0]) != 3 {
		return fmt.Errorf("reading the answer: not the results of the question")
	}
	for i, into := range []*bool{&p.recovery, &p.readOnly, &p.defaultReadOnly} {
		if err := session.Bool(results[0].Rows[0][i], into); err != nil {
			return fmt.Errorf("reading the answer: %w", err)
		}
	}
	return nil
}

// session is how to connect: as the Cluster file says, or as libpq's environment does.
func (s site) session(world outside) (session.Config, error) {
	ask := clusters.Discovery{
		Database: world.Getenv("PGDATABASE"), SSLMode: world.Getenv("PGSSLMODE"), SSLRootCert: world.Getenv("PGSSLROOTCERT"),
	}
	if s.declared != nil {
		ask = s.declared.Cluster.Spec.Discovery
	}
	credentials, err := world.credentials(ask)
	return session.Config{
		Database: ask.Database, SSLMode: ask.SSLMode, RootCert: ask.SSLRootCert, Credentials: credentials,
		Timeout: min(askTimeout, cmp.Or(time.Duration(ask.Timeout), askTimeout)), Dial: world.Dial, Lookup: world.Lookup,
	}, err
}

// objections are the reasons not to make an instance the writer, none when all is well.
func (p proof) objections(name string) (found []string) {
	switch {
	case p.unseen:
		found = append(found, "the pods of "+name+" cannot be seen, so whether one is ready is not known")
	case p.ready == 0:
		found = append(found, name+" has no ready pod")
	}
	switch {
	case p.err != nil:
		found = append(found, name+" cannot be asked ("+printable(p.err.Error())+")")
	case p.recovery:
		found = append(found, name+" is in recovery, so it is no writer")
	case p.readOnly || p.defaultReadOnly:
		found = append(found, name+" is read-only")
	}
	return found
}

// says is the instance's own word, for people.
func (p proof) says() string {
	if p.err != nil {
		return "nothing: " + p.err.Error()
	}
	words := []string{"not in recovery"}
	if p.recovery {
		words[0] = "in recovery"
	}
	switch {
	case p.readOnly:
		words = append(words, "read-only")
	case p.defaultReadOnly:
		words = append(words, "read-only by default")
	default:
		words = append(words, "writable")
	}
	return strings.Join(words, ", ")
}

// pods is the number of ready pods, for people.
func (p proof) pods() string {
	if p.unseen {
		return "cannot be seen"
	}
	return fmt.Sprint(p.ready)
}
