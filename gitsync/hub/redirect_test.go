package hub_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/gitsync/hub"
)

func TestRedirects(t *testing.T) {
	moved := func(to string) http.HandlerFunc {
		return says(301, message("Moved Permanently"), "Location", to)
	}
	t.Run("a read of a renamed repository is followed", func(t *testing.T) {
		d := serve(t, answers{
			"GET " + refPath:                         moved("/repositories/7/git/ref/heads/main"),
			"GET /repositories/7/git/ref/heads/main": says(200, refTo(sha1a)),
		})
		sha, err := open(t, d.URL, nil).Head(t.Context(), "main")
		if err != nil || sha != sha1a || d.last().Header.Get("Authorization") != "Bearer "+token {
			t.Error(sha, err, d.last().Header)
		}
	})
	t.Run("a write is not, and says where it would have gone", func(t *testing.T) {
		d := serve(t, answers{
			"POST /repos/acme/platform/git/blobs": says(307, message("Temporary Redirect"), "Location", "http://u:p@example.com/x?token=secret"),
		})
		_, err := open(t, d.URL, nil).PutBlob(t.Context(), nil)
		if !errors.Is(err, hub.ErrRefused) || !strings.Contains(err.Error(), "http://example.com/x") || strings.Contains(err.Error(), "secret") {
			t.Error(err)
		}
	})
	t.Run("to another host nothing goes", func(t *testing.T) {
		other := serve(t, answers{})
		d := serve(t, answers{"GET " + refPath: moved(other.URL + "/x")})
		_, err := open(t, d.URL, nil).Head(t.Context(), "main")
		if !errors.Is(err, hub.ErrRefused) || len(other.calls()) > 0 {
			t.Error(err, other.calls())
		}
	})
	t.Run("in a circle it ends", func(t *testing.T) {
		d := serve(t, answers{"GET " + refPath: moved(refPath)})
		_, err := open(t, d.URL, nil).Head(t.Context(), "main")
		if !errors.Is(err, hub.ErrRefused) || len(d.calls()) > 7 {
			t.Error(err, len(d.calls()))
		}
	})
	t.Run("the pull requests of a new owner are found", func(t *testing.T) {
		d := serve(t, answers{
			"GET /repos/acme/platform": says(200, `{"full_name":"wide/infra","owner":{"login":"wide"}}`),
			"GET /repos/acme/platform/pulls": func(w http.ResponseWriter, r *http.Request) {
				moved("/repositories/7/pulls?"+r.URL.RawQuery)(w, r)
			},
			"GET /repositories/7/pulls": func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Get("head") != "wide:bot/pg" {
					says(200, "[]")(w, r)
					return
				}
				says(200, `[{"number":7,"state":"open","head":{"ref":"bot/pg","sha":"`+sha1a+`"},"base":{"ref":"main"}}]`)(w, r)
			},
		})
		pulls, err := open(t, d.URL, nil).Pulls(t.Context(), "bot/pg")
		if err != nil || len(pulls) != 1 || pulls[0].Number != 7 {
			t.Error(pulls, err)
		}
	})
}

// TestA404IsBelievedWhenTheRepositoryCanBeSeen: a token that lost its access gets the same answer as for a pull request
// that is gone.
func TestA404IsBelievedWhenTheRepositoryCanBeSeen(t *testing.T) {
	gone := says(404, message("Not Found"))
	for name, c := range map[string]struct {
		repository http.HandlerFunc
		want       error
	}{
		"the repository is there":           {says(200, `{"full_name":"acme/platform"}`), hub.ErrNotFound},
		"the repository is gone as well":    {gone, hub.ErrAuth},
		"the repository cannot be asked":    {says(500, message("oops")), hub.ErrUnreachable},
		"the credential is refused by then": {says(401, message("Bad credentials")), hub.ErrAuth},
	} {
		t.Run(name, func(t *testing.T) {
			d := serve(t, answers{
				"GET /repos/acme/platform": c.repository, "GET /repos/acme/platform/pulls/7": gone, "GET " + refPath: gone,
			})
			client := open(t, d.URL, nil)
			_, headErr := client.Head(t.Context(), "main")
			_, pullErr := client.Pull(t.Context(), 7)
			for _, err := range []error{headErr, pullErr} {
				if !errors.Is(err, c.want) || c.want != hub.ErrNotFound && errors.Is(err, hub.ErrNotFound) {
					t.Errorf("got %v, want %v", err, c.want)
				}
			}
		})
	}
}
