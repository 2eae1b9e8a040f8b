package hub_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/poolwright/poolwright/gitsync/githubfake"
	"github.com/poolwright/poolwright/gitsync/gitserver"
	"github.com/poolwright/poolwright/gitsync/hub"
)

// startApp is a client that is an App.
func startApp(t *testing.T, o githubfake.Options, change func(*hub.AppOptions)) (forge, *hub.AppAuth) {
	t.Helper()
	var app *hub.AppAuth
	f := start(t, o, func(o *hub.Options, s *githubfake.Server) {
		a := hub.AppOptions{
			API: s.URL(), AppID: githubfake.AppID, Repository: o.Repository, Now: o.Now,
			Key: func(context.Context) ([]byte, error) { return s.AppKey(), nil },
		}
		if change != nil {
			change(&a)
		}
		var err error
		if app, err = hub.App(a); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = app.Close() })
		o.Auth = app
	})
	f.fake.PushAsPerson("main", "begin", map[string]*gitserver.File{"a": gitserver.Text("1")})
	return f, app
}

func (f forge) minted() int { return len(f.fake.InstallationTokens()) }

func TestC20AppTokens(t *testing.T) {
	f, app := startApp(t, githubfake.Options{}, nil)
	for _, c := range []struct {
		name   string
		do     func()
		minted int
	}{
		{"the first call mints", func() {}, 1},
		{"the next does not", func() {}, 1},
		{"nor after 54 minutes", func() { f.clock.advance(54 * time.Minute) }, 1},
		{"five minutes before its end there is a new one", func() { f.clock.advance(time.Minute) }, 2},
		{"after days as well", func() { f.clock.advance(100 * time.Hour) }, 3},
		{"one that is refused is dropped, and the call succeeds", func() {
			f.fake.Fault("GET git/ref/{ref}", 1, githubfake.Fault{Status: 401, Message: "Bad credentials"})
		}, 4},
		{"so is one that was revoked", func() { f.fake.Revoke(mustToken(t, app)) }, 5},
		{"what another dropped is minted again", func() { app.Drop(mustToken(t, app)) }, 6},
		{"an older one is not there to be dropped", func() { app.Drop(f.fake.InstallationTokens()[0]) }, 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.do()
			f.head("main")
			if got := f.minted(); got != c.minted {
				t.Errorf("minted %d, want %d", got, c.minted)
			}
		})
	}
}

func mustToken(t *testing.T, app *hub.AppAuth) string {
	t.Helper()
	token, err := app.Token(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestC20ManyCallsAtOnceMintOneToken(t *testing.T) {
	f, _ := startApp(t, githubfake.Options{}, nil)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if _, err := f.Head(t.Context(), "main"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if f.minted() != 1 {
		t.Errorf("minted %d", f.minted())
	}
}

func TestC09CommitsOfAnAppAreVerified(t *testing.T) {
	f, _ := startApp(t, githubfake.Options{}, nil)
	c := f.commit(f.put(f.head("main"), "x", "1"))
	if !c.Verified || c.VerifiedReason != "valid" || c.Login != githubfake.AppLogin {
		t.Errorf("got %+v", c)
	}
	named, err := f.PutCommit(t.Context(), hub.NewCommit{
		Tree: c.Tree, Parents: c.Parents, Message: "x", Author: &hub.Who{Name: "n", Email: "n@example.com", At: f.clock.now()},
	})
	if err != nil || f.commit(named).Verified {
		t.Errorf("with an author of our own: %v", err)
	}
}

func TestAppServesGitAndKnowsItsName(t *testing.T) {
	f, app := startApp(t, githubfake.Options{}, func(o *hub.AppOptions) { o.InstallationID = githubfake.InstallationID })
	user, password, err := app.Basic(t.Context())
	if err != nil || user != "x-access-token" || password != mustToken(t, app) {
		t.Error(user, err)
	}
	if login, err := f.Self(t.Context()); err != nil || login != githubfake.AppLogin {
		t.Error(login, err)
	}
	if a, err := f.Access(t.Context(), "main"); err != nil || !a.Push {
		t.Error(a, err)
	}
	for _, r := range f.fake.Log() {
		if r.Route == "GET installation" {
			t.Error("asked for an installation that it was told")
		}
	}
}

func TestAnAppThatMayOnlyReadMayNotPush(t *testing.T) {
	f, _ := startApp(t, githubfake.Options{Permissions: map[string]string{"contents": "read", "metadata": "read"}}, nil)
	if a, err := f.Access(t.Context(), "main"); err != nil || a.Push {
		t.Error(a, err)
	}
	if _, err := f.PutBlob(t.Context(), nil); !errors.Is(err, hub.ErrAuth) {
		t.Error(err)
	}
}

func TestC20WhatGoesWrongWithAnAppIsNeverAMissingPullRequest(t *testing.T) {
	const minting = "POST app/installations/{id}/access_tokens"
	for name, c := range map[string]struct {
		change func(*hub.AppOptions)
		fault  string
		answer githubfake.Fault
		want   error
	}{
		"another App's number":      {func(o *hub.AppOptions) { o.AppID = 1 }, "", githubfake.Fault{}, hub.ErrAuth},
		"a key that is none":        {func(o *hub.AppOptions) { o.Key = key("-----BEGIN x", nil) }, "", githubfake.Fault{}, hub.ErrAuth},
		"a key that cannot be read": {func(o *hub.AppOptions) { o.Key = key("", errors.New("no such file")) }, "", githubfake.Fault{}, hub.ErrAuth},
		"a clock that is ahead": {func(o *hub.AppOptions) {
			now := o.Now
			o.Now = func() time.Time { return now().Add(5 * time.Minute) }
		}, "", githubfake.Fault{}, hub.ErrAuth},
		"not installed here":     {nil, "GET installation", githubfake.Fault{Status: 404, Message: "Not Found"}, hub.ErrAuth},
		"another installation":   {func(o *hub.AppOptions) { o.InstallationID = 5 }, "", githubfake.Fault{}, hub.ErrAuth},
		"suspended":              {nil, minting, githubfake.Fault{Status: 403, Message: "This installation has been suspended"}, hub.ErrAuth},
		"GitHub cannot mint now": {nil, minting, githubfake.Fault{Status: 503}, hub.ErrUnreachable},
		"half a token":           {nil, minting, githubfake.Fault{Half: true}, hub.ErrUnreachable},
		"minting is limited": {
			nil, minting,
			githubfake.Fault{Status: 403, Message: "secondary rate limit", Header: http.Header{"Retry-After": {"60"}}},
			hub.ErrLimited,
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, _ := startApp(t, githubfake.Options{}, c.change)
			if c.fault != "" {
				f.fake.Fault(c.fault, 1, c.answer)
			}
			_, err := f.Pull(t.Context(), 1)
			if !errors.Is(err, c.want) || errors.Is(err, hub.ErrNotFound) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if strings.Contains(err.Error(), "PRIVATE KEY") {
				t.Error("the key is in the error")
			}
			plain(t, err)
			if _, ok := hub.RetryAt(err); ok != (c.want == hub.ErrLimited) {
				t.Errorf("when to come again: %v", ok)
			}
		})
	}
}

func key(pem string, err error) func(context.Context) ([]byte, error) {
	return func(context.Context) ([]byte, error) { return []byte(pem), err }
}

func TestAppRefuses(t *testing.T) {
	good := hub.AppOptions{AppID: 1, Repository: "acme/platform", Key: key("", nil)}
	for name, change := range map[string]func(*hub.AppOptions){
		"no number":               func(o *hub.AppOptions) { o.AppID = 0 },
		"no key":                  func(o *hub.AppOptions) { o.Key = nil },
		"no repository":           func(o *hub.AppOptions) { o.Repository = "" },
		"an address with a query": func(o *hub.AppOptions) { o.API = "https://ghe.example/?x" },
		"http":                    func(o *hub.AppOptions) { o.API = "http://ghe.example/" },
		"no certificates":         func(o *hub.AppOptions) { o.CA = []byte("x") },
	} {
		o := good
		change(&o)
		if _, err := hub.App(o); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}
