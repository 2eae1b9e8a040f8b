package gitserver

import (
	"bytes"
	"cmp"
	"context"
	"errors"
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
// name and filters. It is written directly: git init would copy templates, and tests make hundreds.
func CreateRepo(root, name string) (*Repo, error) {
	r := &Repo{Dir: filepath.Join(root, filepath.FromSlash(name)), Name: name}
	for _, dir := range []string{"objects", "refs/heads"} {
		if err := os.MkdirAll(filepath.Join(r.Dir, dir), 0o755); err != nil {
			return nil, err
		}
	}
	if err := os.WriteFile(filepath.Join(r.Dir, "HEAD"), []byte("ref: refs/heads/main\n"), 0o600); err != nil {
		return nil, err
	}
	return r, r.Config("core.repositoryformatversion=0", "core.bare=true", "core.fsync=none", "http.receivepack=true",
		"uploadpack.allowFilter=true", "uploadpack.allowAnySHA1InWant=true", "gc.auto=0", "receive.autogc=false")
}

// Config sets settings, each "section.key=value" or "section.sub.section.key=value".
func (r *Repo) Config(settings ...string) error {
	var text strings.Builder
	for _, s := range settings {
		key, value, _ := strings.Cut(s, "=")
		section, rest, _ := strings.Cut(key, ".")
		if i := strings.LastIndex(rest, "."); i >= 0 {
			section, rest = section+` "`+rest[:i]+`"`, rest[i+1:]
		}
		fmt.Fprintf(&text, "[%s]\n\t%s = %s\n", section, rest, value)
	}
	f, err := os.OpenFile(filepath.Join(r.Dir, "config"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text.String())
	return errors.Join(err, f.Close())
}

// Tip is the commit of a branch, "" when it does not exist.
func (r *Repo) Tip(branch string) string {
	if b, err := os.ReadFile(filepath.Join(r.Dir, "refs/heads", filepath.FromSlash(branch))); err == nil {
		return strings.TrimSpace(string(b))
	}
	tip, _ := r.Git("rev-parse", "--verify", "-q", "refs/heads/"+branch) // packed, or none
	return tip
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
	if r.Tip(branch) != "" {
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
	return r.Tip(branch), nil
}

// Text is a plain file.
func Text(content string) *File { return &File{Content: content} }

// Hook installs a shell script as a hook of the repository: pre-receive, update, post-receive.
func (r *Repo) Hook(name, script string) error {
	path := filepath.Join(r.Dir, "hooks", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755)
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
