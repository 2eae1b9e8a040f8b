package pgcluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// install is where PostgreSQL's programs are and whom they run as.
type install struct {
	bin     string
	version string
	// as is nil when the test's own user will do.
	as *syscall.Credential
}

// A missing program is the fault of the machine, and curable.
const hint = "run `make deps` (installs PostgreSQL on Debian)"

// debian is where its packages put every version they install.
const debian = "/usr/lib/postgresql/*/bin/postgres"

func findInstall(pattern string) (install, error) {
	in := install{bin: findBin(pattern)}
	if in.bin == "" {
		return in, errors.New("no PostgreSQL server on this machine: " + hint)
	}
	for _, program := range []string{"initdb", "pg_basebackup"} {
		if _, err := os.Stat(filepath.Join(in.bin, program)); err != nil {
			return in, fmt.Errorf("%w: %s", err, hint)
		}
	}
	version, err := exec.Command(filepath.Join(in.bin, "postgres"), "--version").Output()
	if err != nil {
		return in, fmt.Errorf("asking postgres for its version: %w", err)
	}
	in.version = strings.TrimSpace(string(version))
	if os.Getuid() == 0 {
		in.as, err = postgresUser()
	}
	return in, err
}

// findBin prefers PostgreSQL 15 among those that match, then the newest of them,
// then what is in PATH.
func findBin(pattern string) string {
	found, _ := filepath.Glob(pattern)
	slices.SortFunc(found, func(a, b string) int { return rank(b) - rank(a) })
	if len(found) > 0 {
		return filepath.Dir(found[0])
	}
	if path, err := exec.LookPath("postgres"); err == nil {
		return filepath.Dir(path)
	}
	return ""
}

func rank(postgres string) int {
	major, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(postgres))))
	if major == 15 {
		return 1 << 20
	}
	return major
}

func postgresUser() (*syscall.Credential, error) {
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL refuses to run as root: %w: %s", err, hint)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

// own gives a file to the user that the servers run as.
func (in install) own(path string) error {
	if in.as == nil {
		return nil
	}
	return os.Chown(path, int(in.as.Uid), int(in.as.Gid))
}

// write makes or replaces a file that the servers read.
func (in install) write(path, text string) error {
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		return err
	}
	if err := in.own(path + ".new"); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// command is one of PostgreSQL's programs, run as the right user, with none of
// the environment that libpq reads.
func (in install) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(in.bin, program), args...)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + in.bin + ":/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: in.as, Setpgid: true}
	endWithParent(cmd.SysProcAttr)
	return cmd
}

// run waits for a program; what it printed is in the error.
func (in install) run(program string, args ...string) error {
	out, err := in.command(program, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", program, err, out)
	}
	return nil
}

// template returns a fresh data directory to copy. The first caller of a version
// and user pays for initdb.
func (in install) template() (string, error) {
	path, err := in.templatePath()
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	return path, in.makeTemplate(path)
}

func (in install) templatePath() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	dir := filepath.Join(cache, "poolwright")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("making a cache for initdb: %w", err)
	}
	key := strings.Map(func(r rune) rune {
		if strings.ContainsRune("/() ", r) {
			return '-'
		}
		return r
	}, in.version)
	return filepath.Join(dir, fmt.Sprintf("initdb-slim-%s-uid%d", key, in.uid())), nil
}

func (in install) uid() int {
	if in.as == nil {
		return os.Getuid()
	}
	return int(in.as.Uid)
}

// makeTemplate runs initdb in a directory that the servers' user may enter, and
// puts the result in place by one rename: of several processes that do this at
// once, the first wins and the others use its result.
func (in install) makeTemplate(template string) error {
	dir, err := os.MkdirTemp("", "pginit-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := in.own(dir); err != nil {
		return err
	}
	data := filepath.Join(dir, "data")
	if err := in.run("initdb", "--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8",
		"--locale=C", "--wal-segsize=1", "--pgdata="+data); err != nil {
		return err
	}
	if err := in.slim(data); err != nil {
		return err
	}
	near, err := os.MkdirTemp(filepath.Dir(template), "new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(near)
	if err := copyTree(data, filepath.Join(near, "data")); err != nil {
		return err
	}
	err = os.Rename(filepath.Join(near, "data"), template)
	if errors.Is(err, os.ErrExist) || errors.Is(err, syscall.ENOTEMPTY) {
		return nil
	}
	return err
}

// slim drops the template databases, two thirds of all files. CREATE DATABASE
// then has to name TEMPLATE postgres.
func (in install) slim(data string) error {
	cmd := in.command("postgres", "--single", "-D", data, "postgres")
	cmd.Stdin = strings.NewReader(`ALTER DATABASE template0 IS_TEMPLATE false
ALTER DATABASE template1 IS_TEMPLATE false
DROP DATABASE template0
DROP DATABASE template1
`)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("dropping the template databases: %w\n%s", err, out)
	}
	if strings.Contains(string(out), "ERROR") {
		return fmt.Errorf("dropping the template databases: %s", out)
	}
	return nil
}

// copyTree keeps owners and modes, which PostgreSQL checks.
func copyTree(from, to string) error {
	out, err := exec.Command("cp", "-a", "--reflink=auto", from, to).CombinedOutput()
	if err != nil {
		return fmt.Errorf("copying %s: %w: %s", from, err, out)
	}
	return nil
}
