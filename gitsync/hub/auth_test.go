package hub_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/poolwright/poolwright/gitsync/hub"
)

func TestTokens(t *testing.T) {
	good := says(200, refTo(sha1a))
	bad := says(401, message("Bad credentials"))
	for name, c := range map[string]struct {
		tokens []string // one after the other; the last one stays
		answer http.HandlerFunc
		want   error
		used   []string
	}{
		"one that is good":                      {[]string{"one"}, good, nil, []string{"one"}},
		"a rotated one is used at once":         {[]string{"one", "two"}, inTurn(bad, good), nil, []string{"one", "two"}},
		"the same again is not tried":           {[]string{"one"}, bad, hub.ErrAuth, []string{"one"}},
		"two that are bad":                      {[]string{"one", "two", "three"}, bad, hub.ErrAuth, []string{"one", "two"}},
		"an empty one does not go out":          {[]string{" \n"}, bad, hub.ErrAuth, nil},
		"one with a line break does not go out": {[]string{"one\r\nX: y"}, bad, hub.ErrAuth, nil},
	} {
		t.Run("C20 "+name, func(t *testing.T) {
			d := serve(t, answers{"GET " + refPath: c.answer})
			left := c.tokens
			client := open(t, d.URL, func(o *hub.Options) {
				o.Auth = hub.Fixed(func(context.Context) (string, error) {
					now := left[0]
					if len(left) > 1 {
						left = left[1:]
					}
					return now, nil
				})
			})
			_, err := client.Head(t.Context(), "main")
			if !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			var used []string
			for _, r := range d.seen {
				used = append(used, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
			}
			if diff := cmp.Diff(c.used, used); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestATokenThatCannotBeReadSaysNothingAboutTheBranch(t *testing.T) {
	d := serve(t, answers{})
	for name, cause := range map[string]error{
		"a missing file":       errors.New("open /etc/token: no such file"),
		"ErrNotFound of ours":  hub.ErrNotFound,
		"ErrExists of another": hub.ErrExists,
	} {
		t.Run(name, func(t *testing.T) {
			c := open(t, d.URL, func(o *hub.Options) {
				o.Auth = hub.Fixed(func(context.Context) (string, error) { return "", cause })
			})
			_, err := c.Head(t.Context(), "main")
			if !errors.Is(err, hub.ErrAuth) || errors.Is(err, hub.ErrNotFound) || errors.Is(err, hub.ErrExists) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestC20AWriteIsSentWholeTheSecondTime(t *testing.T) {
	var bodies []string
	seen := func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			bodies = append(bodies, string(body))
			next(w, r)
		}
	}
	d := serve(t, answers{"POST /repos/acme/platform/git/blobs": inTurn(
		seen(says(401, message("Bad credentials"))), seen(says(201, `{"sha":"`+sha1a+`"}`)),
	)})
	n := 0
	c := open(t, d.URL, func(o *hub.Options) {
		o.Auth = hub.Fixed(func(context.Context) (string, error) { n++; return fmt.Sprintf("token-%d", n), nil })
	})
	if _, err := c.PutBlob(t.Context(), []byte("content")); err != nil {
		t.Fatal(err)
	}
	if len(bodies) != 2 || bodies[0] == "" || bodies[0] != bodies[1] {
		t.Errorf("sent %q", bodies)
	}
}
