package cmd

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/poolwright/poolwright/gitsync"
	"github.com/poolwright/poolwright/live"
	"github.com/poolwright/poolwright/live/evict"
	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/render"
)

// ahead is the live side of a cluster: what Kubernetes shows of it, and who
// keeps its Services. A Reconciler without one works through Git alone.
type ahead interface {
	// Follow turns to the objects that d names, and says which those are, "" for none. Nothing is asked yet.
	Follow(d declaration) (objects string)
	// Sight is what Kubernetes shows; ok is false while it is not in reach.
	Sight() (s live.Sight, ok bool)
	// Words are what people said to the cluster there; ok is false until that has been read once.
	Words() (c live.Control, ok bool)
	// Want says where the Services belong, and returns at once.
	Want(w live.Want)
	// Changed receives after something that Sight shows has changed.
	Changed() <-chan struct{}
	// Rival is the process that keeps the clusters instead of this one; the zero rival when there is none.
	Rival() rival
	// Trouble is why it is not known who keeps the clusters, nil when it is.
	Trouble() error
}

// gitOnly is no live side.
type gitOnly struct{}

func (gitOnly) Follow(declaration) string        { return "" }
func (gitOnly) Sight() (s live.Sight, ok bool)   { return live.Sight{}, false }
func (gitOnly) Words() (c live.Control, ok bool) { return live.Control{}, false }
func (gitOnly) Want(live.Want)                   {}
func (gitOnly) Changed() <-chan struct{}         { return nil }
func (gitOnly) Rival() rival                     { return rival{} }
func (gitOnly) Trouble() error                   { return nil }

// fromKubernetes adds to the evidence what Kubernetes shows and people said there.
func (e evidence) fromKubernetes(s live.Sight) evidence {
	e = e.fromPeople(s.Control)
	e.Ready, e.Applied, e.Order, e.Spent = readyMembers(s), s.Applied(), orderOf(s.Order()), s.SpentEpoch()
	return e
}

// fromPeople adds what people said, which is known before all of Kubernetes is, or while something else of it may not be seen.
func (e evidence) fromPeople(c live.Control) evidence {
	e.Order = orderOf(c.Order)
	if p := c.Pause; p != nil {
		e.PausedBy = p.String()
	}
	if r := c.Resume; r != nil {
		e.Resumed = r.At
	}
	if r := c.Release; r != nil {
		e.Spent = r.Epoch
	}
	return e
}

func orderOf(o *live.Order) *plan.Order {
	if o == nil {
		return nil
	}
	return &plan.Order{Writer: o.Writer, Reason: o.Reason, By: o.By, Until: o.Until}
}

// recordsOf are those of overrides, none when Kubernetes cannot be seen.
func recordsOf(s live.Sight, ok bool) []live.Record {
	if !ok {
		return nil
	}
	return s.Records()
}

// reach is how far the live side has come: the epoch that the tool has applied, and that of the override; 0 when not known, or for none.
type reach struct{ applied, override uint64 }

func (e evidence) reach() reach {
	r := reach{applied: e.Applied}
	for _, known := range e.Known {
		r.override = max(r.override, known.Epoch)
	}
	return r
}

// readyMembers is never nil where pods can be seen: nobody is ready then, which is not the same as not knowing.
func readyMembers(s live.Sight) map[string]int {
	if s.Ready == nil {
		return nil
	}
	return maps.Clone(s.Ready)
}

// lead tells the live side where the Services belong by this decision.
func (r *Reconciler) lead(d declaration, declared plan.State, head string, decided plan.Plan) {
	w := wantOf(d, declared, head, decided, r.latest.evidence)
	w.Applied, w.Read = r.git.reach.applied, r.git.readSince()
	r.hand(w)
}

// hand gives the live side its want, and keeps it for leadOn.
func (r *Reconciler) hand(w live.Want) {
	r.want = w
	r.Live.Want(w)
}

// leadOn tells the live side, where nothing can be decided, that what stands is to stand: with its last want it would go on with a decision of
// the past, and hear of no pause.
func (r *Reconciler) leadOn() {
	if s, ok := r.Live.Sight(); ok && r.latest.Metadata.Name != "" {
		r.hand(r.want.Held(s.Records(), pausedText(r.latest.declaration, r.heard(evidence{}))))
	}
}

// wantOf is a decision as the live side needs it. With nothing declared there is
// nothing to keep but what a record says.
func wantOf(d declaration, declared plan.State, head string, decided plan.Plan, e evidence) live.Want {
	w := live.Want{Hold: true, Known: e.Known, Paused: pausedText(d, e)}
	if declared.Epoch == 0 {
		return w
	}
	w.Epoch, w.Declared, w.Head = decided.Want.Epoch, declared.Epoch, head
	w.From, w.To, w.Reason = declared.Writer, decided.Want.Writer, codesText(decided.Reasons)
	w.Off = !d.PatchesServices()
	w.Begin = decided.Action == plan.Failover && decided.Want.Writer != "" && !w.Off
	w.Hold = decided.Action == plan.Hold && !agrees(declared, decided, e) || awaits(decided, e)
	if o := e.Order; o != nil && o.Writer == w.To && w.Begin {
		w.By, w.Until = cmp.Or(o.By, "a person"), o.Until
	}
	chosen, said := render.Select(d.Metadata.Name, decided.Want), render.Select(d.Metadata.Name, declared)
	if chosen.Writer != nil {
		w.Roles = append(w.Roles, live.Target{Role: live.Writer, Select: chosen.Writer, Declared: said.Writer})
	}
	w.Roles = append(w.Roles, live.Target{Role: live.Reader, Select: chosen.Reader, Declared: said.Reader})
	return w
}

// agrees reports whether a hold is none about the writer: the databases name the declared one, and something else has to wait.
func agrees(declared plan.State, decided plan.Plan, e evidence) bool {
	writer, ok := e.Topology.Writer()
	waits := slices.ContainsFunc(decided.Reasons, func(r plan.Reason) bool { return r.Code == plan.Batching || r.Code == plan.RevertedByPerson })
	return waits && ok && e.Topology.Trusted() && writer.Name == declared.Writer && e.Order == nil
}

// awaits reports whether the databases name a writer that has no overlay yet: which one to serve is decided when it has.
func awaits(decided plan.Plan, e evidence) bool {
	writer, ok := e.Topology.Writer()
	return decided.Action == plan.Publish && ok && e.Topology.Trusted() && writer.Name != decided.Want.Writer && e.Order == nil
}

func pausedText(d declaration, e evidence) string {
	if d.Cluster.Spec.Paused {
		return "by spec.paused of the Cluster file"
	}
	return e.PausedBy
}

// codesText names what was done, for the record on the Services.
func codesText(reasons []plan.Reason) string {
	var words []string
	for _, r := range reasons {
		words = append(words, strings.TrimSpace(r.Code.String()+" "+r.Instance))
	}
	return strings.Join(words, ", ")
}

// leadWithoutGit decides on what is applied, while Git has not been read since the
// start: the Services do not wait for a Git server. Nothing of it is remembered.
func (r *Reconciler) leadWithoutGit(d declaration) {
	s, ok := r.Live.Sight()
	if !ok {
		return
	}
	e := r.latest.evidence
	declared, err := render.ReadLive(d.Metadata.Name, s.Topology)
	if err != nil { // there is none, or it is broken: what stands, stands
		r.hand(live.Want{Hold: true, Known: e.Known, Paused: pausedText(d, e)})
		return
	}
	saw := plan.Observation{Topology: e.Topology, Declared: plan.Declared{State: declared, LastEpoch: e.Spent}, Ready: e.Ready, Order: e.Order, Window: e.Window}
	decided, _ := plan.Decide(e.Memory, saw, rulesOf(d, e), e.Now)
	w := wantOf(d, declared, "", decided, e)
	w.Declared = 0
	r.hand(w)
}

// liveSide is Kubernetes as one cluster needs it. Its Keeper is made anew when
// the declaration names other objects, and not made where a person wants Git only.
type liveSide struct {
	point   *standpoint
	world   outside
	ears    func(cluster string) ears
	fast    *atomic.Bool    // whether a failover window is open
	ctx     context.Context // ends the keepers
	changed chan struct{}
	wanted  chan struct{} // there is a new want

	declared string
	stop     context.CancelFunc
	all      sync.WaitGroup

	mu     sync.Mutex   // guards what follows; all else is the Reconciler's
	keeper *live.Keeper // nil: none
	escort *escort
	want   live.Want
}

// Follow makes a new Keeper if the declaration names other objects.
func (l *liveSide) Follow(d declaration) (objects string) {
	names := namesOf(d.Cluster)
	key := strings.Join([]string{names.Namespace, names.Cluster, names.Services[live.Writer], names.Services[live.Reader], d.Cluster.Spec.GitOps.ArgoCDNamespace}, "\n")
	if !d.PatchesServices() && !l.isAhead() {
		key = ""
	}
	declared := key
	if key != "" {
		declared += "\n" + escortKey(d)
	}
	if declared == l.declared {
		return key
	}
	l.abandon(names)
	l.end()
	if l.declared = declared; key != "" {
		l.begin(d, names)
	}
	return key
}

// isAhead reports whether an override is under way, which is handed back before a person's wish to leave the Services to Git is followed.
func (l *liveSide) isAhead() bool {
	s, ok := l.Sight()
	return ok && s.Record() != nil
}

// abandon takes what is ours off Services that the declaration names no longer: nobody will look at them again, and the GitOps tool
// prunes nothing that is frozen. What cannot be done now stays on them.
func (l *liveSide) abandon(next live.Names) {
	s, ok := l.Sight()
	if !ok || !l.holds() {
		return
	}
	ctx, cancel := context.WithTimeout(l.ctx, siteTimeout)
	defer cancel()
	for _, w := range live.HandBack(s) {
		if w.Role != "" && (next.Namespace != s.Names.Namespace || next.Services[w.Role] != w.Name) {
			_ = live.Do(ctx, l.point.kube.Interface, s.Names, w)
		}
	}
}

func (l *liveSide) begin(d declaration, names live.Names) {
	ctx, stop := context.WithCancel(l.ctx)
	kube, now, tell := l.point.kube, l.world.Now, l.aloud(l.ears(names.Cluster))
	keeper := live.New(live.Config{
		Names: names, Client: kube.Interface, Dynamic: kube.Dynamic, ArgoNamespace: d.Cluster.Spec.GitOps.ArgoCDNamespace,
		Holds: l.holds, Now: now, Tell: tell.keeping,
	})
	escort := l.world.escort(d, evict.Config{Names: names, Client: kube.Interface, Pods: keeper.Pods, Holds: l.holds, Now: now}, kube.Metadata, l.fast, tell)
	l.mu.Lock()
	l.keeper, l.escort, l.stop, l.want = keeper, escort, stop, live.Want{}
	l.mu.Unlock()
	l.all.Go(func() { keeper.Run(ctx) })
	l.all.Go(func() { escort.run(ctx) })
	l.all.Go(func() { l.pass(ctx, keeper, escort) })
}

// pass hands on what changed, over the life of one keeper.
func (l *liveSide) pass(ctx context.Context, keeper *live.Keeper, escort *escort) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.wanted:
		case <-keeper.Changed():
			ping(l.changed)
		}
		if s, ok := keeper.Sight(); ok {
			l.mu.Lock()
			want := l.want
			l.mu.Unlock()
			escort.see(s, want)
		}
	}
}

// wake looks again at once, everywhere: the holder has changed.
func (l *liveSide) wake() {
	l.mu.Lock()
	if l.keeper != nil {
		l.keeper.Wake()
		l.escort.runner.Wake()
	}
	l.mu.Unlock()
	ping(l.changed)
}

// ping says in a channel of one place that something has happened.
func ping(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// end stops the keeper and waits for what it has under way.
func (l *liveSide) end() {
	if l.keeper == nil {
		return
	}
	l.stop()
	l.all.Wait()
	l.mu.Lock()
	l.keeper, l.escort = nil, nil
	l.mu.Unlock()
}

func (l *liveSide) holds() bool { return l.point.holder == nil || l.point.holder.Holds() }

// Sight is the keeper's.
func (l *liveSide) Sight() (live.Sight, bool) {
	if l.keeper == nil {
		return live.Sight{}, false
	}
	return l.keeper.Sight()
}

// Words are the keeper's.
func (l *liveSide) Words() (live.Control, bool) {
	if l.keeper == nil {
		return live.Control{}, false
	}
	return l.keeper.Control()
}

// Want is the keeper's.
func (l *liveSide) Want(w live.Want) {
	if l.keeper == nil {
		return
	}
	l.mu.Lock()
	l.want = w
	l.mu.Unlock()
	l.keeper.Want(w)
	ping(l.wanted)
}

// Changed outlives the keepers.
func (l *liveSide) Changed() <-chan struct{} { return l.changed }

// Rival is who holds the Lease instead.
func (l *liveSide) Rival() rival {
	if h := l.point.holder; h != nil {
		return rival{h.Other(), h.Lease(), h.OthersClusters()}
	}
	return rival{}
}

// Trouble is what the last request for the Lease came to.
func (l *liveSide) Trouble() error {
	if l.point.holder == nil {
		return nil
	}
	if err := l.point.holder.Err(); err != nil {
		return fmt.Errorf("asking for the Lease: %w", err)
	}
	return nil
}

// headOf is the commit of a base, "" for none.
func headOf(base *gitsync.Base) string {
	if base == nil {
		return ""
	}
	return base.Head
}
