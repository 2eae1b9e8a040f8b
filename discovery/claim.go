package discovery

import (
	"maps"
	"slices"
	"strconv"
)

// findWriter is rules 6 to 10.
func (j *judge) findWriter() {
	claims := j.claims()
	settle := j.settleByViews
	if j.seen.Provider == Postgres {
		settle = j.settleByTimeline
	}
	switch {
	case len(claims) > 0:
		settle(claims)
	case j.seen.Mode == Regional:
		j.nobody()
	}
	if j.writer != "" && j.seen.Mode == GlobalSecondary {
		j.note(UnexpectedWriter, j.writer, "set mode regional to have a Writer Service")
	}
}

// claims is rule 6: who says so itself. Sorted.
func (j *judge) claims() []string {
	var claims []string
	for name, w := range j.heard {
		switch {
		case w.InRecovery:
		case w.ReadOnly && w.DefaultReadOnly:
			// A setting of the server, the database or the role. What a session of poolwright cannot write, another one
			// probably cannot either (a green cluster, maintenance); that only the role is set so cannot be told from here.
			j.doubt(MixedAnswer, name, "not in recovery, but read-only: default_transaction_read_only is on for the server, the database or the role used")
		case w.ReadOnly:
			j.doubt(MixedAnswer, name, "not in recovery, but read-only")
		case j.seen.Provider == Postgres:
			claims = append(claims, name)
		case len(w.flaws) > 0: // a doubt by rule 11
		case w.names(name):
			claims = append(claims, name)
		default:
			j.doubt(MixedAnswer, name, "not in recovery and writable, but its own view does not call it the writer")
		}
	}
	slices.Sort(claims)
	return claims
}

// settleByTimeline is rule 7.
func (j *judge) settleByTimeline(claims []string) {
	newest := uint32(0)
	for _, w := range j.heard {
		newest = max(newest, w.Timeline)
	}
	unknown := func(name string) bool { return j.heard[name].Timeline == 0 }
	onNewest := func(name string) bool { return j.heard[name].Timeline == newest }
	standing := claims
	switch {
	case slices.ContainsFunc(claims, unknown):
	default:
		standing = slices.DeleteFunc(slices.Clone(claims), func(name string) bool { return !onNewest(name) })
	}
	j.decide(claims, standing)
	if len(standing) == 0 {
		for _, name := range claims {
			j.doubt(NoWriter, name, "claims it on timeline "+timeline(j.heard[name])+", but another node is on "+strconv.Itoa(int(newest)))
		}
	}
}

func timeline(w *witness) string { return strconv.FormatUint(uint64(w.Timeline), 10) }

// settleByViews is rules 8 and 9.
func (j *judge) settleByViews(claims []string) {
	standing := claims
	if len(claims) > 1 {
		standing = j.elected(claims)
	}
	rivals := map[string]string{}
	if len(standing) == 1 {
		rivals = j.rivals(standing[0], claims)
	}
	if len(rivals) == 0 {
		j.decide(claims, standing)
		return
	}
	j.doubt(TwoWriters, standing[0], "says so itself, but not alone")
	for rival, by := range rivals {
		j.doubt(TwoWriters, rival, "named by "+by+", gave no answer itself ("+j.probe(rival).String()+")")
	}
}

// decide takes the only standing claim; several are a doubt each.
func (j *judge) decide(claims, standing []string) {
	if len(standing) == 1 {
		j.writer = standing[0]
	}
	for _, name := range claims {
		switch {
		case len(standing) > 1 && slices.Contains(standing, name):
			j.doubt(TwoWriters, name, list(slices.Clone(standing))+" all say so themselves"+j.silence())
		case name != j.writer:
			j.losers[name] = true
			j.note(StaleClaim, name, "its claim to be the writer did not stand")
		}
	}
}

// elected is rule 8: the claims that stand, which is one only when every other view names it currently.
func (j *judge) elected(claims []string) []string {
	votes := map[string]bool{}
	for _, v := range j.views() {
		if slices.Contains(claims, v.Name) {
			continue
		}
		named, current := v.named(), v.current()
		if len(named) != 1 || len(current) != 1 {
			return claims
		}
		votes[named[0].ServerID] = true
	}
	elected := slices.Collect(maps.Keys(votes))
	if len(elected) != 1 || !slices.Contains(claims, elected[0]) {
		return claims
	}
	return elected
}

// rivals is rule 9: whom the remaining views currently name besides the claimant although it could be running unheard, and one
// who names it.
func (j *judge) rivals(claimant string, claims []string) map[string]string {
	rivals := map[string]string{}
	for _, v := range j.views() {
		if v.Name != claimant && slices.Contains(claims, v.Name) {
			continue
		}
		for _, r := range v.current() {
			if r.ServerID != claimant && j.couldRun(r.ServerID) {
				rivals[r.ServerID] = max(rivals[r.ServerID], v.Name)
			}
		}
	}
	return rivals
}

// couldRun reports whether a writer could be at work there without our hearing of it.
func (j *judge) couldRun(name string) bool {
	switch j.probe(name) {
	case None, Unreachable, StartingUp:
		return false
	default:
		return true
	}
}

// nobody is rule 10: nobody says so itself.
func (j *judge) nobody() {
	named := map[string][]string{}
	for _, v := range j.views() {
		for _, r := range v.named() {
			named[r.ServerID] = append(named[r.ServerID], v.Name)
		}
	}
	for name, by := range named {
		why := "in recovery itself"
		switch w := j.heard[name]; {
		case w == nil:
			why = "gave no answer itself (" + j.probe(name).String() + ")"
		case !w.InRecovery:
			continue // its mixed answer is a doubt of its own
		}
		j.doubt(WriterUnproven, name, "named by "+list(by)+", "+why)
	}
	if len(named) == 0 {
		j.doubt(NoWriter, "", "nobody says to be the writer"+j.silence())
	}
}
