package cmd

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/poolwright/poolwright/clusters"
	"github.com/poolwright/poolwright/gitsync"
	"github.com/poolwright/poolwright/gitsync/gitserver"
)

const fleetFile = `apiVersion: poolwright.dev/v1alpha1
kind: Fleet
metadata: {name: all}
spec:
  publish: {repository: REPOSITORY}
  clusters: clusters/*/cluster.yaml
`

// memberFile is the Cluster file of a fleet's cluster.
func memberFile(name string) *gitserver.File {
	text := strings.NewReplacer("name: story,", "name: "+name+",", "clusterName: story", "clusterName: "+name,
		"  publish:\n    repository: https://git.example.com/fleet.git\n", "").Replace(storyFile)
	return gitserver.Text(text)
}

// TestAFleetFollowsItsRepository: who appears there is kept, who goes is left, and one file that cannot be used stops no other.
func TestAFleetFollowsItsRepository(t *testing.T) {
	repo, err := gitserver.CreateRepo(t.TempDir(), "fleet.git")
	if err != nil {
		t.Fatal(err)
	}
	commit := func(files map[string]*gitserver.File) {
		t.Helper()
		if _, err := repo.Commit("main", "a person's", files); err != nil {
			t.Fatal(err)
		}
	}
	commit(map[string]*gitserver.File{
		"clusters/one/cluster.yaml": memberFile("one"), "clusters/two/cluster.yaml": memberFile("two"),
		"clusters/bad/cluster.yaml": gitserver.Text("kind: Cluster\n"), "elsewhere/three/cluster.yaml": memberFile("three"),
	})
	path := filepath.Join(t.TempDir(), "fleet.yaml")
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(fleetFile, "REPOSITORY", repo.Dir)), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	heard := make(chan Event, 1000)
	world := outside{Now: time.Now, AWS: newAWS(ctx), Getenv: func(string) string { return "x" }, Lookup: func(context.Context, string) ([]string, error) { return nil, errors.New("nobody is there") }}
	f, end := newFleet(ctx, world, func(e Event) { heard <- e })
	defer end()
	w := &follower{fleet: f, path: path, changed: make(chan struct{}, 1)}
	var all sync.WaitGroup
	all.Go(func() { w.run(ctx) })
	wantKept(t, f, "clusters/bad/cluster.yaml", "clusters/one/cluster.yaml", "clusters/two/cluster.yaml")
	waitFor(t, heard, func(e Event) bool { return e.Kind == Standing && strings.Contains(e.Cluster, "bad") })
	commit(map[string]*gitserver.File{"clusters/two/cluster.yaml": nil, "clusters/bad/cluster.yaml": nil, "clusters/four/cluster.yaml": memberFile("four")})
	w.nudge()
	waitFor(t, heard, func(e Event) bool { return e.Kind == Left && strings.Contains(e.Cluster, "two") })
	wantKept(t, f, "clusters/four/cluster.yaml", "clusters/one/cluster.yaml")
	cancel()
	all.Wait()
	wantKept(t, f)
}

// TestAMemberComesBackWhenItIsAtRest: a file that is back before the cluster has come to rest is not kept twice at once.
func TestAMemberComesBackWhenItIsAtRest(t *testing.T) {
	var left int
	f := &fleet{outside: outside{Now: time.Now}, say: func(Event) { left++ }}
	w := &follower{fleet: f, members: map[string]*member{}}
	var stops int
	m := &member{stop: func() { stops++ }, rest: make(chan struct{})}
	w.members["two.yaml"] = m
	for _, step := range []struct {
		says   string
		found  gitsync.Files
		before func()
		stays  bool
	}{
		{says: "its file is there", found: gitsync.Files{"two.yaml": nil}, stays: true},
		{says: "its file goes", stays: true},
		{says: "it is still under way", stays: true},
		{says: "its file is back, and it is still under way", found: gitsync.Files{"two.yaml": nil}, stays: true},
		{says: "it comes to rest", found: gitsync.Files{"two.yaml": nil}, before: func() { close(m.rest) }},
	} {
		if step.before != nil {
			step.before()
		}
		w.leave(step.found)
		if _, stays := w.members["two.yaml"]; stays != step.stays {
			t.Errorf("%s: a member is %t, want %t", step.says, stays, step.stays)
		}
	}
	if stops != 1 || left != 1 {
		t.Errorf("stopped %d times and said %d times, want once", stops, left)
	}
}

func waitFor(t *testing.T, heard <-chan Event, is func(Event) bool) {
	t.Helper()
	late := time.After(20 * time.Second)
	for {
		select {
		case e := <-heard:
			if is(e) {
				return
			}
		case <-late:
			t.Fatal("it is not said")
		}
	}
}

// wantKept waits until exactly these files are kept.
func wantKept(t *testing.T, f *fleet, want ...string) {
	t.Helper()
	var got []string
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		f.mu.Lock()
		got = sortedKeys(f.hints)
		f.mu.Unlock()
		if slices.Equal(got, want) {
			return
		}
	}
	t.Fatalf("kept are %v, want %v", got, want)
}

// TestHooksTellTheClusters: a delivery that is signed is heard once, and where no hook is declared there is nobody.
func TestHooksTellTheClusters(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var heard []hint
	hooks := clusters.Hooks{Listen: "127.0.0.1:0", GitHub: &clusters.GitHubHook{SecretFile: file}}
	server := httptest.NewServer(hookMux(hooks, time.Now, func(h hint) { heard = append(heard, h) }, slog.New(slog.DiscardHandler)))
	defer server.Close()
	body := []byte(`{"ref":"refs/heads/main","repository":{"full_name":"acme/fleet"}}`)
	for _, c := range []struct {
		says, path, key string
		want            int
	}{
		{"signed with the secret", "/hooks/github", "s3cret", http.StatusOK},
		{"the same once more", "/hooks/github", "s3cret", http.StatusAccepted},
		{"signed with another", "/hooks/github", "guess", http.StatusUnauthorized},
		{"a hook that is not declared", "/hooks/sns", "s3cret", http.StatusNotFound},
	} {
		if got := deliver(t, server.URL+c.path, c.key, body); got != c.want {
			t.Errorf("%s: %d, want %d", c.says, got, c.want)
		}
	}
	if len(heard) != 1 || heard[0].github.Repository != "acme/fleet" || heard[0].github.Branch != "main" {
		t.Errorf("heard %+v", heard)
	}
}

func deliver(t *testing.T, url, key string, body []byte) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write(body)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-GitHub-Event", "push")
	r.Header.Set("X-GitHub-Delivery", "1")
	r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	return answer.StatusCode
}

// TestHookFlags: an address without a hook, or a hook without an address, is a mistake.
func TestHookFlags(t *testing.T) {
	for says, c := range map[string]struct {
		flags HookFlags
		ok    bool
	}{
		"nothing":                 {HookFlags{}, true},
		"an address and a hook":   {HookFlags{Listen: ":8080", GitHubSecret: "f"}, true},
		"an address alone":        {HookFlags{Listen: ":8080"}, false},
		"a hook without address":  {HookFlags{SNSTopics: []string{"arn"}}, false},
		"a token without address": {HookFlags{EventsToken: "f"}, false},
	} {
		if _, err := c.flags.hooks(); (err == nil) != c.ok {
			t.Errorf("%s: %v", says, err)
		}
	}
}
