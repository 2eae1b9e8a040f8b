package render_test

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/poolwright/poolwright/clusters"
	"github.com/poolwright/poolwright/test/pgbouncer"
)

// TestRealPgBouncerTakesEachIni starts the PgBouncer of each golden's version on each golden ini, as a user that is
// in no passwd, and asks it for a login.
func TestRealPgBouncerTakesEachIni(t *testing.T) {
	binaries := map[string]string{}
	for _, line := range pgbouncer.Versions() {
		binaries[line] = pgbouncer.Binary(t, line)
	}
	for _, g := range goldens(t) {
		version, _ := g.cluster.Spec.PgBouncer.EffectiveVersion()
		bin := binaries[lineOf(version)]
		for _, m := range g.state.Members {
			t.Run(g.name+"/"+m.Name, func(t *testing.T) {
				tree := g.draw(t)
				ini, ok := tree[path.Join("instances", m.Name, "pgbouncer.ini")]
				if !ok {
					t.Fatal("no ini was drawn")
				}
				startAndAsk(t, bin, ini)
			})
		}
	}
}

// lineOf is the newest minor line of the test bed that is no newer than a version: it knows no key that the version does not know.
func lineOf(v clusters.Version) string {
	line := ""
	for _, l := range pgbouncer.Versions() {
		var have clusters.Version
		if _, err := fmt.Sscanf(l, "%d.%d", &have.Major, &have.Minor); err == nil && have.Compare(v) <= 0 {
			line = l
		}
	}
	return line
}

func startAndAsk(t *testing.T, bin string, ini []byte) {
	t.Helper()
	dir := openDir(t)
	port := freePort(t)
	ini = moved(t, ini, dir, port)
	file := filepath.Join(dir, "pgbouncer.ini")
	write(t, file, ini)
	write(t, filepath.Join(dir, "userlist.txt"), []byte(`"app" "secret"`+"\n"))

	cmd := exec.Command(bin, file)
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	awaitUp(t, bufio.NewScanner(stderr), ini)
	askForLogin(t, port)
}

// awaitUp reads the log until PgBouncer says that it is up; it exits at any line it does not like.
func awaitUp(t *testing.T, log *bufio.Scanner, ini []byte) {
	t.Helper()
	var said bytes.Buffer
	for log.Scan() {
		fmt.Fprintln(&said, log.Text())
		if strings.Contains(log.Text(), "process up") {
			if bad := regexp.MustCompile(`(?i)error|warning|fatal`).FindString(said.String()); bad != "" {
				t.Errorf("PgBouncer complained:\n%s", said.String())
			}
			return
		}
	}
	t.Fatalf("PgBouncer did not start:\n%s\non\n%s", said.String(), ini)
}

// moved takes an ini to this machine: loopback, a free port, and every path into dir.
func moved(t *testing.T, ini []byte, dir string, port int) []byte {
	t.Helper()
	for key, value := range map[string]string{
		"listen_addr": "127.0.0.1", "listen_port": fmt.Sprint(port), "auth_file": filepath.Join(dir, "userlist.txt"),
	} {
		re := regexp.MustCompile(`(?m)^` + key + ` = .*$`)
		if len(re.FindAll(ini, -1)) != 1 {
			t.Fatalf("not one line %s in\n%s", key, ini)
		}
		ini = re.ReplaceAll(ini, []byte(key+" = "+value))
	}
	paths := regexp.MustCompile(`(?m)^(pidfile|logfile) = (.+)$`)
	ini = paths.ReplaceAll(ini, []byte("$1 = "+dir+"/$1"))
	return regexp.MustCompile(`(?m)^unix_socket_dir = .+$`).ReplaceAll(ini, []byte("unix_socket_dir = "+dir))
}

// askForLogin wants an answer of the protocol to a startup packet.
func askForLogin(t *testing.T, port int) {
	t.Helper()
	conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	front := pgproto3.NewFrontend(conn, conn)
	front.Send(&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30, Parameters: map[string]string{
		"user": "app", "database": "postgres", "extra_float_digits": "2",
	}})
	if err := front.Flush(); err != nil {
		t.Fatal(err)
	}
	switch answer, err := front.Receive(); answer.(type) {
	case *pgproto3.AuthenticationMD5Password, *pgproto3.AuthenticationSASL:
	default:
		t.Fatalf("PgBouncer answered %#v, %v; wanted to be asked for a password", answer, err)
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// openDir is a directory that another user may write to.
func openDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for d, mode := range map[string]os.FileMode{dir: 0o777, filepath.Dir(dir): 0o755} {
		if err := os.Chmod(d, mode); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func write(t *testing.T, file string, data []byte) {
	t.Helper()
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
}
