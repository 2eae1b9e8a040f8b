// Command kube is the Kubernetes control plane in one binary:
//
//	kube apiserver|controller-manager|scheduler|proxy [flags]
//
// Most of the four is the same code; one binary is linked once and is a third
// of the size.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	parts := map[string]func() *cobra.Command{
		"apiserver":          apiserver.NewAPIServerCommand,
		"controller-manager": controllermanager.NewControllerManagerCommand,
		"scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
		"proxy":              proxy.NewProxyCommand,
	}
	if len(os.Args) < 2 || parts[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: kube apiserver|controller-manager|scheduler|proxy [flags]")
		os.Exit(2)
	}
	name := os.Args[1]
	// The commands read os.Args and call themselves by its first word.
	os.Args = append([]string{"kube-" + name}, os.Args[2:]...)
	os.Exit(cli.Run(parts[name]()))
}
