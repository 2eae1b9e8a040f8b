package cmd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"

	"github.com/poolwright/poolwright/clusters"
	"github.com/poolwright/poolwright/discovery/notice"
	"github.com/poolwright/poolwright/gitsync/webhook"
)

// HookFlags say which events from outside are listened to. Without an address none are.
type HookFlags struct {
	Listen       string   `name:"hooks-listen" placeholder:"HOST:PORT" help:"Listen there for events over HTTP: /hooks/github, /hooks/sns, /hooks/cloudevents. Put TLS in front of it."`
	GitHubSecret string   `name:"hooks-github-secret-file" placeholder:"FILE" help:"Take GitHub's push and pull request events that are signed with this secret."`
	SNSTopics    []string `name:"hooks-sns-topic" placeholder:"ARN" help:"Take RDS events of this SNS topic; may be given several times."`
	EventsToken  string   `name:"hooks-cloudevents-token-file" placeholder:"FILE" help:"Take RDS events from EventBridge that show this bearer token."`
}

// hooks are the flags as a Fleet file would have them.
func (f HookFlags) hooks() (clusters.Hooks, error) {
	h := clusters.Hooks{Listen: f.Listen}
	if f.GitHubSecret != "" {
		h.GitHub = &clusters.GitHubHook{SecretFile: f.GitHubSecret}
	}
	if len(f.SNSTopics) > 0 {
		h.SNS = &clusters.SNSHook{Topics: f.SNSTopics}
	}
	if f.EventsToken != "" {
		h.CloudEvents = &clusters.CloudEventsHook{TokenFile: f.EventsToken}
	}
	some := h.GitHub != nil || h.SNS != nil || h.CloudEvents != nil
	if some != (h.Listen != "") {
		return h, exitf(ExitUsage, "", "reading the command line: --hooks-listen goes with --hooks-github-secret-file, --hooks-sns-topic or --hooks-cloudevents-token-file")
	}
	return h, nil
}

// The bounds of what strangers may take of this process. Each hook bounds sizes and rates by itself.
const (
	hookConnections = 64
	hookHeader      = 16 << 10
	hookTime        = 10 * time.Second
)

// listen serves the hooks until ctx ends. An error is about the address.
func listen(ctx context.Context, h clusters.Hooks, now func() time.Time, tell func(hint), log *slog.Logger) error {
	if h.Listen == "" {
		return nil
	}
	at, err := (&net.ListenConfig{}).Listen(ctx, "tcp", h.Listen)
	if err != nil {
		return fmt.Errorf("listening for events: %w", err)
	}
	server := &http.Server{
		Handler: hookMux(h, now, tell, log), ReadTimeout: hookTime, WriteTimeout: hookTime, IdleTimeout: time.Minute, MaxHeaderBytes: hookHeader,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() {
		if err := server.Serve(netutil.LimitListener(at, hookConnections)); !errors.Is(err, http.ErrServerClosed) {
			log.Error("hooks ended", slog.String("error", err.Error()))
		}
	}()
	log.Info("listening for events", slog.String("address", at.Addr().String()))
	return nil
}

// hookMux has a path for each hook that is declared.
func hookMux(h clusters.Hooks, now func() time.Time, tell func(hint), log *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	refused := func(hook string) func(string) {
		return func(why string) { log.Warn("event refused", slog.String("hook", hook), slog.String("why", why)) }
	}
	options := func(hook string) notice.Options {
		return notice.Options{Now: now, Log: refused(hook), Notify: func(n notice.Notice) { tell(hint{rds: &n}) }}
	}
	if g := h.GitHub; g != nil {
		mux.Handle("/hooks/github", webhook.Handler(webhook.Options{
			Now: now, Refused: refused("github"), Notify: func(e webhook.Event) { tell(hint{github: &e}) },
			Secrets: secretsOf("the webhook's secret", g.SecretEnv, g.SecretFile),
		}))
	}
	if s := h.SNS; s != nil {
		mux.Handle("/hooks/sns", notice.SNS(notice.SNSOptions{Options: options("sns"), Topics: s.Topics}))
	}
	if c := h.CloudEvents; c != nil {
		mux.Handle("/hooks/cloudevents", notice.CloudEvents(notice.CloudEventsOptions{
			Options: options("cloudevents"), Secrets: secretsOf("the token of the events", c.TokenEnv, c.TokenFile),
		}))
	}
	return mux
}

// secretsOf reads the one secret there is.
func secretsOf(what, env, file string) func(context.Context) ([][]byte, error) {
	return func(context.Context) ([][]byte, error) {
		text, err := secretText(what, env, file)
		return [][]byte{[]byte(text)}, err
	}
}
