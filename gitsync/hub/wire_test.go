package hub_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/poolwright/poolwright/gitsync/hub"
)

func TestOpenRefuses(t *testing.T) {
	good := hub.Options{Repository: "acme/platform", Auth: fixed(token)}
	for name, c := range map[string]struct {
		change func(*hub.Options)
		want   string
	}{
		"no credential":                    {func(o *hub.Options) { o.Auth = nil }, "there is no credential"},
		"a repository without an owner":    {func(o *hub.Options) { o.Repository = "platform" }, `"platform" is not owner/name`},
		"a repository that climbs":         {func(o *hub.Options) { o.Repository = "acme/.." }, `"acme/.." is not owner/name`},
		"an address with a password":       {func(o *hub.Options) { o.API = "https://u:secret@ghe.example/" }, "more than scheme, host and path"},
		"an address that cannot be parsed": {func(o *hub.Options) { o.API = "https://u:secret@[::1/" }, "cannot be read"},
		"http to another machine":          {func(o *hub.Options) { o.API = "http://ghe.example/api/v3/" }, "not https"},
		"no address at all":                {func(o *hub.Options) { o.API = "ghe.example" }, "not https"},
		"a CA bundle without certificates": {func(o *hub.Options) { o.CA = []byte("none") }, "holds no PEM certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			o := good
			c.change(&o)
			_, err := hub.Open(o)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v, want one about %q", err, c.want)
			}
		})
	}
	for name, api := range map[string]string{
		"github.com": "", "an Enterprise Server without the last slash": "https://ghe.example/api/v3", "a loopback address": "http://127.0.0.1:1/",
	} {
		t.Run(name+" is taken", func(t *testing.T) {
			o := good
			o.API = api
			if _, err := hub.Open(o); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRequestsCarryWhatGitHubAsksFor(t *testing.T) {
	d := serve(t, answers{"GET " + refPath: says(200, refTo(sha1a))})
	c := open(t, d.URL, func(o *hub.Options) { o.Auth = fixed(" " + token + "\n") })
	if sha, err := c.Head(t.Context(), "main"); err != nil || sha != sha1a {
		t.Fatal(sha, err)
	}
	got := map[string]string{}
	for _, name := range []string{"Accept", "Authorization", "X-Github-Api-Version", "User-Agent"} {
		got[name] = d.last().Header.Get(name)
	}
	want := map[string]string{
		"Accept": "application/vnd.github+json", "Authorization": "Bearer " + token, "X-Github-Api-Version": "2022-11-28",
		"User-Agent": "poolwright",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestAnswersThatAreNone: what is no whole answer is never taken for "nothing there".
func TestAnswersThatAreNone(t *testing.T) {
	cut := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, `[{"number":`)
		panic(http.ErrAbortHandler)
	}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   error
	}{
		"a server error":                          {says(502, message("Server Error")), hub.ErrUnreachable},
		"a server error without a body":           {says(500, ""), hub.ErrUnreachable},
		"half an answer":                          {cut, hub.ErrUnreachable},
		"no answer":                               {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, hub.ErrUnreachable},
		"an empty answer":                         {says(200, ""), hub.ErrUnreachable},
		"null":                                    {says(200, "null"), hub.ErrUnreachable},
		"a page of a proxy":                       {says(200, "<html>Please log in</html>"), hub.ErrUnreachable},
		"a 404 of a proxy":                        {says(404, "<html>no such host</html>"), hub.ErrUnreachable},
		"a 403 of a proxy":                        {says(403, "<html>blocked</html>"), hub.ErrUnreachable},
		"a list where an object is due":           {says(200, "[]"), hub.ErrUnreachable},
		"an object without what it is about":      {says(200, "{}"), hub.ErrUnreachable},
		"JSON that breaks off":                    {says(200, `{"ref":"refs/heads/main","obj`), hub.ErrUnreachable},
		"a hash that is none":                     {says(200, refTo("main")), hub.ErrUnreachable},
		"another branch":                          {says(200, strings.Replace(refTo(sha1a), "heads/main", "heads/main2", 1)), hub.ErrUnreachable},
		"not yet":                                 {says(202, "{}"), hub.ErrUnreachable},
		"not modified, which nobody asked":        {says(304, ""), hub.ErrUnreachable},
		"a status that is new":                    {says(418, message("teapot")), hub.ErrRefused},
		"blocked by law":                          {says(451, message("Repository access blocked")), hub.ErrRefused},
		"a second factor is asked for":            {says(401, message("Must specify two-factor"), "X-GitHub-OTP", "required; app"), hub.ErrAuth},
		"the single sign-on of the organisation":  {says(403, message("Resource protected by organization SAML enforcement.")), hub.ErrAuth},
		"the permission that the App has not":     {says(403, message("Resource not accessible by integration")), hub.ErrAuth},
		"an error of which the details are words": {says(422, `{"message":"Validation Failed","errors":"Reference does not exist"}`), hub.ErrNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			d := serve(t, answers{
				"GET " + refPath:           c.answer,
				"GET /repos/acme/platform": says(200, `{"full_name":"acme/platform"}`),
			})
			sha, err := open(t, d.URL, nil).Head(t.Context(), "main")
			if !errors.Is(err, c.want) || sha != "" {
				t.Fatalf("got %q, %v, want %v", sha, err, c.want)
			}
			plain(t, err)
		})
	}
}

func TestListsThatAreNoneAreErrors(t *testing.T) {
	next := "<http://example.com/?page=2>; rel=\"next\""
	for name, answer := range map[string]http.HandlerFunc{
		"null":                           says(200, "null"),
		"empty":                          says(200, ""),
		"an object":                      says(200, "{}"),
		"a second page that fails":       inTurn(says(200, "[]", "Link", next), says(500, message("no"))),
		"pull requests without a number": says(200, `[{"state":"open","head":{"ref":"bot/pg"},"base":{"ref":"main"}}]`),
	} {
		t.Run(name, func(t *testing.T) {
			d := serve(t, answers{"GET /repos/acme/platform/pulls": answer})
			pulls, err := open(t, d.URL, nil).Pulls(t.Context(), "bot/pg")
			if !errors.Is(err, hub.ErrUnreachable) || pulls != nil {
				t.Errorf("got %v, %v", pulls, err)
			}
		})
	}
	t.Run("a list without an end", func(t *testing.T) {
		d := serve(t, answers{"GET /repos/acme/platform/pulls": func(w http.ResponseWriter, r *http.Request) {
			page, _ := strconv.Atoi(r.URL.Query().Get("page"))
			says(200, "[]", "Link", fmt.Sprintf(`<http://example.com/?page=%d>; rel="next"`, page+1))(w, r)
		}})
		_, err := open(t, d.URL, nil).Pulls(t.Context(), "bot/pg")
		if !errors.Is(err, hub.ErrRefused) || len(d.calls()) != 50 {
			t.Errorf("got %v after %d pages", err, len(d.calls()))
		}
	})
}

func TestTLSErrorIsUnreachable(t *testing.T) {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	s.Config.ErrorLog = nil
	_, err := open(t, s.URL, nil).Head(t.Context(), "main")
	if !errors.Is(err, hub.ErrUnreachable) || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("got %v", err)
	}
}

func TestErrorsCarryNeitherTokenNorControlCharacters(t *testing.T) {
	nasty := `{"message":"bad ` + token + `\u0000\u001b[31m\n\u202e","errors":[{"message":"` + strings.Repeat("long ", 1000) + `"}]}`
	d := serve(t, answers{"GET " + refPath: says(422, nasty)})
	_, err := open(t, d.URL, nil).Head(t.Context(), "main")
	if !errors.Is(err, hub.ErrRefused) {
		t.Fatal(err)
	}
	plain(t, err)
	if !strings.Contains(err.Error(), "422 bad [token]") {
		t.Errorf("got %v", err)
	}
}

func TestTheEndOfTheContextIsVisible(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	d := serve(t, answers{"GET " + refPath: func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}})
	_, err := open(t, d.URL, nil).Head(ctx, "main")
	if !errors.Is(err, context.Canceled) || !errors.Is(err, hub.ErrUnreachable) {
		t.Errorf("got %v", err)
	}
}

func TestNamesThatWouldMakeAnotherPathDoNotGoOut(t *testing.T) {
	d := serve(t, answers{})
	c := open(t, d.URL, nil)
	for _, name := range []string{"", "../../user", "a/../b", "a//b", "/a", "a/", "-a", "a b", "a?x=1", "a%2fb", "a\nb", "x.lock", "a."} {
		for call, err := range map[string]error{
			"Head":         second(c.Head(t.Context(), name)),
			"MoveBranch":   c.MoveBranch(t.Context(), name, sha1a),
			"DeleteBranch": c.DeleteBranch(t.Context(), name),
			"Compare":      second(c.Compare(t.Context(), "main", name)),
			"Blob":         second(c.Blob(t.Context(), name)),
			"Access":       second(c.Access(t.Context(), name)),
			"Pulls":        second(c.Pulls(t.Context(), name)),
			"OpenPull":     second(c.OpenPull(t.Context(), hub.NewPull{Branch: name, Base: "main"})),
		} {
			if !errors.Is(err, hub.ErrRefused) {
				t.Errorf("%s %q: %v", call, name, err)
			}
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestReadsAskWhetherWhatIsKnownStillHolds(t *testing.T) {
	at := func(day string) []string {
		return []string{"ETag", `W/"` + day + `"`, "Date", "Tue, 0" + day + " Mar 2031 05:06:07 GMT"}
	}
	repo := `{"full_name":"acme/platform","permissions":{"push":true}}`
	d := serve(t, answers{
		"GET /repos/acme/platform": inTurn(
			says(200, repo, at("4")...), says(304, "", at("5")...), says(200, strings.Replace(repo, "true", "false", 1), at("6")...),
		),
		"GET /repos/acme/platform/branches/main":       says(404, message("Branch not found")),
		"GET /repos/acme/platform/rules/branches/main": says(200, "[]"),
	})
	c := open(t, d.URL, nil)
	for i, want := range []struct {
		push bool
		day  int
	}{{true, 4}, {true, 5}, {false, 6}} {
		a, err := c.Access(t.Context(), "main")
		if err != nil || a.Push != want.push || a.ServerTime.Day() != want.day {
			t.Errorf("look %d: got %+v, %v", i, a, err)
		}
	}
	var asked []string
	for _, r := range d.seen {
		if r.URL.Path == "/repos/acme/platform" {
			asked = append(asked, r.Header.Get("If-None-Match"))
		}
	}
	if diff := cmp.Diff([]string{"", `W/"4"`, `W/"4"`}, asked); diff != "" {
		t.Error(diff)
	}
}
