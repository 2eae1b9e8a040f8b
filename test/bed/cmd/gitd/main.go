// Command gitd serves bare repositories over smart HTTP with git's own
// http-backend, without any authentication:
//
//	gitd -addr 127.0.0.1:3000 -root DIR
//
// A repository NAME.git below DIR is made by the first push to it, with main as
// its branch. Pushes, shallow and partial clones and fetches by hash are allowed
// for every repository. GET /healthz answers 200.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
)

// options of git for every repository.
var options = []string{
	"http.receivepack=true",
	"uploadpack.allowFilter=true",
	"uploadpack.allowAnySHA1InWant=true",
	"receive.autogc=false", // a push takes as long as the push before it
	"safe.directory=*",
}

var pushTo = regexp.MustCompile(`^/([A-Za-z0-9][A-Za-z0-9._-]*\.git)/info/refs$`)

func main() {
	addr := flag.String("addr", "127.0.0.1:3000", "where to listen")
	root := flag.String("root", ".", "where the repositories are")
	flag.Parse()
	handler, err := newHandler(*root)
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{Addr: *addr, Handler: handler, ReadHeaderTimeout: time.Minute}
	log.Fatal(server.ListenAndServe())
}

// handler serves the repositories below root.
type handler struct {
	root    string
	backend cgi.Handler

	making sync.Mutex
}

func newHandler(root string) (*handler, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	out, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		return nil, fmt.Errorf("finding git: %w", err)
	}
	env := []string{
		"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=bed", "HOME=" + root,
		fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(options)),
	}
	for i, option := range options {
		key, value, _ := strings.Cut(option, "=")
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, value))
	}
	backend := cgi.Handler{Path: filepath.Join(strings.TrimSpace(string(out)), "git-http-backend"), Env: env}
	return &handler{root: root, backend: backend}, nil
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/healthz" {
		return // 200
	}
	if m := pushTo.FindStringSubmatch(r.URL.Path); m != nil && r.URL.Query().Get("service") == "git-receive-pack" {
		if err := h.make(r.Context(), filepath.Join(h.root, m[1])); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	h.backend.ServeHTTP(w, r)
}

// make makes a repository unless it is there.
func (h *handler) make(ctx context.Context, dir string) error {
	h.making.Lock()
	defer h.making.Unlock()
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	out, err := exec.CommandContext(ctx, "git", "init", "--quiet", "--bare", "--initial-branch=main", dir).CombinedOutput()
	if err != nil {
		return fmt.Errorf("making %s: %w: %s", filepath.Base(dir), err, out)
	}
	return nil
}
