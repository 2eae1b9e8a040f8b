// Command argo is the two parts of Argo CD that apply a commit, in one binary:
//
//	argo application-controller|repo-server [flags]
package main

import (
	"fmt"
	"os"

	controller "github.com/argoproj/argo-cd/v3/cmd/argocd-application-controller/commands"
	reposerver "github.com/argoproj/argo-cd/v3/cmd/argocd-repo-server/commands"
	"github.com/spf13/cobra"
)

func main() {
	parts := map[string]func() *cobra.Command{
		"application-controller": controller.NewCommand,
		"repo-server":            reposerver.NewCommand,
	}
	if len(os.Args) < 2 || parts[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: argo application-controller|repo-server [flags]")
		os.Exit(2)
	}
	command := parts[os.Args[1]]()
	command.SetArgs(os.Args[2:])
	if command.Execute() != nil {
		os.Exit(1)
	}
}
