//go:build e2e

package failover

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

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

// theWorld is the one that the bench runs in.
var theWorld = sync.OnceValues(func() (w world, err error) {
	if w.dir = os.Getenv("BED_DIR"); w.dir == "" {
		return w, errors.New("this is not a world of test/bed: run make bench-failover")
	}
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

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// namespace makes one with poolwright's ServiceAccount and the poolers' users in it. It is gone when the test has
// ended: the pods of a cell are no load of the next.
func (w world) namespace(t testing.TB, name, userlist string) {
	t.Helper()
	ctx := t.Context()
	_, err := w.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	check(t, err)
	t.Cleanup(func() { w.remove(t, name) })
	_, err = w.client.CoreV1().ServiceAccounts(name).Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "poolwright"}}, metav1.CreateOptions{})
	check(t, err)
	users := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "userlist"}, StringData: map[string]string{"userlist.txt": userlist}}
	_, err = w.client.CoreV1().Secrets(name).Create(ctx, users, metav1.CreateOptions{})
	check(t, err)
}

// remove deletes a namespace and waits until it is gone.
func (w world) remove(t testing.TB, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), driver.Patience)
	defer cancel()
	namespaces := w.client.CoreV1().Namespaces()
	err := namespaces.Delete(ctx, name, metav1.DeleteOptions{})
	for ; err == nil; wait(ctx, 200*time.Millisecond) {
		_, err = namespaces.Get(ctx, name, metav1.GetOptions{})
	}
	if !apierrors.IsNotFound(err) {
		t.Errorf("deleting namespace %s: %v", name, err)
	}
}

// grant creates the Roles and RoleBindings among the documents of a text.
func (w world) grant(t testing.TB, text string) {
	t.Helper()
	for doc := range strings.SplitSeq(text, "\n---\n") {
		var role rbacv1.Role
		check(t, yaml.Unmarshal([]byte(doc), &role))
		var err error
		switch role.Kind {
		case "Role":
			_, err = w.client.RbacV1().Roles(role.Namespace).Create(t.Context(), &role, metav1.CreateOptions{})
		case "RoleBinding":
			var binding rbacv1.RoleBinding
			check(t, yaml.Unmarshal([]byte(doc), &binding))
			_, err = w.client.RbacV1().RoleBindings(binding.Namespace).Create(t.Context(), &binding, metav1.CreateOptions{})
		}
		check(t, err)
	}
}

// kubeconfig is poolwright's.
func (w world) kubeconfig(t testing.TB, namespace string) string {
	t.Helper()
	token, err := w.client.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), "poolwright", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	check(t, err)
	config := clientcmdapi.NewConfig()
	config.Clusters["bed"] = &clientcmdapi.Cluster{Server: w.config.Host, CertificateAuthorityData: w.config.CAData, CertificateAuthority: w.config.CAFile}
	config.AuthInfos["poolwright"] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	config.Contexts["bed"] = &clientcmdapi.Context{Cluster: "bed", AuthInfo: "poolwright", Namespace: namespace}
	config.CurrentContext = "bed"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	check(t, clientcmd.WriteToFile(*config, path))
	return path
}

// kubectl is the bed's, as admin.
func (w world) kubectl(t testing.TB, args ...string) {
	t.Helper()
	cmd := exec.Command(filepath.Join(w.dir, "bin", "kubectl"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(w.dir, "admin.kubeconfig"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

var (
	kustomizations  = schema.GroupVersionResource{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Resource: "kustomizations"}
	gitRepositories = schema.GroupVersionResource{Group: "source.toolkit.fluxcd.io", Version: "v1", Resource: "gitrepositories"}
)

// flux lets the real Flux apply main, with its defaults and an interval of 10 s. Nothing tells it of a push but poolwright.
func (w world) flux(t testing.TB, namespace, url string) {
	t.Helper()
	for kind, text := range map[schema.GroupVersionResource]string{
		gitRepositories: fmt.Sprintf(`
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system}
spec: {interval: 10s, url: %q, ref: {branch: main}}
`, url),
		kustomizations: `
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: story}
spec: {interval: 10s, path: ./clusters/story, prune: true, sourceRef: {kind: GitRepository, name: flux-system}}
`,
	} {
		var o unstructured.Unstructured
		check(t, yaml.Unmarshal([]byte(text), &o.Object))
		_, err := w.dynamic.Resource(kind).Namespace(namespace).Create(t.Context(), &o, metav1.CreateOptions{})
		check(t, err)
	}
}
