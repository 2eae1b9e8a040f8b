package main

import (
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestRepositoryIsMadeByTheFirstPush(t *testing.T) {
	h, err := newHandler(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	defer server.Close()
	url := server.URL + "/x.git"
	git := func(dir string, args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=t", "-c", "user.email=t@t"}, args...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	must := func(dir string, args ...string) string {
		t.Helper()
		out, err := git(dir, args...)
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return out
	}
	work := t.TempDir()
	if out, err := git(work, "ls-remote", url); err == nil {
		t.Errorf("reading what nobody pushed to: %s, want an error", out)
	}
	must(work, "init", "--quiet", "--initial-branch=main")
	must(work, "commit", "--quiet", "--allow-empty", "--message=one")
	must(work, "push", "--quiet", url, "main")
	one := must(work, "rev-parse", "HEAD")
	must(work, "commit", "--quiet", "--allow-empty", "--message=two")
	must(work, "push", "--quiet", url, "main")

	partial := filepath.Join(t.TempDir(), "partial")
	must("", "clone", "--quiet", "--depth=1", "--filter=blob:none", url, partial)
	if got, want := must(partial, "rev-parse", "HEAD"), must(work, "rev-parse", "HEAD"); got != want {
		t.Errorf("cloned %s, want %s", got, want)
	}
	must(partial, "fetch", "--quiet", "--depth=1", "origin", one)

	answer, err := http.Get(server.URL + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("/healthz: %s", answer.Status)
	}
}
