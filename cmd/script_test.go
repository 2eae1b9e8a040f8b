package cmd_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"github.com/poolwright/poolwright/cmd"
	"github.com/poolwright/poolwright/render/build"
)

var update = flag.Bool("update", false, "rewrite the golden outputs in testdata/script")

// leakFree runs the tests and then looks for goroutines that were left behind.
type leakFree struct{ *testing.M }

func (m leakFree) Run() int {
	code := m.M.Run()
	if code != 0 {
		return code
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func TestMain(m *testing.M) {
	testscript.Main(leakFree{m}, map[string]func(){
		"poolwright": func() { os.Exit(cmd.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// TestScript runs every verb as it is typed.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               setup,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "refuses": refuses, "builds": builds},
	})
}

// exits runs a command and wants that exit code: "exits 3 poolwright plan ...".
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits code command [arg...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("running %s: %v", args[1], err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// setup gives each script the files of testdata/shared: a Cluster file and
// snapshots of it. $ONLYGO is a PATH with poolwright and nothing else.
func setup(env *testscript.Env) error {
	if err := os.CopyFS(env.WorkDir, os.DirFS("testdata/shared")); err != nil {
		return err
	}
	binary, err := exec.LookPath("poolwright")
	env.Setenv("ONLYGO", filepath.Dir(binary))
	env.Setenv("GIT_CONFIG_GLOBAL", "/dev/null")
	env.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	env.Setenv("GORACE", "atexit_sleep_ms=0") // else each of a hundred processes sleeps for a second
	return err
}

// refuses wants discover, diff and render to exit with 3, and the tree
// in tree/ to be what its Git index says: "refuses snapshot.yaml".
func refuses(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: refuses snapshot")
	}
	for _, verb := range [][]string{{"discover"}, {"diff", "--tree", "tree", "-o", "json"}, {"render", "--out", "tree"}} {
		exits(ts, false, append([]string{"3", "poolwright", verb[0], "-f", "cluster.yaml", "--snapshot", args[0]}, verb[1:]...))
	}
	ts.Check(ts.Exec("git", "-C", "tree", "status", "--porcelain", "--untracked-files=all"))
	if out := ts.ReadFile("stdout"); strings.Contains(out, "??") || strings.Contains(out, " M") || strings.Contains(out, " D") {
		ts.Fatalf("the tree changed:\n%s", out)
	}
}

// builds wants the cluster's directory of a work tree's revision to build with
// kustomize: "builds work HEAD~1".
func builds(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: builds dir revision")
	}
	const root = "clusters/example-pg/"
	ts.Check(ts.Exec("git", "-C", args[0], "ls-tree", "-r", "--name-only", args[1], root))
	files := map[string][]byte{}
	for name := range strings.FieldsSeq(ts.ReadFile("stdout")) {
		ts.Check(ts.Exec("git", "-C", args[0], "show", args[1]+":"+name))
		files[strings.TrimPrefix(name, root)] = []byte(ts.ReadFile("stdout"))
	}
	var builder build.Builder
	if _, err := builder.Build(files); err != nil {
		ts.Fatalf("building %s: %v", args[1], err)
	}
}
