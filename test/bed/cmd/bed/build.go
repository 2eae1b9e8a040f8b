package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const modulePath = "github.com/poolwright/poolwright/test/bed"

// build is the command of that name.
func build(args []string) error {
	flags := flag.NewFlagSet("bed build", flag.ContinueOnError)
	with := flags.String("with", "flux,argo,proxy", "extras to build for: flux, argo, proxy")
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 {
		return errors.Join(errUsage, err)
	}
	extras, err := parseExtras(*with)
	if err != nil {
		return err
	}
	_, err = ensure(needed(extras))
	return err
}

// ensure builds those of the sets that are not in the cache, one after the other
// since each uses all cores, and gives the directory of each.
func ensure(list []set) (dirs []string, err error) {
	root, err := source()
	if err != nil {
		return nil, err
	}
	goVersion, err := goCommand(root, "", "env", "GOVERSION")
	if err != nil {
		return nil, err
	}
	cache, err := cacheDir()
	if err != nil {
		return nil, err
	}
	for _, s := range list {
		key, err := s.key(root, string(goVersion))
		if err != nil {
			return nil, fmt.Errorf("hashing the sources of %s: %w", s.name, err)
		}
		dir := filepath.Join(cache, s.name+"-"+key)
		if err := s.ensure(root, dir); err != nil {
			return nil, fmt.Errorf("building %s: %w", s.name, err)
		}
		dirs = append(dirs, dir)
	}
	return dirs, nil
}

// source finds the bed's module: in the working directory, or from there upwards.
func source() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		for _, candidate := range []string{dir, filepath.Join(dir, "test", "bed")} {
			mod, err := os.ReadFile(filepath.Join(candidate, "go.mod"))
			if err == nil && bytes.HasPrefix(mod, []byte("module "+modulePath+"\n")) {
				return candidate, nil
			}
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("finding the sources of the bed: no test/bed in %s or above", start)
		}
	}
}

func cacheDir() (string, error) {
	user, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding the cache: %w", err)
	}
	dir := filepath.Join(user, "poolwright", "bed")
	return dir, os.MkdirAll(dir, 0o755)
}

// key is a hash over everything that makes the set's binaries what they are.
func (s set) key(root, goVersion string) (string, error) {
	module := filepath.Join(root, s.module)
	files := []string{filepath.Join(module, "go.mod"), filepath.Join(module, "go.sum")}
	for _, dir := range s.sources {
		found, err := filepath.Glob(filepath.Join(module, dir, "*.go")) // sorted
		if err != nil {
			return "", err
		}
		files = append(files, found...)
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%q %q %q %q %q\n", strings.TrimSpace(goVersion), s.toolchain, s.packages, s.versioned, s.manifests)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "%s %d\n%s", strings.TrimPrefix(file, root), len(content), content)
	}
	return hex.EncodeToString(sum.Sum(nil))[:12], nil
}

// ensure builds the set into dir unless it is there. Of several processes one
// builds and the others wait for it.
func (s set) ensure(root, dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	lock, err := os.OpenFile(filepath.Join(filepath.Dir(dir), "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("waiting for another build: %w", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	fmt.Fprintf(os.Stderr, "bed: building %s (about %d CPU seconds when nothing is cached)\n", s.name, s.cost)
	start := time.Now()
	unfinished := dir + ".new"
	if err := os.RemoveAll(unfinished); err != nil {
		return err
	}
	if err := s.buildInto(filepath.Join(root, s.module), unfinished); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "bed: built %s in %.0f s\n", s.name, time.Since(start).Seconds())
	return os.Rename(unfinished, dir)
}

func (s set) buildInto(module, dir string) error {
	if err := os.MkdirAll(filepath.Join(dir, manifests), 0o755); err != nil {
		return err
	}
	flags, err := s.linkerFlags(module)
	if err != nil {
		return err
	}
	args := append([]string{"build", "-trimpath", "-ldflags", flags, "-o", dir + "/"}, s.packages...)
	if _, err := goCommand(module, s.toolchain, args...); err != nil {
		return err
	}
	for _, m := range s.manifests {
		from, err := goCommand(module, s.toolchain, "list", "-m", "-f", "{{.Dir}}", m[0])
		if err != nil {
			return err
		}
		if err := copyInto(filepath.Join(dir, manifests), filepath.Join(strings.TrimSpace(string(from)), m[1])); err != nil {
			return fmt.Errorf("copying the manifests of %s: %w", m[0], err)
		}
	}
	return nil
}

// linkerFlags strip the binary and, for Kubernetes, tell it its version: without
// it the API server says v0.0.0 and its clients take that for an old one.
func (s set) linkerFlags(module string) (string, error) {
	flags := "-s -w"
	if s.versioned == "" {
		return flags, nil
	}
	out, err := goCommand(module, s.toolchain, "list", "-m", "-f", "{{.Version}}", s.versioned)
	if err != nil {
		return "", err
	}
	version := strings.TrimSpace(string(out))
	numbers := strings.Split(strings.TrimPrefix(version, "v"), ".")
	if len(numbers) < 3 {
		return "", fmt.Errorf("reading the version of %s: %q", s.versioned, version)
	}
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		flags += fmt.Sprintf(" -X %[1]s.gitVersion=%[2]s -X %[1]s.gitMajor=%[3]s -X %[1]s.gitMinor=%[4]s -X %[1]s.gitTreeState=clean",
			pkg, version, numbers[0], numbers[1])
	}
	return flags, nil
}

func copyInto(dir, pattern string) error {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		return errors.Join(err, fmt.Errorf("no file is like %s", pattern))
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(file)), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// goCommand runs go in a module and gives its output. Its messages go to stderr.
func goCommand(module, toolchain string, args ...string) ([]byte, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = module
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=")
	if toolchain != "" {
		cmd.Env = append(cmd.Env, "GOTOOLCHAIN="+toolchain)
	}
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w", args[0], err)
	}
	return out, nil
}
