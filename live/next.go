package live

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Next is what is to be done about a cluster's Services, and how they stand. It is
// a pure function; the same sight and want give the same verdict, so that a
// restart at any point goes on from there.
func Next(s Sight, w Want, now time.Time) Verdict {
	l := look{sight: s, want: w}
	l.readRecords()
	l.aim(now)
	switch {
	case w.Paused != "":
		l.verdict.Phase = Blocked
		l.verdict.Record = l.strongest
		l.say(PausedByPerson, l.cluster(), w.Paused, "poolwright resume --cluster "+s.Names.Cluster)
		l.ahead()
	case l.takenBack && (w.Hold || len(w.Roles) == 0):
		l.handBack()
	case l.standing:
		l.override()
	default:
		l.rest()
	}
	slices.SortStableFunc(l.verdict.Conditions, func(a, b Condition) int { return cmp.Compare(a.Code, b.Code) })
	return l.verdict
}

// look is one pass of Next.
type look struct {
	sight Sight
	want  Want
	// on is the record that each Service carries itself; strongest the one that counts, of all that were read.
	on        map[Role]*Record
	records   []Record
	strongest *Record
	// target is where the Services belong. standing is true when they belong there ahead of Git.
	target   Record
	standing bool
	// takenBack is true when a person's `release` came after the strongest record.
	takenBack bool
	verdict   Verdict
}

// roles are the roles of the cluster, in the order in which they are moved.
func (l *look) roles() (found []Role) {
	for _, r := range []Role{Writer, Reader} {
		if _, ok := l.sight.Names.Services[r]; ok {
			found = append(found, r)
		}
	}
	return found
}

// readRecords finds the newest record: on a Service, or its mirror.
func (l *look) readRecords() {
	l.on = map[Role]*Record{}
	for _, role := range l.roles() {
		svc := l.sight.Services[role]
		if svc == nil || svc.Annotations[AnnotationOverride] == "" || !l.sight.Names.Own(svc) {
			continue
		}
		r, err := ParseRecord(svc.Annotations[AnnotationOverride])
		if err == nil {
			err = r.isOf(l.sight.Names.Cluster)
		}
		if err != nil {
			l.say(BadRecord, l.object(role), err.Error(), "")
			continue
		}
		l.on[role] = &r
		l.consider(r)
	}
	switch {
	case l.sight.ControlIsForeign():
		l.say(NotOurs, l.control(), l.sight.ControlErr.Error(), "rename that ConfigMap: poolwright keeps its own under this name")
	case l.sight.ControlErr != nil:
		l.say(BadRecord, l.control(), l.sight.ControlErr.Error(), "kubectl -n "+l.sight.Names.Namespace+" edit configmap "+ControlName(l.sight.Names.Cluster))
	}
	if m := l.sight.Control.Override; m != nil {
		if err := m.isOf(l.sight.Names.Cluster); err != nil {
			l.say(BadRecord, l.control(), err.Error(), "")
		} else {
			l.consider(*m)
		}
	}
	l.takenBack = l.strongest != nil && l.sight.Control.Release.takes(*l.strongest)
}

// consider takes a record that is newer than the one known.
func (l *look) consider(r Record) {
	r.Froze = false
	l.records = append(l.records, r)
	if s := l.strongest; s == nil || r.Epoch > s.Epoch || r.Epoch == s.Epoch && r.At.After(s.At) {
		l.strongest = &r
	}
}

// aim says where the Services belong, and whether that is ahead of Git. A record that was taken back stands against nothing.
func (l *look) aim(now time.Time) {
	r, w := l.strongest, l.want
	l.standing = r != nil || l.begins() || l.lags()
	if r != nil && !l.takenBack && w.yieldsTo(*r) {
		l.target = *r
		return
	}
	l.target = Record{Version: recordVersion, Epoch: w.Epoch, From: w.From, To: w.To, At: now.UTC().Truncate(time.Second), Reason: w.Reason, By: w.By, Until: w.Until, Select: map[Role]map[string]string{}}
	for _, t := range w.Roles {
		l.target.Select[t.Role] = t.Select
	}
	if r == nil {
		return
	}
	overruled := r.Epoch > w.Epoch && !sameSelect(r.Select, l.target.Select)
	if l.target.At = r.At; !l.takenBack && (w.isOlderThan(*r) || overruled) {
		// Or whose Git is newer would take it for less than what it has, the tool for what it has applied, and a doubt before the last copy is
		// gone the overruled one for what stands.
		l.target.Epoch = r.Epoch + 1
	}
	if !l.takenBack && sameSelect(r.Select, l.target.Select) { // the words of the decision stay with it
		l.target.From, l.target.To, l.target.Reason, l.target.By, l.target.Until = r.From, r.To, r.Reason, r.By, r.Until
	}
}

// begins reports whether the decision moves the Services ahead of Git. One that was made before a newer one was applied, by somebody else, does not.
func (l *look) begins() bool { return l.want.Begin && l.want.Epoch >= l.sight.SpentEpoch() }

func sameSelect(a, b map[Role]map[string]string) bool { return maps.EqualFunc(a, b, maps.Equal) }

// lags reports whether Git names another writer than a Service that the tool has
// not brought to that commit: a failover that is not live, because its patch was
// lost between the decision and now. One that was brought to an older commit since Git was read may be at
// what Git says by now: a person's revert.
func (l *look) lags() bool {
	t, ok := l.want.target(Writer)
	svc := l.sight.Services[Writer]
	if !ok || svc == nil || l.want.Off || l.want.Hold || l.want.Declared == 0 || l.want.Epoch != l.want.Declared {
		return false
	}
	receipt := ReceiptOf(svc)
	return instanceOf(OurKeys(svc.Spec.Selector)) != instanceOf(t.Select) && receipt < l.want.Epoch && receipt == l.want.Applied
}

// override moves, protects and hands back.
func (l *look) override() {
	if l.strongest == nil && l.nothingToMove() {
		return // nothing exists that could be moved
	}
	record := l.target
	l.verdict.Record = &record
	l.ahead()
	if !l.mayStart() {
		l.verdict.Phase = Blocked
		return
	}
	done := true
	for _, role := range l.roles() {
		if svc, ok := l.mine(role); ok {
			done = l.service(role, svc) && done
		} else if away(l.sight.Services[role]) { // it comes back with what the tool has applied last
			done = l.sight.Receipt >= l.target.Epoch && l.isDeclared() && done
		}
	}
	l.verdict.Phase = l.phase(done)
	l.mirror(done)
	l.nudge()
}

// away reports whether a Service does not exist, or is about to.
func away(svc *corev1.Service) bool { return svc == nil || svc.DeletionTimestamp != nil }

// nothingToMove reports whether no role Service exists that is ours.
func (l *look) nothingToMove() bool {
	for _, role := range l.roles() {
		if _, ok := l.mine(role); ok {
			return false
		}
	}
	return true
}

// mayStart reports whether the new writer can take the traffic. Only a first
// move asks: what has been moved is put back in any case.
func (l *look) mayStart() bool {
	svc := l.sight.Services[Writer]
	to := instanceOf(l.target.Select[Writer])
	if svc == nil || to == "" || l.wasThere(Writer) || l.target.By != "" || l.isAt(Writer, svc) {
		return true
	}
	from := instanceOf(OurKeys(svc.Spec.Selector))
	switch {
	case l.sight.Ready == nil:
		l.say(PodsUnseen, l.object(Writer), "the pods of "+l.target.To+" cannot be seen, so it is not known whether one is ready", "poolwright gitops-config --flux (the Role at its end)")
		return false
	case l.sight.Ready[to] == 0 && l.sight.Ready[from] > 0:
		l.say(TargetNotReady, l.object(Writer), l.target.To+" has no ready pod", "kubectl -n "+l.sight.Names.Namespace+" get pods -l "+podsOf(to))
		return false
	}
	return true
}

// service decides one Service, and reports whether nothing of ours is left on it.
func (l *look) service(role Role, svc *corev1.Service) (done bool) {
	l.tellOwner(role, svc)
	applied := ReceiptOf(svc) >= l.target.Epoch && l.isDeclared()
	switch {
	case len(l.target.Select[role]) == 0: // to move it would leave it without a selector
		l.say(BadRecord, l.object(role), "the override's record does not say what it selects; it is left as it is", "poolwright status --cluster "+l.sight.Names.Cluster)
		return !l.hasTraces(svc)
	case !l.isAt(role, svc):
		l.move(role, svc)
	case applied && !l.hasTraces(svc):
		return true
	case applied:
		l.write(Write{Kind: Release, Role: role, Patch: releasePatch(svc, l.on[role])})
	case l.on[role] == nil && !l.needsRecord(role):
		return true
	case l.on[role] == nil || !sameRecord(*l.on[role], l.target):
		l.write(Write{Kind: Override, Role: role, Patch: l.movePatch(role, svc)})
	case l.sight.Receipt < l.target.Epoch || !l.isDeclared():
		// the tool has not come to our commit
	case l.on[role].Froze && isFrozen(svc):
		l.write(Write{Kind: Unfreeze, Role: role, Patch: unfreezePatch(svc, *l.on[role])})
	case isFrozen(svc):
		l.say(FrozenByPerson, l.object(role), "it is frozen for Flux, and not by poolwright: Git's selector is not applied", "kubectl -n "+svc.Namespace+" annotate service "+svc.Name+" "+annotationFreeze+"-")
	}
	return false
}

// move puts a Service where it belongs.
func (l *look) move(role Role, svc *corev1.Service) {
	w := Write{Kind: Override, Role: role, Patch: l.movePatch(role, svc)}
	if l.wasThere(role) {
		w.Kind, w.Reverter = Reassert, selectorManager(svc)
		l.say(Reverted, l.object(role), w.Reverter+" put it back during the override", revertHint(OwnerOf(svc)))
	}
	l.write(w)
}

// wasThere reports whether the Service has been moved to the target before: it
// says so itself, or the mirror does, which is written after both.
func (l *look) wasThere(role Role) bool {
	for _, r := range []*Record{l.on[role], l.sight.Control.Override} {
		if r != nil && maps.Equal(r.Select[role], l.target.Select[role]) {
			return true
		}
	}
	return false
}

// movePatch is the patch that puts a Service at the target and records it.
func (l *look) movePatch(role Role, svc *corev1.Service) []Op {
	r := l.target
	freeze := OwnerOf(svc).Tool == Flux && (l.sight.Receipt < r.Epoch || !l.isDeclared()) && !isFrozen(svc)
	r.Froze = freeze || isFrozen(svc) && (weFroze(svc) || l.on[role] != nil && l.on[role].Froze)
	return overridePatch(svc, r, r.Select[role], freeze)
}

// needsRecord reports whether a Service that is where it belongs must be
// protected: Git is known to say something else.
func (l *look) needsRecord(role Role) bool {
	t, ok := l.want.target(role)
	return ok && t.Declared != nil && !maps.Equal(t.Declared, l.target.Select[role])
}

// isDeclared reports whether Git says the target, as far as Git is known: its epoch is there or has been passed. At that very epoch Git may
// have another writer: two decided on one base.
func (l *look) isDeclared() bool {
	said, ok := l.want.target(Writer)
	another := ok && said.Declared != nil && !maps.Equal(said.Declared, l.target.Select[Writer])
	switch l.want.Declared {
	case 0: // what is applied is what is known of Git
		return !another || l.sight.Receipt != l.target.Epoch
	case l.target.Epoch:
		return !another
	}
	return l.want.Declared > l.target.Epoch && !another
}

// phase names how far the hand-over is, before the writes of this verdict.
func (l *look) phase(done bool) Phase {
	frozenByUs, behind := false, false
	for _, role := range l.roles() {
		svc, ok := l.mine(role)
		if !ok {
			continue
		}
		if !l.isAt(role, svc) {
			return Overriding
		}
		frozenByUs = frozenByUs || isFrozen(svc)
		behind = behind || ReceiptOf(svc) < l.target.Epoch
	}
	switch {
	case done:
		return Idle
	case !l.isDeclared() || l.want.Declared == 0 && l.sight.Receipt < l.target.Epoch:
		return Overriding
	case !behind:
		return Applied
	case l.sight.Receipt < l.target.Epoch:
		return Committed
	case frozenByUs:
		return Seen
	}
	return Unfrozen
}

// mirror keeps the copy of the record, and removes it at the end.
func (l *look) mirror(done bool) {
	m := l.sight.Control.Override
	switch {
	case l.sight.ControlIsForeign():
		// it is not written
	case done && m != nil:
		l.verdict.Writes = append(l.verdict.Writes, Write{Kind: Forget, Name: ControlName(l.sight.Names.Cluster)})
	case !done && l.verdict.Phase != Applied && (m == nil || !sameRecord(*m, l.target)):
		record := l.target
		l.verdict.Writes = append(l.verdict.Writes, Write{Kind: Mirror, Name: ControlName(l.sight.Names.Cluster), Record: &record})
	}
	if done {
		l.verdict.Record = nil
	}
}

// nudge hurries the tool once Git has the commit, and once more after the freeze is gone.
func (l *look) nudge() {
	if l.want.Head == "" || l.want.Declared < l.target.Epoch {
		return
	}
	for _, role := range l.roles() {
		svc, ok := l.mine(role)
		if !ok || OwnerOf(svc).Tool == NoTool {
			continue
		}
		switch l.verdict.Phase {
		case Committed:
			l.verdict.Nudge = &Nudge{Owner: OwnerOf(svc), Key: l.want.Head}
		case Unfrozen:
			l.verdict.Nudge = &Nudge{Owner: OwnerOf(svc), Key: l.want.Head + nudgeUnfrozen}
		}
		return
	}
}

// nudgeUnfrozen ends the key of the nudge after the freeze is gone.
const nudgeUnfrozen = " unfrozen"

// rest looks at Services that are Git's: traces of ours go, drift is told. What a person moved with
// the lines that `status` prints stays: there is no record on it.
func (l *look) rest() {
	for _, role := range l.roles() {
		svc, ok := l.mine(role)
		if !ok {
			continue
		}
		t, known := l.want.target(role)
		switch {
		case known && !l.want.Hold && svc.Annotations[AnnotationOverride] != "": // a record that cannot be read: what it protected is not known
			l.write(Write{Kind: Release, Role: role, Patch: releasePatch(svc, l.on[role])})
		case !known || l.want.Hold || ReceiptOf(svc) < l.want.Declared:
			// Git has not been read, or the tool is about to come
		case !maps.Equal(OurKeys(svc.Spec.Selector), t.Select):
			l.say(Drifted, l.object(role), selectorManager(svc)+" changed it; Git's tool has not put it back", "kubectl -n "+svc.Namespace+" get service "+svc.Name+" -o yaml --show-managed-fields")
		case l.hasTraces(svc):
			l.write(Write{Kind: Release, Role: role, Patch: releasePatch(svc, l.on[role])})
		}
	}
	l.tellReceipt()
}

// ahead tells that the Services are ahead of Git, and since when.
func (l *look) ahead() {
	if r := l.strongest; r != nil {
		moved := r.From + " → " + r.To
		if r.From == r.To {
			moved = r.To
		}
		l.say(AheadOfGit, l.cluster(), fmt.Sprintf("since %s: writer %s", r.At.Format(time.RFC3339), moved), "poolwright status --cluster "+l.sight.Names.Cluster)
		l.tellReceipt()
	}
}
