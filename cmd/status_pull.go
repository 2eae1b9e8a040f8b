package cmd

import (
	"context"
	"fmt"
	"time"

	"github.com/poolwright/poolwright/gitsync/hub"
)

// pullView is the newest pull request of the cluster's branch.
type pullView struct {
	Number int       `json:"number,omitempty"`
	URL    string    `json:"url,omitempty"`
	Title  string    `json:"title,omitempty"`
	State  string    `json:"state,omitempty"` // open, merged or closed
	Since  time.Time `json:"since,omitzero"`
	Error  string    `json:"error,omitempty"`
}

// readPull asks the forge, where changes of the cluster need it.
func (v *survey) readPull(ctx context.Context) {
	if !byReview(*v.site.declared) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, surveyGit)
	defer cancel()
	p := v.site.declared.Cluster.Spec.Publish
	b, err := openBranch(p.PublishTo, time.Now)
	if err != nil {
		v.pull = &pullView{Error: err.Error()}
		return
	}
	defer func() { _ = b.hub.Close() }()
	all, err := b.hub.Pulls(ctx, p.PullRequest.Branch)
	switch {
	case err != nil:
		v.pull = &pullView{Error: err.Error()}
	case len(all) > 0:
		v.pull = viewOfPull(all[0])
	}
}

func viewOfPull(p hub.Pull) *pullView {
	v := &pullView{Number: p.Number, URL: p.URL, Title: p.Title, State: "open", Since: p.CreatedAt}
	switch {
	case p.Merged:
		v.State, v.Since = "merged", p.ClosedAt
	case !p.Open:
		v.State, v.Since = "closed", p.ClosedAt
	}
	return v
}

// proposed is the state of that name: what Git lacks may be on an open pull request.
func (v *survey) proposed(s stateView) stateView {
	if v.pull != nil && v.pull.State == "open" && s.Reached == reachedNo {
		s.Reached = reachedYes
		if v.decided != nil {
			s.Epoch = max(s.Epoch, v.decided.Want.Epoch)
		}
	}
	return s
}

// text is one line for people.
func (v *pullView) text(now time.Time) string {
	if v.Error != "" {
		return "not known: " + v.Error
	}
	return fmt.Sprintf("#%d %s for %s: %s %s", v.Number, v.State, now.Sub(v.Since).Round(time.Second), v.Title, v.URL)
}
