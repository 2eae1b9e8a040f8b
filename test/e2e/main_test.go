//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/poolwright/poolwright/test/driver"
)

func TestMain(m *testing.M) { driver.Main(m) }

// world is the test bed, as admin.
type world struct {
	config  *rest.Config
	client  kubernetes.Interface
	dynamic dynamic.Interface
	dir     string
}

// theWorld is the one that these tests run in.
var theWorld = sync.OnceValues(func() (w world, err error) {
	w.dir = os.Getenv("BED_DIR")
	if w.config, err = clientcmd.BuildConfigFromFlags("", filepath.Join(w.dir, "admin.kubeconfig")); err != nil {
		return w, err
	}
	w.config.QPS = -1
	if w.client, err = kubernetes.NewForConfig(w.config); err != nil {
		return w, err
	}
	w.dynamic, err = dynamic.NewForConfig(w.config)
	return w, err
})

// run runs a program of the bed and returns what it prints.
func (w world) run(t testing.TB, input, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(filepath.Join(w.dir, "bin", name), args...)
	cmd.Env = append(os.Environ(), "BED_DIR="+w.dir, "KUBECONFIG="+filepath.Join(w.dir, "admin.kubeconfig"))
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// down stops parts of the world and returns what starts them again, the last one first; the test's end does, too.
func (w world) down(t testing.TB, parts ...string) (up func()) {
	t.Helper()
	for _, p := range parts {
		w.run(t, "", "bed", "ctl", "stop", p)
	}
	up = sync.OnceFunc(func() {
		for _, p := range slices.Backward(parts) {
			w.run(t, "", "bed", "ctl", "start", p)
		}
	})
	t.Cleanup(up)
	return up
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
