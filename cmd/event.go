package cmd

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/poolwright/poolwright/discovery"
	"github.com/poolwright/poolwright/plan"
)

// Event is one change of a cluster's state, as told to people. There is none per look.
type Event struct {
	At      time.Time
	Cluster string
	Kind    EventKind
	// Detail is one line for people.
	Detail string
	// Topology and Plan are what the event is about; zero when it is about neither.
	Topology discovery.Topology
	Plan     plan.Plan
	// Commits that landed, oldest first, with their messages.
	Commits  []string
	Messages []string
	Err      error
}

// EventKind is the closed set of events.
type EventKind uint8

// The events, in the order in which a failover tells them.
const (
	WriterLost   EventKind = iota + 1 // the idle connection to the writer broke
	WindowOpened                      // looking every FastInterval from now on
	Doubted                           // the topology is not to be trusted; nothing changes
	Trusted                           // it is again, or for the first time
	Decided                           // something is to be done, or held
	Committed                         // Git has it
	WindowClosed                      // back to the normal interval
	GitFailed                         // Git could not be read or written; tried again
	GitBack                           // and now it could
	Standing                          // the Cluster file or the tree cannot be used; this cluster stands still
	Moving                            // and now they can
	Moved                             // a live Service was moved ahead of Git
	Reasserted                        // somebody had put it back, and it was moved again
	Phased                            // the hand-over between us and the GitOps tool came to another phase
	Hindered                          // something is in the way of a Service, or people should know of it
	Cleared                           // and now it is gone
	Unwritten                         // a write to Kubernetes was refused or lost; tried again
	Leading                           // this process keeps the clusters
	Standby                           // another process does; this one watches
	Evicting                          // clients are being taken off the instance that was the writer
	Evicted                           // nobody is left there
	Proven                            // an application would get what it asks a Service for
	Unproven                          // and now it would not
	Reloaded                          // the poolers have read a rotated Secret
	Unreloaded                        // some have not
	Reviewed                          // the pull request came to another state
	ForgeFailed                       // the forge could not be asked; tried again
	ForgeBack                         // and now it could
	Heard                             // somebody else told of an event
	Left                              // the Cluster file is gone from the fleet's repository; this process keeps the cluster no more
)

var eventNames = [...]string{
	WriterLost: "writer-lost", WindowOpened: "window-opened", Doubted: "doubted", Trusted: "trusted",
	Decided: "decided", Committed: "committed", WindowClosed: "window-closed", GitFailed: "git-failed",
	GitBack: "git-back", Standing: "standing", Moving: "moving",
	Moved: "moved", Reasserted: "reasserted", Phased: "handover", Hindered: "hindered", Cleared: "cleared",
	Unwritten: "unwritten", Leading: "leading", Standby: "standby",
	Evicting: "evicting", Evicted: "evicted", Proven: "proven", Unproven: "unproven",
	Reloaded: "reloaded", Unreloaded: "unreloaded",
	Reviewed: "reviewed", ForgeFailed: "forge-failed", ForgeBack: "forge-back", Heard: "heard", Left: "left",
}

func (k EventKind) String() string { return eventNames[k] }

// level of the log line: what needs eyes is a warning.
func (e Event) level() slog.Level {
	switch e.Kind {
	case WriterLost, Doubted, GitFailed, Standing, Reasserted, Hindered, Unwritten, Unproven, Unreloaded, ForgeFailed:
		return slog.LevelWarn
	case Decided:
		if e.Plan.Action == plan.Hold || slices.ContainsFunc(e.Plan.Reasons, needsEyes) {
			return slog.LevelWarn
		}
	}
	return slog.LevelInfo
}

// needsEyes reports whether a reason is more than news.
func needsEyes(r plan.Reason) bool {
	return r.NeedsPerson() || r.Code == plan.NoReader || r.Code == plan.WriterFailing
}

// logEvents says events as log lines, one each.
func logEvents(log *slog.Logger) func(Event) {
	return func(e Event) {
		attrs := []slog.Attr{slog.String("cluster", e.Cluster)}
		if e.Detail != "" {
			attrs = append(attrs, slog.String("detail", e.Detail))
		}
		if len(e.Commits) > 0 {
			attrs = append(attrs, slog.String("commits", strings.Join(e.Commits, " ")))
		}
		if e.Err != nil {
			attrs = append(attrs, slog.String("error", e.Err.Error()))
		}
		log.LogAttrs(context.Background(), e.level(), e.Kind.String(), attrs...) //nolint:sloglint // a closed set of words
	}
}
