package gitsync_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/poolwright/poolwright/gitsync"
	"github.com/poolwright/poolwright/gitsync/gitserver"
)

// rival is git's best way to commit a few files: a bare clone of the newest commit without blobs, fast-import, push. It
// works on the branch of its name.
type rival struct {
	name, dir string
	env       []string
	under     []string // the command line that git's arguments follow
	took      []time.Duration
	wire      int64
}

func cloneBare(b *testing.B, name, url string, env []string) *rival {
	b.Helper()
	r := &rival{name: name, dir: filepath.Join(b.TempDir(), "clone.git"), env: env, under: []string{"git"}}
	r.git(b, "", "clone", "-q", "--bare", "--depth=1", "--filter=blob:none", "--branch="+name, "--no-tags", url, r.dir)
	r.git(b, "", "config", "gc.auto", "0")
	return r
}

// round is one commit and push.
func (r *rival) round(b *testing.B, p *proxy, n int) {
	b.Helper()
	p.reset()
	start := time.Now()
	r.commit(b, n)
	r.took = append(r.took, time.Since(start))
	r.wire += p.bytes()
}

// commit does on a fetched head what Publish does.
func (r *rival) commit(b *testing.B, n int) {
	b.Helper()
	r.git(b, "", "fetch", "-q", "--no-tags", "origin", "+refs/heads/"+r.name+":refs/remotes/origin/tip")
	var in strings.Builder
	in.WriteString("commit refs/heads/work\ncommitter Poolwright <poolwright@example.com> 1700000000 +0000\ndata 10\nfour files\nfrom refs/remotes/origin/tip^0\n")
	for path, text := range fourFiles(n) {
		fmt.Fprintf(&in, "M 100644 inline %s/%s\ndata %d\n%s\n", benchDir, path, len(text), text)
	}
	r.git(b, in.String(), "fast-import", "--quiet", "--force")
	r.git(b, "", "push", "-q", "origin", "refs/heads/work:refs/heads/"+r.name)
}

func (r *rival) git(b *testing.B, stdin string, args ...string) {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), r.under[0], append(r.under[1:len(r.under):len(r.under)], args...)...)
	cmd.Env = append(append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_DIR="+r.dir), r.env...)
	cmd.Stdin = strings.NewReader(stdin)
	out := filepath.Join(filepath.Dir(r.dir), "out") // a file: a pipe would be held open by a kept connection
	f := must[*os.File](b)(os.Create(out))
	defer f.Close()
	cmd.Stdout, cmd.Stderr = f, f
	if err := cmd.Run(); err != nil {
		said, _ := os.ReadFile(out)
		b.Fatalf("git %v: %v: %s", args, err, said)
	}
}

// peakMB is the resident memory of the largest git of one more round, by GNU time; 0 where there is none. (What the kernel
// tells us of our own children has our memory in it, from before they became git.)
func (r *rival) peakMB(b *testing.B, n int) (peak float64) {
	b.Helper()
	file := filepath.Join(filepath.Dir(r.dir), "peak")
	gnu, err := exec.LookPath("time")
	if err != nil {
		return 0
	}
	r.under = []string{gnu, "-f", "%M", "-a", "-o", file, "git"}
	r.commit(b, n)
	for line := range strings.Lines(string(must[[]byte](b)(os.ReadFile(file)))) {
		if kb, err := strconv.Atoi(strings.TrimSpace(line)); err == nil {
			peak = max(peak, float64(kb)/1024)
		}
	}
	return peak
}

func httpService(b *testing.B, root string, repo *gitserver.Repo) service {
	s := serveHTTP(b, root)
	address := strings.TrimSuffix(strings.TrimPrefix(s.HTTP(repo), "http://"), "/"+repo.Name)
	return service{
		address: address,
		options: func(_ *testing.B, at string) gitsync.Options {
			return gitsync.Options{URL: "http://" + at + "/" + repo.Name}
		},
		rivals: func(*testing.B, string) map[string][]string { return map[string][]string{"git": nil} },
	}
}

func sshService(b *testing.B, root string, repo *gitserver.Repo) service {
	s := serveSSH(b, root)
	address := strings.TrimSuffix(strings.TrimPrefix(s.URL(repo), "ssh://git@"), "/"+repo.Name)
	known := func(b *testing.B, at string) string {
		file := filepath.Join(b.TempDir(), "known_hosts")
		_, port, _ := net.SplitHostPort(address)
		_, there, _ := net.SplitHostPort(at)
		writeFile(b, file, strings.Replace(string(s.KnownHosts()), ":"+port+" ", ":"+there+" ", 1))
		return file
	}
	return service{
		address: address,
		options: func(b *testing.B, at string) gitsync.Options {
			o := sshOptions(b, s, repo)
			o.URL = "ssh://git@" + at + "/" + repo.Name
			o.Auth = gitsync.SSHKey{Key: o.Auth.(gitsync.SSHKey).Key, KnownHosts: known(b, at)}
			return o
		},
		rivals: func(b *testing.B, at string) map[string][]string {
			return sshRivals(b, s, known(b, at))
		},
	}
}

// sshRivals are git with a connection for each service, as it comes, and with one that ssh keeps.
func sshRivals(b *testing.B, s *gitserver.SSH, known string) map[string][]string {
	b.Helper()
	dir := must[string](b)(os.MkdirTemp("", "ssh")) // short: a socket's path is in it
	b.Cleanup(func() { _ = os.RemoveAll(dir) })
	key, socket := filepath.Join(dir, "key"), filepath.Join(dir, "mux")
	writeFile(b, key, string(s.ClientKey))
	plain := "ssh -F /dev/null -i " + key + " -o IdentitiesOnly=yes -o BatchMode=yes -o StrictHostKeyChecking=yes -o UserKnownHostsFile=" + known
	b.Cleanup(func() {
		_ = exec.Command("ssh", "-F", "/dev/null", "-S", socket, "-O", "exit", "git@127.0.0.1").Run()
	})
	return map[string][]string{
		"git":     {"GIT_SSH_COMMAND=" + plain},
		"git-mux": {"GIT_SSH_COMMAND=" + plain + " -o ControlMaster=auto -o ControlPersist=120 -S " + socket},
	}
}

// proxy stands between clients and a server, counts the bytes of both directions and hands each on after a delay.
type proxy struct {
	listener net.Listener
	to       string
	delay    time.Duration
	n        atomic.Int64
	mu       sync.Mutex
	open     []net.Conn
}

func startProxy(b *testing.B, to string, delay time.Duration) *proxy {
	b.Helper()
	p := &proxy{listener: must[net.Listener](b)(net.Listen("tcp", "127.0.0.1:0")), to: to, delay: delay}
	go p.serve()
	b.Cleanup(p.close)
	return p
}

func (p *proxy) address() string { return p.listener.Addr().String() }
func (p *proxy) reset()          { p.n.Store(0) }
func (p *proxy) bytes() int64    { return p.n.Load() }

func (p *proxy) close() {
	_ = p.listener.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.open {
		_ = c.Close()
	}
}

func (p *proxy) serve() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		s, err := net.Dial("tcp", p.to)
		if err != nil {
			_ = c.Close()
			continue
		}
		p.mu.Lock()
		p.open = append(p.open, c, s)
		p.mu.Unlock()
		go p.pass(c, s)
		go p.pass(s, c)
	}
}

// late is what has been read, and when it is due; nothing is the end.
type late struct {
	due  time.Time
	data []byte
}

// pass hands on what one side says. It reads on while what was read before is under way.
func (p *proxy) pass(to, from net.Conn) {
	way := make(chan late, 1024)
	go func() {
		defer close(way)
		for {
			buf := make([]byte, 32<<10)
			n, err := from.Read(buf)
			if n > 0 {
				way <- late{time.Now().Add(p.delay), buf[:n]}
			}
			if err != nil {
				return
			}
		}
	}()
	for l := range way {
		if p.delay > 0 {
			time.Sleep(time.Until(l.due))
		}
		p.n.Add(int64(len(l.data)))
		if _, err := to.Write(l.data); err != nil {
			_ = from.Close()
		}
	}
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	_, _ = io.Copy(io.Discard, from)
}
