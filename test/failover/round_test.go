//go:build e2e

package failover

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/poolwright/poolwright/test/driver"
)

// service needs the watch's mutex.
func (r *trial) service(role string) *corev1.Service {
	svc, ok := r.objects["service/story-"+role].(*corev1.Service)
	if !ok {
		return &corev1.Service{}
	}
	return svc
}

// round measures one failover.
func (r *trial) round(number int) (Round, []Client) {
	r.t.Helper()
	r.settle()
	known, pods := 0, r.uids()
	if r.p != nil {
		known = len(r.p.Text())
	}
	begun := time.Now()
	r.crowd.clear()
	for _, d := range r.readers {
		d.Clear()
	}
	p, mend := r.provoke()
	r.awaitFor(time.Until(p.zero.Add(r.cell.Bound())), func() bool { return r.crowd.done(p.to, p.zero) == r.cell.Clients })
	back := r.back(p) // before anybody is brought back by something else
	mend()
	all := Round{Round: number, Commit: os.Getenv("COMMIT"), Date: p.zero.UTC().Format(time.RFC3339Nano), From: p.from, To: p.to, Clients: r.cell.Clients, Broken: At(p.zero, p.broken)}
	if slices.ContainsFunc(back, time.Time.IsZero) {
		r.crowd.start() // for the next round
	}
	all.Rested = r.awaitFor(driver.Patience, func() bool { return r.rests(p.to) }) && r.stays(p.to)
	clients := r.clients(&all, p, back)
	r.timeline(&all, p, begun, known)
	all.ReadsGap = float64(LongestGap(r.readers, p.broken, time.Now()).Microseconds()) / 1000
	_, _, all.ReadsTold = Errors(p.broken, r.readers...)
	all.Restarts = r.restarts()
	for uid := range r.uids() {
		delete(pods, uid)
	}
	all.Replaced = len(pods)
	all.Hung, all.Refusing = r.ask()
	return all, clients
}

// wantRest fails a test whose round did not come to rest.
func (r *trial) wantRest(round Round) {
	r.t.Helper()
	if !round.Rested {
		r.t.Errorf("round %d did not come to rest behind %s: %v", round.Round, round.To, now(r.watch, func() any { return maps.Clone(r.facts) }))
	}
}

// settle waits until everybody has written a moment ago.
func (r *trial) settle() {
	r.t.Helper()
	writer := r.pg.Primary().Name
	r.forget()
	r.pg.Exec(writer, "TRUNCATE written") // or a server that comes back copies what all rounds wrote
	since := time.Now()
	r.await(r.t, "all applications on "+writer, func() bool { return r.rests(writer) && r.crowd.done(writer, since) == r.cell.Clients })
}

// forget takes from the kernel what it remembers of connections that were reset. For 10 s it sends a new one with the same port to where the
// old one led, whatever the Service says by now: to a pod that was the writer's a round ago, and no failover is that long after the last.
func (r *trial) forget() {
	r.t.Helper()
	for range 10 {
		said, err := exec.Command("conntrack", "-D", "-p", "tcp", "--state", "CLOSE").CombinedOutput()
		switch {
		case strings.Contains(string(said), "flow entries have been deleted"):
			return
		case !strings.Contains(string(said), "such conntrack doesn't exist"): // one that has ended meanwhile
			r.t.Fatalf("conntrack: %v: %s", err, said)
		}
	}
	r.t.Fatal("conntrack: somebody else is always quicker")
}

// back is when each application was back on the new writer; zero: it is stuck.
func (r *trial) back(p provoked) (all []time.Time) {
	for _, d := range r.crowd.diaries {
		done := d.Done(p.to, p.zero)
		if done.Sub(p.zero) > r.cell.Bound() {
			done = time.Time{}
		}
		all = append(all, done)
	}
	return all
}

// stays reports whether all applications write on the new writer once nothing is under way any more.
func (r *trial) stays(writer string) bool {
	since := time.Now()
	return r.awaitFor(r.cell.Bound(), func() bool { return r.crowd.done(writer, since) == r.cell.Clients })
}

// clients are the rows of the applications, with all that happened to them until rest; all gets their sums.
func (r *trial) clients(all *Round, p provoked, back []time.Time) (rows []Client) {
	var first, last time.Time
	for i, d := range r.crowd.diaries {
		done := back[i]
		n, refused, codes := Errors(p.broken, d)
		late, _, _ := Errors(p.zero, d)
		rows = append(rows, Client{all.Round, i, At(p.zero, d.LastElsewhere(p.to, p.zero)), At(p.zero, done), n, refused, late, codes})
		all.Errors, all.MostErrors = all.Errors+n, max(all.MostErrors, n)
		all.MostBoth = max(all.MostBoth, n+refused)
		all.Late, all.MostLate = all.Late+late, max(all.MostLate, late)
		all.Refused, all.MostRefused = all.Refused+refused, max(all.MostRefused, refused)
		switch {
		case done.IsZero():
			all.Stuck++
		case first.IsZero() || done.Before(first):
			first = done
		}
		if done.After(last) {
			last = done
		}
	}
	all.First = At(p.zero, first)
	if all.Stuck == 0 {
		all.All = At(p.zero, last)
	}
	return rows
}

// timeline fills in what poolwright did.
func (r *trial) timeline(all *Round, p provoked, begun time.Time, known int) {
	all.Endpoints = At(p.zero, r.lastOf(begun, behind, p.to))
	if r.p == nil {
		all.Decided = At(p.zero, r.peer.firstSeen(p.to, begun))
		return
	}
	all.Patched = At(p.zero, r.lastOf(begun, selects, p.to))
	all.Back = At(p.zero, r.lastOf(begun, clean, "true"))
	lines := r.lines(known)
	all.Detected = At(p.zero, firstLine(lines, func(l line) bool {
		return l.Msg == "writer-lost" || l.Msg == "window-opened" || l.Msg == "decided" && strings.HasPrefix(l.Detail, "failover")
	}))
	all.Decided = At(p.zero, lastLine(lines, func(l line) bool {
		return l.Msg == "decided" && strings.HasPrefix(l.Detail, "failover") && strings.Contains(l.Detail, "; "+p.to+": is the writer now")
	}))
	all.Evicted = At(p.zero, r.evictedAt(begun, p.to))
	said, number := commitOf(lines, p.to)
	all.Committed = At(p.zero, now(r.watch, func() (last time.Time) {
		for _, at := range r.pushed {
			if at.After(begun) && at.Before(said) {
				last = at
			}
		}
		return last
	}))
	all.Synced = At(p.zero, r.reached(begun, number))
}

// failoverIn is a commit that makes a server the writer, as the log names it.
var failoverIn = regexp.MustCompile(`writer \S+ → (\S+) \(epoch (\d+)\)`)

// commitOf is the last commit that made a server the writer: when it was told, and its epoch. 0: there is none.
func commitOf(all []line, writer string) (told time.Time, epoch int) {
	for _, l := range all {
		if l.Msg != "committed" {
			continue
		}
		for _, m := range failoverIn.FindAllStringSubmatch(l.Detail, -1) {
			if m[1] == writer {
				told = l.Time
				epoch, _ = strconv.Atoi(m[2]) // digits
			}
		}
	}
	return told, epoch
}

// reached is when an epoch was applied, or one after it.
func (r *trial) reached(after time.Time, number int) time.Time {
	return now(r.watch, func() time.Time {
		for _, c := range r.past {
			if n, err := strconv.Atoi(c.value); c.fact == epoch && c.at.After(after) && err == nil && number > 0 && n >= number {
				return c.at
			}
		}
		return time.Time{}
	})
}

// evictedAt is when poolwright found nobody left on another instance: as its entry says, which is written a moment later.
func (r *trial) evictedAt(after time.Time, writer string) time.Time {
	to, done, _ := strings.Cut(now(r.watch, func() string { return r.facts[eviction] }), " ")
	at, err := time.Parse(time.RFC3339Nano, done)
	if to != writer || err != nil || at.Before(after) {
		return time.Time{}
	}
	return at
}

// lastOf is when a fact last became what it is meant to be: a failover may go there and back.
func (r *trial) lastOf(after time.Time, fact, value string) time.Time {
	return now(r.watch, func() (last time.Time) {
		for _, c := range r.past {
			if c.at.After(after) && c.fact == fact && c.value == value {
				last = c.at
			}
		}
		return last
	})
}

// line is one of poolwright's log.
type line struct {
	Time        time.Time
	Msg, Detail string
}

// lines are those after the first bytes of the log.
func (r *trial) lines(known int) (all []line) {
	for text := range strings.Lines(r.p.Text()[known:]) {
		var l line
		if json.Unmarshal([]byte(text), &l) == nil {
			all = append(all, l)
		}
	}
	return all
}

func firstLine(all []line, is func(line) bool) time.Time {
	for _, l := range all {
		if is(l) {
			return l.Time
		}
	}
	return time.Time{}
}

func lastLine(all []line, is func(line) bool) (last time.Time) {
	for _, l := range all {
		if is(l) {
			last = l.Time
		}
	}
	return last
}

// restarts are how often a PgBouncer ended, and nobody had ended it, since this was asked last.
func (r *trial) restarts() (n int) {
	return now(r.watch, func() int {
		for _, pod := range r.pods() {
			for _, c := range pod.Status.ContainerStatuses {
				n += max(0, int(c.RestartCount)-r.restarted[pod.UID])
				r.restarted[pod.UID] = int(c.RestartCount)
			}
		}
		return n
	})
}

// uids are the pods that are there.
func (r *trial) uids() map[types.UID]bool {
	return now(r.watch, func() map[types.UID]bool {
		all := map[types.UID]bool{}
		for _, pod := range r.pods() {
			all[pod.UID] = true
		}
		return all
	})
}

// ask wants an answer of the database through each pod, ready or not.
func (r *trial) ask() (hung, refusing int) {
	var pods []*corev1.Pod
	for _, pod := range now(r.watch, r.pods) {
		if pod.DeletionTimestamp == nil {
			pods = append(pods, pod)
		}
	}
	answers := make(chan error)
	for _, pod := range pods {
		go func() { answers <- r.askAgain(net.JoinHostPort(pod.Status.PodIP, "6432")) }()
	}
	for range pods {
		switch err := <-answers; {
		case errors.As(err, new(*pgconn.PgError)):
			refusing++
		case err != nil:
			hung++
		}
	}
	return hung, refusing
}

// askAgain asks a PgBouncer for five seconds until it answers well, and returns the last answer that was bad.
func (r *trial) askAgain(address string) error {
	ctx, cancel := context.WithTimeout(r.t.Context(), 5*time.Second)
	defer cancel()
	var last error
	for {
		err := askOnce(ctx, address)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return cmp.Or(last, err)
		}
		last = err
		wait(ctx, 100*time.Millisecond)
	}
}

func askOnce(ctx context.Context, address string) error {
	conn, err := pgconn.Connect(ctx, dsn(address))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.Background()) }()
	_, err = conn.Exec(ctx, "SELECT 1").ReadAll()
	return err
}
