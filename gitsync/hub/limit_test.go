package hub_test

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/poolwright/poolwright/gitsync/hub"
)

// TestC11Limits: after a limit nothing of that kind goes out before its time, and the error says when that is.
func TestC11Limits(t *testing.T) {
	start := newClock().now()
	reset := func(d time.Duration) string { return strconv.FormatInt(start.Add(d).Unix(), 10) }
	secondary := message("You have exceeded a secondary rate limit. Please wait a few minutes before you try again.")
	hourly := func(in time.Duration) []string {
		return []string{"x-ratelimit-remaining", "0", "x-ratelimit-reset", reset(in)}
	}
	used := message("API rate limit exceeded")
	date := start.Add(90 * time.Second).Format(http.TimeFormat)
	quick := `{"message":"Validation Failed","errors":[{"code":"custom","message":"was submitted too quickly"}]}`
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		rest   time.Duration
	}{
		"403 with Retry-After":                     {says(403, secondary, "Retry-After", "60"), time.Minute},
		"429 with Retry-After":                     {says(429, secondary, "Retry-After", "7"), 7 * time.Second},
		"429 with a date":                          {says(429, secondary, "Retry-After", date), 90 * time.Second},
		"Retry-After counts before the hour's":     {says(403, secondary, append(hourly(time.Hour), "Retry-After", "5")...), 5 * time.Second},
		"the hour's requests are used up":          {says(403, used, hourly(17*time.Minute)...), 17 * time.Minute},
		"a reset in the past is no time":           {says(403, used, hourly(-time.Hour)...), time.Minute},
		"words alone":                              {says(403, secondary), time.Minute},
		"429 from something in between":            {says(429, "slow down"), time.Minute},
		"content that came too quickly":            {says(422, quick), time.Minute},
		"a Retry-After that nobody can mean":       {says(429, secondary, "Retry-After", "9223372036854775807"), 24 * time.Hour},
		"a Retry-After that is none, with a reset": {says(403, secondary, "Retry-After", "soon", "x-ratelimit-reset", reset(time.Hour)), time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			k := newClock()
			d := serve(t, answers{"POST /repos/acme/platform/pulls": inTurn(c.answer, says(201, onePull))})
			client := open(t, d.URL, func(o *hub.Options) { o.Now, o.Sleep, o.Pause = k.now, k.sleep, -1 })
			ask := func() error {
				return second(client.OpenPull(t.Context(), hub.NewPull{Branch: "bot/pg", Base: "main", Title: "x"}))
			}
			for i, wait := range []time.Duration{0, 0, c.rest - time.Nanosecond} {
				k.advance(wait)
				err := ask()
				at, ok := hub.RetryAt(err)
				if !errors.Is(err, hub.ErrLimited) || !ok || !at.Equal(start.Add(c.rest)) {
					t.Fatalf("call %d: got %v, until %s", i, err, at)
				}
				plain(t, err)
			}
			if n := len(d.calls()); n != 1 {
				t.Errorf("%d calls went out before the time", n)
			}
			k.advance(time.Nanosecond)
			if err := ask(); err != nil || len(d.calls()) != 2 {
				t.Errorf("after the time: %v", err)
			}
		})
	}
}

const onePull = `{"number":7,"state":"open","head":{"ref":"bot/pg","sha":"` + sha1a + `"},"base":{"ref":"main"},"node_id":"PR_7"}`

func TestC11WhatALimitIsAbout(t *testing.T) {
	const (
		read    = "GET /repos/acme/platform/git/ref/heads/main"
		write   = "POST /repos/acme/platform/git/blobs"
		graphql = "POST /graphql"
	)
	limits := map[string]http.HandlerFunc{
		"secondary": says(403, message("secondary rate limit"), "Retry-After", "60"),
		"hourly":    says(403, message("API rate limit exceeded"), "x-ratelimit-remaining", "0", "x-ratelimit-reset", "9999999999"),
		"in the answer of GraphQL": says(200, `{"data":null,"errors":[{"type":"RATE_LIMITED","message":"API rate limit exceeded"}]}`,
			"x-ratelimit-remaining", "0", "x-ratelimit-reset", "9999999999"),
	}
	for name, c := range map[string]struct {
		limit, on string
		open      []string // what may go out after it
	}{
		"a secondary limit of a write stops writes":                {"secondary", write, []string{read}},
		"a secondary limit of GraphQL stops writes":                {"secondary", graphql, []string{read}},
		"a secondary limit of a read stops everything":             {"secondary", read, nil},
		"the hour's limit of a read stops REST":                    {"hourly", read, []string{graphql}},
		"the hour's limit of a write stops REST":                   {"hourly", write, []string{graphql}},
		"the hour's limit of GraphQL stops GraphQL":                {"hourly", graphql, []string{read, write}},
		"the hour's limit of GraphQL, which comes as 200, as well": {"in the answer of GraphQL", graphql, []string{read, write}},
	} {
		t.Run(name, func(t *testing.T) {
			routes := answers{
				read: says(200, refTo(sha1a)), write: says(201, `{"sha":"`+sha1a+`"}`),
				graphql: says(200, `{"data":{"enablePullRequestAutoMerge":{}}}`),
			}
			routes[c.on] = limits[c.limit]
			d := serve(t, routes)
			client := open(t, d.URL, func(o *hub.Options) { o.Pause = -1 })
			ask := map[string]func() error{
				read:    func() error { return second(client.Head(t.Context(), "main")) },
				write:   func() error { return second(client.PutBlob(t.Context(), nil)) },
				graphql: func() error { return client.AutoMerge(t.Context(), hub.Pull{NodeID: "PR_7"}, "squash") },
			}
			if err := ask[c.on](); !errors.Is(err, hub.ErrLimited) {
				t.Fatal(err)
			}
			for kind, call := range ask {
				err, want := call(), hub.ErrLimited
				for _, o := range c.open {
					if o == kind {
						want = nil
					}
				}
				if !errors.Is(err, want) {
					t.Errorf("%s: got %v, want %v", kind, err, want)
				}
			}
		})
	}
}

func TestC11LimitsWithoutATimeRestLongerEachTime(t *testing.T) {
	k := newClock()
	good, bad := says(201, `{"sha":"`+sha1a+`"}`), says(429, message("slow down"))
	d := serve(t, answers{"POST /repos/acme/platform/git/blobs": inTurn(bad, bad, bad, bad, bad, bad, good, bad)})
	c := open(t, d.URL, func(o *hub.Options) { o.Now, o.Sleep, o.Pause = k.now, k.sleep, -1 })
	var rests []string
	for range 8 {
		_, err := c.PutBlob(t.Context(), nil)
		at, limited := hub.RetryAt(err)
		if !limited {
			rests = append(rests, "good")
			continue
		}
		rests = append(rests, at.Sub(k.now()).String())
		k.advance(at.Sub(k.now()))
	}
	if got, want := strings.Join(rests, " "), "1m0s 2m0s 4m0s 8m0s 15m0s 15m0s good 1m0s"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestC11OnlyAnAnswerOfALimitStopsCalls: what a good answer says of the budget is no reason to stop, and by no clock but ours.
func TestC11OnlyAnAnswerOfALimitStopsCalls(t *testing.T) {
	d := serve(t, answers{
		"GET " + refPath: says(200, refTo(sha1a), "x-ratelimit-limit", "5000", "x-ratelimit-remaining", "0", "x-ratelimit-reset", "9999999999"),
	})
	c := open(t, d.URL, nil)
	for range 2 {
		if _, err := c.Head(t.Context(), "main"); err != nil {
			t.Error(err)
		}
	}
}

func TestRetryAtIsOfLimitsOnly(t *testing.T) {
	for _, err := range []error{nil, errors.New("x"), hub.ErrLimited, hub.ErrMoved} {
		if at, ok := hub.RetryAt(err); ok {
			t.Errorf("%v: %s", err, at)
		}
	}
}
