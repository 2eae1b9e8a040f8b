package failover

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Cell is one combination that is measured.
type Cell struct {
	Way       Way
	Version   string // of PgBouncer, "1.24"
	Driver    Driver
	Clients   int
	Pooling   string // transaction or session
	Style     Style
	Provoked  Provocation
	Instances int // 2 or 3
	Secret    Secret
}

// Way is who gets the applications to the new writer.
type Way string

// The ways.
const (
	Console     Way = "console"      // poolwright, failover.evict: console
	DeletePods  Way = "delete-pods"  // poolwright, failover.evict: deletePods
	ServiceOnly Way = "service-only" // poolwright, failover.evict: none: the Service is moved, nobody is cut
	Peer        Way = "peer"         // pods are labelled and both Deployments restarted, as another operator does
)

// Driver is what an application is written with.
type Driver string

// The drivers.
const (
	Pgx   Driver = "pgx"   // Go, a pgxpool of as many connections
	Libpq Driver = "libpq" // C, a thread for each connection
	Node  Driver = "node"  // node-postgres, a pool of as many connections
)

// Style is how an application uses its connections.
type Style string

// The styles.
const (
	Steady Style = "steady" // a statement, a pause, the next one on the same connection
	Churn  Style = "churn"  // a connection for a few statements, then another
	Idle   Style = "idle"   // a transaction in which nothing happens most of the time
)

// Provocation is how the writer is lost.
type Provocation string

// The provocations.
const (
	Crash   Provocation = "crash"   // it dies, another is promoted, and it comes back seconds later as a standby
	Freeze  Provocation = "freeze"  // it stops to answer, with every connection open, and stays so
	Planned Provocation = "planned" // it ends in order, another is promoted, and it comes back seconds later as a standby
	Early   Provocation = "early"   // it is back as a standby before another is promoted
	Double  Provocation = "double"  // the promoted one dies, too, half a second later
	Flap    Provocation = "flap"    // there, back and there again, without a pause
)

// Secret is what the poolers' auth_file has, and what a login costs by that.
type Secret string

// The secrets.
const (
	Kept  Secret = ""      // what PostgreSQL keeps: SCRAM with 4096 iterations, which each login costs the application
	Plain Secret = "plain" // the password itself: the iterations are PgBouncer's, too, on its one thread
	Light Secret = "light" // SCRAM with one iteration, as if every application had a processor of its own
)

// evicts reports whether poolwright is to cut the clients of the demoted instance.
func (c Cell) evicts() bool { return c.Way == Console || c.Way == DeletePods }

// Bound is how long a round waits for an application, from the new writer's first answer.
const Bound = 15 * time.Second

// peerBound is longer: a restart waits for the grace period of the pods.
const peerBound = 60 * time.Second

// Bound is how long a round of the cell waits.
func (c Cell) Bound() time.Duration {
	if c.Way == Peer {
		return peerBound
	}
	return Bound
}

// Pace is the pause of an application between two statements: 5 ms; two hundred at that pace
// would be all that two cores can do.
func (c Cell) Pace() time.Duration {
	if c.Clients > 50 {
		return 100 * time.Millisecond
	}
	return 5 * time.Millisecond
}

// Name is the cell in one word, that of its files.
func (c Cell) Name() string {
	name := fmt.Sprintf("%s-%s-%s-%d-%s-%s-%s-%d", c.Way, c.Version, c.Driver, c.Clients, c.Pooling, c.Style, c.Provoked, c.Instances)
	if c.Secret != Kept {
		name += "-" + string(c.Secret)
	}
	return name
}

// Use is how the applications use their connections, in words.
func (c Cell) Use() string {
	use := c.Pooling + ", " + string(c.Style)
	switch c.Secret {
	case Plain:
		use += ", plain passwords"
	case Light:
		use += ", light logins"
	}
	return use
}

// base is what each cell differs from in little.
var base = Cell{Way: Console, Version: "1.24", Driver: Pgx, Clients: 20, Pooling: "transaction", Style: Steady, Provoked: Crash, Instances: 3}

// versions of PgBouncer, oldest first.
var versions = [...]string{"1.18", "1.24", "1.26"}

// Cells are the whole matrix, each once: every driver with every version and count; then one dimension at a time, with a
// version of either way to cut a client where that may matter; then the other ways.
func Cells() (all []Cell) {
	add := func(change func(*Cell)) {
		c := base
		change(&c)
		if !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	for _, version := range versions {
		for _, driver := range []Driver{Pgx, Libpq, Node} {
			for _, n := range []int{20, 200} {
				add(func(c *Cell) { c.Version, c.Driver, c.Clients = version, driver, n })
			}
		}
		for _, driver := range []Driver{Libpq, Node} { // whose key derivation is what two hundred at once are slow by
			add(func(c *Cell) { c.Version, c.Driver, c.Clients, c.Secret = version, driver, 200, Light })
		}
	}
	for _, version := range versions[:2] { // KILL and RESUME, KILL_CLIENT
		add(func(c *Cell) { c.Version, c.Pooling = version, "session" })
		add(func(c *Cell) { c.Version, c.Style = version, Churn })
	}
	add(func(c *Cell) { c.Style = Idle })
	for _, p := range []Provocation{Freeze, Planned, Early, Double, Flap} {
		add(func(c *Cell) { c.Provoked = p })
	}
	add(func(c *Cell) { c.Clients, c.Secret = 200, Plain })
	add(func(c *Cell) { c.Instances = 2 })
	add(func(c *Cell) { c.Way = DeletePods })
	add(func(c *Cell) { c.Way, c.Provoked = ServiceOnly, Early })
	add(func(c *Cell) { c.Way = Peer })
	return all
}

// Trial is the cell of many failovers while applications log in all the time, for a version: what counts is
// whether a PgBouncer survives.
func Trial(version string) Cell {
	c := base
	c.Version, c.Style, c.Provoked, c.Clients = version, Churn, Early, 12
	return c
}

// TrialRounds are a trial's failovers: 300 with all versions.
const TrialRounds = 100

// Select are the cells and trials whose names match; an empty pattern is all cells and no trial.
func Select(pattern string) ([]Cell, error) {
	if pattern == "" {
		return Cells(), nil
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("reading CELL: %w", err)
	}
	var found []Cell
	for _, c := range append(Cells(), trials()...) {
		if re.MatchString(c.Name()) {
			found = append(found, c)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no cell is like %q; there are:\n%s", pattern, strings.Join(names(), "\n"))
	}
	return found, nil
}

func trials() (all []Cell) {
	for _, version := range versions {
		all = append(all, Trial(version))
	}
	return all
}

func names() (all []string) {
	for _, c := range append(Cells(), trials()...) {
		all = append(all, c.Name())
	}
	return all
}

// IsTrial reports whether the cell counts crashes.
func (c Cell) IsTrial() bool { return c == Trial(c.Version) }
