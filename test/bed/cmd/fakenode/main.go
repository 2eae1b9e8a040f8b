// Command fakenode is a node without a kubelet: what it says about pods is true
// only as far as the tests of the bed need it.
//
//  1. It registers the Node fake1, Ready, and renews its lease every 10 s.
//  2. A pod bound to it gets an address of its own in 10.244.0.0/16, keeps it for
//     life, also when fakenode is started anew, and is Running at once.
//  3. Without anything else the pod is Ready at once. The annotation
//     bed.poolwright.dev/ready: "false" makes it not Ready; a change of it is
//     reported within a moment.
//  4. With the annotation bed.poolwright.dev/run: "true" the command of its first
//     container runs as a real process, see process.go, and the pod is Ready while its
//     first container port accepts connections. A process that ends is started again.
//  5. A pod that is deleted gets its preStop hook, SIGTERM and its grace period, when
//     it has a process, and is gone from the API after that.
//
// GET /healthz answers 200 once the node is registered and the pods are known.
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"net/http"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	nodeName    = "fake1"
	nodeAddress = "10.200.0.1"
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == containerCommand {
		log.Fatal(becomeContainer(os.Args[2]))
	}
	kubeconfig := flag.String("kubeconfig", "", "how to reach the API server")
	dir := flag.String("dir", "", "where the pods' files are kept")
	health := flag.String("health", "127.0.0.1:10248", "where /healthz is served")
	flag.Parse()
	log.Fatal(serve(context.Background(), *kubeconfig, *dir, *health))
}

func serve(ctx context.Context, kubeconfig, dir, health string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 500, 1000
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	go heartbeats(ctx, client)

	bound := fields.OneTermEqualSelector("spec.nodeName", nodeName)
	list := cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "pods", corev1.NamespaceAll, bound)
	informer := cache.NewSharedIndexInformer(list, &corev1.Pod{}, 0, nil)
	go informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return errors.New("reading the pods: given up")
	}
	p := newPods(client, dir)
	for _, o := range informer.GetStore().List() {
		p.keepAddress(o.(*corev1.Pod))
	}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { p.saw(ctx, o.(*corev1.Pod)) },
		UpdateFunc: func(_, o any) { p.saw(ctx, o.(*corev1.Pod)) },
		DeleteFunc: p.gone,
	}); err != nil {
		return err
	}
	http.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	server := &http.Server{Addr: health, ReadHeaderTimeout: time.Minute}
	return server.ListenAndServe()
}
