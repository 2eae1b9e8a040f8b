package cmd

import (
	"context"
	"fmt"
	"time"

	"github.com/poolwright/poolwright/live"
)

// ReleaseCmd hands the role Services back to Git by a person's word.
type ReleaseCmd struct {
	SiteFlags `embed:""`
	Output    `embed:""`
	Force     bool `help:"Also when what is applied from Git is older than the override."`
}

// Help is shown by --help.
func (ReleaseCmd) Help() string {
	return "It takes the order and the override back: what is poolwright's goes off the Services, that is the annotation, the freeze, the entry in managedFields " +
		"and the mirrored record. A poolwright that runs does this by itself once Git's commit is applied; this is for when none does, or to give an override up. " +
		"One that runs puts the Services back to what Git says at once; without one they stay until your GitOps tool applies Git. It decides again by what the " +
		"databases say: if they disagree with Git, `pause` first.\n\n" +
		example("poolwright release --cluster example-pg -n databases")
}

// Run hands back.
func (c ReleaseCmd) Run(ctx context.Context, std *Stdio) error {
	s, err := c.reach(ctx)
	if err != nil {
		return err
	}
	r := release{site: s}
	err = r.run(ctx, c.Force, time.Now())
	if r.said() {
		if wrote := c.write(std.Out, r.view(), r.text); wrote != nil {
			return wrote
		}
	}
	return err
}

// release is one `release`: what was found, what was done and what is left.
type release struct {
	site
	// before and after are the sights at its beginning and its end.
	before, after live.Sight
	// unsaid is why the word could not be written, nil when it was, or none was needed.
	unsaid error
	// wrote are the writes of this command; what is missing a poolwright that runs has done.
	wrote []live.Write
	done  bool
}

// said reports whether there is something to tell.
func (r *release) said() bool { return r.done || r.unsaid != nil || len(r.wrote) > 0 }

func (r *release) run(ctx context.Context, force bool, now time.Time) error {
	var err error
	if r.before, err = r.look(ctx); err != nil {
		return err
	}
	r.after = r.before
	if r.idle() {
		r.done = true
		return nil
	}
	if behind := r.behind(r.before); behind != "" && !force {
		return exitf(ExitRefused, r.command("release", "--force"), "releasing the Services of %s: %s", r.names.Cluster, behind)
	}
	if err := r.takeBack(ctx, now); err != nil {
		return err
	}
	if err := r.leave(ctx); err != nil {
		return err
	}
	if err := r.handBack(ctx); err != nil {
		return err
	}
	r.done = true
	return r.contested()
}

// idle reports whether there was nothing to take back.
func (r *release) idle() bool {
	return r.before.Control.Order == nil && len(live.HandBack(r.before)) == 0
}

// takeBack writes the word: the order is gone, and every override up to now. Who may not write it can release all the same.
func (r *release) takeBack(ctx context.Context, now time.Time) error {
	w, by := word{live.KeyOrder: nil}, r.caller(ctx, now)
	if epoch := r.before.LastEpoch(); epoch > 0 {
		w[live.KeyRelease] = live.Recall{Epoch: epoch, By: by.name, At: whole(by.now)}
	}
	bounded, cancel := context.WithTimeout(ctx, siteTimeout)
	defer cancel()
	r.unsaid = r.say(bounded, w)
	if r.unsaid != nil && r.before.Control.Order != nil {
		return r.unsaid // an order that stands would bring all of it back
	}
	return nil
}

// How long a poolwright that runs has to hand back by itself, and how often it is looked at meanwhile.
const (
	leaveFor  = 3 * time.Second
	leaveLook = 200 * time.Millisecond
)

// leave lets a poolwright that runs hand back: it knows where the Services belong, and moves them there.
// A paused one does nothing, and one that was not told does not know.
func (r *release) leave(ctx context.Context) error {
	if r.before.Control.Pause != nil || r.unsaid != nil {
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, leaveFor)
	defer cancel()
	ticker := time.NewTicker(leaveLook)
	defer ticker.Stop()
	for {
		sight, err := live.Look(bounded, r.kube, r.names)
		switch {
		case bounded.Err() != nil:
			return ctx.Err()
		case err != nil:
			return apiProblem(err, "looking at "+r.names.Cluster)
		}
		if r.after = sight; len(live.HandBack(sight)) == 0 || r.again() {
			return nil
		}
		select {
		case <-bounded.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// again reports whether somebody moved the Services ahead of Git since they were released.
func (r *release) again() bool {
	record := r.after.Record()
	return record != nil && record.Epoch > r.before.LastEpoch()
}

// isContested reports whether the release did not last. To move the Services to somebody else, because the databases
// say so now that the order is gone, is no contest.
func (r *release) isContested() bool {
	before := r.before.Record()
	return r.again() && before != nil && r.after.Record().To == before.To
}

// contested is the error about it, nil when there is none.
func (r *release) contested() error {
	if !r.isContested() {
		return nil
	}
	record := r.after.Record()
	return exitf(ExitRefused, r.command("pause", "--reason", "release"), "releasing the Services of %s: a poolwright that runs has moved them ahead of Git again, to %s (epoch %d): %s",
		r.names.Cluster, record.To, record.Epoch, record.Reason)
}

// handBack strips every Service, and then forgets the record. A Service that
// somebody wrote meanwhile is looked at again; what was moved anew is left alone.
func (r *release) handBack(ctx context.Context) error {
	var failed error
	for range passes {
		var err error
		if r.after, err = r.look(ctx); err != nil {
			return err
		}
		if r.again() {
			return nil
		}
		left := live.HandBack(r.after)
		if len(left) == 0 {
			return nil
		}
		if failed = r.strip(ctx, left); failed != nil && (live.CodeOf(failed) != 0 || ctx.Err() != nil) {
			break
		}
	}
	return apiProblem(failed, "releasing the Services of "+r.names.Cluster)
}

func (r *release) strip(ctx context.Context, writes []live.Write) error {
	for _, w := range writes {
		bounded, cancel := context.WithTimeout(ctx, siteTimeout)
		err := live.Do(bounded, r.kube, r.names, w)
		cancel()
		if err != nil {
			return fmt.Errorf("%s: %w", w.Name, err)
		}
		r.wrote = append(r.wrote, w)
	}
	return nil
}
