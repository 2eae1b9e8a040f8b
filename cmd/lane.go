package cmd

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/poolwright/poolwright/gitsync"
)

// gather is how long routine edits wait for others to come along, so that
// clusters which change together share one push.
const gather = 50 * time.Millisecond

// lane is the one writer of a (repository, branch) in this process. Edits that
// arrive while a push is under way go together into the next one; an urgent
// edit neither waits to gather nor behind others. What the remote refuses as a
// batch is tried one by one, so that one refused directory stops no other.
type lane struct {
	branch
	edits chan ticket
}

// ticket is one edit on its way.
type ticket struct {
	edit gitsync.Edit
	done chan<- gitsync.Receipt
}

var errClosing = errors.New("publishing: shutting down")

func newLane(b branch) *lane { return &lane{branch: b, edits: make(chan ticket)} }

// Read returns dir at the branch's present head. It is an edit with nothing to
// say: all clusters of a repository read in one request, and ahead of no failover.
func (l *lane) Read(ctx context.Context, dir string) (gitsync.Base, error) {
	var seen gitsync.Base
	r := l.Submit(ctx, gitsync.Edit{Dir: dir, Draw: func(b gitsync.Base) ([]gitsync.Change, error) {
		seen = b
		return nil, nil
	}})
	if r.Err != nil {
		return gitsync.Base{}, r.Err // who has given up does not look at what may be written yet
	}
	return seen, nil
}

// Submit publishes one edit, with others when there are some.
func (l *lane) Submit(ctx context.Context, edit gitsync.Edit) gitsync.Receipt {
	done := make(chan gitsync.Receipt, 1)
	select {
	case l.edits <- ticket{edit, done}:
	case <-ctx.Done():
		return gitsync.Receipt{Err: errors.Join(errClosing, ctx.Err())}
	}
	select {
	case r := <-done:
		return r
	case <-ctx.Done(): // it may land all the same: a push is submitted with a context that nobody ends
		return gitsync.Receipt{Err: errors.Join(errClosing, ctx.Err())}
	}
}

// run serves the lane until ctx ends. What has been accepted is finished first.
func (l *lane) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case first := <-l.edits:
			batch := l.collect(first)
			if isUrgent(batch) {
				go l.publish(context.WithoutCancel(ctx), batch) // it takes its turn before others
				continue
			}
			l.publish(context.WithoutCancel(ctx), batch)
		}
	}
}

func isUrgent(batch []ticket) bool {
	return slices.ContainsFunc(batch, func(t ticket) bool { return t.edit.Urgent })
}

// collect waits for company, unless somebody is in a hurry.
func (l *lane) collect(first ticket) []ticket {
	batch := []ticket{first}
	timer := time.NewTimer(gather)
	defer timer.Stop()
	for !batch[len(batch)-1].edit.Urgent {
		select {
		case next := <-l.edits:
			batch = append(batch, next)
		case <-timer.C:
			return batch
		}
	}
	return l.waiting(batch)
}

// waiting adds those who stand at the door already.
func (l *lane) waiting(batch []ticket) []ticket {
	for {
		select {
		case next := <-l.edits:
			batch = append(batch, next)
		default:
			return batch
		}
	}
}

// publishTimeout bounds one batch, retries included.
const publishTimeout = 2 * time.Minute

func (l *lane) publish(ctx context.Context, batch []ticket) {
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	for i, r := range l.receipts(ctx, batch) {
		if len(batch) > 1 && errors.Is(r.Err, gitsync.ErrRefused) {
			r = l.receipts(ctx, batch[i:i+1])[0]
		}
		batch[i].done <- r
	}
}

// receipts publishes a batch, the urgent edits first, and returns one receipt a ticket.
func (l *lane) receipts(ctx context.Context, batch []ticket) []gitsync.Receipt {
	slices.SortStableFunc(batch, func(a, b ticket) int { return urgency(a) - urgency(b) })
	edits := make([]gitsync.Edit, len(batch))
	for i, t := range batch {
		edits[i] = t.edit
	}
	receipts, err := l.git.Publish(ctx, edits)
	all := make([]gitsync.Receipt, len(batch))
	copy(all, receipts)
	for i := range all {
		if all[i].Err == nil {
			all[i].Err = err
		}
	}
	return all
}

func urgency(t ticket) int {
	if t.edit.Urgent {
		return 0
	}
	return 1
}
