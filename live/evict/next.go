package evict

import (
	"maps"
	"slices"
	"time"

	"github.com/poolwright/poolwright/live/pooler"
)

// The times that are not for people to set.
const (
	// settleTime must pass between KILL and ENABLE: a login that was in flight when the pool was freed has failed by then.
	// Earlier, it goes on with freed memory.
	settleTime = time.Second
	// faultTime is how long a console may fail before its pod is deleted.
	faultTime = time.Second
	// deleteAgain is when a deletion that was refused is tried again.
	deleteAgain = 5 * time.Second
)

// View is what is known of one pod.
type View struct {
	Version pooler.Version
	// Databases that are listed, and those that are not and may be paused or disabled by us.
	Databases []pooler.Database
	Clients   []pooler.Client
	// Kept are the databases that were paused or disabled when nothing of ours could be on this pod: a person's.
	Kept map[string]pooler.Database
	// Disabled are the databases of which this very connection has answered a DISABLE: the process that it was said to is
	// the one that is spoken to.
	Disabled map[string]bool
	// Killed is when a KILL was last sent, also before the connection was lost; Opened when the pod began to be opened.
	Killed, Opened time.Time
	// Refusing is since when a database is disabled by us; zero: none is.
	Refusing time.Time
	// Stale are the databases that may have been used on this pod of the new writer before the eviction was seen, listed or not; false:
	// they have been told to reconnect.
	Stale map[string]bool
	// Failing is since when the console fails; the rest is what was known before. Zero: it works.
	Failing time.Time
	// Ours is true when a database that is disabled here may be ours.
	Ours bool
	// Old is true of a pod that was there when the eviction began: one that came later is not deleted.
	Old bool
	// Deleted is when its deletion was tried last; Gone is true when that was granted.
	Deleted time.Time
	Gone    bool
}

// Moment is what is known of the eviction.
type Moment struct {
	Now   time.Time
	Side  Side
	Mode  Mode
	Entry Entry
	// Known are the databases that the entry names: the only ones that are disabled.
	Known map[string]bool
	// Repair is true when nobody is to be cut and all that is ours is to be put right: a person paused the cluster, this process
	// ends, the instance is wanted as the writer again, or the mode is none.
	Repair bool
	// Began is when this process began to deal with it. Moved is since when the data plane is known to have moved; zero:
	// it is not.
	Began, Moved        time.Time
	Within, Propagation time.Duration
}

// Step is one thing to do on a pod.
type Step struct {
	Kind StepKind `json:"kind"`
	// Database that it is about; "" for KillClients and Delete.
	Database string `json:"database,omitempty"`
	// Clients are those that it cuts.
	Clients []pooler.Client `json:"-"`
}

// Move is what is to be done on one pod.
type Move struct {
	// Steps in their order; the first that fails ends the pass.
	Steps []Step
	// Opening is true when the pod is opened with these steps.
	Opening bool
	// Done is true when there is nothing to be done, now or later.
	Done bool
}

// Next is what is to be done on a pod. It is a pure function of what is seen.
func Next(v View, m Moment) Move {
	switch {
	case m.deletes(v):
		return Move{Steps: []Step{{Kind: Delete, Clients: v.Clients}}}
	case m.Side == Demoted && v.Gone:
		return Move{Done: true}
	case m.Side == Demoted && m.Mode == ModeDeletePods:
		return Move{Done: m.Repair || !v.Old}
	case !v.Failing.IsZero():
		return Move{Done: v.mayFail(m)}
	case m.Side == Promoted:
		return v.welcome(m)
	case m.Repair, v.isOpened(m):
		return v.repair(m)
	case m.Entry == Pending:
		return Move{}
	case m.Moved.IsZero() && m.Now.Sub(m.Began) >= m.Within:
		move := v.repair(m)
		move.Done = false
		return move
	case m.Entry == Refused:
		return v.cutOnly(m)
	case v.mayOpen(m):
		move := v.repair(m)
		move.Opening, move.Done = true, false
		return move
	}
	return v.drain(m)
}

// deletes reports whether the pod is to be deleted.
func (m Moment) deletes(v View) bool {
	switch {
	case m.Side != Demoted, m.Repair, m.Entry == Pending, !v.Old, v.Gone, !v.Deleted.IsZero() && m.Now.Sub(v.Deleted) < deleteAgain:
		return false
	case m.Mode == ModeDeletePods:
		return true
	}
	return m.Mode == ModeConsole && !v.Failing.IsZero() && m.Now.Sub(v.Failing) >= faultTime
}

// mayFail reports whether nobody waits for the pod's console: nobody is stuck behind it, and nothing of ours is.
func (v View) mayFail(m Moment) bool {
	if v.Ours || m.Now.Sub(v.Failing) < faultTime {
		return false
	}
	return m.Side == Promoted || !v.Old && v.Version == pooler.Version{}
}

// passed reports whether the margin after the move of the data plane is over, for a time.
func (m Moment) passed(at time.Time) bool {
	return !m.Moved.IsZero() && !at.Before(m.Moved.Add(m.Propagation))
}

// isOpened reports whether the pod has been opened since the data plane moved for good.
func (v View) isOpened(m Moment) bool { return !v.Opened.IsZero() && m.passed(v.Opened) }

// settled reports whether ENABLE may be said: no KILL was said just now.
func (v View) settled(m Moment) bool { return m.Now.Sub(v.Killed) >= settleTime }

// mayOpen reports whether the pod is to be opened: nobody is in, and nobody will come any more by the old way. Should clients
// outlast everything, the pod is opened all the same: readers have waited long enough.
func (v View) mayOpen(m Moment) bool {
	if !m.passed(m.Now) || !v.settled(m) {
		return false
	}
	return v.isClear() || !v.Refusing.IsZero() && m.Now.Sub(v.Refusing) >= m.Propagation+m.Within
}

// isClear reports whether every database has been disabled, over this connection, and nobody is left in any.
func (v View) isClear() bool {
	for _, d := range v.Databases {
		if !d.Disabled || !v.Disabled[d.Name] {
			return false
		}
	}
	return len(v.clients()) == 0
}

// clients are those of the databases that exist.
func (v View) clients() (found []pooler.Client) {
	for _, d := range v.Databases {
		found = append(found, v.clientsOf(d.Name)...)
	}
	return found
}

func (v View) clientsOf(database string) (found []pooler.Client) {
	for _, c := range v.Clients {
		if c.Database == database {
			found = append(found, c)
		}
	}
	return found
}

// repair puts right what is ours.
func (v View) repair(m Moment) Move {
	move := Move{Steps: v.resume(nil), Done: true}
	for _, d := range v.Databases {
		if !d.Disabled || v.Kept[d.Name].Disabled {
			continue
		}
		if v.settled(m) {
			move.Steps = append(move.Steps, Step{Kind: Enable, Database: d.Name})
		}
		move.Done = false
	}
	move.Done = move.Done && len(move.Steps) == 0
	return move
}

// resume lets every database go on that is paused by us, but for some.
func (v View) resume(but map[string]bool) (steps []Step) {
	for _, d := range v.Databases {
		if d.Paused && !v.Kept[d.Name].Paused && !but[d.Name] {
			steps = append(steps, Step{Kind: Resume, Database: d.Name})
		}
	}
	return steps
}

// welcome makes a pod of the new writer fit for its clients: what was ours is put right, and what the pooler
// learnt from the server while it was a standby is forgotten, once.
func (v View) welcome(m Moment) Move {
	move := v.repair(m)
	if m.Repair {
		return move
	}
	for _, name := range slices.Sorted(maps.Keys(v.Stale)) {
		if v.Stale[name] {
			move.Steps = append(move.Steps, Step{Kind: Reconnect, Database: name})
		}
	}
	move.Done = move.Done && len(move.Steps) == 0
	return move
}

// drain lets nobody in any more, then cuts who is in.
func (v View) drain(m Moment) (move Move) {
	for _, d := range v.Databases {
		if m.Known[d.Name] && (!d.Disabled || !v.Disabled[d.Name]) {
			move.Steps = append(move.Steps, Step{Kind: Disable, Database: d.Name})
		}
	}
	if len(move.Steps) > 0 { // who is in is looked at after nobody comes any more
		return move
	}
	if killsClients(v.Version) {
		return Move{Steps: append(cut(v.shut()), v.resume(nil)...)}
	}
	return v.kill()
}

// kill cuts clients by the names of their databases, as it must be before 1.24.
func (v View) kill() (move Move) {
	killed := map[string]bool{}
	for _, d := range v.Databases {
		clients := v.clientsOf(d.Name)
		if len(clients) == 0 || !v.Disabled[d.Name] {
			continue
		}
		killed[d.Name] = true
		move.Steps = append(move.Steps, Step{Kind: Kill, Database: d.Name, Clients: clients})
		if !v.Kept[d.Name].Paused {
			move.Steps = append(move.Steps, Step{Kind: Resume, Database: d.Name})
		}
	}
	move.Steps = append(move.Steps, v.resume(killed)...)
	return move
}

// shut are the clients of databases into which nobody comes any more.
func (v View) shut() (found []pooler.Client) {
	for _, c := range v.clients() {
		if v.Disabled[c.Database] {
			found = append(found, c)
		}
	}
	return found
}

// cutOnly cuts clients where nothing may be left behind: without DISABLE, and
// therefore only when they will come back elsewhere, and never by KILL.
func (v View) cutOnly(m Moment) (move Move) {
	if m.Moved.IsZero() {
		return Move{}
	}
	if killsClients(v.Version) {
		move.Steps = cut(v.clients())
	}
	move.Opening = m.passed(m.Now)
	return move
}

// cut cuts each client by its id.
func cut(clients []pooler.Client) []Step {
	if len(clients) == 0 {
		return nil
	}
	return []Step{{Kind: KillClients, Clients: clients}}
}

// killsClients reports whether a version knows KILL_CLIENT.
func killsClients(v pooler.Version) bool { return v.AtLeast(1, 24) }
