package gitserver

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Repo is a bare repository on the server's disk.
type Repo struct {
	// Dir is its path.
	Dir string
	// Name is its path below the server's root, "example.git".
	Name string
}

// CreateRepo makes an empty bare repository whose HEAD is main, as a forge keeps one: it hands out objects by
// name and filters.
func CreateRepo(root, name string) (*Repo, error) {
	r := &Repo{Dir: filepath.Join(root, filepath.FromSlash(name)), Name: name}
	if _, err := run("", "init", "-q", "--bare", "-b", "main", r.Dir); err != nil {
		return nil, err
	}
	return r, r.Config("http.receivepack=true", "uploadpack.allowFilter=true", "uploadpack.allowAnySHA1InWant=true",
		"gc.auto=0", "receive.autogc=false", "core.fsync=none")
}

// Config sets settings, each "key=value".
func (r *Repo) Config(settings ...string) error {
	for _, s := range settings {
		k, v, _ := strings.Cut(s, "=")
		if _, err := r.Git("config", k, v); err != nil {
			return err
		}
	}
	return nil
}

// Git runs git in the repository and returns what it prints, trimmed.
func (r *Repo) Git(args ...string) (string, error) { return run(r.Dir, args...) }

// Import feeds a fast-import stream to the repository.
func (r *Repo) Import(stream io.Reader) error {
	cmd := command(r.Dir, "fast-import", "--quiet")
	cmd.Stdin = stream
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("importing into %s: %w: %s", r.Name, err, out)
	}
	return nil
}

// File is what [Repo.Commit] writes; a nil *File deletes.
type File struct {
	Mode    string // default 100644
	Content string // for a submodule (160000) the commit
}

// Commit makes a commit of somebody else directly on the branch, without going through a push.
func (r *Repo) Commit(branch, message string, files map[string]*File) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "commit refs/heads/%s\ncommitter Somebody <somebody@example.com> 1700000000 +0000\n", branch)
	fmt.Fprintf(&b, "data %d\n%s\n", len(message), message)
	if _, err := r.Git("rev-parse", "--verify", "-q", "refs/heads/"+branch); err == nil {
		fmt.Fprintf(&b, "from refs/heads/%s^0\n", branch)
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		f := files[path]
		switch {
		case f == nil:
			fmt.Fprintf(&b, "D %s\n", path)
		case f.Mode == "160000":
			fmt.Fprintf(&b, "M 160000 %s %s\n", f.Content, path)
		default:
			fmt.Fprintf(&b, "M %s inline %s\ndata %d\n%s\n", cmp.Or(f.Mode, "100644"), path, len(f.Content), f.Content)
		}
	}
	if err := r.Import(strings.NewReader(b.String())); err != nil {
		return "", err
	}
	return r.Git("rev-parse", "refs/heads/"+branch)
}

// Text is a plain file.
func Text(content string) *File { return &File{Content: content} }

// Hook installs a shell script as a hook of the repository: pre-receive, update, post-receive.
func (r *Repo) Hook(name, script string) error {
	path := filepath.Join(r.Dir, "hooks", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // a test's hook
		return err
	}
	return os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755) //nolint:gosec // hooks are executable
}

func command(dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(context.Background(), "git", args...)
	cmd.Dir = dir
	cmd.Env = env()
	return cmd
}

func run(dir string, args ...string) (string, error) {
	cmd := command(dir, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(out)), nil
}

// env is an environment in which git depends on nothing of the machine's configuration.
func env() []string {
	return append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C",
		"GIT_AUTHOR_NAME=Somebody", "GIT_AUTHOR_EMAIL=somebody@example.com", "GIT_COMMITTER_NAME=Somebody", "GIT_COMMITTER_EMAIL=somebody@example.com")
}
